"""Many proposed actions become one (Algorithm 2, "Voting").

A rule is one small function, of one of two forms. An electing rule names the tree that has its way without
looking at the proposals, which spares the others the trouble. A counting rule looks at what all propose. To
add a rule, write it, and name it in ``ELECTING`` or ``COUNTING`` and in the setting ``voting``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sirl.jit import compiled

Floats = NDArray[np.float64]
Elect = Callable[[Floats, Floats], NDArray[np.int64]]
"""Weights of the trees (n_trees,), a random number in [0, 1) for each copy (n,) -> its voter (n,)."""
Count = Callable[[NDArray[np.int32], Floats, int, float], int]
"""Proposals (n_trees,), weights (n_trees,), number of actions, a random number in [0, 1) -> action."""


def _random(weights: Floats, chances: Floats) -> NDArray[np.int64]:
    """One tree, drawn at random, has its way: the paper's choice."""
    return (chances * len(weights)).astype(np.int64)


def _leader(weights: Floats, chances: Floats) -> NDArray[np.int64]:
    """The tree with the most weight decides."""
    return np.full(len(chances), np.argmax(weights), dtype=np.int64)


@compiled
def _plurality(proposals: Any, weights: Any, n_actions: int, chance: float) -> int:
    """The action with the most weight behind it, ties broken at random."""
    votes = np.zeros(n_actions)
    for tree in range(len(proposals)):
        votes[proposals[tree]] += weights[tree]
    tied = np.flatnonzero(votes == votes.max())
    return int(tied[int(chance * len(tied))])


ELECTING: dict[str, Elect] = {"random": _random, "leader": _leader}
COUNTING: dict[str, Count] = {"majority": _plurality, "weighted": _plurality}


def weigh(scores: Floats | None, rule: str, n_trees: int) -> Floats:
    """The weight of each tree's voice, (n_trees,), from its recent mean return (n_trees,).

    Equal, unless the rule goes by performance. Then weights are ranks, the worst 1/n and the best 1, so that
    the scale of a task's returns does not matter.
    """
    if scores is None or rule not in ("leader", "weighted"):
        return np.ones(n_trees)
    weights = np.empty(n_trees)
    weights[np.argsort(scores, kind="stable")] = np.arange(1, n_trees + 1) / n_trees
    return weights
