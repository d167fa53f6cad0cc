"""The printed trees are a ground truth that nobody here wrote: they must score what the paper says."""

import math
from dataclasses import replace

import numpy as np
import pytest

import sirl


@pytest.mark.parametrize("name", ["InvertedPendulum", "LunarLander", "Reacher", "Hopper", "Walker2d"])
def test_a_printed_tree_scores_what_the_paper_says(name):
    """Within two standard errors of the difference of two means over 100 episodes."""
    policy = sirl.load(f"paper:{name}")
    score = sirl.evaluate(policy, episodes=100, workers=1)
    mean, std = policy.origin.published_score
    error = math.sqrt(score.std**2 / 100 + std**2 / 100)
    assert abs(score.mean - mean) <= 2 * error + 0.005  # the paper rounds to two digits


def test_the_printed_swimmer_is_pruned_and_rounded_and_scores_less_than_the_paper_says():
    score = sirl.evaluate(sirl.load("paper:Swimmer"), episodes=10, workers=1)
    assert score.mean == pytest.approx(204.5, abs=5)


def test_raw_actions_are_what_the_paper_means():
    """Rescaled to the bounds of ±3 the printed pendulum tree falls."""
    policy = sirl.load("paper:InvertedPendulum")
    leaves = policy.tree.leaves
    rescaled = policy.tree._replace(leaves=replace(leaves, values=3 * leaves.values))
    score = sirl.evaluate(sirl.Policy(policy.task, rescaled), episodes=20, workers=1)
    assert score.mean < 300


def test_seven_bins_are_those_of_the_paper():
    menu = sirl.load("paper:Hopper").tree.leaves.menu
    assert menu.values.shape == (21, 3)
    np.testing.assert_allclose(menu.values[7:14, 1], [-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1], atol=1e-7)
    assert not menu.values[7:14, [0, 2]].any()
