"""One policy as a tree: splits that divide the states, and leaves that act.

A split sends an observation x to its first child if ``weights · x < threshold``, else to its second. A tree
is parallel arrays, its splits in pre-order, root first. Leaves come in kinds; the paper's is a row of
Q-values over a menu of actions, a fixed action is the other one. A new kind is a new class here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.model.task import Menu


class QLeaves(NamedTuple):
    """Leaves that hold a Q-value for each action of a menu, and take the best."""

    q_values: NDArray[np.float64]
    """(n_leaves, n_actions)"""

    def choices(self) -> NDArray[np.int64]:
        """The menu's action that each leaf takes, (n_leaves,)."""
        return np.asarray(np.argmax(self.q_values, axis=1))

    def actions(self, menu: Menu) -> NDArray[Any]:
        """What each leaf gives to the environment, (n_leaves, *action_shape)."""
        return np.asarray(menu.values[self.choices()])

    def label(self, leaf: int, menu: Menu) -> str:
        """What a person reads at a leaf."""
        return menu.names[int(self.choices()[leaf])]


class FixedLeaves(NamedTuple):
    """Leaves that hold one action each, as the paper's printed trees do."""

    values: NDArray[Any]
    """(n_leaves, *action_shape)"""

    def actions(self, menu: Menu) -> NDArray[Any]:
        """What each leaf gives to the environment, (n_leaves, *action_shape)."""
        return self.values.astype(menu.values.dtype)

    def label(self, leaf: int, menu: Menu) -> str:
        """What a person reads at a leaf: the name of the menu's action that is the same to two digits, if any."""
        value = self.values[leaf]
        near = np.abs(menu.values - value).reshape(len(menu.values), -1).max(axis=1) < 0.005
        if near.any():
            return menu.names[int(near.argmax())]
        return f"[{', '.join(f'{v:.4g}' for v in np.atleast_1d(value))}]"


Leaves = QLeaves | FixedLeaves


class Tree(NamedTuple):
    """Splits and leaves of one policy."""

    weights: NDArray[np.float64]
    """(n_splits, n_features)"""
    thresholds: NDArray[np.float64]
    """(n_splits,)"""
    children: NDArray[np.int32]
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

    def walk(self, observations: NDArray[np.float64]) -> NDArray[np.int64]:
        """The leaf that each observation (n, n_features) reaches, (n,)."""
        at = np.full(len(observations), self.root, dtype=np.int64)
        while (going := np.flatnonzero(at >= 0)).size:
            split = at[going]
            holds = _weigh(self.weights[split], observations[going]) < self.thresholds[split]
            at[going] = self.children[split, np.where(holds, 0, 1)]
        return ~at


def _weigh(weights: NDArray[np.float64], observations: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted sum of each row's features, added from the first feature to the last as the kernels do."""
    total = np.zeros(len(weights))
    for feature in range(weights.shape[1]):
        total += weights[:, feature] * observations[:, feature]
    return total


def simplify(tree: Tree, menu: Menu) -> Tree:
    """The same policy without what changes nothing: every observation still gets the action it got.

    Left out are conditions whose outcome is known on the way to them (no weights at all, or the same weighted sum
    compared before), and conditions whose two branches come to the same action; there the first leaf stays.
    """
    actions = tree.leaves.actions(menu)
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
        if on_yes < 0 and on_no < 0 and np.array_equal(actions[~on_yes], actions[~on_no]):
            del kept[place:]
            return on_yes
        kept[place] = _Kept(node, on_yes, on_no)
        return place

    root = visit(tree.root, {})
    order = [~child for split in kept for child in (split.if_true, split.if_false) if child < 0] or [~root]
    leaf_numbers = {leaf: number for number, leaf in enumerate(sorted(order))}
    children = [[c if c >= 0 else ~leaf_numbers[~c] for c in (k.if_true, k.if_false)] for k in kept]
    splits = np.array([k.split for k in kept], dtype=np.int64)
    leaves = type(tree.leaves)(tree.leaves[0][sorted(order)])
    return Tree(
        tree.weights[splits], tree.thresholds[splits], np.array(children, dtype=np.int32).reshape(-1, 2), leaves
    )


class _Kept(NamedTuple):
    """A split that stays: its old number, and its children by their new ones (~ the old leaf)."""

    split: int
    if_true: int
    if_false: int
