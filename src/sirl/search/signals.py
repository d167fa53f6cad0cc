"""Training signals: what laws are tuned for where that is not the return, which alone is crowned and reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats, Seeds
from sirl.engine import Engine
from sirl.errors import EnvironmentFailure
from sirl.model.tree import Tree
from sirl.rollout.arena import Arena
from sirl.rollout.spread import play_all
from sirl.rollout.work import RETURN, Signal
from sirl.search.champion import Asked
from sirl.search.records import Cost
from sirl.simulators.derived import Nothing, pack_programs


class Counted(NamedTuple):
    """What trees got on the same episodes."""

    scores: Floats
    """(n_trees,): of what is tuned for."""
    cost: Cost
    silent: bool
    """Whether the true return of every episode was 0."""


Worth = Callable[[Sequence[Tree], Seeds], Counted]
"""What trees get on the same episodes."""


def make_signal(problem: Asked, n_contenders: int) -> Signal:
    """What is tuned for, while so many contenders are left: the last one plays to the end, and fears it."""
    settings = problem.settings
    programs = None if settings.shaping is None else [problem.task.program(settings.shaping, "shaping")]
    shaping = Nothing() if programs is None else pack_programs(programs)
    if n_contenders == 1:
        return Signal(shaping)
    return Signal(shaping, -settings.ending_bonus, settings.round_steps or RETURN.max_steps)


def play_for(signal: Signal, problem: Asked, engine: Engine[Arena], trees: Sequence[Tree], seeds: Seeds) -> Counted:
    """What trees get of a signal, see `Worth`."""
    played = play_all(trees, seeds, problem.task.env, engine, signal)
    counted = played.returns - problem.settings.alive_bonus * played.lengths + played.extra
    scores = np.asarray(counted.mean(axis=1))
    finite = np.isfinite(scores)
    if not finite.any():
        raise EnvironmentFailure(
            f"every law made the simulation of {problem.task.env} lose its state: its actions are more than the "
            "simulation can follow; narrow the action space or shorten the time step"
        )
    scores = np.where(finite, scores, scores[finite].min() - 1.0)
    return Counted(scores, Cost(played.returns.size, played.steps), not played.returns.any())
