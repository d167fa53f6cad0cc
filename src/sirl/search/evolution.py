"""Algorithm 1: select, vary, evaluate in two phases, replace, crown; one generation is one pure step.

A ``Problem`` says what is to be solved and how, a frozen ``State`` is what a generation leaves behind. The
engine that the orders of work run on does not change any result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.config import Settings
from sirl.engine import Engine
from sirl.keys import Stream, root
from sirl.model.policy import Policy
from sirl.rollout.arena import Arena
from sirl.search.champion import best_trained, confirm, crown
from sirl.search.front import Front
from sirl.search.genome import Codons, crossover, first_population, mutate, tournament_winners
from sirl.search.instruments import Group, look_at_population
from sirl.search.population import Problem, evaluate_all
from sirl.search.records import Record, Standing
from sirl.search.warm_up import warm_up


class State(NamedTuple):
    """What a generation leaves behind."""

    generation: int
    """Generations completed."""
    codons: Codons
    """(population, genotype_length)"""
    fitness: Floats
    """(population,); -inf for an individual whose codons ran out, or that broke the simulation."""
    champion: Policy | None
    solved: bool
    """The champion has held ``stop_at`` on fresh episodes."""
    trained: Policy | None
    """Who has the best training score so far: the paper's champion."""

    @property
    def front(self) -> Front:
        """See `SearchState.front`: sizes are not looked at."""
        return ()


def first_state(problem: Problem) -> State:
    """Before the first generation."""
    nobody = np.full(problem.settings.population, -np.inf)
    codons = first_population(problem.settings, root(problem.seed, Stream.FIRST_GENOTYPES, 0))
    return State(0, codons, nobody, None, False, None)


def next_generation(state: State, problem: Problem, engine: Engine[Arena]) -> tuple[State, Record]:
    """One turn of the loop of Algorithm 1."""
    offspring, parents = (state.codons, None) if state.generation == 0 else _vary(state, problem)
    again = problem.settings.replacement == "re-evaluated" and state.generation > 0
    everyone = np.concatenate([offspring, state.codons]) if again else offspring
    evaluated = evaluate_all(everyone, problem, state.generation, engine)
    champion, proven, validation = crown(state.champion, evaluated, problem, state.generation, engine)
    trained = best_trained(state.trained, evaluated, problem, state.generation)
    codons, fitness = _replace(state, offspring, proven, problem.settings)
    solved, confirmation = confirm(champion, problem, state.generation, engine)
    born, left = Group(offspring, evaluated.fitness[: len(offspring)]), Group(codons, fitness)
    scores = evaluated.fitness[np.isfinite(evaluated.fitness)]
    record = Record(
        generation=state.generation,
        best=float(scores.max()),
        mean=float(scores.mean()),
        median=float(np.median(scores)),
        invalid=len(everyone) - len(evaluated.valid),
        collaborative=evaluated.collaborative,
        individual=evaluated.individual,
        validation=validation.plus(confirmation.episodes, confirmation.steps),
        champion=None if champion is None else Standing.of(champion),
        broke=evaluated.valid[np.isneginf(evaluated.fitness[evaluated.valid])].tolist(),
        silent=not scores.any(),
        instruments=look_at_population(born, parents, left, problem, state.generation, engine),
    )
    return State(state.generation + 1, codons, fitness, champion, solved, trained), record


def _vary(state: State, problem: Problem) -> tuple[Codons, Floats]:
    """Offspring of the population: tournament, one-point crossover, mutation.

    Also the fitness of the parent that gave each of them its first codons, (population,).
    """

    def key(stream: Stream) -> Any:
        return root(problem.seed, stream, state.generation)

    settings = problem.settings
    winners = tournament_winners(state.fitness, settings, key(Stream.SELECTION))
    crossed = crossover(state.codons[winners], settings, key(Stream.CROSSOVER))
    return mutate(crossed, settings, key(Stream.MUTATION)), state.fitness[winners]


def _replace(state: State, offspring: Codons, fitness: Floats, settings: Settings) -> tuple[Codons, Floats]:
    """The next population: offspring i takes the place of individual i, if it has earned it.

    ``fitness`` is that of the offspring, and if they are evaluated again, of the individuals after them.
    """
    if settings.replacement == "generational":
        return offspring, fitness
    ours, theirs = (
        fitness[: len(offspring)],
        fitness[len(offspring) :] if len(fitness) > len(offspring) else state.fitness,
    )
    better = ours > theirs
    return np.where(better[:, None], offspring, state.codons), np.where(better, ours, theirs)


class Evolution(NamedTuple):
    """Codon evolution as :class:`~sirl.runs.training.Training` drives a search."""

    problem: Problem

    def first_state(self) -> State:
        """See `Search.first_state`."""
        return first_state(self.problem)

    def step(self, state: State, engine: Engine[Arena]) -> tuple[State, Record]:
        """See `Search.step`."""
        return next_generation(state, self.problem, engine)

    def plan(self) -> str:
        """See `Search.plan`."""
        settings = self.problem.settings
        episodes = settings.episodes_per_generation()
        return f"{settings.population} trees, up to {settings.generations:,} generations of {episodes:,} episodes"

    def warm_up(self, engine: Engine[Arena]) -> None:
        """See `Search.warm_up`."""
        warm_up(self.problem, engine)

    def arrays(self, state: State) -> dict[str, Any]:
        """See `Search.arrays`."""
        return {"codons": state.codons, "fitness": state.fitness}

    def policies(self, state: State) -> dict[str, Policy | None]:
        """See `Search.policies`."""
        return {"champion": state.champion, "trained": state.trained}

    def restore(self, generation: int, solved: bool, arrays: dict[str, Any], policies: dict[str, Policy]) -> State:
        """See `Search.restore`."""
        codons, fitness, settings = arrays["codons"], arrays["fitness"], self.problem.settings
        if codons.shape != (settings.population, settings.genotype_length):
            raise ValueError("its population is of another size")
        if fitness.shape != codons.shape[:1] or np.isnan(fitness).any():
            raise ValueError("its population is incomplete")
        if codons.dtype != np.int32 or codons.min() < 0 or codons.max() >= settings.codon_limit:
            raise ValueError("its codons are out of range")
        return State(generation, codons, fitness, policies.get("champion"), solved, policies.get("trained"))
