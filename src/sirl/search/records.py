"""What a generation of a search leaves for its history: plain records, read and written as JSON lines."""

from __future__ import annotations

from typing import Self

import msgspec

from sirl.model.policy import Policy


class Cost(msgspec.Struct, frozen=True):
    """What a generation spent in one phase."""

    episodes: int = 0
    steps: int = 0

    def plus(self, episodes: int, steps: int) -> Cost:
        """With some more."""
        return Cost(self.episodes + episodes, self.steps + steps)


class Standing(msgspec.Struct, frozen=True):
    """The champion, as a history line tells of it; its file has the rest."""

    generation: int | None
    training_score: float | None
    validation_score: float | None
    leaves: int
    depth: int

    @staticmethod
    def of(champion: Policy) -> Standing:
        """What to record of a champion."""
        origin, tree = champion.origin, champion.tree
        return Standing(origin.generation, origin.training_score, origin.validation_score, tree.n_leaves, tree.depth)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history: a generation."""

    generation: int
    best: float
    """Best training score among this generation's offspring."""
    mean: float
    median: float
    invalid: int
    """Individuals whose codons ran out; they count in no score."""
    collaborative: Cost
    individual: Cost
    validation: Cost
    """Outside the paper's budget."""
    champion: Standing | None
    seconds: float = 0.0
    """Wall time of the generation."""
    broke: list[int] = []
    """Which individuals made the simulation lose its state, and have no fitness for it."""

    @property
    def episodes(self) -> int:
        """Episodes of both phases: the paper's budget."""
        return self.collaborative.episodes + self.individual.episodes

    @property
    def steps(self) -> int:
        """Steps of all phases, validation included."""
        return self.collaborative.steps + self.individual.steps + self.validation.steps

    def timed(self, seconds: float) -> Self:
        """With the wall time that the generation took."""
        return msgspec.structs.replace(self, seconds=round(seconds, 3))
