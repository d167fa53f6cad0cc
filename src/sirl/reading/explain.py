"""Which terms of a policy's conditions matter, and how simple they can be made before the score notices.

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

_MOST_DIGITS = 3


class Explanation(NamedTuple):
    """What was found out about the conditions of a policy."""

    losses: list[TermLoss]
    """Of each term, if it alone is left out."""
    score: float
    """Mean score of the policy on the episodes that it was explained by."""
    simple: Tree
    """Without the terms that can be spared, and with few digits."""
    simple_score: float


class TermLoss(NamedTuple):
    """What it costs to leave out one term."""

    split: int
    feature: int
    loss: float
    """How far the mean score falls; negative if it rises."""
    error: float
    """Standard error of the loss, over paired episodes."""


def explain(tree: Tree, task: Task, score: Scorer, tolerance: float) -> Explanation:
    """Which terms matter, and the simplest conditions whose mean score is at most a tolerance lower."""
    losses = term_losses(tree, score)
    before = float(score([tree])[0].mean())
    simple = round_weights(drop_terms(tree, score, losses, tolerance), task, score, before - tolerance)
    return Explanation(losses, before, simple, float(score([simple])[0].mean()))


def term_losses(tree: Tree, score: Scorer) -> list[TermLoss]:
    """For each weight that is not zero, what the score loses without it."""
    terms = _terms(tree)
    returns = score([tree, *(_without(tree, [term]) for term in terms)])
    losses = returns[0] - returns[1:]
    errors = losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1]) if losses.shape[1] > 1 else np.zeros(len(losses))
    means = losses.mean(axis=1)
    return [TermLoss(*term, float(m), float(e)) for term, m, e in zip(terms, means, errors, strict=True)]


def drop_terms(tree: Tree, score: Scorer, losses: Sequence[TermLoss], tolerance: float) -> Tree:
    """Without as many terms as the score can spare, in all no more than a tolerance; the least missed go first."""
    least = float(score([tree])[0].mean()) - tolerance
    waiting = [(t.split, t.feature) for t in sorted(losses, key=lambda t: t.loss)]
    dropped: list[tuple[int, int]] = []
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
    """With as few digits in each condition as keep the mean score at ``least``, three at most."""
    for split in range(tree.n_splits):
        tried = [_rounded(tree, split, task, digits) for digits in range(1, _MOST_DIGITS + 1)]
        means = score(tried).mean(axis=1)
        tree = next((t for t, mean in zip(tried, means, strict=True) if mean >= least), tree)
    return tree


def _terms(tree: Tree) -> list[tuple[int, int]]:
    return [(int(split), int(feature)) for split, feature in np.argwhere(tree.weights)]


def _without(tree: Tree, terms: Sequence[tuple[int, int]]) -> Tree:
    weights = tree.weights.copy()
    for split, feature in terms:
        weights[split, feature] = 0.0
    return tree._replace(weights=weights)


def _rounded(tree: Tree, split: int, task: Task, digits: int) -> Tree:
    return with_split(tree, split, *condition(tree, split, task).rounded(digits).split(task.n_features))


def with_split(tree: Tree, split: int, weights: Floats, threshold: float) -> Tree:
    """The tree with another condition at a split, weights (n_features,) and a threshold."""
    all_weights, thresholds = tree.weights.copy(), tree.thresholds.copy()
    all_weights[split], thresholds[split] = weights, threshold
    return tree._replace(weights=all_weights, thresholds=thresholds)
