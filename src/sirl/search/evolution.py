"""Algorithm 1: select, vary, evaluate in two phases, replace, crown; one generation is one pure step.

A ``Problem`` says what is to be solved and how, a frozen ``State`` is what a generation leaves behind. The
engine that the orders of work run on does not change any result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.config import Settings
from sirl.engine import Engine
from sirl.keys import Stream, episode_seeds, fold_all, root
from sirl.model.task import Menu
from sirl.model.tree import QLeaves, Tree, simplify
from sirl.rollout.work import Arena
from sirl.search.genome import Codons, crossover, first_population, mutate, tournament_winners
from sirl.search.population import Evaluated, Problem, Spent, evaluate_all, play_all


class Champion(NamedTuple):
    """The best tree so far."""

    tree: Tree
    generation: int
    individual: int
    training_score: float
    """Mean return of its individual phase: its fitness."""
    validation_score: float | None
    """Mean return on the fresh episodes of its latest validation."""


class State(NamedTuple):
    """What a generation leaves behind."""

    generation: int
    """Generations completed."""
    codons: Codons
    """(population, genotype_length)"""
    fitness: NDArray[np.float64]
    """(population,); -inf for an individual whose codons ran out, or that broke the simulation."""
    champion: Champion | None
    solved: bool
    """The champion has held ``stop_at`` on fresh episodes."""


class Summary(NamedTuple):
    """What a generation was like."""

    generation: int
    best: float
    """Best training score among this generation's offspring."""
    mean: float
    median: float
    invalid: int
    """Individuals whose codons ran out; they count in no score."""
    broke: list[int]
    """Which individuals made the simulation lose its state; they count in no score either."""
    collaborative: Spent
    individual: Spent
    validation: Spent


def first_state(problem: Problem) -> State:
    """Before the first generation."""
    nobody = np.full(problem.settings.population, -np.inf)
    codons = first_population(problem.settings, root(problem.seed, Stream.FIRST_GENOTYPES, 0))
    return State(0, codons, nobody, None, False)


def next_generation(state: State, problem: Problem, engine: Engine[Arena]) -> tuple[State, Summary]:
    """One turn of the loop of Algorithm 1."""
    offspring = state.codons if state.generation == 0 else _vary(state, problem)
    evaluated = evaluate_all(offspring, problem, state.generation, engine)
    champion, proven, validation = _crown(state, evaluated, problem, engine)
    codons, fitness = _replace(state, offspring, proven, problem.settings)
    solved, confirmation = _confirm(champion, problem, state.generation, engine)
    scores = evaluated.fitness[np.isfinite(evaluated.fitness)]
    summary = Summary(
        state.generation,
        float(scores.max()),
        float(scores.mean()),
        float(np.median(scores)),
        len(offspring) - len(evaluated.valid),
        evaluated.valid[np.isneginf(evaluated.fitness[evaluated.valid])].tolist(),
        evaluated.collaborative,
        evaluated.individual,
        validation.plus(*confirmation),
    )
    return State(state.generation + 1, codons, fitness, champion, solved), summary


def _vary(state: State, problem: Problem) -> Codons:
    """Offspring of the population: tournament, one-point crossover, mutation."""

    def key(stream: Stream) -> Any:
        return root(problem.seed, stream, state.generation)

    settings = problem.settings
    winners = tournament_winners(state.fitness, settings, key(Stream.SELECTION))
    crossed = crossover(state.codons[winners], settings, key(Stream.CROSSOVER))
    return mutate(crossed, settings, key(Stream.MUTATION))


def _replace(
    state: State, offspring: Codons, fitness: NDArray[np.float64], settings: Settings
) -> tuple[Codons, NDArray[np.float64]]:
    """The next population: offspring i takes the place of individual i, if it has earned it."""
    if settings.replacement == "generational":
        return offspring, fitness
    better = fitness > state.fitness
    return np.where(better[:, None], offspring, state.codons), np.where(better, fitness, state.fitness)


def _crown(
    state: State, evaluated: Evaluated, problem: Problem, engine: Engine[Arena]
) -> tuple[Champion | None, NDArray[np.float64], Spent]:
    """The champion after a generation: by training score (paper), or by validation of the best few.

    Also the fitness that the next generation is to go by, which a validation may correct.
    """
    settings = problem.settings
    fitness = evaluated.fitness
    scores = fitness[evaluated.valid]
    if settings.crowning == "training":
        best = _candidate(evaluated, int(np.argmax(scores)), state.generation, problem.menu)
        if state.champion is None or best.training_score > state.champion.training_score:
            return best, fitness, Spent()
        return state.champion, fitness, Spent()
    order = np.argsort(-scores, kind="stable")[: min(settings.candidates, np.isfinite(scores).sum())]
    contenders = [_candidate(evaluated, int(tree), state.generation, problem.menu) for tree in order]
    if state.champion is not None:
        contenders.insert(0, state.champion)
    seeds = _fresh_seeds(problem, Stream.VALIDATION, state.generation, settings.validation_episodes)
    returns, steps = play_all([c.tree for c in contenders], seeds, problem, engine)
    means = returns.mean(axis=1)
    # A shorter tree with the same score is the better read; the reigning champion keeps a full tie.
    best_index = max(range(len(contenders)), key=lambda i: (means[i], -contenders[i].tree.n_leaves, -i))
    champion = state.champion
    if np.isfinite(means[best_index]):  # else all of them made the simulation lose its state
        champion = contenders[best_index]._replace(validation_score=float(means[best_index]))
    if settings.luck == "corrected":
        fitness = fitness.copy()
        validated = evaluated.valid[order]
        fitness[validated] = np.minimum(fitness[validated], means[-len(order) :])
    return champion, fitness, Spent(returns.size, steps)


def _candidate(evaluated: Evaluated, tree: int, generation: int, menu: Menu) -> Champion:
    """A tree that may become champion, without the conditions that change nothing."""
    rows = slice(evaluated.forest.first_leaf[tree], evaluated.forest.first_leaf[tree + 1])
    leaves = QLeaves(evaluated.knowledge.q_values[rows].copy())
    individual = int(evaluated.valid[tree])
    score = float(evaluated.fitness[individual])
    simple = simplify(evaluated.forest.tree(tree, leaves), menu)
    return Champion(simple, generation, individual, score, None)


def _confirm(champion: Champion | None, problem: Problem, generation: int, engine: Engine[Arena]) -> tuple[bool, Spent]:
    """Whether the champion holds ``stop_at``: on its validation, and then on episodes that chose nothing."""
    settings = problem.settings
    if settings.stop_at is None or champion is None:
        return False, Spent()
    score = champion.training_score if champion.validation_score is None else champion.validation_score
    if score < settings.stop_at:
        return False, Spent()
    seeds = _fresh_seeds(problem, Stream.CONFIRMATION, generation, settings.confirmation_episodes)
    returns, steps = play_all([champion.tree], seeds, problem, engine)
    return bool(returns.mean() >= settings.stop_at), Spent(returns.size, steps)


def _fresh_seeds(problem: Problem, stream: Stream, generation: int, n: int) -> NDArray[np.int64]:
    return episode_seeds(fold_all(root(problem.seed, stream, generation), np.arange(n)))
