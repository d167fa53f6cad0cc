import numpy as np
import pytest

from sirl.learning.forest import pack
from sirl.model.leaves import FixedLeaves, QLeaves
from sirl.model.menu import Menu
from sirl.model.tree import Tree
from sirl.rollout.slots import walk_each

MENU = Menu(np.arange(2), ["left", "right"])


def random_tree(rng, n_splits, n_features=3):
    """A random tree, splits in pre-order."""
    children, n_leaves = np.zeros((n_splits, 2), dtype=np.int32), 0
    pending, made = [None], 0
    while pending:
        slot = pending.pop()
        left = n_splits - made
        split = left > 0 and (slot is None or (len(pending) < left and rng.random() < 0.6) or not pending)
        if slot is not None:
            children[slot] = made if split else ~n_leaves
        if split:
            pending += [(made, 1), (made, 0)]
            made += 1
        else:
            n_leaves += 1
    weights = np.round(rng.uniform(-1, 1, (n_splits, n_features)), 1)
    return Tree(weights, rng.uniform(-1, 1, n_splits), children, QLeaves(rng.uniform(-1, 1, (n_leaves, 2)), MENU))


@pytest.fixture
def trees():
    rng = np.random.default_rng(0)
    lone_leaf = Tree(np.zeros((0, 3)), np.zeros(0), np.zeros((0, 2), np.int32), FixedLeaves(np.zeros(1), MENU))
    return [random_tree(rng, n) for n in (1, 2, 9)] + [lone_leaf] + [random_tree(rng, n) for n in (30, 1)]


def test_packed_trees_walk_as_they_do_alone(trees):
    forest = pack(trees)
    states = np.random.default_rng(1).normal(size=(200, 3))
    for index, tree in enumerate(trees):
        leaves = walk_each(forest, np.full(200, index), states)
        np.testing.assert_array_equal(leaves - forest.first_leaf[index], tree.walk(states))


def test_a_part_of_a_forest_is_the_forest_of_its_trees(trees):
    forest = pack(trees)
    for start, stop in [(0, 6), (1, 4), (3, 4), (4, 6)]:
        for ours, theirs in zip(forest.part(start, stop), pack(trees[start:stop]), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_tree_comes_back_out_of_a_forest_as_it_went_in(trees):
    forest = pack(trees)
    for index, tree in enumerate(trees):
        again = forest.tree(index, tree.leaves)
        np.testing.assert_array_equal(again.weights, tree.weights)
        np.testing.assert_array_equal(again.children, tree.children)
        assert again.n_leaves == tree.n_leaves
