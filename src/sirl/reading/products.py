"""Where sums of products and of derived features stay below bounds: branch and bound over boxes, by linear programming.

Within a box each product x·y lies between four planes (McCormick), so that a linear program either shows that no state
of the box will do, or gives a state that may: it is tried, and else the box is cut where a product is furthest from its
planes. A derived feature that is not linear lies within what its formula comes to on the box (interval arithmetic). A
feature without bounds has fewer planes, so that a proof may not come to an end: then the answer is open.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from sirl.arrays import Flags, Floats
from sirl.keys import Stream, normals, root, uniforms
from sirl.model.derived import Definition, run
from sirl.model.interval import Interval
from sirl.reading.region import MARGIN, PRECISE, Region, Row

MOST_BOXES = 2000
_MOST_FREE_BOXES = 200
"""Until a search is given up; sooner where a feature has no bounds, since it seldom ends then."""
_SAMPLES = 1024
_REACH = 10.0
"""How far states are sampled along a line that has no end."""
_SLACK = 1e-9
"""By how much more than a linear program says a box reaches, relative to its size."""

Pair = tuple[int, int]
Gaps = dict[tuple[int, ...], float]
"""Features that are multiplied, or that a formula uses, and how wrong what they come to is."""


class ProductRow(NamedTuple):
    """A row with products of two features: ``weights · x + products · (x_i · x_j) < bound``, or ``≤``."""

    row: Row
    products: Mapping[Pair, float]


class Search(NamedTuple):
    """How a search ended."""

    state: Floats | None
    """A state that will do, (n_features,)."""
    is_proof: bool
    """Whether, if there is none, that is proved."""
    free: tuple[int, ...] = ()
    """Features in products and formulas that have no bounds there, which may be why it is not."""


def find_state(region: Region, rows: Sequence[ProductRow], does: Callable[[Floats], Floats | None]) -> Search:
    """A state of a region in which all rows hold, proved to be absent, or neither.

    Args:
        region: linear conditions, and the bounds of the features.
        rows: what must hold besides.
        does: the state, perhaps with fewer digits, if it will do when it is played; None if not.
    """
    start = region.inner_state()
    if start is None:
        return Search(None, True)
    samples = region.task.extended(_samples(region, start)[:, : region.task.n_observed])
    holding = samples[_hold([*rows, *(ProductRow(row, {}) for row in region.rows)], samples)]
    for state in holding[:8]:
        if (found := does(state)) is not None:
            return Search(found, True)
    return _branch_and_bound(region, rows, does)


def curved_features(region: Region, rows: Sequence[ProductRow]) -> dict[int, Definition]:
    """The derived features that conditions and rows need and that are not linear, by place."""
    used = {int(f) for row in (*region.rows, *(row.row for row in rows)) for f in np.flatnonzero(row.weights)}
    return region.curved(used | {feature for row in rows for pair in row.products for feature in pair})


def _samples(region: Region, start: Floats) -> Floats:
    """States of a region, each at random on a line through the one before (hit and run), (n, n_features).

    A derived feature goes its own way there, as if it were observed.
    """
    matrix, bounds = region.matrix()
    one = np.eye(len(start))
    low, high = ([np.inf if b is None else sign * b for b in side] for sign, side in _sides(region))
    matrix, bounds = np.vstack([matrix, -one, one]), np.concatenate([bounds, low, high])
    key, n = root(0, Stream.READING, 1), len(start)
    ways = normals(key, np.arange(_SAMPLES * n)).reshape(_SAMPLES, n)
    parts = uniforms(key, 2 * _SAMPLES * n + np.arange(_SAMPLES)).tolist()
    states, at = np.empty((_SAMPLES, n)), start
    for sample, way in enumerate(ways):
        slopes, rooms = matrix @ way, bounds - matrix @ at
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = rooms / slopes
        reach = _REACH * 2.0 ** (sample % 8)
        last = min(np.min(ends[slopes > 0], initial=np.inf), reach)
        first = max(np.max(ends[slopes < 0], initial=-np.inf), -reach)
        if first < last:
            at = at + way * (first + (last - first) * parts[sample])
        states[sample] = at
    return states


def _sides(region: Region) -> tuple[tuple[float, list[float | None]], tuple[float, list[float | None]]]:
    return (-1.0, region.task.feature_low), (1.0, region.task.feature_high)


def _hold(rows: Sequence[ProductRow], states: Floats) -> Flags:
    """Which of the states (n, n_features) satisfy all rows, (n,)."""
    good = np.ones(len(states), dtype=bool)
    for row, products in rows:
        sums = states @ row.weights
        for (one, other), weight in products.items():
            sums = sums + weight * states[:, one] * states[:, other]
        good &= sums < row.bound if row.strict else sums <= row.bound
    return good


def _branch_and_bound(region: Region, rows: Sequence[ProductRow], does: Callable[[Floats], Floats | None]) -> Search:
    relaxed = _Relaxation(region, rows)
    low, high = relaxed.outer_box()
    pending: list[tuple[float, int, Floats, Floats]] = [(-1.0, 0, low, high)]
    free = tuple(f for f in sorted(relaxed.cutting - relaxed.curved.keys()) if np.isinf(high[f] - low[f]))
    for number in range(_MOST_FREE_BOXES if free else MOST_BOXES):
        if not pending:
            return Search(None, True)
        _, _, low, high = heapq.heappop(pending)
        solved = relaxed.solve(low, high)
        if solved is None:
            continue
        depth, state, gaps = solved
        if (found := does(state)) is not None:
            return Search(found, True)
        cut = _cut(state, gaps, low, high)
        if cut is None:
            return Search(None, False)  # where a box can't be cut, only rounding decides
        feature, at = cut
        upper, lower = low.copy(), high.copy()
        upper[feature] = lower[feature] = at
        heapq.heappush(pending, (-depth, 2 * number + 1, low, lower))
        heapq.heappush(pending, (-depth, 2 * number + 2, upper, high))
    return Search(None, False, free)


def _cut(state: Floats, gaps: Gaps, low: Floats, high: Floats) -> tuple[int, float] | None:
    """The feature to cut a box at, and where; None if it is too small to be cut."""
    for together in sorted(gaps, key=lambda features: -gaps[features]):
        for feature in sorted(together, key=lambda f: low[f] - high[f]):  # the wider one first
            at = _middle(float(state[feature]), float(low[feature]), float(high[feature]))
            if at is not None:
                return feature, at
    return None


def _middle(value: float, low: float, high: float) -> float | None:
    """Where to cut an interval: one without ends at 0, then further and further out; None if it is too small."""
    if np.isinf(low) and np.isinf(high):
        return 0.0
    if np.isinf(high):
        return max(2.0 * abs(low), low + 1.0, value)
    if np.isinf(low):
        return min(-2.0 * abs(high), high - 1.0, value)
    if high - low < 1e-9 * (1.0 + abs(low) + abs(high)):
        return None
    return min(max(value, 0.8 * low + 0.2 * high), 0.2 * low + 0.8 * high)


class _Relaxation:
    """The rows with a variable in place of each product; a linear program over features, products and a depth."""

    def __init__(self, region: Region, rows: Sequence[ProductRow]):
        self.region, self.n = region, region.task.n_features
        self.pairs = sorted({pair for row in rows for pair in row.products})
        self.curved = curved_features(region, rows)
        self.cutting = {f for pair in self.pairs for f in pair} | {f for d in self.curved.values() for f in d.uses}
        """Features that boxes bound."""
        linear, bounds = region.matrix()
        extra = np.zeros((len(linear), len(self.pairs)))
        mixed = np.zeros((len(rows), self.n + len(self.pairs)))
        limits = np.zeros(len(rows))
        for place, (row, products) in enumerate(rows):
            whole = np.concatenate([row.weights, [products.get(pair, 0.0) for pair in self.pairs]])
            scale = float(np.linalg.norm(whole)) or 1.0
            mixed[place], limits[place] = whole / scale, row.bound / scale
        self.matrix = np.vstack([np.hstack([linear, extra]), mixed])
        self.bounds = np.concatenate([bounds, limits])
        self.strict = np.array([*(row.strict for row in region.rows), *(row.row.strict for row in rows)], dtype=float)

    def outer_box(self) -> tuple[Floats, Floats]:
        """The bounds of each feature in the region, (n_features,) each, as narrow as they are where boxes are cut."""
        task = self.region.task
        low = np.array([-np.inf if bound is None else bound for bound in task.feature_low])
        high = np.array([np.inf if bound is None else bound for bound in task.feature_high])
        for feature in self.cutting:
            one = np.eye(self.n)[feature]
            least, most = -self.region.largest(-one), self.region.largest(one)
            low[feature] = max(low[feature], least - _SLACK * (1.0 + abs(least)))
            high[feature] = min(high[feature], most + _SLACK * (1.0 + abs(most)))
        return self._derived(low, high)

    def solve(self, low: Floats, high: Floats) -> tuple[float, Floats, Gaps] | None:
        """How far within the rows a state of a box can lie, that state, and how wrong each product is there."""
        low, high = self._derived(low, high)
        if (low > high).any():
            return None
        planes, limits = self._planes(low, high)
        ranges = [*zip(low, high, strict=True), *[(-np.inf, np.inf)] * len(self.pairs), (-np.inf, 1.0)]
        goal = np.append(np.zeros(self.n + len(self.pairs)), -1.0)
        for inside in (np.ones(len(self.strict)), self.strict):
            matrix = np.vstack([np.hstack([self.matrix, inside[:, None]]), np.pad(planes, ((0, 0), (0, 1)))])
            bounds, tied = np.concatenate([self.bounds, limits]), self.region.tied(len(goal))
            found = linprog(goal, matrix, bounds, **tied, bounds=ranges, method="highs", options=PRECISE)
            if found.status not in (0, 2):  # neither solved nor shown to be empty: the box is cut all the same
                state = np.clip(np.zeros(self.n), low, high)
                return 0.0, state, dict.fromkeys([*self.pairs, *(tuple(d.uses) for d in self.curved.values())], 1.0)
            if found.status == 0 and found.x[-1] > MARGIN:
                state = np.asarray(found.x[: self.n])
                return float(found.x[-1]), state, self._gaps(state, found.x[self.n : -1])
        return None

    def _derived(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The box without what the derived features that are not linear can't come to in it."""
        low, high = low.copy(), high.copy()
        for place, definition in self.curved.items():

            def side(feature: int) -> Interval:
                return Interval(float(low[feature]), float(high[feature]))

            reach = run(definition.program, side, Interval.of, Interval.power)
            low[place], high[place] = max(low[place], reach.low), min(high[place], reach.high)
        return low, high

    def _gaps(self, state: Floats, products: Floats) -> Gaps:
        gaps: Gaps = {p: abs(products[k] - state[p[0]] * state[p[1]]) for k, p in enumerate(self.pairs)}
        for place, definition in self.curved.items():
            together = tuple(sorted(definition.uses))
            value = run(definition.program, state.__getitem__, float)
            gaps[together] = max(gaps.get(together, 0.0), abs(float(state[place] - value)))
        return gaps

    def _planes(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """What holds of products in a box (McCormick): rows on features and products, and their bounds."""
        rows, limits = [], []
        for place, (one, other) in enumerate(self.pairs):
            # (x - a)(y - b) ≥ 0 at two corners of the box, and ≤ 0 at the other two
            corners = [(low, low, -1.0), (high, high, -1.0), (low, high, 1.0), (high, low, 1.0)]
            for of_one, of_other, sign in corners:
                a, b = float(of_one[one]), float(of_other[other])
                if np.isfinite(a) and np.isfinite(b):
                    row = np.zeros(self.n + len(self.pairs))
                    row[self.n + place] = sign
                    row[other] -= sign * a
                    row[one] -= sign * b
                    rows.append(row)
                    limits.append(-sign * a * b)
        return np.array(rows).reshape(-1, self.n + len(self.pairs)), np.array(limits)
