"""States that satisfy linear conditions within the bounds of their features, by linear programming.

A region is a stack of rows ``weights · x < bound`` or ``≤``. Questions about it are answered by scipy's HiGHS; where
the observation is one of finitely many (one-hot rows), by looking at each. A derived feature that is linear in others
is so here too; any other may be anything within its bounds, so that a region is never smaller than it is
(``products.py`` cuts it into boxes where that is not enough).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from sirl.arrays import Floats
from sirl.model.derived import Definition, run
from sirl.model.task import Task

PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
MARGIN = 1e-7
"""How far within its conditions, scaled to unit weights, a state must lie for a region to count as not empty."""


class Row(NamedTuple):
    """``weights · x < bound``, or ``≤`` where it is not strict."""

    weights: Floats
    """(n_features,)"""
    bound: float
    strict: bool = True

    def negated(self) -> Row:
        """What holds where this does not."""
        return Row(-self.weights, -self.bound, not self.strict)


class Region:
    """The states of a task in which all rows hold."""

    def __init__(self, task: Task, rows: tuple[Row, ...] = ()):
        self.task, self.rows = task, rows

    def where(self, *rows: Row) -> Region:
        """The part of it in which further rows hold."""
        return Region(self.task, (*self.rows, *rows))

    def largest(self, weights: Floats) -> float:
        """The largest weighted sum of a state in it, infinity if there is none; -infinity if it is empty.

        Strict rows are taken as if they were not, so it may be reached on the border only.
        """
        if self.task.observation == "one-hot":
            states = self.listed()
            return float((states @ weights).max()) if len(states) else -np.inf
        found = self._solve(-weights, *self.matrix())
        return {2: -np.inf, 3: np.inf, 4: np.inf}.get(found.status, -found.fun if found.fun is not None else np.inf)

    def inner_state(self) -> Floats | None:
        """A state (n_features,) clearly within the rows, and else near zero; None if the region is empty.

        It lies within all rows if one does, else within the strict ones and on the border of the others.
        """
        if self.task.observation == "one-hot":
            states = self.listed()
            return states[0] if len(states) else None
        for inside in (np.ones(len(self.rows)), np.array([float(row.strict) for row in self.rows])):
            if (depth := self._depth(inside)) > MARGIN:
                return self._smallest(0.1 * depth * inside)
        return None

    def _depth(self, inside: Floats) -> float:
        """How far within the rows that count a state can lie, up to 1; ``inside`` (n_rows,) tells which count."""
        matrix, bounds = self.matrix()
        goal = np.append(np.zeros(self.task.n_features), -1.0)
        found = self._solve(goal, np.hstack([matrix, inside[:, None]]), bounds, [(None, 1.0)])
        return float(found.x[-1]) if found.status == 0 else -np.inf

    def _smallest(self, margins: Floats) -> Floats:
        """The state (n_features,) nearest to zero, as far within each row as ``margins`` (n_rows,) say."""
        n, (matrix, bounds) = self.task.n_features, self.matrix()
        one = np.eye(n)
        size = np.block([[one, -one], [-one, -one]])  # x ≤ size and -x ≤ size
        rows = np.vstack([np.hstack([matrix, np.zeros((len(matrix), n))]), size])
        limits = np.concatenate([bounds - margins, np.zeros(2 * n)])
        found = self._solve(np.repeat([0.0, 1.0], n), rows, limits, [(0.0, None)] * n)
        return np.asarray(found.x[:n])

    def listed(self) -> Floats:
        """The states in it, where there are finitely many, (n, n_features)."""
        states = self.task.extended(np.eye(self.task.n_observed))
        for row in self.rows:
            sums = states @ row.weights
            states = states[sums < row.bound if row.strict else sums <= row.bound]
        return states

    def matrix(self) -> tuple[Floats, Floats]:
        """The rows, scaled to unit weights: (n_rows, n_features) and (n_rows,)."""
        n_features = self.task.n_features
        scales = [float(np.linalg.norm(row.weights)) or 1.0 for row in self.rows]
        matrix = np.array([row.weights / s for row, s in zip(self.rows, scales, strict=True)]).reshape(-1, n_features)
        return matrix, np.array([row.bound / s for row, s in zip(self.rows, scales, strict=True)])

    def _solve(
        self, goal: Floats, matrix: Floats, bounds: Floats, more: list[tuple[float | None, float | None]] | None = None
    ) -> Any:
        ranges = [*zip(self.task.feature_low, self.task.feature_high, strict=True), *(more or [])]
        limits = {"A_ub": matrix, "b_ub": bounds} if len(bounds) else {}
        return linprog(goal, **limits, **self.tied(len(goal)), bounds=ranges, method="highs", options=PRECISE)

    def tied(self, n_variables: int) -> dict[str, Floats]:
        """The ties as equations of a linear program whose first variables are the features."""
        ties = self.ties
        if not len(ties):
            return {}
        unused = np.zeros((len(ties), n_variables - self.task.n_features))
        return {"A_eq": np.hstack([ties[:, :-1], unused]), "b_eq": -ties[:, -1]}

    @property
    def ties(self) -> Floats:
        """Derived features that are linear in others: rows (n, n_features + 1), which times (x, 1) give 0."""
        return np.array(list(self._linear.values())).reshape(-1, self.task.n_features + 1)

    def curved(self, used: set[int]) -> dict[int, Definition]:
        """The derived features among those used, and below them, that are not linear, by place and in order."""
        return {place: d for place, d in self.task.needed(used).items() if place not in self._linear}

    @cached_property
    def _linear(self) -> dict[int, Floats]:
        """The row of each derived feature that is linear in others."""
        ties = {}
        one = np.eye(self.task.n_features + 1)
        for place, definition in enumerate(self.task.definitions, start=self.task.n_observed):
            try:
                row = run(definition.program, lambda f: _Affine(one[f]), lambda v: _Affine(v * one[-1])).row
            except _Curved:
                continue
            ties[place] = row - one[place]
        return ties


class _Curved(Exception):  # noqa: N818 - it is no error
    """A formula is not linear."""


@dataclass(frozen=True)
class _Affine:
    """Weighted features plus a constant."""

    row: Floats
    """(n_features + 1,), the constant last."""

    def _number(self) -> float:
        if self.row[:-1].any():
            raise _Curved
        return float(self.row[-1])

    def __neg__(self) -> _Affine:
        return _Affine(-self.row)

    def __add__(self, other: _Affine) -> _Affine:
        return _Affine(self.row + other.row)

    def __sub__(self, other: _Affine) -> _Affine:
        return _Affine(self.row - other.row)

    def __mul__(self, other: _Affine) -> _Affine:
        if self.row[:-1].any():
            return _Affine(self.row * other._number())
        return _Affine(other.row * self._number())

    def __truediv__(self, other: _Affine) -> _Affine:
        return _Affine(self.row / other._number())


def branch_rows(weights: Floats, threshold: float) -> tuple[Row, Row]:
    """What holds on the two sides of a split with weights (n_features,): if its condition holds, and if not."""
    yes = Row(weights, threshold)
    return yes, yes.negated()
