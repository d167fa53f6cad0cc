"""Which terms of a policy's conditions and laws matter, and how simple they can be made before the score notices.

The paper does this by hand for Reacher, Hopper and Walker2d: leave out a term, play, keep it out if the loss is small.
Every variant plays from the same starts, so that what differs is the variant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.model.task import Task
from sirl.model.text import condition
from sirl.model.tree import Tree
from sirl.reading.prune import Scorer
from sirl.reading.weights import Place, places, weight, with_weights

_MOST_DIGITS = 3
_USUAL_TOLERANCE = 0.05


class Explanation(NamedTuple):
    """What was found out about the conditions and laws of a policy."""

    losses: list[TermLoss]
    """Of each term, if it alone is left out."""
    score: float
    """Mean score of the policy on the episodes that it was explained by."""
    tolerance: float
    """How far the mean score was allowed to fall in all."""
    simple: Tree
    """Without the terms that can be spared, and with few digits."""
    simple_score: float


class TermLoss(NamedTuple):
    """What it costs to leave out one term."""

    place: Place
    loss: float
    """How far the mean score falls; negative if it rises."""
    error: float
    """Standard error of the loss, over paired episodes."""


def explain(tree: Tree, task: Task, score: Scorer, tolerance: float | None = None) -> Explanation:
    """Which terms matter, and the simplest conditions and laws whose mean score is at most a tolerance lower.

    The tolerance is 5 % of the score unless it is given.
    """
    before, losses = term_losses(tree, score)
    tolerance = _USUAL_TOLERANCE * abs(before) if tolerance is None else tolerance
    least = before - tolerance
    simple = round_weights(drop_terms(tree, score, losses, least), task, score, least)
    return Explanation(losses, before, tolerance, simple, float(score([simple])[0].mean()))


def term_losses(tree: Tree, score: Scorer) -> tuple[float, list[TermLoss]]:
    """The mean score, and for each weight that is not zero what it loses without it."""
    found = places(tree)
    returns = score([tree, *(_without(tree, [place]) for place in found)])
    losses = returns[0] - returns[1:]
    errors = losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1]) if losses.shape[1] > 1 else np.zeros(len(losses))
    terms = zip(found, losses.mean(axis=1), errors, strict=True)
    return float(returns[0].mean()), [TermLoss(place, float(m), float(e)) for place, m, e in terms]


def drop_terms(tree: Tree, score: Scorer, losses: Sequence[TermLoss], least: float) -> Tree:
    """Without as many terms as keep the mean score at ``least``; those that are missed least go first."""
    waiting = [t.place for t in sorted(losses, key=lambda t: t.loss)]
    dropped: list[Place] = []
    stride = max(1, len(waiting) // 2)
    while waiting:
        tried = _without(tree, [*dropped, *waiting[:stride]])
        if score([tried])[0].mean() >= least:
            dropped += waiting[:stride]
            waiting = waiting[stride:]
        elif stride > 1:
            stride //= 2
        else:
            waiting = waiting[1:]
    return _without(tree, dropped)


def round_weights(tree: Tree, task: Task, score: Scorer, least: float) -> Tree:
    """With as few digits in each condition and law as keep the mean score at ``least``, three at most."""
    laws = sorted({place.node for place in places(tree) if place.node < 0}, reverse=True)
    for node in [*range(tree.n_splits), *laws]:
        tried = [_rounded(tree, node, task, digits) for digits in range(1, _MOST_DIGITS + 1)]
        means = score(tried).mean(axis=1)
        tree = next((t for t, mean in zip(tried, means, strict=True) if mean >= least), tree)
    return tree


def _without(tree: Tree, dropped: Sequence[Place]) -> Tree:
    return with_weights(tree, dict.fromkeys(dropped, 0.0))


def _rounded(tree: Tree, node: int, task: Task, digits: int) -> Tree:
    if node >= 0:
        return with_split(tree, node, *condition(tree, node, task).rounded(digits).split(task.n_features))
    law = [place for place in places(tree) if place.node == node]
    return with_weights(tree, {place: float(f"{weight(tree, place):.{digits}g}") for place in law})


def with_split(tree: Tree, split: int, weights: Floats, threshold: float) -> Tree:
    """The tree with another condition at a split, weights (n_features,) and a threshold."""
    all_weights, thresholds = tree.weights.copy(), tree.thresholds.copy()
    all_weights[split], thresholds[split] = weights, threshold
    return tree._replace(weights=all_weights, thresholds=thresholds)


def told_node(tree: Tree, task: Task, node: int) -> str:
    """The condition of a split, or what a leaf (~leaf) does, as a person reads it."""
    if node < 0:
        return tree.leaves.label(~node, task)
    if not tree.weights[node].any():
        return "always" if tree.thresholds[node] > 0 else "never"
    return condition(tree, node, task).text(task.features)
