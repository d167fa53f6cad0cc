"""Genotypes: a matrix of codons, one row an individual; the first population, and how offspring are made.

Every function is pure: codons (n, length) in, codons out, and the generation's key says what chance does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sirl.config import Settings
from sirl.keys import Key, fold_all, uniforms

Codons = NDArray[np.int32]


def first_population(settings: Settings, key: Key) -> Codons:
    """Codons uniform in [0, codon_limit), (population, genotype_length)."""
    return _random_codons(_individual_keys(key, settings.population), settings)


def tournament_winners(fitness: NDArray[np.float64], settings: Settings, key: Key) -> NDArray[np.int64]:
    """For each of ``population`` tournaments, the individual that wins it; (population,).

    Entrants are drawn with replacement; the earliest drawn wins a tie.
    """
    n = len(fitness)
    draws = uniforms(_individual_keys(key, n)[:, None], np.arange(settings.tournament))
    entrants = (draws * n).astype(np.int64)
    return np.asarray(entrants[np.arange(n), np.argmax(fitness[entrants], axis=1)])


def crossover(parents: Codons, settings: Settings, key: Key) -> Codons:
    """One-point crossover of each consecutive pair of rows, with ``crossover_probability``."""
    offspring = parents.copy()
    n_pairs, length = len(parents) // 2, parents.shape[1]
    draws = uniforms(_individual_keys(key, n_pairs)[:, None], np.arange(2))
    points = 1 + (draws[:, 1] * (length - 1)).astype(np.int64)
    for pair in np.flatnonzero(draws[:, 0] < settings.crossover_probability):
        a, b, point = 2 * pair, 2 * pair + 1, points[pair]
        offspring[a, point:], offspring[b, point:] = parents[b, point:], parents[a, point:]
    return offspring


def mutate(codons: Codons, settings: Settings, key: Key) -> Codons:
    """Mutate a row with ``mutation_probability``: each codon is drawn anew with ``mutation_rate``."""
    keys = _individual_keys(key, len(codons))
    hit = uniforms(fold_all(keys, np.array([0])), np.zeros(1)) < settings.mutation_probability
    counters = np.arange(codons.shape[1])
    change = uniforms(fold_all(keys, np.array([1]))[:, None], counters) < settings.mutation_rate
    fresh = _random_codons(fold_all(keys, np.array([2])), settings)
    return np.where(hit[:, None] & change, fresh, codons)


def _individual_keys(key: Key, n: int) -> NDArray[np.uint64]:
    return fold_all(key, np.arange(n))


def _random_codons(keys: NDArray[np.uint64], settings: Settings) -> Codons:
    draws = uniforms(keys[:, None], np.arange(settings.genotype_length))
    return (draws * settings.codon_limit).astype(np.int32)
