"""What linear programming leaves out can't be turned, and what it keeps can."""

import gymnasium as gym
import numpy as np
import pytest

from conftest import Tiny
from sirl.model.leaves import QLeaves
from sirl.model.tree import Tree
from sirl.reading.region import Region, Row
from sirl.reading.simplify import simplify_within_bounds
from sirl.simulators.recipes import inspect, make_recipe
from sirl.simulators.spaces import describe
from test_tree import MENU, random_tree


def tiny(low, high):
    return describe(Tiny(gym.spaces.Box(np.float32(low), np.float32(high))), "Tiny-v0")


def test_a_dead_root_goes():
    """|sin| is at most 1, so 4.5·sin(theta) is below 9.7 always."""
    task = inspect(make_recipe("Pendulum-v1")).task
    tree = Tree(
        np.array([[0, 4.5, 0], [0, 0, 1.0]]),
        np.array([9.7, 0.0]),
        np.array([[1, ~2], [~0, ~1]], dtype=np.int32),
        QLeaves(np.eye(2)[[0, 1, 0]], MENU),
    )
    smaller = simplify_within_bounds(tree, task)
    assert smaller.weights.tolist() == [[0, 0, 1.0]]


def test_splits_above_count():
    """That x + y < -1 within the unit square leaves no room for x > 0.5, and two different sums tell that together."""
    tree = Tree(
        np.array([[1.0, 1.0], [-1.0, 0.0]]),
        np.array([-1.0, -0.5]),
        np.array([[1, ~2], [~0, ~1]], dtype=np.int32),
        QLeaves(np.eye(2)[[0, 1, 0]], MENU),
    )
    assert simplify_within_bounds(tree, tiny([-1, -1], [1, 1])).n_splits == 1
    assert simplify_within_bounds(tree, tiny([-5, -5], [5, 5])).n_splits == 2


@pytest.mark.parametrize("seed", range(8))
def test_the_policy_stays_the_same(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(25, 3, 2, rng)
    task = tiny([-1, -1, 0], [1, 1, 0.5])
    smaller = simplify_within_bounds(tree, task)
    assert smaller.n_splits < 25
    observations = rng.uniform([-1, -1, 0], [1, 1, 0.5], (20_000, 3))
    np.testing.assert_array_equal(smaller.act(observations), tree.act(observations))
    assert simplify_within_bounds(smaller, task).n_splits == smaller.n_splits


def test_one_of_few_states():
    """A one-hot row has one feature at 1: no state has two features at once."""
    task = describe(Tiny(gym.spaces.Discrete(4)), "Tiny-v0")
    tree = Tree(
        np.array([[0, 1.0, 1.0, 0], [0, 1.0, 0, 1.0]]),
        np.array([0.5, 1.5]),
        np.array([[~0, 1], [~1, ~2]], dtype=np.int32),
        QLeaves(np.eye(2)[[0, 1, 0]], MENU),
    )
    smaller = simplify_within_bounds(tree, task)
    assert smaller.n_splits == 1
    np.testing.assert_array_equal(smaller.act(np.eye(4)), tree.act(np.eye(4)))


def test_a_region_without_bounds():
    task = inspect(make_recipe("InvertedPendulum-v4")).task
    assert Region(task).largest(np.ones(4)) == np.inf
    half = Region(task, (Row(np.array([1.0, 0, 0, 0]), 2.0),))
    assert half.largest(np.array([3.0, 0, 0, 0])) == pytest.approx(6.0)
    assert half.inner_state() is not None
    empty = half.where(Row(np.array([-1.0, 0, 0, 0]), -2.0, strict=False))
    assert empty.inner_state() is None
