"""Many proposed actions become one (Algorithm 2, "Voting").

A rule either elects the tree that has its way, without a look at what the others would do, which spares them the
trouble; or all propose, and the action with the most weight behind it wins. To add a rule that elects, write one small
function and name it in ``ELECTING``; a rule that counts is a name in ``COUNTING`` and its weights in :func:`weigh`.
Either is then named in the setting ``voting``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.jit import compiled, part
from sirl.keys import fold, uniform

Elect = Callable[[Floats, Floats], Ints]
"""Weights of the trees (n_trees,), a random number in [0, 1) for each vote (n,) -> its voter (n,)."""


def _random(weights: Floats, chances: Floats) -> Ints:
    """One tree, drawn at random, has its way: the paper's choice."""
    return (chances * len(weights)).astype(np.int64)


def _leader(weights: Floats, chances: Floats) -> Ints:
    """The tree with the most weight decides."""
    return np.full(len(chances), np.argmax(weights), dtype=np.int64)


ELECTING: dict[str, Elect] = {"random": _random, "leader": _leader}
COUNTING = ("majority", "weighted")


@part
def count(proposals: Any, weights: Any, n_actions: int, chance: float) -> int:
    """Of the proposals (n_trees,) the action with the most weight (n_trees,) behind it, ties broken at random."""
    votes = np.zeros(n_actions)
    for tree in range(len(proposals)):
        votes[proposals[tree]] += weights[tree]
    tied = np.flatnonzero(votes == votes.max())
    return int(tied[int(chance * len(tied))])


@compiled
def count_each(proposals: Any, weights: Any, n_actions: int, chances: Any) -> Any:
    """:func:`count` for each row of proposals (n, n_trees), (n,)."""
    actions = np.empty(len(proposals), dtype=np.int32)
    for i in range(len(proposals)):
        actions[i] = count(proposals[i], weights, n_actions, chances[i])
    return actions


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


@part
def vote_chance(key: Any, step: int) -> Any:
    """The random number of the vote at a step of an episode, apart from the draws of the trees."""
    return uniform(fold(key, 1), step)


@compiled
def all_vote_chances(keys: Any, max_steps: int) -> Any:
    """Those of every step of the episodes with ``keys`` (n,), (n, max_steps)."""
    chances = np.empty((len(keys), max_steps))
    for i in range(len(keys)):
        for step in range(max_steps):
            chances[i, step] = vote_chance(keys[i], step)
    return chances
