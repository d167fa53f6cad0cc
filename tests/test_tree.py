"""A tree sends every observation to the leaf that its conditions say."""

import numpy as np
import pytest

from sirl.model.leaves import FixedLeaves, QLeaves
from sirl.model.menu import Menu
from sirl.model.tree import Tree, simplify


def random_tree(n_splits, n_features, n_actions, rng, menu=None):
    """A tree of random shape; splits and leaves are numbered in pre-order, as everywhere."""
    children = np.zeros((n_splits, 2), dtype=np.int32)
    counts = [0, 0]  # splits, leaves

    def grow(size):
        if size == 0:
            counts[1] += 1
            return ~(counts[1] - 1)
        split = counts[0]
        counts[0] += 1
        left = int(rng.integers(size))
        children[split] = grow(left), grow(size - 1 - left)
        return split

    grow(n_splits)
    weights = rng.integers(-3, 4, (n_splits, n_features)) / 2
    menu = menu or Menu(np.arange(n_actions), ["left", "right", *(f"a{i}" for i in range(2, n_actions))][:n_actions])
    leaves = QLeaves(rng.normal(size=(n_splits + 1, n_actions)), menu)
    return Tree(weights, rng.normal(size=n_splits), children, leaves)


def by_hand(tree, observation):
    node = tree.root
    while node >= 0:
        holds = sum(w * x for w, x in zip(tree.weights[node], observation, strict=True)) < tree.thresholds[node]
        node = int(tree.children[node][0 if holds else 1])
    return ~node


@pytest.mark.parametrize("n_splits", [0, 1, 2, 7, 40])
def test_walk(n_splits):
    rng = np.random.default_rng(n_splits)
    tree = random_tree(n_splits, 3, 2, rng)
    observations = rng.normal(size=(50, 3))
    np.testing.assert_array_equal(tree.walk(observations), [by_hand(tree, o) for o in observations])
    assert tree.n_leaves == n_splits + 1


def test_an_observation_on_the_threshold_goes_to_no():
    tree = Tree(np.ones((1, 1)), np.array([0.5]), np.array([[~0, ~1]], dtype=np.int32), FixedLeaves(np.zeros(2), MENU))
    np.testing.assert_array_equal(tree.walk(np.array([[0.4999], [0.5], [np.nan]])), [0, 1, 1])


def test_depth_and_preorder():
    rng = np.random.default_rng(0)
    assert random_tree(0, 2, 2, rng).depth == 0
    assert random_tree(1, 2, 2, rng).depth == 1
    nodes = [node for node, _ in random_tree(12, 2, 2, rng).nodes()]
    assert [n for n in nodes if n >= 0] == list(range(12))
    assert [~n for n in nodes if n < 0] == list(range(13))


def test_what_leaves_do():
    menu = Menu(np.array([10, 20, 30]), ["ten", "twenty", "thirty"])
    learned = QLeaves(np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 0.0]]), menu)
    which, seen = np.array([1, 0, 1]), np.zeros((3, 1))
    np.testing.assert_array_equal(learned.act(which, seen), [10, 20, 10])
    assert [learned.label(leaf, None) for leaf in (0, 1)] == ["twenty", "ten"]
    fixed = FixedLeaves(np.array([30.0, 10.0]), menu)
    np.testing.assert_array_equal(fixed.act(which, seen), [10, 30, 10])
    assert fixed.act(which, seen).dtype == menu.values.dtype
    assert fixed.label(0, None) == "thirty"


MENU = Menu(np.arange(2), ["left", "right"])


def tree_of(splits, choices):
    """A tree from (weights, threshold, children) rows, and the action of each leaf."""
    weights, thresholds, children = zip(*splits, strict=True)
    q_values = np.eye(2)[choices]
    return Tree(
        np.array(weights, float), np.array(thresholds, float), np.array(children, np.int32), QLeaves(q_values, MENU)
    )


@pytest.mark.parametrize(
    ("splits", "choices", "n_leaves"),
    [
        ([([0, 0], 0.0, (~0, ~1))], [0, 1], 1),  # no weights: 0 < 0 never holds
        ([([1, 0], 0.5, (~0, ~1))], [1, 1], 1),  # both branches push right
        ([([1, 0], 0.5, (~0, ~1))], [0, 1], 2),
        ([([1, 0], 0.5, (1, ~2)), ([1, 0], 0.9, (~0, ~1))], [0, 1, 1], 2),  # below 0.5 is below 0.9
        ([([1, 0], 0.5, (~0, 1)), ([1, 0], 0.2, (~1, ~2))], [0, 0, 1], 2),  # not below 0.5 is not below 0.2
        ([([1, 0], 0.5, (~0, 1)), ([1, 0], 0.9, (~1, ~2))], [0, 1, 0], 3),  # between 0.5 and 0.9 is news
        ([([1, 0], 0.5, (1, ~2)), ([0, 1], 0.5, (~0, ~1))], [1, 1, 1], 1),  # merging goes on upwards
    ],
)
def test_simplify_leaves_out_what_changes_nothing(splits, choices, n_leaves):
    tree = tree_of(splits, choices)
    simple = simplify(tree)
    states = np.random.default_rng(0).uniform(-1, 1.5, (300, 2))
    np.testing.assert_array_equal(simple.act(states), tree.act(states))
    assert simple.n_leaves == len(simple.leaves.q_values) == n_leaves
