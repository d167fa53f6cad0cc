"""Genotypes: a matrix of codons, one row an individual; the first population, and how offspring are made.

Every function is pure: codons (n, length) in, codons out, and the generation's key says what chance does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sirl.config import Settings
from sirl.keys import Key, fold_all, uniforms

Codons = NDArray[np.int32]

_BLOCK = 1 << 18
"""Codons that are drawn at once: draws take many times the room of a codon, and these fit into a cache."""


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
    which, fresh = fold_all(keys, np.array([1])), fold_all(keys, np.array([2]))
    counters = np.arange(codons.shape[1])
    mutated = codons.copy()
    for rows in _blocks(codons.shape):
        change = hit[rows, None] & (uniforms(which[rows, None], counters) < settings.mutation_rate)
        row, at = np.nonzero(change)
        mutated[rows][change] = _codons(fresh[rows][row], at, settings)
    return mutated


def _individual_keys(key: Key, n: int) -> NDArray[np.uint64]:
    return fold_all(key, np.arange(n))


def _random_codons(keys: NDArray[np.uint64], settings: Settings) -> Codons:
    codons = np.empty((len(keys), settings.genotype_length), dtype=np.int32)
    for rows in _blocks(codons.shape):
        codons[rows] = _codons(keys[rows, None], np.arange(settings.genotype_length), settings)
    return codons


def _codons(keys: NDArray[np.uint64], counters: NDArray[np.int64], settings: Settings) -> Codons:
    return (uniforms(keys, counters) * settings.codon_limit).astype(np.int32)


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Stretches of rows of a matrix (n, length), of about ``_BLOCK`` numbers each."""
    rows = max(1, _BLOCK // shape[1])
    return (slice(start, start + rows) for start in range(0, shape[0], rows))
