"""N episodes in lockstep behind one protocol, whatever computes them.

A simulator has numbered slots. A slot holds one episode: ``reset`` starts it from a seed, ``step``
advances it by one action. Any subset of slots can be advanced in one call, so that finished episodes
cost nothing. Nothing resets by itself.

An episode depends on its seed and its actions alone: not on its slot, not on its neighbours, not on what the
slot played before. Arrays that a call returns are the caller's to keep.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
"""Slots of a call, at least one, sorted and unique, (n,)."""


class Step(NamedTuple):
    """What one lockstep step gave, a row for each slot of the call."""

    observations: NDArray[np.float64]
    """(n, n_features): the state that the action led to; at an episode's end, its last one."""
    rewards: NDArray[np.float64]
    """(n,)"""
    terminated: NDArray[np.bool_]
    """(n,): the task is over: there is no next state to value."""
    truncated: NDArray[np.bool_]
    """(n,): the time limit is reached: the next state exists, but will not be seen."""
    broken: NDArray[np.bool_] | None = None
    """(n,): the simulation could not follow the actions, and the episode is over without a result; None: nowhere."""


class Simulator(Protocol):
    """N episodes of one task in lockstep."""

    n_slots: int

    def expect(self, seeds: NDArray[np.int64]) -> None:
        """Episodes with these ``seeds`` (n,) will be asked for, in about this order: a time to prepare."""
        ...

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Start an episode in each slot, from ``seeds`` (n,); return first observations (n, n_features)."""
        ...

    def step(self, ids: Ids, actions: NDArray[np.generic]) -> Step:
        """Advance each slot of ``ids`` by its row of ``actions`` (n, *action_shape)."""
        ...

    def close(self) -> None:
        """Let go of environments and threads."""
        ...
