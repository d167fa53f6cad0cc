"""Genotypes and how offspring are made."""

import numpy as np
import pytest

from sirl.config import Settings
from sirl.keys import Key
from sirl.search.genome import crossover, first_population, mutate, tournament_winners

SETTINGS = Settings(population=400, genotype_length=200)
CODONS = first_population(SETTINGS, Key(1))


def test_the_first_population_is_uniform_below_the_limit():
    assert CODONS.shape == (400, 200)
    assert CODONS.min() >= 0
    assert CODONS.max() < 40_000
    assert abs(CODONS.mean() - 20_000) < 5 * 40_000 / np.sqrt(12 * CODONS.size)
    assert not np.array_equal(first_population(SETTINGS, Key(2)), CODONS)


def test_small_codon_limits_are_kept():
    assert set(np.unique(first_population(SETTINGS.replace(codon_limit=2), Key(1)))) == {0, 1}


def test_offspring_are_a_function_of_the_key():
    for vary in (crossover, mutate):
        np.testing.assert_array_equal(vary(CODONS, SETTINGS, Key(3)), vary(CODONS, SETTINGS, Key(3)))
        assert not np.array_equal(vary(CODONS, SETTINGS, Key(3)), vary(CODONS, SETTINGS, Key(4)))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_tournament_prefers_the_fit(size):
    fitness = np.arange(400.0)
    winners = np.concatenate(
        [tournament_winners(fitness, SETTINGS.replace(tournament=size), Key(k)) for k in range(20)]
    )
    expected = 400 * size / (size + 1)  # of the largest of `size` uniform draws
    assert abs(winners.mean() - expected) < 10


def test_an_invalid_individual_wins_only_against_its_like():
    fitness = np.full(400, -np.inf)
    fitness[7] = -1e9
    winners = tournament_winners(fitness, SETTINGS.replace(tournament=400), Key(0))
    assert (winners == 7).mean() > 0.5


def test_crossover_swaps_tails_of_pairs():
    parents = np.repeat(np.arange(400, dtype=np.int32)[:, None], 200, axis=1)
    offspring = crossover(parents, SETTINGS.replace(crossover_probability=1), Key(5))
    for a in range(0, 400, 2):
        first, second = offspring[a], offspring[a + 1]
        point = int((first == a).sum())
        assert 1 <= point < 200
        np.testing.assert_array_equal(first, [a] * point + [a + 1] * (200 - point))
        np.testing.assert_array_equal(second, [a + 1] * point + [a] * (200 - point))


def test_crossover_happens_as_often_as_asked():
    offspring = crossover(CODONS, SETTINGS, Key(5))
    assert 20 <= (offspring != CODONS).any(axis=1).sum() <= 70  # 10 % of 200 pairs
    np.testing.assert_array_equal(crossover(CODONS, SETTINGS.replace(crossover_probability=0), Key(5)), CODONS)


def test_an_odd_one_out_is_left_alone():
    offspring = crossover(CODONS[:7], SETTINGS.replace(crossover_probability=1), Key(5))
    np.testing.assert_array_equal(offspring[6], CODONS[6])


def test_mutation_happens_as_often_as_asked():
    changed = mutate(CODONS, SETTINGS, Key(6)) != CODONS
    assert 0.85 < changed.any(axis=1).mean() < 0.95
    assert 0.045 < changed[changed.any(axis=1)].mean() < 0.055
    np.testing.assert_array_equal(mutate(CODONS, SETTINGS.replace(mutation_probability=0), Key(6)), CODONS)
