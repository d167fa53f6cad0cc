"""A condition as a person would write it says what the split does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sirl.model.condition import fewest_digits, number, read_condition

NAMES = ["x", "v", "theta", "omega", "heat"]


@pytest.mark.parametrize(
    ("weights", "threshold", "names", "told"),
    [
        ([-3.4], 0, ["x1"], "x1 > 0"),
        ([2.0], 1, ["x1"], "x1 < 0.5"),
        ([0, 0, -5, -0.8, 0], 0, NAMES, "theta + 0.16·omega > 0"),
        ([-0.224, -0.684, -5.024, -1.678, 0], 0.285, NAMES, "0.0446·(x + 3.05·v) + theta + 0.334·omega > -0.0567"),
        ([0, 0, 0, 0, 0], 0.5, NAMES, "0 < 0.5"),
        ([1, 0, -1, 0, 0], -2, NAMES, "x - theta < -2"),
        ([1, 0, -1, 0.5, 0], -2, NAMES, "x - (theta - 0.5·omega) < -2"),
        ([0, 4, 0, 0, 1e-9], 1, NAMES, "v + 2.5e-10·heat < 0.25"),
        ([1, 2], 0, ["p_x", "v_x"], "p_x + 2·v_x < 0"),
        ([1, 2], 0, ["arm", "arm_dot"], "arm + 2·arm_dot < 0"),
        ([1, 2], 1234567, ["a", "b"], "0.5·a + b < 617000"),
    ],
)
def test_how_it_reads(weights, threshold, names, told):
    assert read_condition(np.array(weights, float), float(threshold), names).text(names) == told


@given(
    st.lists(st.floats(-10, 10).map(lambda w: round(w, 1)), min_size=5, max_size=5),
    st.floats(-10, 10).map(lambda t: round(t, 1)),
    st.integers(0, 2**32 - 1),
)
def test_it_decides_as_the_split_does(weights, threshold, seed):
    weights = np.array(weights)
    observations = np.random.default_rng(seed).normal(size=(200, 5))
    sums = observations @ weights
    clear = np.abs(sums - threshold) > 1e-9
    condition = read_condition(weights, threshold, NAMES)
    np.testing.assert_array_equal(condition.holds(observations)[clear], (sums < threshold)[clear])
    np.testing.assert_array_equal(condition.negated().holds(observations), ~condition.holds(observations))
    digits = fewest_digits(condition, observations)
    np.testing.assert_array_equal(condition.rounded(digits).holds(observations), condition.holds(observations))


@pytest.mark.parametrize(
    ("value", "digits", "told"),
    [(0.0, 3, "0"), (-0.0, 3, "0"), (1234.6, 3, "1230"), (0.00012345, 2, "0.00012"), (99.96, 3, "100"), (5.0, 3, "5")],
)
def test_numbers(value, digits, told):
    assert number(value, digits) == told
