"""One policy as a tree: splits that divide the states, and leaves that act.

A split sends an observation x to its first child if ``weights · x < threshold``, else to its second. A tree
is parallel arrays, its splits in pre-order, root first. Leaves come in kinds; the paper's is a row of
Q-values over a menu of actions, a fixed action is the other one. A new kind is a new class here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.spaces import Menu


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
        """What a person reads at a leaf."""
        value = self.values[leaf]
        if value.ndim == 0:
            where = np.flatnonzero(menu.values == value)
            return menu.names[int(where[0])] if where.size else f"{value}"
        return "[" + ", ".join(f"{v:.4g}" for v in value) + "]"


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
