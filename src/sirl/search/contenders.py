"""Contenders: trees of laws that are tuned, and how their group changes: halved, shared with, widened, made smaller."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.config import Settings
from sirl.errors import SirlError
from sirl.keys import Key
from sirl.model.policy import Policy
from sirl.search import ars, cma
from sirl.search.shapes import Frame, Shape, first_shape
from sirl.search.starting import from_policy

_STRUCTURES = (1, 2, 1, 3, 1, 2, 1, 4)
"""Laws of the contenders, over and over: what is simple gets every second place."""
_PASSES = 8
"""Times that numbers are left out."""
_RELATIVE = 0.2
"""Step of a search that begins with a row that is known, as a share of the row's size."""
_CLOSE = 0.1
"""The same for a policy that is given."""
_WIDEST = 400
"""Constants: CMA-ES takes the eigenvectors of a matrix of this size in every generation."""


class Contender(NamedTuple):
    """A tree that is tuned."""

    number: int
    shape: Shape
    distribution: cma.State | ars.State

    def ask(self, n: int | None, key: Key) -> Floats:
        """Offspring, (n_offspring, size)."""
        if isinstance(self.distribution, ars.State):
            return ars.ask(self.distribution, n or ars.offspring_for(self.shape.size), key)
        return cma.ask(self.distribution, n or cma.offspring_for(self.shape.size), key)

    def tell(self, offspring: Floats, scores: Floats) -> Contender:
        """The contender after its offspring (n_offspring, size) got their scores (n_offspring,)."""
        if isinstance(self.distribution, ars.State):
            return self._replace(distribution=ars.tell(self.distribution, offspring, scores))
        return self._replace(distribution=cma.tell(self.distribution, offspring, scores))

    def arrays(self, name: str) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        kept = {"children": self.shape.children, "free": self.shape.free, **self.distribution._asdict()}
        return {f"{name} {field}": array for field, array in kept.items()}

    @staticmethod
    def of(number: int, arrays: dict[str, Any], name: str, frame: Frame) -> Contender:
        """The contender again; raises ValueError for one that can't be."""
        shape = Shape(frame, arrays[f"{name} children"], arrays[f"{name} free"])
        kind = cma.State if f"{name} covariance" in arrays else ars.State
        distribution = kind(*(arrays[f"{name} {field}"] for field in kind._fields))
        if not all(np.isfinite(array).all() for array in distribution):
            raise ValueError("a contender is not finite")
        n = shape.size
        sizes = [(n,), (1,), (n, n), (n,), (n,), (1,)]
        if not shape.fits() or [array.shape for array in distribution] != sizes[: len(distribution)]:
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


def first_contenders(frame: Frame, settings: Settings, start: Policy | None = None) -> tuple[Contender, ...]:
    """Trees of different sizes that know nothing; the first is the policy to start from, if there is one."""
    most, each = most_leaves(frame, settings), leaves_each(frame)
    found = []
    for number in range(settings.contenders):
        shape = first_shape(frame, min(each * _STRUCTURES[number % len(_STRUCTURES)], most))
        if not shape.size:
            raise SirlError(f"the mirror leaves no number of a law for {frame.task.env} to tune: leave it out.")
        found.append(Contender(number, shape, _begin(np.zeros(shape.size), shape, settings)))
    if start is not None:
        shape, row = from_policy(start, frame)
        found[0] = Contender(0, shape, _near(row, shape))
    return tuple(found)


def most_leaves(frame: Frame, settings: Settings) -> int:
    """Of the largest contender that may be."""
    each = leaves_each(frame)
    most = each * settings.max_laws
    return max(each, most if settings.max_leaves is None else min(most, settings.max_leaves))


def largest(first: tuple[Contender, ...], settings: Settings) -> Shape:
    """The largest shape that a race of these first contenders can come to."""
    shape = max((contender.shape for contender in first), key=lambda shape: shape.n_leaves)
    growing = settings.sharing * len(make_schedule(settings).halvings)
    n_leaves = max(shape.n_leaves, min(shape.n_leaves + growing, most_leaves(shape.frame, settings)))
    return shape if n_leaves == shape.n_leaves else first_shape(shape.frame, n_leaves)


def is_wide(shape: Shape) -> bool:
    """Whether it has too many constants for CMA-ES, and is tuned by augmented random search."""
    return shape.size > _WIDEST


def halve(
    contenders: tuple[Contender, ...], returns: Floats, settings: Settings
) -> tuple[tuple[Contender, ...], list[int]]:
    """The better half by returns (n_contenders, n_episodes), the best first, and the place that each had before.

    What was found spreads: the last of them, if it lags behind, becomes the best with a leaf split in two, of which one
    half is a law of the second best. The others go on with what they have found themselves.
    """
    order: list[int] = np.argsort(-returns.mean(axis=1), kind="stable")[: (len(contenders) + 1) // 2].tolist()
    found = [contenders[i] for i in order]
    gains = returns[order[0]] - returns[order[-1]]
    lags = gains.mean() > gains.std() / np.sqrt(len(gains))
    if settings.sharing and lags and found[0].shape.n_leaves < most_leaves(found[0].shape.frame, settings):
        found[-1] = _joined(found[0], found[1], found[-1].number, settings)
    return tuple(found), order


def _joined(best: Contender, second: Contender, number: int, settings: Settings) -> Contender:
    """The best with a law of the second in one more leaf, under another number: at first it does what the best does."""
    leaf, mean = number % best.shape.n_leaves, best.distribution.mean
    law = second.shape.law(number % second.shape.n_leaves, second.distribution.mean)
    shape, row, source = best.shape.split(leaf, mean, law)
    if isinstance(best.distribution, ars.State) or is_wide(shape):
        return Contender(number, shape, _begin(row, shape, settings))
    return Contender(number, shape, cma.extended(best.distribution, row, source))


def leaves_each(frame: Frame) -> int:
    """A law between two choices is a condition, and has two leaves."""
    return 2 if frame.n_outputs == 0 else 1


def widen(contender: Contender, settings: Settings) -> Contender:
    """The same with products in its laws, that weigh nothing yet."""
    shape = contender.shape.widened()
    full = np.zeros(len(shape.free))
    full[contender.shape.free] = contender.distribution.mean
    return Contender(contender.number, shape, _begin(full[shape.free], shape, settings))


def leave_out(contender: Contender, scores: Floats, share: float) -> Contender:
    """A contender without a share of its numbers: those without which its scores (size,) are best."""
    n = min(max(1, int(share * len(scores))), len(scores) - 1)
    shape, kept = contender.shape.without(np.argsort(-scores, kind="stable")[:n])
    distribution = contender.distribution
    if isinstance(distribution, ars.State):
        return Contender(contender.number, shape, ars.restricted(distribution, kept))
    return Contender(contender.number, shape, cma.restricted(distribution, kept))


def _begin(row: Floats, shape: Shape, settings: Settings) -> cma.State | ars.State:
    """A search about a row, so wide that outputs are about ``law_sigma`` apart, and a large row changes too."""
    per_law = len(shape.frame.terms) if shape.has_products else shape.frame.task.n_features
    sigma = max(settings.law_sigma / float(np.sqrt(per_law + 1)), _RELATIVE * float(np.sqrt(np.square(row).mean())))
    return ars.begin(row, sigma / 10) if is_wide(shape) else cma.begin(row, sigma)


def _near(row: Floats, shape: Shape) -> cma.State | ars.State:
    """A search close to a row that is good already: each number changes by a share of its own size."""
    size = np.maximum(np.abs(row), 0.1 * np.sqrt(np.square(row).mean()) or 1.0)
    if is_wide(shape):
        return ars.begin(row, _CLOSE * float(size.min()))
    return cma.begin(row, _CLOSE)._replace(covariance=np.diag(np.square(size)))
