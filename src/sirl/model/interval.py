"""What arithmetic gives for all numbers of a range at once.

The arithmetic of floats rounds, but what grows still grows: so the ends of a range, computed as the values are, hold
for every value in it, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

FAR = 1e20
"""As far from zero as a feature without bounds is taken to come, where it is asked whether something overflows."""


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``, either of which may be infinite."""

    low: float
    high: float

    @staticmethod
    def of(value: float) -> Interval:
        """One number."""
        return Interval(value, value)

    @property
    def is_finite(self) -> bool:
        """Whether both ends are."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        return _hull([a * b for a in self for b in other])

    def __truediv__(self, other: Interval) -> Interval:
        """By numbers that are not zero."""
        return _hull([a / b for a in self for b in other])

    def power(self, exponent: int) -> Interval:
        """Its product with itself, which is not negative if the exponent is even."""
        ends = [abs(self.low), abs(self.high)] if exponent % 2 == 0 else [self.low, self.high]
        if exponent % 2 == 0 and self.low <= 0.0 <= self.high:
            ends.append(0.0)
        products = list(ends)
        for _ in range(exponent - 1):
            products = [product * end for product, end in zip(products, ends, strict=True)]
        return _hull(products)


def _hull(values: list[float]) -> Interval:
    """From the least to the largest; a corner where zero meets infinity, or two infinities, comes as near as 0."""
    known = [0.0 if math.isnan(value) else value for value in values]
    return Interval(min(known), max(known))
