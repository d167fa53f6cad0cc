"""How large a tree is, what its decisions cost, and what is left without the parts that it hardly visits.

A split that is visited costs one multiply-accumulate for each weight that is not zero, and one for its bias; a leaf
that follows a law costs one for each factor of its terms, and others cost nothing. The paper's InvertedPendulum tree
has four weights and a bias at its only split and plays 1000 steps: its 5.0e3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.arrays import Ints
from sirl.model.laws import ONE, Affine, Scores
from sirl.model.tree import Tree, simplify

LEAST_SHARE = 0.005
"""Of a parent's visits: a child with less is pruned, as the paper does before it prints a tree."""


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


def prune_by_visits(tree: Tree, leaf_visits: Ints) -> Tree:
    """A tree without the nodes that get less than their share of the parent's visits; leaf_visits: (n_leaves,)."""
    splits = np.zeros(tree.n_splits, dtype=np.int64)
    weights, thresholds = tree.weights.copy(), tree.thresholds.copy()
    for split in range(tree.n_splits - 1, -1, -1):  # pre-order: children come after their parent
        visits = [splits[c] if c >= 0 else leaf_visits[~c] for c in tree.children[split].tolist()]
        splits[split] = sum(visits)
        if splits[split] and min(visits) < LEAST_SHARE * splits[split]:
            weights[split], thresholds[split] = 0.0, 1.0 if visits[0] > visits[1] else -1.0  # always, or never
    return simplify(tree._replace(weights=weights, thresholds=thresholds))


def decision_costs(tree: Tree) -> Ints:
    """Multiply-accumulates of a decision that ends in each leaf, (n_leaves,)."""
    own = np.count_nonzero(tree.weights, axis=1) + 1
    costs = _leaf_costs(tree)
    pending = [(tree.root, 0)]
    while pending:
        node, before = pending.pop()
        if node < 0:
            costs[~node] += before
        else:
            pending += [(int(child), before + int(own[node])) for child in tree.children[node]]
    return costs


def _leaf_costs(tree: Tree) -> Ints:
    """Multiply-accumulates of each leaf, (n_leaves,)."""
    law = tree.leaves.law()
    if not isinstance(law, Affine | Scores):
        return np.zeros(tree.n_leaves, dtype=np.int64)
    factors = 1 + (law.terms[:, :, 1] != ONE)
    return np.asarray(((law.weights != 0).sum(axis=1) * factors).sum(axis=1), dtype=np.int64)
