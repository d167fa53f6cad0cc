"""Leaves that steer: laws that weigh features, and products of two of them.

For a Box action a law gives each component, u = clip(K·x + c); for a Discrete one it gives each choice a score, and the
largest wins. Sums start with the constant and add one term after another, as every other form of a law does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import msgspec
import numpy as np

from sirl.arrays import Actions, Floats, Ints
from sirl.errors import did_you_mean
from sirl.model.formula import Formula, Sum, Term
from sirl.model.leaves import Broken, finite
from sirl.model.menu import Menu
from sirl.model.mirror import Mirror
from sirl.model.task import Task

ONE = -1
"""In place of a second feature: the term is a feature alone."""

Terms = list[tuple[list[str], float]]
"""Features that are multiplied with each other, none for the constant, and the weight of their product."""


class Affine(NamedTuple):
    """Laws of a Box action, for compiled loops."""

    terms: Ints
    """(n_leaves, n_terms, 2): a feature, and a second one or ``ONE``."""
    weights: Floats
    """(n_leaves, n_outputs, n_terms)"""
    constants: Floats
    """(n_leaves, n_outputs)"""
    low: Floats
    """(n_leaves, n_outputs)"""
    high: Floats
    """(n_leaves, n_outputs)"""


class Scores(NamedTuple):
    """Laws of a Discrete action, for compiled loops."""

    terms: Ints
    weights: Floats
    constants: Floats
    start: Ints
    """(n_leaves,): the first choice."""


@dataclass(frozen=True, eq=False)
class WeighingLeaves:
    """What both kinds share: a weighted sum of terms for each output."""

    terms: Ints
    """(n_leaves, n_terms, 2), features alone before products."""
    weights: Floats
    """(n_leaves, n_outputs, n_terms)"""
    constants: Floats
    """(n_leaves, n_outputs)"""
    task: Task

    menu: ClassVar[Menu | None] = None
    row: ClassVar[type[msgspec.Struct]]

    def __len__(self) -> int:
        return len(self.constants)

    def sums(self, leaves: Ints, observations: Floats) -> Floats:
        """What the laws of leaves (n,) give on observations (n, n_features), (n, n_outputs)."""
        totals, rows = self.constants[leaves].copy(), np.arange(len(leaves))
        for term in range(self.terms.shape[1]):
            first, second = self.terms[leaves, term].T
            values = self.weights[leaves, :, term] * observations[rows, first][:, None]
            factors = np.where(second == ONE, 1.0, observations[rows, second])
            totals += values * factors[:, None]
        return np.asarray(totals)

    def totals(self, leaf: int) -> tuple[Sum, ...]:
        """What a leaf adds up for each output, as data."""
        found = []
        for weights, constant in zip(self.weights[leaf], self.constants[leaf], strict=True):
            terms = [
                Term(float(weights[t]), tuple(f for f in self.terms[leaf, t].tolist() if f != ONE))
                for t in np.flatnonzero(weights).tolist()
            ]
            found.append(Sum(float(constant), tuple(terms)))
        return tuple(found)

    def same(self, one: int, other: int) -> bool:
        """See `Leaves.same`."""
        return all(np.array_equal(a[one], a[other]) for a in (self.terms, self.weights, self.constants))

    def outside(self, task: Task) -> str:
        """See `Leaves.outside`."""
        if self.task.action == "box" and (self.task.action_low, self.task.action_high) != (
            task.action_low,
            task.action_high,
        ):
            return f"its laws are clipped to {self.task.action_low} to {self.task.action_high}"
        return ""

    def take(self, leaves: Sequence[int]) -> Self:
        """See `Leaves.take`."""
        which = list(leaves)
        return type(self)(self.terms[which], self.weights[which], self.constants[which], self.task)

    def label(self, leaf: int, task: Task) -> str:
        """See `Leaves.label`; a law that is another one in the mirror is told by that."""
        names, mirrored = task.action_names, self.reflected(leaf)
        return "; ".join(
            f"{name} = {names[mirrored[output]]}, mirrored" if output in mirrored else f"{name} = {_text(terms)}"
            for output, (name, terms) in enumerate(self.named(leaf, task).items())
        )

    def reflected(self, leaf: int) -> dict[int, int]:
        """Outputs whose law is that of an earlier one in the mirror of the task, and which one that is."""
        mirror = self.task.mirrored
        if mirror is None:
            return {}
        found, totals = {}, self.totals(leaf)
        for output, (there, sign) in enumerate(zip(*(array.tolist() for array in mirror.actions), strict=True)):
            if (
                there < output
                and totals[there].terms
                and _reflect(totals[there], mirror, sign) == _plain(totals[output])
            ):
                found[output] = there
        return found

    def named(self, leaf: int, task: Task) -> dict[str, Terms]:
        """The law of a leaf: for each output the terms that count."""
        found: dict[str, Terms] = {}
        for output, name in enumerate(task.action_names):
            weights, constant = self.weights[leaf, output], float(self.constants[leaf, output])
            found[name] = [([], constant)] if constant or not weights.any() else []
            for term in np.flatnonzero(weights):
                first, second = self.terms[leaf, term]
                names = [task.features[first]] + ([] if second == ONE else [task.features[second]])
                found[name].append((names, float(weights[term])))
        return found

    @classmethod
    def of_sums(cls, leaves: Sequence[Sequence[Sum]], task: Task) -> Self:
        """Laws from what each leaf adds up for each output."""

        def terms(total: Sum) -> Terms:
            named = [([task.features[feature] for feature in term.features], term.weight) for term in total.terms]
            return [([], total.constant), *named]

        named = [dict(zip(task.action_names, map(terms, sums), strict=True)) for sums in leaves]
        return cls.of_named(named, task)

    @classmethod
    def of_named(cls, leaves: list[dict[str, Terms]], task: Task) -> Self:
        """Laws from terms by name, all leaves with the same ones; raises :class:`Broken` for what is no law."""
        columns = {name: column for column, name in enumerate(task.features)}
        used = sorted({_pair(names, columns) for leaf in leaves for t in leaf.values() for names, _ in t if names})
        order = sorted(used, key=lambda pair: (pair[1] != ONE, pair))
        places = {pair: place for place, pair in enumerate(order)}
        weights = np.zeros((len(leaves), len(task.action_names), len(order)))
        constants = np.zeros(weights.shape[:2])
        for number, leaf in enumerate(leaves):
            if list(leaf) != task.action_names:
                raise Broken(f"a law gives {', '.join(leaf)} in place of {', '.join(task.action_names)}")
            for output, terms in enumerate(leaf.values()):
                for names, weight in terms:
                    if names:
                        weights[number, output, places[_pair(names, columns)]] += finite(weight)
                    else:
                        constants[number, output] += finite(weight)
        pairs = np.array(order, dtype=np.int64).reshape(1, -1, 2)
        return cls(np.repeat(pairs, len(leaves), axis=0), weights, constants, task)


class _LawRow(msgspec.Struct, forbid_unknown_fields=True):
    law: dict[str, Terms]


@dataclass(frozen=True, eq=False)
class LawLeaves(WeighingLeaves):
    """Leaves that steer a Box action, each component by a law that is clipped to its bounds."""

    row: ClassVar[type[msgspec.Struct]] = _LawRow

    def act(self, leaves: Ints, observations: Floats) -> Actions:
        """See `Leaves.act`."""
        clipped = np.clip(self.sums(leaves, observations), self.task.action_low, self.task.action_high)
        return np.asarray(clipped.astype(self.task.action_dtype))

    def formula(self, leaf: int) -> Formula:
        """See `Leaves.formula`."""
        return Formula(self.totals(leaf), tuple(self.task.action_low), tuple(self.task.action_high))

    def law(self) -> Affine:
        """See `Leaves.law`."""
        bounds = [np.tile(np.array(b), (len(self), 1)) for b in (self.task.action_low, self.task.action_high)]
        return Affine(self.terms, self.weights, self.constants, *bounds)

    def rows(self, task: Task) -> list[msgspec.Struct]:
        """See `Leaves.rows`."""
        return [_LawRow(self.named(leaf, task)) for leaf in range(len(self))]

    @classmethod
    def of_rows(cls, rows: list[_LawRow], task: Task, menu: Menu | None) -> LawLeaves:  # noqa: ARG003
        """See `Leaves.of_rows`."""
        if task.action != "box":
            raise Broken(f"its law steers, but its action is {task.action}")
        return cls.of_named([row.law for row in rows], task)


class _ScoreRow(msgspec.Struct, forbid_unknown_fields=True):
    scores: dict[str, Terms]


@dataclass(frozen=True, eq=False)
class ScoreLeaves(WeighingLeaves):
    """Leaves that score the choices of a Discrete action, and take the first with the largest score."""

    row: ClassVar[type[msgspec.Struct]] = _ScoreRow

    def act(self, leaves: Ints, observations: Floats) -> Actions:
        """See `Leaves.act`."""
        best = np.argmax(self.sums(leaves, observations), axis=1)
        return np.asarray(best.astype(self.task.action_dtype) + int(self.task.action_low[0]))

    def formula(self, leaf: int) -> Formula:
        """See `Leaves.formula`."""
        first = self.task.action_low[0]
        return Formula(self.totals(leaf), choices=tuple((first + k,) for k in range(self.constants.shape[1])))

    def law(self) -> Scores:
        """See `Leaves.law`."""
        start = np.full(len(self), int(self.task.action_low[0]), dtype=np.int64)
        return Scores(self.terms, self.weights, self.constants, start)

    def label(self, leaf: int, task: Task) -> str:
        """See `Leaves.label`; scores that nothing is weighed in come to one choice."""
        if not self.weights[leaf].any():
            return task.action_names[int(np.argmax(self.constants[leaf]))]
        return f"largest of: {super().label(leaf, task)}"

    def rows(self, task: Task) -> list[msgspec.Struct]:
        """See `Leaves.rows`."""
        return [_ScoreRow(self.named(leaf, task)) for leaf in range(len(self))]

    @classmethod
    def of_rows(cls, rows: list[_ScoreRow], task: Task, menu: Menu | None) -> ScoreLeaves:  # noqa: ARG003
        """See `Leaves.of_rows`."""
        if task.action != "discrete":
            raise Broken(f"its leaves score choices, but its action is {task.action}")
        return cls.of_named([row.scores for row in rows], task)


def _plain(total: Sum) -> dict[tuple[int, ...], float]:
    """The weight of each product, and the constant."""
    weights = {tuple(sorted(term.features)): term.weight for term in total.terms}
    return weights | {(): total.constant}


def _reflect(total: Sum, mirror: Mirror, sign: float) -> dict[tuple[int, ...], float]:
    """The same of a sum in the mirror, where its output has a sign."""
    places, signs = mirror.features
    found: dict[tuple[int, ...], float] = {(): sign * total.constant}
    for weight, features in total.terms:
        image = tuple(sorted(int(places[feature]) for feature in features))
        found[image] = sign * weight * float(np.prod(signs[list(features)]))
    return found


def _pair(names: list[str], columns: dict[str, int]) -> tuple[int, int]:
    """A term's features by their columns."""
    for name in names:
        if name not in columns:
            raise Broken(f"a law weighs {name!r}, which is no feature{did_you_mean(name, list(columns))}")
    if len(names) > 2:
        raise Broken(f"a law multiplies {len(names)} features, and two are the most")
    found = sorted(columns[name] for name in names)
    return (found[0], ONE) if len(found) == 1 else (found[0], found[1])


def _text(terms: Terms) -> str:
    """A law such as ``0.5·theta - 1.2·p_x·d_y + 0.3``."""
    text = ""
    for names, weight in [*((n, w) for n, w in terms if n), *((n, w) for n, w in terms if not n)]:
        size = "" if abs(weight) == 1.0 and names else f"{abs(weight):.4g}"
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        text += sign + "·".join([size, *names] if size else names)
    return text
