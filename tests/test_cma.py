"""CMA-ES: the update is that of the package ``cmaes``, and it climbs what it should."""

import cmaes
import numpy as np
import pytest

from sirl.keys import Key, Stream, fold_all, normals, root
from sirl.search import cma


@pytest.mark.parametrize("n", [2, 5, 30])
def test_the_update_is_that_of_the_package(n):
    rng = np.random.default_rng(n)
    theirs = cmaes.CMA(mean=rng.normal(size=n), sigma=0.7, seed=1)
    ours = cma.begin(theirs._mean, 0.7)
    assert cma.offspring_for(n) == theirs.population_size
    for _ in range(25):
        offspring = np.array([theirs.ask() for _ in range(theirs.population_size)])
        scores = -np.square(offspring * np.arange(1, n + 1)).sum(axis=1)
        theirs.tell([(x, -score) for x, score in zip(offspring, scores, strict=True)])
        ours = cma.tell(ours, offspring, scores)
        np.testing.assert_allclose(ours.mean, theirs._mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.sigma[0], theirs._sigma, rtol=1e-9)
        np.testing.assert_allclose(ours.covariance, theirs._C, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_bottom_of_a_bent_valley(seed):
    """Rosenbrock's, in six dimensions."""

    def score(x):
        return -(100 * np.square(x[:, 1:] - np.square(x[:, :-1])) + np.square(1 - x[:, :-1])).sum(axis=1)

    state, key = cma.begin(np.zeros(6), 0.5), root(seed, Stream.SAMPLING, 0)
    for generation in range(400):
        offspring = cma.ask(state, 16, Key(fold_all(key, np.array([generation]))[0]))
        state = cma.tell(state, offspring, score(offspring))
    assert np.abs(state.mean - 1).max() < 1e-4


def test_a_larger_search_knows_the_directions_of_the_smaller_one():
    found = cma.begin(np.zeros(2), 0.3)._replace(covariance=np.array([[4.0, 1.8], [1.8, 1.0]]))
    larger = cma.extended(found, np.arange(4.0), np.array([0, 1, 1, -1]))
    offspring = cma.ask(larger, 100_000, root(1, Stream.SAMPLING, 0)) - np.arange(4.0)
    found = np.corrcoef(offspring.T)
    np.testing.assert_allclose(found[0, :3], [1.0, 0.45, 0.45], atol=0.02)
    np.testing.assert_allclose(found[1:3, 1:3], [[1.0, 0.5], [0.5, 1.0]], atol=0.02)
    np.testing.assert_allclose(found[3, :3], 0.0, atol=0.02)
    np.testing.assert_allclose(offspring.std(axis=0), 0.6 * np.sqrt([4.0, 1.0, 1.0, 2.5]), rtol=0.02)


def test_normal_draws_are_normal_and_keyed():
    draws = normals(Key(7), np.arange(200_000))
    assert abs(draws.mean()) < 0.01
    assert abs(draws.std() - 1) < 0.01
    assert abs((np.abs(draws) < 1.96).mean() - 0.95) < 0.003
    np.testing.assert_array_equal(draws[10:20], normals(Key(7), np.arange(10, 20)))
