"""A small tree fitted to what a network would do: splits of one feature or of many, leaves with mean Q-values.

The tree grows at the leaf where a split helps most until it has as many leaves as it may. States weigh as much as a
wrong action would cost there by the network's own Q-values, as in VIPER (Bastani et al., 2018), so the tree spends its
splits where they matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.arrays import Floats
from sirl.model.leaves import QLeaves
from sirl.model.menu import Menu
from sirl.model.tree import Tree

_FEWEST = 10
"""States on each side of a split."""
_NEWTON_STEPS = 12
_RIDGE = 1e-3
_SLIGHT = 0.02
"""A feature that moves the weighted sum by less than this part is left out."""


class _Cut(NamedTuple):
    """A split that could be made."""

    gain: float
    """By how much it lowers the weighted Gini impurity."""
    weights: Floats
    threshold: float


class _Node(NamedTuple):
    """A leaf so far: the states that reach it, and the best way to split them."""

    states: NDArray[np.int64]
    cut: _Cut | None

    @property
    def gain(self) -> float:
        """What that split is worth."""
        return 0.0 if self.cut is None else self.cut.gain


def fit(observations: Floats, values: Floats, menu: Menu, max_leaves: int, oblique: bool) -> Tree:
    """A tree for states (m, n_features) in which a network gives the menu's actions these values (m, n_actions)."""
    labels = values.argmax(axis=1)
    costs = values.max(axis=1) - values.min(axis=1)
    costs = costs / costs.mean() if costs.any() else np.ones(len(costs))
    shares = np.eye(values.shape[1])[labels] * costs[:, None]

    def look(states: NDArray[np.int64]) -> _Node:
        return _Node(states, _best_cut(observations[states], shares[states], oblique))

    nodes: dict[int, _Node] = {1: look(np.arange(len(observations)))}
    cuts: dict[int, _Cut] = {}
    while len(nodes) < max_leaves:  # a node's children have twice its number, and one more
        number = max(nodes, key=lambda n: nodes[n].gain)
        states, cut = nodes[number]
        if cut is None:
            break
        cuts[number] = cut
        holds = observations[states] @ cut.weights < cut.threshold
        del nodes[number]
        nodes |= {2 * number: look(states[holds]), 2 * number + 1: look(states[~holds])}
    means = {number: values[node.states].mean(axis=0) for number, node in nodes.items()}
    return _to_tree(cuts, means, observations.shape[1], menu)


def _best_cut(observations: Floats, shares: Floats, oblique: bool) -> _Cut | None:
    """The split that separates what the network would do best; None if none helps."""
    total = shares.sum(axis=0)
    if len(observations) < 2 * _FEWEST or (total > 0).sum() < 2:
        return None
    directions = list(np.eye(observations.shape[1]))
    if oblique:
        directions += [
            d for k in np.flatnonzero(total).tolist() if (d := _direction(observations, shares, k)) is not None
        ]
    cuts = [_cut_along(direction, observations, shares) for direction in directions]
    best = max(cuts, key=lambda cut: cut.gain)
    return best if best.gain > 1e-9 * total.sum() else None


def _cut_along(direction: Floats, observations: Floats, shares: Floats) -> _Cut:
    """The best threshold for a weighted sum."""
    sums = observations @ direction
    order = np.argsort(sums, kind="stable")
    ranked, left = sums[order], np.cumsum(shares[order], axis=0)[:-1]
    total = shares.sum(axis=0)
    gains = _purity(left) + _purity(total - left) - _purity(total[None])
    places = np.arange(1, len(sums))
    gains[(ranked[1:] <= ranked[:-1]) | (places < _FEWEST) | (places > len(sums) - _FEWEST)] = -np.inf
    at = int(np.argmax(gains))
    threshold = _rounded((ranked[at] + ranked[at + 1]) / 2.0, 4)
    if not ranked[at] < threshold <= ranked[at + 1]:
        threshold = float(ranked[at + 1])
    return _Cut(float(gains[at]), direction, threshold)


def _purity(shares: Floats) -> Floats:
    """Sum of squares over sum, by row (n, n_actions): the larger, the purer; minus it is the Gini impurity."""
    return np.asarray((shares**2).sum(axis=1) / np.maximum(shares.sum(axis=1), 1e-300))


def _direction(observations: Floats, shares: Floats, action: int) -> Floats | None:
    """Weights that tell an action from the others: ridge logistic regression by Newton's method."""
    spread = observations.std(axis=0)
    used = spread > 1e-12
    varying = observations[:, used]
    x = np.column_stack([(varying - varying.mean(axis=0)) / spread[used], np.ones(len(shares))])
    costs, is_it = shares.sum(axis=1), shares[:, action] > 0
    w, penalty = np.zeros(x.shape[1]), _RIDGE * len(x) * np.eye(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30, 30)))
        curve = (x * (costs * np.maximum(p * (1 - p), 1e-6))[:, None]).T @ x + penalty
        w += np.linalg.solve(curve, x.T @ (costs * (is_it - p)) - penalty @ w)
    scaled = w[:-1]
    if not np.abs(scaled).max(initial=0.0) > 0 or not np.isfinite(scaled).all():
        return None
    scaled = np.where(np.abs(scaled) < _SLIGHT * np.abs(scaled).sum(), 0.0, scaled)
    direction = np.zeros(len(spread))
    direction[used] = scaled / spread[used]
    direction /= np.abs(direction).max()
    return np.array([_rounded(value, 3) for value in direction])


def _rounded(value: float, digits: int) -> float:
    """To so many significant digits, as a person would write it."""
    return float(f"{value:.{digits}g}")


def _to_tree(cuts: dict[int, _Cut], means: dict[int, Any], n_features: int, menu: Menu) -> Tree:
    """Splits and leaves in pre-order."""
    splits: list[int] = []
    leaves: list[int] = []
    pending = [1]
    while pending:
        number = pending.pop()
        if number in cuts:
            splits.append(number)
            pending += [2 * number + 1, 2 * number]
        else:
            leaves.append(number)
    places = {n: i for i, n in enumerate(splits)} | {n: ~i for i, n in enumerate(leaves)}
    return Tree(
        np.array([cuts[n].weights for n in splits]).reshape(-1, n_features),
        np.array([cuts[n].threshold for n in splits], dtype=np.float64),
        np.array([[places[2 * n], places[2 * n + 1]] for n in splits], dtype=np.int32).reshape(-1, 2),
        QLeaves(np.array([means[n] for n in leaves], dtype=np.float64), menu),
    )
