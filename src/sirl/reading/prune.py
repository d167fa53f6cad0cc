"""A smaller tree that does nearly the same: splits that hardly matter are bypassed.

By visits, as the paper does before it prints a tree: a node that got under 0.5 % of its parent's visits goes, and its
sibling takes the parent's place. By reward: a split goes as long as the score, on the same starts, falls by no more
than a tolerance; a split above two leaves that goes merges them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.model.tree import Tree, simplify
from sirl.reading.playing import Visits
from sirl.reading.rebuild import rebuild

LEAST_SHARE = 0.005
"""Of the parent's visits (paper, supplement, Best decision trees)."""

Scorer = Callable[[Sequence[Tree]], Floats]
"""What trees score, each from the same starts: (n_trees, n_episodes)."""


class Pruned(NamedTuple):
    """A tree and what it is without."""

    tree: Tree
    bypassed: dict[int, int]
    """Splits of the tree before, each with the side (0: its condition holds, 1: not) that took its place."""


def prune_by_visits(tree: Tree, visits: Visits, least: float = LEAST_SHARE) -> Pruned:
    """Without nodes that got less than a share of their parent's visits."""
    bypassed = {}
    for split in range(tree.n_splits):
        shares = [visits.of(child) / max(1, visits.of(split)) for child in tree.children[split].tolist()]
        if visits.of(split) and min(shares) < least:
            bypassed[split] = int(np.argmax(shares))
    return _without(tree, bypassed)


def prune_by_reward(tree: Tree, score: Scorer, tolerance: float) -> Pruned:
    """Without splits that the score can spare: each time the one that takes most leaves along, then the best."""
    bypassed: dict[int, int] = {}
    least = float(score([tree])[0].mean()) - tolerance
    while True:
        left = _reached(tree, bypassed)
        tried = [bypassed | {split: side} for split in left for side in (0, 1)]
        if not tried:
            return _without(tree, bypassed)
        trees = [_without(tree, choice).tree for choice in tried]
        means = score(trees).mean(axis=1)
        fine = [n for n, mean in enumerate(means) if mean >= least]
        if not fine:
            return _without(tree, bypassed)
        bypassed = tried[min(fine, key=lambda n: (trees[n].n_leaves, -means[n]))]


def limit_leaves(tree: Tree, score: Scorer, most: int, bypassed: dict[int, int] | None = None) -> Pruned:
    """With at most so many leaves: each time without the split whose loss costs least, some being bypassed already."""
    bypassed = bypassed or {}
    while (now := _without(tree, bypassed)).tree.n_leaves > most:
        tried = [bypassed | {split: side} for split in _reached(tree, bypassed) for side in (0, 1)]
        means = score([_without(tree, choice).tree for choice in tried]).mean(axis=1)
        bypassed = tried[int(means.argmax())]
    return now


def _reached(tree: Tree, bypassed: Mapping[int, int]) -> list[int]:
    """The splits that are still there."""
    found, pending = [], [tree.root]
    while pending:
        node = pending.pop()
        if node >= 0 and node in bypassed:
            pending.append(int(tree.children[node, bypassed[node]]))
        elif node >= 0:
            found.append(node)
            pending += tree.children[node].tolist()
    return found


def _without(tree: Tree, bypassed: dict[int, int]) -> Pruned:
    def keep(node: int, _: None) -> int | tuple[None, None]:
        return int(tree.children[node, bypassed[node]]) if node in bypassed else (None, None)

    return Pruned(simplify(rebuild(tree, None, keep)), bypassed)
