import numpy as np
import pytest
from numba import njit

from sirl import keys
from sirl.keys import Stream


def test_draws_are_the_outputs_of_splitmix64():
    """Reference outputs of SplitMix64 seeded with 1234567, as published with the generator."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    drawn = keys.draw(np.full(4, 1234567, dtype=np.uint64), np.arange(4, dtype=np.uint64))
    assert drawn.tolist() == expected


def test_kernels_draw_the_same_numbers_as_arrays():
    @njit
    def kernel(key, counter):
        return keys.uniform(keys.fold(key, 7), counter)

    key = keys.root(5, Stream.MUTATION, 3)
    in_array = keys.uniforms(keys.fold_all(key, np.array([7])), np.arange(50))
    assert [kernel(key, c) for c in range(50)] == in_array.tolist()


def test_every_word_of_a_key_matters():
    roots = {
        int(keys.root(seed, stream, generation))
        for seed in (0, 1, 5, 2**62)
        for stream in Stream
        for generation in (0, 1, 2, 300)
    }
    assert len(roots) == 4 * len(Stream) * 4


def test_uniforms_fill_the_unit_interval_evenly():
    draws = keys.uniforms(keys.root(0, Stream.SELECTION, 0), np.arange(100_000))
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    counts, _ = np.histogram(draws, bins=20, range=(0, 1))
    assert ((counts - 5000) ** 2 / 5000).sum() == pytest.approx(19, abs=25)  # chi-square, 19 degrees of freedom


def test_environment_seeds_have_63_bits_and_do_not_repeat():
    seeds = keys.episode_seeds(keys.fold_all(keys.root(1, Stream.INDIVIDUAL, 0), np.arange(10_000)))
    assert seeds.min() >= 0
    assert len(np.unique(seeds)) == 10_000
    assert seeds.max() > 2**62
