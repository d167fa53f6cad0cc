"""A split's condition as a person would write it: ``theta + 0.16·omega < 0`` for ``-5·theta - 0.8·omega > 0``.

One coefficient is 1, the first one is positive, and a velocity stands beside its position, where their names tell:
``0.045·(x + 3·v) + theta + 0.33·omega > -0.06``, the form in which the paper explains its trees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from sirl.arrays import Flags, Floats

DIGITS = 3
"""Significant digits where nobody has looked how many it takes."""

Sign = Literal["<", ">", "≤", "≥"]
_NEGATED: dict[Sign, Sign] = {"<": "≥", ">": "≤", "≤": ">", "≥": "<"}
_RATES = [("theta", "omega"), ("angle", "omega"), ("angle", "angular_velocity"), ("p", "v"), ("position", "velocity")]
_RATES += [("pos", "vel"), ("q", "qd"), ("q", "dq")]


class Part(NamedTuple):
    """A factor times features that belong together, the first with coefficient 1."""

    factor: float
    members: tuple[tuple[int, float], ...]
    """Features with their coefficients."""


class Condition(NamedTuple):
    """Weighted features against a bound."""

    parts: tuple[Part, ...]
    sign: Sign
    bound: float

    def negated(self) -> Condition:
        """What holds where this does not."""
        return self._replace(sign=_NEGATED[self.sign])

    def rounded(self, digits: int) -> Condition:
        """With so many significant digits in every number."""
        parts = [
            Part(_round(part.factor, digits), tuple((feature, _round(k, digits)) for feature, k in part.members))
            for part in self.parts
        ]
        return Condition(tuple(parts), self.sign, _round(self.bound, digits))

    def split(self, n_features: int) -> tuple[Floats, float]:
        """A strict condition as a split: weights (n_features,) and a threshold."""
        turn = 1.0 if self.sign == "<" else -1.0
        weights = np.zeros(n_features)
        for factor, members in self.parts:
            for feature, k in members:
                weights[feature] = turn * factor * k
        return weights, turn * self.bound + 0.0

    def holds(self, observations: Floats) -> Flags:
        """Whether it holds on observations (n, n_features), (n,)."""
        total = np.zeros(len(observations))
        for factor, members in self.parts:
            total += factor * sum((k * observations[:, feature] for feature, k in members), np.zeros(len(total)))
        compare = {"<": np.less, ">": np.greater, "≤": np.less_equal, "≥": np.greater_equal}[self.sign]
        return np.asarray(compare(total, self.bound))

    def terms(self, names: Sequence[str], digits: int = DIGITS) -> list[str]:
        """The pieces of its text, between which a line may break."""
        pieces: list[str] = []
        for factor, members in self.parts:
            inner = [_term(k, names[feature], first=n == 0, digits=digits) for n, (feature, k) in enumerate(members)]
            one = number(abs(factor), digits) == "1"
            text = " ".join(inner)
            if len(inner) > 1 and not (one and factor > 0):
                text = f"({text})"
            if not one:
                text = f"{number(abs(factor), digits)}·{text}"
            sign = ("-" if factor < 0 else "") if not pieces else ("- " if factor < 0 else "+ ")
            pieces.append(sign + text)
        return [*(pieces or ["0"]), f"{self.sign} {number(self.bound, digits)}"]

    def text(self, names: Sequence[str], digits: int = DIGITS) -> str:
        """Such as ``theta + 0.16·omega < 0``."""
        return " ".join(self.terms(names, digits))


def read_condition(weights: Floats, threshold: float, features: Sequence[str]) -> Condition:
    """The condition ``weights · x < threshold`` of weights (n_features,) as a person would write it."""
    groups = _groups(np.flatnonzero(weights).tolist(), features)
    if not groups:
        return Condition((), "<", threshold)
    scale = max(abs(float(weights[group[0]])) for group in groups)
    scale = math.copysign(scale, weights[groups[0][0]])
    parts = [
        Part(float(weights[group[0]]) / scale, tuple((f, float(weights[f]) / float(weights[group[0]])) for f in group))
        for group in groups
    ]
    return Condition(tuple(parts), "<" if scale > 0 else ">", threshold / scale + 0.0)


def fewest_digits(condition: Condition, observations: Floats) -> int:
    """With how few significant digits (2 or more) it decides as it does on observations (n, n_features)."""
    exact = condition.holds(observations)
    return next((d for d in range(2, 17) if (condition.rounded(d).holds(observations) == exact).all()), 17)


def number(value: float, digits: int = DIGITS) -> str:
    """A number with so many significant digits, and no more zeros than it needs."""
    value = _round(value, digits) + 0.0
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        places = 0 if value == 0 else max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{digits}g}"


def _round(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _term(weight: float, name: str, *, first: bool, digits: int) -> str:
    sign = ("-" if weight < 0 else "") if first else ("- " if weight < 0 else "+ ")
    size = number(abs(weight), digits)
    return f"{sign}{name}" if size == "1" else f"{sign}{size}·{name}"


def _groups(used: list[int], features: Sequence[str]) -> list[list[int]]:
    """The used features in order, a velocity together with its position."""
    place = {features[feature]: feature for feature in used}
    partner = {f: place[rate] for f in used for rate in _rates(features[f]) if rate in place and place[rate] != f}
    rates = set(partner.values())
    return [[f, partner[f]] if f in partner else [f] for f in used if f not in rates]


def _rates(name: str) -> list[str]:
    """What the velocity of a position may be called."""
    head, _, tail = name.partition("_")
    found = [rate + name.removeprefix(position) for position, rate in _RATES if head == position]
    if not tail and len(head) == 1 and head in "xyzq":
        found += [f"v_{head}", f"d{head}"] + (["v"] if head == "x" else [])
    return [*found, f"{name}_dot", f"d_{name}" if head != "d" else "", f"{name}_velocity"]
