"""Conditions as a person types them, such as ``theta + 0.16·omega < 0`` or ``0.1 < x and v > 2·(x - 1)``.

Sums of features with number factors, compared with ``<``, ``>``, ``<=``, ``>=`` (or ``≤``, ``≥``), joined by ``and``. A
name that does not read as a word, or as a function such as ``cos(theta)``, stands in double quotes, as in JSON.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError
from sirl.model.tokens import MINUS, TIMES, Reader, Unreadable
from sirl.reading.region import Row

_SIGNS = {"<=": "≤", ">=": "≥", "=<": "≤", "=>": "≥"}


class Comparison(NamedTuple):
    """``weights · x`` against a bound."""

    weights: Floats
    """(n_names,)"""
    sign: str
    """One of ``<``, ``>``, ``≤``, ``≥``."""
    bound: float

    def row(self) -> Row:
        """The same as a row of a region."""
        turn = 1.0 if self.sign in "<≤" else -1.0
        return Row(turn * self.weights, turn * self.bound, self.sign in "<>")

    def split(self) -> tuple[Floats, float]:
        """The same as a split, which knows only ``<``: weights and a threshold, with the same decisions in floats."""
        row = self.row()
        return row.weights, row.bound if row.strict else math.nextafter(row.bound, math.inf)

    def holds(self, values: Sequence[float] | Floats) -> bool:
        """Whether it holds for values (n_names,)."""
        row = self.row()
        total = sum(w * v for w, v in zip(row.weights.tolist(), values, strict=True) if w)
        return bool(total < row.bound or (not row.strict and total == row.bound))


def read_conditions(text: str, names: Sequence[str]) -> list[Comparison]:
    """The comparisons that a condition joins by ``and``; ``names`` are what it may speak of."""
    try:
        return _Reader(text, names).conditions()
    except Unreadable as error:
        raise SirlError(f"the condition {text.strip()!r} can't be read: {error}.") from None


class _Linear(NamedTuple):
    """A weighted sum of features plus a constant."""

    weights: Floats
    constant: float

    def plus(self, other: _Linear, factor: float) -> _Linear:
        return _Linear(self.weights + factor * other.weights, self.constant + factor * other.constant)

    def times(self, other: _Linear) -> _Linear:
        if self.weights.any() and other.weights.any():
            raise Unreadable("it multiplies features with each other, and a condition is a weighted sum")
        mine, theirs = (self, other) if other.weights.any() else (other, self)
        return _Linear(mine.constant * theirs.weights, mine.constant * theirs.constant)


class _Reader(Reader):
    """Reads one condition."""

    def conditions(self) -> list[Comparison]:
        found = self._comparison()
        while self.next("and"):
            found += self._comparison()
        if self.ahead is not None:
            raise Unreadable(f"{self.ahead.text!r} comes after its end; join conditions with `and`")
        return found

    def _comparison(self) -> list[Comparison]:
        left, found = self._sum(), []
        while sign := self.next("<", ">", "≤", "≥", *_SIGNS):
            right = self._sum()
            difference = left.plus(right, -1.0)
            found.append(Comparison(difference.weights, _SIGNS.get(sign, sign), -difference.constant + 0.0))
            left = right
        if not found:
            raise Unreadable("it compares nothing; write `<`, `>`, `<=` or `>=` between two sums")
        return found

    def _sum(self) -> _Linear:
        total = self._product()
        while sign := self.next("+", *MINUS):
            total = total.plus(self._product(), 1.0 if sign == "+" else -1.0)
        return total

    def _product(self) -> _Linear:
        product = self._factor()
        while self.next(*TIMES):
            product = product.times(self._factor())
        return product

    def _factor(self) -> _Linear:
        zero = np.zeros(len(self.names))
        if self.next(*MINUS):
            return _Linear(zero, 0.0).plus(self._product(), -1.0)
        if self.next("+"):
            return self._factor()
        if self.next("("):
            inner = self._sum()
            if not self.next(")"):
                raise Unreadable("a parenthesis is not closed")
            return inner
        found = self.number_or_place()
        if isinstance(found, float):
            return _Linear(zero, found)
        return _Linear((np.arange(len(self.names)) == found).astype(np.float64), 0.0)
