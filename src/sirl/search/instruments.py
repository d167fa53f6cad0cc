"""Instruments: how repeatable a score is, how much offspring owe their parents, and what the survivors are worth.

They only look. What they play is drawn from streams of their own, so champions are the same without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from sirl.arrays import Floats, Seeds
from sirl.config import Settings
from sirl.engine import Engine
from sirl.keys import Stream, root
from sirl.model.tree import Tree
from sirl.rollout.arena import Arena
from sirl.rollout.spread import play_all
from sirl.search.champion import Asked, fresh_seeds
from sirl.search.genome import Codons
from sirl.search.population import Problem, evaluate_all
from sirl.search.records import Instruments
from sirl.search.signals import Worth

_SAMPLE = 25
"""Survivors that play."""
_EPISODES = 10
"""Starts that each of them plays, the same in every generation."""
_FEWEST = 3
"""Pairs that have a rank correlation: of two it is 1 or -1, whatever they are."""


class Group(NamedTuple):
    """Individuals with the fitness that selection goes by."""

    codons: Codons
    """(n, genotype_length)"""
    fitness: Floats
    """(n,); -inf where there is none."""


class Tuned(NamedTuple):
    """Offspring of a generation whose constants are tuned."""

    trees: Sequence[Tree]
    scores: Floats
    """(n_trees,)"""
    seeds: Seeds
    """(n_episodes,): the episodes that these are scores of."""
    parents: Sequence[Tree]
    """The means of the distributions that they were drawn from, in order."""
    drawn: Sequence[int]
    """(n_parents,): how many from each."""
    silent: bool
    """Whether all their episodes returned 0."""


def are_used(settings: Settings) -> bool:
    """Whether a run of these settings comes to a generation in which instruments play."""
    return 0 < settings.instruments_every <= settings.generations


def look_at_population(
    offspring: Group, parents: Floats | None, survivors: Group, problem: Problem, generation: int, engine: Engine[Arena]
) -> Instruments:
    """What a generation of the paper's methods shows; all but the heritage costs episodes.

    A group of the population's size, half of it offspring and half of it survivors, learns anew in both phases with
    fresh draws. ``parents`` (n,) is the fitness of the parent that gave each offspring its first codons.
    """
    found = Instruments(heritage=None if parents is None else rank_correlation(parents, offspring.fitness))
    odd = np.arange(len(offspring.codons)) % 2 == 1
    known = np.where(odd, survivors.fitness, offspring.fitness)
    if not _due(problem, generation) or not np.isfinite(known).any():
        return found
    codons = np.where(odd[:, None], survivors.codons, offspring.codons)
    afresh = problem._replace(seed=int(root(problem.seed, Stream.REPEATS, generation)))
    again = evaluate_all(codons, afresh, generation, engine)
    sample = np.flatnonzero(odd[again.valid] & np.isfinite(known[again.valid]))[:_SAMPLE]
    return _with_survivors(
        msgspec.structs.replace(
            found,
            repeat=rank_correlation(known[~odd], again.fitness[~odd]),
            claimed=float(known[again.valid[sample]].mean()) if len(sample) else None,
            cost=again.collaborative.plus(again.individual.episodes, again.individual.steps),
        ),
        [again.tree(tree, problem.menu) for tree in sample.tolist()],
        problem,
        engine,
    )


def look_at_laws(
    offspring: Tuned,
    survivors: Sequence[Tree],
    worth: Worth,
    problem: Asked,
    generation: int,
    engine: Engine[Arena],
) -> Instruments:
    """What a generation of laws shows: the offspring play as many other episodes, their parents the same ones.

    Heritage is not defined where all have one parent. ``survivors`` are the means of the contenders that stay,
    ``worth`` is what trees get of what is tuned for, (n_trees,), and what it costs to find out.
    """
    if not _due(problem, generation):
        return Instruments()
    others = fresh_seeds(problem, Stream.REPEATS, generation, len(offspring.seeds))
    again, spent, _ = worth(offspring.trees, others)
    parents, more, _ = worth(offspring.parents, offspring.seeds)
    found = Instruments(
        repeat=rank_correlation(offspring.scores, again),
        heritage=rank_correlation(np.repeat(parents, offspring.drawn), offspring.scores),
        cost=spent.plus(more.episodes, more.steps),
    )
    return _with_survivors(found, survivors, problem, engine)


def rank_correlation(one: Floats, other: Floats) -> float | None:
    """Spearman's, over the pairs (n,) that are finite; None where a side does not vary, or pairs are too few."""
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < _FEWEST or np.ptp(one[both]) == 0 or np.ptp(other[both]) == 0:
        return None
    return float(np.corrcoef(_ranks(one[both]), _ranks(other[both]))[0, 1])


def _ranks(values: Floats) -> Floats:
    """(n,) from 1; those that are equal share the mean of their places."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])


def _due(problem: Asked, generation: int) -> bool:
    every = problem.settings.instruments_every
    return every > 0 and (generation + 1) % every == 0


def _with_survivors(found: Instruments, trees: Sequence[Tree], problem: Asked, engine: Engine[Arena]) -> Instruments:
    """With the mean return of survivors on the starts that are the same in every generation."""
    if not trees:
        return found
    played = play_all(trees, fresh_seeds(problem, Stream.SURVIVORS, 0, _EPISODES), problem.task.env, engine)
    finite = played.returns[np.isfinite(played.returns)]
    return msgspec.structs.replace(
        found,
        survivors=float(finite.mean()) if len(finite) else None,
        cost=found.cost.plus(played.returns.size, played.steps),
    )
