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


class Instruments(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What shows whether a search finds its way; None where it was not measured, or is not defined.

    Correlations are Spearman's, of ranks.
    """

    repeat: float | None = None
    """Of the scores of the same offspring, evaluated twice."""
    heritage: float | None = None
    """Of the fitness of offspring with the fitness of their parents."""
    claimed: float | None = None
    """Mean fitness, as selection knows it, of a sample of the population after the generation: the survivors."""
    survivors: float | None = None
    """Mean return of the same sample, without exploring, on starts that are the same in every generation."""
    cost: Cost = Cost()
    """What was played for these numbers alone; outside the paper's budget, and nothing else depends on it."""


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
    silent: bool = False
    """Whether every episode of its offspring returned 0."""
    instruments: Instruments = Instruments()

    @property
    def episodes(self) -> int:
        """Episodes of both phases: the paper's budget."""
        return self.collaborative.episodes + self.individual.episodes

    @property
    def steps(self) -> int:
        """Steps of all phases, validation and instruments included: what the wall time went to."""
        costs = (self.collaborative, self.individual, self.validation, self.instruments.cost)
        return sum(cost.steps for cost in costs)

    def timed(self, seconds: float) -> Self:
        """With the wall time that the generation took."""
        return msgspec.structs.replace(self, seconds=round(seconds, 3))
