"""Many trees packed in flat arrays, and how an observation finds its leaf in one.

The splits of all trees lie one after another, and so do the leaves: tree t owns the splits
``first_split[t]:first_split[t + 1]`` and the rows ``first_leaf[t]:first_leaf[t + 1]`` of a table of
Q-values (n_leaves, n_actions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats, Nodes
from sirl.jit import part
from sirl.model.leaves import Leaves
from sirl.model.tree import Tree


class Forest(NamedTuple):
    """The splits of many trees."""

    weights: Floats
    """(n_splits, n_features)"""
    thresholds: Floats
    """(n_splits,)"""
    children: Nodes
    """(n_splits, 2): a split of the forest, or ~leaf of the forest. A tree's splits are in pre-order."""
    roots: Nodes
    """(n_trees,): where a walk starts, a split or, in a tree without any, ~leaf."""
    first_split: Nodes
    """(n_trees + 1,)"""
    first_leaf: Nodes
    """(n_trees + 1,)"""

    @property
    def n_trees(self) -> int:
        """Trees in the forest."""
        return len(self.roots)

    @property
    def n_leaves(self) -> int:
        """Leaves in the forest, rows of its table of Q-values."""
        return int(self.first_leaf[-1])

    def part(self, start: int, stop: int) -> Forest:
        """The trees ``start:stop`` as a forest of their own."""
        split, leaf = self.first_split[start], self.first_leaf[start]
        rows = slice(split, self.first_split[stop])
        return Forest(
            self.weights[rows],
            self.thresholds[rows],
            _renumber(self.children[rows], -split, -leaf),
            _renumber(self.roots[start:stop], -split, -leaf),
            self.first_split[start : stop + 1] - split,
            self.first_leaf[start : stop + 1] - leaf,
        )

    def tree(self, index: int, leaves: Leaves) -> Tree:
        """One tree, with its leaves given."""
        one = self.part(index, index + 1)
        return Tree(one.weights.copy(), one.thresholds.copy(), one.children, leaves)


def _renumber(nodes: Nodes, splits: int, leaves: int) -> Nodes:
    """Nodes (splits, or ~leaf) after their splits and leaves have moved by so many places."""
    return np.where(nodes >= 0, nodes + splits, nodes - leaves).astype(np.int32)


def pack(trees: Sequence[Tree]) -> Forest:
    """Trees as a forest."""
    n_splits = np.array([tree.n_splits for tree in trees], dtype=np.int32)
    first_split = np.concatenate([[0], np.cumsum(n_splits)]).astype(np.int32)
    first_leaf = np.concatenate([[0], np.cumsum(n_splits + 1)]).astype(np.int32)
    moves = list(zip(trees, first_split[:-1], first_leaf[:-1], strict=True))
    return Forest(
        np.concatenate([t.weights for t in trees]),
        np.concatenate([t.thresholds for t in trees]),
        np.concatenate([_renumber(t.children, split, leaf) for t, split, leaf in moves]),
        np.concatenate([_renumber(np.array([t.root], dtype=np.int32), split, leaf) for t, split, leaf in moves]),
        first_split,
        first_leaf,
    )


@part
def walk(forest: Forest, tree: int, observation: Any) -> int:
    """The forest's leaf that an observation (n_features,) reaches in a tree."""
    node = forest.roots[tree]
    while node >= 0:
        total = 0.0
        for feature in range(len(observation)):
            total += forest.weights[node, feature] * observation[feature]
        node = forest.children[node, 0 if total < forest.thresholds[node] else 1]
    return int(~node)
