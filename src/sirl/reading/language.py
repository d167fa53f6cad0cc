"""Conditions as a person types them, such as ``theta + 0.16·omega < 0`` or ``0.1 < x and v > 2·(x - 1)``.

Sums of features with number factors, compared with ``<``, ``>``, ``<=``, ``>=`` (or ``≤``, ``≥``), joined by ``and``. A
law is such a sum by itself, and may multiply two features: ``0.5·x - 2·x·theta + 1``. A name that does not read as a
word, or as a function such as ``cos(theta)``, stands in double quotes, as in JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError, did_you_mean
from sirl.model.formula import Sum, Term
from sirl.reading.region import Row

_SIGNS = {"<=": "≤", ">=": "≥", "=<": "≤", "=>": "≥"}
_PLAIN_NAME = re.compile(r"[^\W\d]\w*(\(\w+\)|\[\d+\])?")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_KEYWORDS = {"and", "if", "else"}
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


def write_name(name: str) -> str:
    """A name as it stands in a condition."""
    return name if _PLAIN_NAME.fullmatch(name) and name not in _KEYWORDS else json.dumps(name, ensure_ascii=False)


def read_conditions(text: str, names: Sequence[str]) -> list[Comparison]:
    """The comparisons that a condition joins by ``and``; ``names`` are what it may speak of."""
    try:
        return _Reader(text, names).conditions()
    except _Unreadable as error:
        raise SirlError(f"the condition {text.strip()!r} can't be read: {error}.") from None


def read_law(text: str, names: Sequence[str]) -> Sum:
    """A law as a sum, features alone before products; ``names`` are what it may speak of."""
    try:
        return _Reader(text, names).law()
    except _Unreadable as error:
        raise SirlError(f"the law {text.strip()!r} can't be read: {error}.") from None


class _Unreadable(Exception):  # noqa: N818 - it becomes a sentence of SirlError
    pass


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


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str, names: Sequence[str]):
        self._names = list(names)
        self._tokens = self._split(text)
        self._at = 0

    def _split(self, text: str) -> list[str]:
        known = "|".join(
            rf"(?<!\w){re.escape(n)}(?!\w)" if n[-1].isalnum() else rf"(?<!\w){re.escape(n)}"
            for n in sorted(self._names, key=len, reverse=True)
            if _PLAIN_NAME.fullmatch(n) and n not in _KEYWORDS
        )
        parts = [r'"(?:[^"\\]|\\.)*"', known or r"(?!)", _NUMBER, r"<=|>=|=<|=>|[-+*·−×<>≤≥()]", r"[^\W\d]\w*", r"\S"]
        return re.findall("|".join(f"(?:{part})" for part in parts), text)

    def conditions(self) -> list[Comparison]:
        found = self._comparison()
        while self._next("and"):
            found += self._comparison()
        if self._at < len(self._tokens):
            raise _Unreadable(f"{self._tokens[self._at]!r} comes after its end; join conditions with `and`")
        return found

    def _comparison(self) -> list[Comparison]:
        left, found = self._sum(), []
        while sign := self._next("<", ">", "≤", "≥", *_SIGNS):
            right = self._sum()
            weights, constant = self._linear(_plus(left, right, -1.0))
            found.append(Comparison(weights, _SIGNS.get(sign, sign), -constant + 0.0))
            left = right
        if not found:
            raise _Unreadable("it compares nothing; write `<`, `>`, `<=` or `>=` between two sums")
        return found

    def law(self) -> Sum:
        total = self._sum()
        if self._at < len(self._tokens):
            raise _Unreadable(f"{self._tokens[self._at]!r} comes after its end; a law is one sum")
        if any(len(features) > _MOST_FACTORS for features in total):
            raise _Unreadable(f"it multiplies more than {_MOST_FACTORS} features with each other")
        terms = [Term(weight, features) for features, weight in total.items() if features and weight]
        terms.sort(key=lambda term: (len(term.features), term.features))
        return Sum(total.get((), 0.0) + 0.0, tuple(terms))

    def _linear(self, total: _Polynomial) -> tuple[Floats, float]:
        weights = np.zeros(len(self._names))
        for features, weight in total.items():
            if len(features) > 1:
                raise _Unreadable("it multiplies features with each other, and a condition is a weighted sum")
            weights[list(features)] = weight
        return weights, total.get((), 0.0)

    def _sum(self) -> _Polynomial:
        total = self._product()
        while sign := self._next("+", "-", "−"):
            total = _plus(total, self._product(), 1.0 if sign == "+" else -1.0)
        return total

    def _product(self) -> _Polynomial:
        product = self._factor()
        while self._next("*", "·", "×"):
            product = _times(product, self._factor())
        return product

    def _factor(self) -> _Polynomial:
        if self._next("-", "−"):
            return _plus({}, self._product(), -1.0)
        if self._next("+"):
            return self._factor()
        if self._next("("):
            inner = self._sum()
            if not self._next(")"):
                raise _Unreadable("a parenthesis is not closed")
            return inner
        if self._at == len(self._tokens):
            raise _Unreadable("it ends where a number or a feature is due")
        token = self._tokens[self._at]
        self._at += 1
        if re.fullmatch(_NUMBER, token):
            if not math.isfinite(float(token)):
                raise _Unreadable(f"{token} is no finite number")
            return {(): float(token)}
        return {(self._place(token),): 1.0}

    def _place(self, token: str) -> int:
        try:
            name = json.loads(token) if token.startswith('"') else token
        except ValueError:
            raise _Unreadable(f"the name {token} is not quoted as in JSON") from None
        if name not in self._names:
            hint = did_you_mean(name, self._names) or f"; there are {', '.join(self._names)}"
            raise _Unreadable(f"there is no {token!r}{hint.removesuffix('?').replace('did you mean', 'perhaps')}")
        return self._names.index(name)

    def _next(self, *tokens: str) -> str:
        """The next token if it is one of these, else nothing."""
        if self._at < len(self._tokens) and self._tokens[self._at] in tokens:
            self._at += 1
            return self._tokens[self._at - 1]
        return ""
