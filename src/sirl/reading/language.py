"""Conditions as a person types them, such as ``theta + 0.16·omega < 0`` or ``0.1 < x and v > 2·(x - 1)``.

Sums of features with number factors, compared with ``<``, ``>``, ``<=``, ``>=`` (or ``≤``, ``≥``), joined by ``and``. A
law is such a sum by itself, and may multiply two features: ``0.5·x - 2·x·theta + 1``. A name that does not read as a
word, or as a function such as ``cos(theta)``, stands in double quotes, as in JSON.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError
from sirl.model.formula import Sum, Term
from sirl.model.tokens import MINUS, TIMES, Reader, Unreadable
from sirl.reading.region import Row

_SIGNS = {"<=": "≤", ">=": "≥", "=<": "≤", "=>": "≥"}
_MOST_FACTORS = 2


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


def read_law(text: str, names: Sequence[str]) -> Sum:
    """A law as a sum, features alone before products; ``names`` are what it may speak of."""
    try:
        return _Reader(text, names).law()
    except Unreadable as error:
        raise SirlError(f"the law {text.strip()!r} can't be read: {error}.") from None


_Polynomial = dict[tuple[int, ...], float]
"""The features that are multiplied with each other, in order, and the weight of their product; () is the constant."""


def _plus(one: _Polynomial, other: _Polynomial, factor: float) -> _Polynomial:
    return one | {features: one.get(features, 0.0) + factor * weight for features, weight in other.items()}


def _times(one: _Polynomial, other: _Polynomial) -> _Polynomial:
    found: _Polynomial = {}
    for mine, weight in one.items():
        for theirs, factor in other.items():
            features = tuple(sorted(mine + theirs))
            found[features] = found.get(features, 0.0) + weight * factor
    return found


class _Reader(Reader):
    """Reads one condition or one law."""

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
            weights, constant = self._linear(_plus(left, right, -1.0))
            found.append(Comparison(weights, _SIGNS.get(sign, sign), -constant + 0.0))
            left = right
        if not found:
            raise Unreadable("it compares nothing; write `<`, `>`, `<=` or `>=` between two sums")
        return found

    def law(self) -> Sum:
        total = self._sum()
        if self.ahead is not None:
            raise Unreadable(f"{self.ahead.text!r} comes after its end; a law is one sum of numbers and products")
        if any(len(features) > _MOST_FACTORS for features in total):
            raise Unreadable(f"it multiplies more than {_MOST_FACTORS} features with each other")
        terms = [Term(weight, features) for features, weight in total.items() if features and weight]
        terms.sort(key=lambda term: (len(term.features), term.features))
        return Sum(total.get((), 0.0) + 0.0, tuple(terms))

    def _linear(self, total: _Polynomial) -> tuple[Floats, float]:
        weights = np.zeros(len(self.names))
        for features, weight in total.items():
            if len(features) > 1:
                raise Unreadable("it multiplies features with each other, and a condition is a weighted sum")
            weights[list(features)] = weight
        return weights, total.get((), 0.0)

    def _sum(self) -> _Polynomial:
        total = self._product()
        while sign := self.next("+", *MINUS):
            total = _plus(total, self._product(), 1.0 if sign == "+" else -1.0)
        return total

    def _product(self) -> _Polynomial:
        product = self._factor()
        while self.next(*TIMES):
            product = _times(product, self._factor())
        return product

    def _factor(self) -> _Polynomial:
        if self.next(*MINUS):
            return _plus({}, self._product(), -1.0)
        if self.next("+"):
            return self._factor()
        if self.next("("):
            inner = self._sum()
            if not self.next(")"):
                raise Unreadable("a parenthesis is not closed")
            return inner
        found = self.number_or_place()
        return {(): found} if isinstance(found, float) else {(found,): 1.0}
