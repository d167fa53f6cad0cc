"""Conditions as a person types them, such as ``theta + 0.16·omega < 0`` or ``0.1 < x and v > 2·(x - 1)``.

Sums of features with number factors, compared with ``<``, ``>``, ``<=``, ``>=`` (or ``≤``, ``≥``), joined by ``and``. A
name that does not read as a word, or as a function such as ``cos(theta)``, stands in double quotes, as in JSON.
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
from sirl.reading.region import Row

_SIGNS = {"<=": "≤", ">=": "≥", "=<": "≤", "=>": "≥"}
_PLAIN_NAME = re.compile(r"[^\W\d]\w*(\(\w+\)|\[\d+\])?")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_KEYWORDS = {"and", "if", "else"}


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


class _Unreadable(Exception):  # noqa: N818 - it becomes a sentence of SirlError
    pass


class _Linear(NamedTuple):
    """A weighted sum of features plus a constant."""

    weights: Floats
    constant: float

    def plus(self, other: _Linear, factor: float) -> _Linear:
        return _Linear(self.weights + factor * other.weights, self.constant + factor * other.constant)

    def times(self, other: _Linear) -> _Linear:
        if self.weights.any() and other.weights.any():
            raise _Unreadable("it multiplies features with each other, and a condition is a weighted sum")
        mine, theirs = (self, other) if other.weights.any() else (other, self)
        return _Linear(mine.constant * theirs.weights, mine.constant * theirs.constant)


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
            difference = left.plus(right, -1.0)
            found.append(Comparison(difference.weights, _SIGNS.get(sign, sign), -difference.constant + 0.0))
            left = right
        if not found:
            raise _Unreadable("it compares nothing; write `<`, `>`, `<=` or `>=` between two sums")
        return found

    def _sum(self) -> _Linear:
        total = self._product()
        while sign := self._next("+", "-", "−"):
            total = total.plus(self._product(), 1.0 if sign == "+" else -1.0)
        return total

    def _product(self) -> _Linear:
        product = self._factor()
        while self._next("*", "·", "×"):
            product = product.times(self._factor())
        return product

    def _factor(self) -> _Linear:
        zero = np.zeros(len(self._names))
        if self._next("-", "−"):
            return _Linear(zero, 0.0).plus(self._product(), -1.0)
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
            return _Linear(zero, float(token))
        return _Linear(self._one_hot(token), 0.0)

    def _one_hot(self, token: str) -> Floats:
        try:
            name = json.loads(token) if token.startswith('"') else token
        except ValueError:
            raise _Unreadable(f"the name {token} is not quoted as in JSON") from None
        if name not in self._names:
            hint = did_you_mean(name, self._names) or f"; there are {', '.join(self._names)}"
            raise _Unreadable(f"there is no {token!r}{hint.removesuffix('?').replace('did you mean', 'perhaps')}")
        row = np.zeros(len(self._names))
        row[self._names.index(name)] = 1.0
        return row

    def _next(self, *tokens: str) -> str:
        """The next token if it is one of these, else nothing."""
        if self._at < len(self._tokens) and self._tokens[self._at] in tokens:
            self._at += 1
            return self._tokens[self._at - 1]
        return ""
