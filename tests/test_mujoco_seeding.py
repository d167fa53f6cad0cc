import numpy as np

from sirl.simulators.mujoco.seeding import first_uniforms


def test_first_draws_are_those_of_numpys_default_generator():
    edges = [0, 1, 5, 2**32 - 1, 2**32, 2**32 + 7, 2**62, 2**63 - 1]
    seeds = np.array(edges + np.random.default_rng(0).integers(0, 2**63, 300).tolist(), dtype=np.int64)
    expected = [np.random.default_rng(seed).random(25) for seed in seeds.tolist()]
    np.testing.assert_array_equal(first_uniforms(seeds, 25), expected)
