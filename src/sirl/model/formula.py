"""What a leaf computes, as data: enough to write it in another language, to draw it, or to prove something of it.

Every leaf kind gives the formula of each of its leaves; what reads policies (``sirl.reading``) knows nothing else of
a kind. So a new kind brings one method, and every tool works on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats


class Term(NamedTuple):
    """A product: a weight times the features that stand there, multiplied from left to right."""

    weight: float
    features: tuple[int, ...]


class Sum(NamedTuple):
    """A constant plus terms, added from left to right."""

    constant: float
    terms: tuple[Term, ...] = ()


class Formula(NamedTuple):
    """What a leaf does with an observation."""

    sums: tuple[Sum, ...]
    """One for each component of the action; with choices, the score of each."""
    low: tuple[float, ...] | None = None
    """Each component is at least this, and at most ``high``; None: as it comes."""
    high: tuple[float, ...] | None = None
    choices: tuple[tuple[float, ...], ...] | None = None
    """The action is the choice (n_components,) with the largest sum, the first of equal ones; None: it is the sums."""

    @property
    def is_constant(self) -> bool:
        """Whether the observation does not matter."""
        return not any(total.terms for total in self.sums) and self.choices is None

    @property
    def n_components(self) -> int:
        """Numbers in the action."""
        return len(self.sums if self.choices is None else self.choices[0])


def constant(values: Floats) -> Formula:
    """The formula of a leaf that does one thing, values (n_components,)."""
    return Formula(tuple(Sum(float(value)) for value in values))


def compute(formula: Formula, observation: Floats) -> list[float]:
    """The action (n_components,) on an observation (n_features,): what every exported form computes."""
    sums = []
    for total, terms in formula.sums:
        for weight, features in terms:
            product = weight
            for feature in features:
                product *= float(observation[feature])
            total += product
        sums.append(total)
    if formula.choices is not None:
        return list(formula.choices[int(np.argmax(sums))])
    if formula.low is not None and formula.high is not None:
        return [min(max(v, low), high) for v, low, high in zip(sums, formula.low, formula.high, strict=True)]
    return sums
