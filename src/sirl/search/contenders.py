"""Contenders: trees of laws that are tuned, and how their group changes: halved, shared with, widened, made smaller."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.config import Settings
from sirl.search import cma
from sirl.search.shapes import Frame, Shape, first_shape

_STRUCTURES = (1, 2, 1, 3, 1, 2, 1, 4)
"""Laws of the contenders, over and over: what is simple gets every second place."""
_PASSES = 8
"""Times that numbers are left out."""


class Contender(NamedTuple):
    """A tree that is tuned."""

    number: int
    shape: Shape
    distribution: cma.State

    def arrays(self, name: str) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        kept = {"children": self.shape.children, "free": self.shape.free, **self.distribution._asdict()}
        return {f"{name} {field}": array for field, array in kept.items()}

    @staticmethod
    def of(number: int, arrays: dict[str, Any], name: str, frame: Frame) -> Contender:
        """The contender again; raises ValueError for one that can't be."""
        shape = Shape(frame, arrays[f"{name} children"], arrays[f"{name} free"])
        distribution = cma.State(*(arrays[f"{name} {field}"] for field in cma.State._fields))
        if not all(np.isfinite(array).all() for array in distribution):
            raise ValueError("a contender is not finite")
        n = shape.size
        sizes = [(n,), (1,), (n, n), (n,), (n,), (1,)]
        if not shape.fits() or [array.shape for array in distribution] != sizes:
            raise ValueError("a contender is of another size")
        return Contender(number, shape, distribution)


class Schedule(NamedTuple):
    """After which generations the group changes."""

    halvings: tuple[int, ...]
    widening: int
    """When products join in; 0 if never."""
    shrinkings: tuple[int, ...]
    """When numbers are left out; the last is the end."""

    @property
    def events(self) -> frozenset[int]:
        """All of them."""
        return frozenset((*self.halvings, self.widening, *self.shrinkings))


def make_schedule(settings: Settings) -> Schedule:
    """Rounds of the race that cost about as many episodes each; then tuning; then passes of equal length."""
    end = settings.generations
    tuned = end - round(end * settings.shrinking)
    raced = max(1, tuned // 3) if settings.products else tuned
    rounds = 1 + max(0, settings.contenders - 1).bit_length()
    unit = raced / (2**rounds - 1)
    halvings = tuple(max(1, round(unit * (2**r - 1))) for r in range(1, rounds))
    passes = min(_PASSES, end - tuned)
    shrinkings = (*(tuned + (end - tuned) * i // passes for i in range(passes)), end) if passes else (end,)
    return Schedule(halvings, raced if settings.products else 0, shrinkings)


def first_contenders(frame: Frame, settings: Settings) -> tuple[Contender, ...]:
    """Trees of different sizes that know nothing."""
    each = 2 if frame.n_outputs == 0 else 1  # a law between two choices is a condition, and has two leaves
    most = settings.max_laws if settings.max_leaves is None else min(settings.max_laws, settings.max_leaves // each)
    found = []
    for number in range(settings.contenders):
        shape = first_shape(frame, each * min(_STRUCTURES[number % len(_STRUCTURES)], max(1, most)))
        found.append(Contender(number, shape, _begin(np.zeros(shape.size), shape, settings)))
    return tuple(found)


def halve(contenders: tuple[Contender, ...], returns: Floats, settings: Settings) -> tuple[Contender, ...]:
    """The better half by returns (n_contenders, n_episodes); those that lag far behind the best learn from it."""
    order = np.argsort(-returns.mean(axis=1), kind="stable")[: (len(contenders) + 1) // 2]
    leader = contenders[order[0]]
    found = []
    for i in sorted(order.tolist()):
        one, gains = contenders[i], returns[order[0]] - returns[i]
        lags = gains.mean() > gains.std() / np.sqrt(len(gains))
        if settings.sharing and lags and one.shape.n_leaves > leader.shape.n_leaves:
            leaf = one.number % leader.shape.n_leaves
            shape, row, _ = leader.shape.split(leaf, leader.distribution.mean)
            one = Contender(one.number, shape, _begin(row, shape, settings))
        found.append(one)
    return tuple(found)


def widen(contender: Contender, settings: Settings) -> Contender:
    """The same with products in its laws, that weigh nothing yet."""
    shape = contender.shape._replace(free=np.ones_like(contender.shape.free))
    row = np.zeros(len(shape.free))
    row[contender.shape.free] = contender.distribution.mean
    return Contender(contender.number, shape, _begin(row, shape, settings))


def leave_out(contender: Contender, scores: Floats, share: float) -> Contender:
    """A contender without a share of its numbers: those without which its scores (size,) are best."""
    n = min(max(1, int(share * len(scores))), len(scores) - 1)
    shape, kept = contender.shape.without(np.argsort(-scores, kind="stable")[:n])
    return Contender(contender.number, shape, cma.restricted(contender.distribution, kept))


def _begin(row: Floats, shape: Shape, settings: Settings) -> cma.State:
    """A round distribution whose outputs are about ``law_sigma`` apart."""
    per_law = len(shape.frame.terms) if shape.free.all() else shape.frame.task.n_features
    return cma.begin(row, settings.law_sigma / float(np.sqrt(per_law + 1)))
