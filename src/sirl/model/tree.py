"""One policy as a tree: splits that divide the states, and leaves that act.

A split sends an observation x to its first child if ``weights · x < threshold``, else to its second. A tree
is parallel arrays, its splits in pre-order, root first. Leaves come in kinds (``leaves.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sirl.arrays import Actions, Floats, Ints, Nodes
from sirl.model.leaves import Leaves


class Tree(NamedTuple):
    """Splits and leaves of one policy."""

    weights: Floats
    """(n_splits, n_features)"""
    thresholds: Floats
    """(n_splits,)"""
    children: Nodes
    """(n_splits, 2): where to go if the condition holds, and if not; a split's number, or ~leaf."""
    leaves: Leaves

    @property
    def n_splits(self) -> int:
        """Conditions in the tree."""
        return len(self.thresholds)

    @property
    def n_leaves(self) -> int:
        """Leaves in the tree."""
        return self.n_splits + 1

    @property
    def root(self) -> int:
        """Where a walk starts: split 0, or leaf ~0 in a tree without splits."""
        return 0 if self.n_splits else ~0

    @property
    def depth(self) -> int:
        """Conditions on the longest path."""
        return max(depth for _, depth in self.nodes())

    def nodes(self) -> Iterator[tuple[int, int]]:
        """Every node (a split's number or ~leaf) with its depth, in pre-order."""
        pending = [(self.root, 0)]
        while pending:
            node, depth = pending.pop()
            yield node, depth
            if node >= 0:
                yes, no = self.children[node]
                pending += [(int(no), depth + 1), (int(yes), depth + 1)]

    def walk(self, observations: Floats) -> Ints:
        """The leaf that each observation (n, n_features) reaches, (n,)."""
        at = np.full(len(observations), self.root, dtype=np.int64)
        while (going := np.flatnonzero(at >= 0)).size:
            split = at[going]
            holds = _weigh(self.weights[split], observations[going]) < self.thresholds[split]
            at[going] = self.children[split, np.where(holds, 0, 1)]
        return ~at

    def act(self, observations: Floats) -> Actions:
        """The actions (n, *action_shape) for observations (n, n_features)."""
        return self.leaves.act(self.walk(observations), observations)


def used_features(tree: Tree) -> set[int]:
    """The features that a tree looks at, in its conditions and in its leaves."""
    formulas = [tree.leaves.formula(leaf) for leaf in range(tree.n_leaves)]
    in_leaves = {f for formula in formulas for total in formula.sums for term in total.terms for f in term.features}
    return in_leaves | {int(feature) for feature in np.flatnonzero(tree.weights.any(axis=0))}


def path_to(tree: Tree, leaf: int) -> list[int]:
    """The nodes (splits, and ~leaf at the end) that lead to a leaf, root first."""
    parents = {child: split for split, pair in enumerate(tree.children.tolist()) for child in pair}
    path = [~leaf]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return path[::-1]


def _weigh(weights: Floats, observations: Floats) -> Floats:
    """The weighted sum of each row's features, added from the first feature to the last as the kernels do."""
    total = np.zeros(len(weights))
    for feature in range(weights.shape[1]):
        total += weights[:, feature] * observations[:, feature]
    return total


def simplify(tree: Tree) -> Tree:
    """The same policy without what changes nothing: every observation still gets the action it got.

    Left out are conditions whose outcome is known on the way to them (no weights at all, or the same weighted sum
    compared before), and conditions whose two branches come to leaves that act alike; there the first leaf stays.
    """
    kept: list[_Kept] = []

    def visit(node: int, known: dict[bytes, tuple[float, float]]) -> int:
        """Rebuild below a node, with what is known of weighted sums (at least, below); its new number."""
        if node < 0:
            return node
        weights, threshold = tree.weights[node], float(tree.thresholds[node])
        row = weights.tobytes()
        low, high = known.get(row, (-np.inf, np.inf)) if weights.any() else (0.0, math.nextafter(0.0, 1.0))
        yes, no = tree.children[node].tolist()
        if threshold >= high:
            return visit(yes, known)
        if threshold <= low:
            return visit(no, known)
        place = len(kept)
        kept.append(_Kept(node, 0, 0))
        on_yes = visit(yes, known | {row: (low, threshold)})
        on_no = visit(no, known | {row: (threshold, high)})
        if on_yes < 0 and on_no < 0 and tree.leaves.same(~on_yes, ~on_no):
            del kept[place:]
            return on_yes
        kept[place] = _Kept(node, on_yes, on_no)
        return place

    root = visit(tree.root, {})
    order = [~child for split in kept for child in (split.if_true, split.if_false) if child < 0] or [~root]
    leaf_numbers = {leaf: number for number, leaf in enumerate(sorted(order))}
    children = [[c if c >= 0 else ~leaf_numbers[~c] for c in (k.if_true, k.if_false)] for k in kept]
    splits = np.array([k.split for k in kept], dtype=np.int64)
    return Tree(
        tree.weights[splits],
        tree.thresholds[splits],
        np.array(children, dtype=np.int32).reshape(-1, 2),
        tree.leaves.take(sorted(order)),
    )


class _Kept(NamedTuple):
    """A split that stays: its old number, and its children by their new ones (~ the old leaf)."""

    split: int
    if_true: int
    if_false: int
