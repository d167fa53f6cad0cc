"""What a person reads: exact, and the same tree in both forms."""

import re

import numpy as np
import pytest

import sirl
from conftest import Tiny
from sirl.model.leaves import QLeaves
from sirl.model.menu import Menu
from sirl.model.text import draw_tree, plain
from sirl.model.tree import Tree
from sirl.reading.rules import find_rules, tell_rules
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
        "if x - 0.25·speed < 0.5",
        "├─ yes if speed < 0",
        "│      ├─ yes → left",
        "│      └─ no  → right",
        "└─ no  if 0 < 0.123",
        "       ├─ yes → left",
        "       └─ no  → right",
    ]
    assert draw_tree(tree, TASK, width=20, notes={~0: "(all of it)", 0: "(note)"}, digits=[1, 2, 5]).splitlines() == [
        "if x - 0.2·speed",
        "│    < 0.5 (note)",
        "├─ yes if speed < 0",
        "│      ├─ yes → left  (all of it)",
        "│      └─ no  → right",
        "└─ no  if 0",
        "       │    < 0.12346",
        "       ├─ yes → left",
        "       └─ no  → right",
    ]


def test_a_terminal_that_has_nothing_but_ascii():
    drawn = plain(draw_tree(random_tree(9, 2, 2, np.random.default_rng(0)), TASK))
    assert drawn.isascii()
    assert "|- yes" in drawn
    assert "`- no" in drawn


def test_a_tree_without_conditions():
    tree = random_tree(0, 2, 2, np.random.default_rng(0))
    assert draw_tree(tree, TASK) in ("always left", "always right")
    assert tell_rules(find_rules(tree, TASK), TASK) == draw_tree(tree, TASK)


@pytest.mark.parametrize("n_splits", [1, 30, 800])
def test_every_leaf_is_drawn(n_splits):
    tree = random_tree(n_splits, 2, 2, np.random.default_rng(n_splits))
    labels = [tree.leaves.label(leaf, TASK) for leaf in range(n_splits + 1)]
    assert re.findall(r"→ (\w+)", draw_tree(tree, TASK)) == labels


def test_a_printed_tree_of_the_paper():
    assert str(sirl.load("paper:InvertedPendulum")).splitlines() == [
        "if 0.0446·(x + 3.05·v) + theta + 0.334·omega > -0.0567",
        "├─ yes → push +0.67",
        "└─ no  → push -1",
    ]


def test_text_of_a_tree_that_nobody_would_read_ends_early():
    """That of a deep one would be dozens of times its file."""
    n = 2**14 - 1
    below = np.arange(1, 2 * n + 1).reshape(n, 2)
    children = np.where(below < n, below, ~(below - n)).astype(np.int32)
    tree = Tree(np.ones((n, 2)), np.zeros(n), children, QLeaves(np.eye(2)[np.arange(n + 1) % 2], MENU))
    text = draw_tree(tree, TASK)
    assert re.fullmatch(r"… and more: 16384 leaves are too many to draw", text.splitlines()[-1])
    assert len(text.splitlines()) <= 5_010
