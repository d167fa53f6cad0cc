"""Rules read as sentences, and every observation meets exactly one of them."""

import numpy as np

from conftest import Tiny
from sirl.model.leaves import QLeaves
from sirl.model.tree import Tree
from sirl.reading.rules import find_rules, tell_rules
from sirl.simulators.spaces import describe
from test_tree import MENU, random_tree

TASK = describe(Tiny(), "Tiny-v0", ["x", "speed"], MENU.names)


def test_bounds_of_one_sum_become_a_range():
    tree = Tree(
        np.array([[-2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        np.array([-0.2, 0.5, 2.0]),
        np.array([[1, ~3], [2, ~2], [~0, ~1]], dtype=np.int32),
        QLeaves(np.eye(2)[[0, 1, 1, 0]], MENU),
    )
    assert tell_rules(find_rules(tree, TASK), TASK).splitlines() == [
        MENU.names[0],
        "  when 0.1 < x < 0.5",  # speed is at most 1, so that speed < 2 need not be said
        MENU.names[1],
        "  when speed ≥ 2",  # which never happens
        MENU.names[1],
        "  when x ≥ 0.5",  # x > 0.1 follows
        MENU.names[0],
        "  when x ≤ 0.1",
    ]


def test_one_rule_for_each_observation():
    rng = np.random.default_rng(3)
    tree = random_tree(20, 2, 2, rng)
    observations = rng.uniform(-1, 1, (2000, 2))
    rules = {rule.leaf: rule for rule in find_rules(tree, TASK)}
    assert sorted(rules) == list(range(21))
    leaves = tree.walk(observations)
    for leaf in set(leaves.tolist()):
        met = np.all([c.holds(observations) for _, c in rules[leaf].conditions], axis=0)
        np.testing.assert_array_equal(met[leaves == leaf], True)
        others = [leaf != other for other in leaves[met]]
        assert not any(others), "what a rule says holds at its own leaf alone"
