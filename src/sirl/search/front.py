"""The front of a run: for each size the best policy, from the smallest to the best, and which of them is chosen.

The size of a policy is how many numbers a person reads in it. All have played the same starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.model.laws import WeighingLeaves
from sirl.model.policy import Policy
from sirl.model.tree import Tree


class Point(NamedTuple):
    """A policy, and what it has shown."""

    policy: Policy
    returns: Floats
    """(n_episodes,) on the first starts of the run's validation."""

    @property
    def size(self) -> int:
        """Numbers that a person reads in it."""
        return n_numbers(self.policy.tree)

    @property
    def score(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def error(self) -> float:
        """Standard error of the score."""
        n = len(self.returns)
        return float(self.returns.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def n_numbers(tree: Tree) -> int:
    """Numbers in a tree that are not zero: of conditions weights and thresholds, of laws weights and constants.

    A leaf that always takes the same action of a menu, or the same choice, has none, and neither has a law that is
    another one in the mirror.
    """
    in_laws = 0
    for leaf in range(tree.n_leaves) if tree.leaves.menu is None else ():
        law = tree.leaves.formula(leaf)
        if law.choices is None or any(total.terms for total in law.sums):
            told = tree.leaves.reflected(leaf) if isinstance(tree.leaves, WeighingLeaves) else {}
            sums = [total for output, total in enumerate(law.sums) if output not in told]
            in_laws += sum(len(total.terms) + (total.constant != 0) for total in sums)
    return int(np.count_nonzero(tree.weights) + np.count_nonzero(tree.thresholds)) + in_laws


Front = tuple[Point, ...]
"""The smallest first; each is better than all that are smaller."""


def with_point(front: Front, point: Point) -> Front:
    """The front after one more policy has been seen."""
    found: list[Point] = []
    for one in sorted([*front, point], key=lambda p: (p.size, -p.score)):
        if not found or one.score > found[-1].score:
            found.append(one)
    return tuple(found)


def choose(front: Front, best: Point, loss: float) -> Point:
    """The smallest policy of a front whose score is at most a share ``loss`` below that of the best, or the best."""
    least = best.score - loss * abs(best.score)
    return next((point for point in front if point.score >= least), best)


def gain(one: Point, other: Point) -> tuple[float, float]:
    """How much better the other policy is on the starts that both have played, and the standard error of that."""
    n = min(len(one.returns), len(other.returns))
    gains = other.returns[:n] - one.returns[:n]
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
