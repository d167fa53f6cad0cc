"""What a person reads: exact, and the same tree in both forms."""

import re

import numpy as np
import pytest

import sirl
from conftest import Tiny
from sirl.model.leaves import QLeaves
from sirl.model.menu import Menu
from sirl.model.text import draw_tree, rules
from sirl.model.tree import Tree
from sirl.simulators.spaces import describe
from test_tree import random_tree

MENU = Menu(np.array([0, 1]), ["left", "right"])
TASK = describe(Tiny(), "Tiny-v0", ["x", "speed"], MENU.names)


def test_a_tree_as_it_is_drawn():
    tree = Tree(
        np.array([[2.0, -0.5], [0.0, 1.0], [0.0, 0.0]]),
        np.array([1.0, -0.0, 0.123456]),
        np.array([[1, 2], [~0, ~1], [~2, ~3]], dtype=np.int32),
        QLeaves(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), MENU),
    )
    assert draw_tree(tree, TASK).splitlines() == [
        "if 2·x - 0.5·speed < 1",
        "├─ yes if speed < 0",
        "│      ├─ yes → left",
        "│      └─ no  → right",
        "└─ no  if 0 < 0.1235",
        "       ├─ yes → left",
        "       └─ no  → right",
    ]
    assert rules(tree, TASK).splitlines() == [
        "A:  2·x - 0.5·speed < 1",
        "B:  speed < 0",
        "C:  0 < 0.1235",
        "",
        "if A and B: left",
        "if A and not B: right",
        "if not A and C: left",
        "if not A and not C: right",
    ]


def test_a_tree_without_conditions():
    tree = random_tree(0, 2, 2, np.random.default_rng(0))
    assert draw_tree(tree, TASK) in ("always left", "always right")
    assert rules(tree, TASK) == draw_tree(tree, TASK)


@pytest.mark.parametrize("n_splits", [1, 30, 800])
def test_every_leaf_is_drawn_and_has_a_rule(n_splits):
    tree = random_tree(n_splits, 2, 2, np.random.default_rng(n_splits))
    drawn, told = draw_tree(tree, TASK), rules(tree, TASK)
    labels = [tree.leaves.label(leaf, TASK) for leaf in range(n_splits + 1)]
    assert re.findall(r"→ (\w+)", drawn) == labels
    assert re.findall(r"^if .*: (\w+)$", told, re.MULTILINE) == labels
    assert len(set(re.findall(r"^(\w+):", told, re.MULTILINE))) == n_splits


def test_a_printed_tree_of_the_paper():
    assert str(sirl.load("paper:InvertedPendulum")).splitlines() == [
        "if -0.224·x - 5.024·theta - 0.684·v - 1.678·omega < 0.285",
        "├─ yes → push +0.67",
        "└─ no  → push -1",
    ]


def test_text_of_a_tree_that_nobody_would_read_ends_early():
    """That of a deep one would be dozens of times its file."""
    n = 2**14 - 1
    below = np.arange(1, 2 * n + 1).reshape(n, 2)
    children = np.where(below < n, below, ~(below - n)).astype(np.int32)
    tree = Tree(np.ones((n, 2)), np.zeros(n), children, QLeaves(np.eye(2)[np.arange(n + 1) % 2], MENU))
    for text in (draw_tree(tree, TASK), rules(tree, TASK)):
        assert re.fullmatch(r"… and more: 16384 leaves are too many to \w+.*", text.splitlines()[-1])
        assert len(text.splitlines()) <= 10_001
