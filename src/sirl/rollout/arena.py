"""The arena: where trees play both phases of the paper, and plain episodes.

There are two kinds, which give the same bits: ``lockstep.py`` for every simulator, ``compiled.py`` where physics can be
called from compiled loops. Nobody outside this room asks which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from sirl.rollout.work import (
    CollaborativeOrder,
    CollaborativeResult,
    IndividualOrder,
    IndividualResult,
    PlayOrder,
    PlayResult,
)


class Cuts(NamedTuple):
    """Into how many orders a phase is best cut for each worker, if there are several."""

    individual: int
    collaborative: int


class Arena(ABC):
    """Where trees play."""

    cuts: ClassVar[Cuts]
    loop: ClassVar[str]
    """The compiled function that takes longest to compile."""

    @abstractmethod
    def individual(self, order: IndividualOrder) -> IndividualResult:
        """Individual phase (Algorithm 3): every tree learns alone; its mean return is its fitness."""

    @abstractmethod
    def collaborative(self, order: CollaborativeOrder) -> CollaborativeResult:
        """Collaborative phase (Algorithm 2): all propose, a vote decides, all learn from the one transition."""

    @abstractmethod
    def play(self, order: PlayOrder) -> PlayResult:
        """Every tree on every one of its seeds, without learning or exploring."""

    @abstractmethod
    def brief(self) -> Arena:
        """An arena with the same compiled loops, in which every episode ends after a step: for a warm-up."""

    @abstractmethod
    def close(self) -> None:
        """Let go of environments."""


def individual(arena: Arena, order: IndividualOrder) -> IndividualResult:
    """What a worker does with an order of the individual phase."""
    return arena.individual(order)


def collaborative(arena: Arena, order: CollaborativeOrder) -> CollaborativeResult:
    """What a worker does with an order of the collaborative phase."""
    return arena.collaborative(order)


def play(arena: Arena, order: PlayOrder) -> PlayResult:
    """What a worker does with episodes to be played."""
    return arena.play(order)
