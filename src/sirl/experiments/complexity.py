"""How large a tree is, and what its decisions cost.

A split that is visited costs one multiply-accumulate for each weight that is not zero, and one for its bias. The
paper's InvertedPendulum tree has four weights and a bias at its only split and plays 1000 steps: its 5.0e3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.arrays import Ints
from sirl.model.tree import Tree


class Size(NamedTuple):
    """A tree in numbers."""

    splits: int
    leaves: int
    depth: int
    weights: int
    """That are not zero."""


def size(tree: Tree) -> Size:
    """A tree in numbers."""
    return Size(tree.n_splits, tree.n_leaves, tree.depth, int(np.count_nonzero(tree.weights)))


def decision_costs(tree: Tree) -> Ints:
    """Multiply-accumulates of a decision that ends in each leaf, (n_leaves,)."""
    own = np.count_nonzero(tree.weights, axis=1) + 1
    costs = np.zeros(tree.n_leaves, dtype=np.int64)
    pending = [(tree.root, 0)]
    while pending:
        node, before = pending.pop()
        if node < 0:
            costs[~node] = before
        else:
            pending += [(int(child), before + int(own[node])) for child in tree.children[node]]
    return costs
