"""What goes is what hardly matters, and what that costs is told."""

import numpy as np
import pytest

import sirl
from conftest import TINY_FLAGS, Tiny
from sirl.model.leaves import FixedLeaves
from sirl.model.tree import Tree
from sirl.reading.playing import Stage, Visits, count_visits
from sirl.reading.prune import limit_leaves, prune_by_reward, prune_by_visits
from test_tree import MENU, random_tree


def tree_of(actions=(0, 1, 0, 1)):
    """If x < 0: (y < 0: (z < 0: leaf 0, leaf 1), leaf 2), leaf 3."""
    return Tree(
        np.eye(3),
        np.zeros(3),
        np.array([[1, ~3], [2, ~2], [~0, ~1]], dtype=np.int32),
        FixedLeaves(np.array(actions, float), MENU),
    )


def test_a_node_under_half_a_percent_of_its_parents_visits_goes():
    visits = Visits(np.array([10_000, 1000, 996]), np.array([500, 496, 4, 9000]), 1)
    pruned = prune_by_visits(tree_of(), visits)
    assert pruned.bypassed == {1: 0}
    assert pruned.tree.weights.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert pruned.tree.leaves.values.tolist() == [0, 1, 1]
    five = Visits(np.array([10_000, 1000, 995]), np.array([500, 495, 5, 9000]), 1)
    assert prune_by_visits(tree_of(), five).bypassed == {}, "0.5 % is not under 0.5 %"


def test_what_is_never_visited_goes_with_its_splits():
    visits = Visits(np.array([100, 0, 0]), np.array([0, 0, 0, 100]), 1)
    assert prune_by_visits(tree_of(), visits).tree.n_leaves == 1


def by_weight(loss):
    """A scorer for which a tree has lost what the splits that it lacks are worth."""
    return lambda trees: np.array([[-loss(tree)] * 2 for tree in trees], float)


def test_by_reward_as_far_as_the_tolerance_goes():
    def loss(tree):
        return sum(worth for feature, worth in enumerate((100, 1, 3)) if not tree.weights[:, feature].any())

    assert prune_by_reward(tree_of(), by_weight(loss), 0.5).bypassed == {}
    assert prune_by_reward(tree_of(), by_weight(loss), 2).tree.weights.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert prune_by_reward(tree_of(), by_weight(loss), 4).tree.weights.tolist() == [[1, 0, 0]]
    assert prune_by_reward(tree_of(), by_weight(loss), 1000).tree.n_leaves == 1
    assert limit_leaves(tree_of(), by_weight(loss), 3).tree.weights.tolist() == [[1, 0, 0], [0, 0, 1]]


def test_visits_are_counted_where_the_tree_was():
    policy = sirl.load("paper:LunarLander")
    seen = Stage(policy).trace(policy.tree, 3)
    visits = count_visits(policy.tree, seen)
    assert visits.splits[0] == visits.leaves.sum() == len(seen.rewards)
    by_hand = np.zeros(6, int)
    for leaf in policy.tree.walk(seen.observations):
        by_hand[leaf] += 1
    np.testing.assert_array_equal(visits.leaves, by_hand)


def test_playing_by_steps_and_by_orders_gives_the_same():
    policy = sirl.load("paper:InvertedPendulum")
    with Stage(policy, workers=1, max_steps=60) as stage:
        other = policy.tree._replace(thresholds=policy.tree.thresholds + 0.5)
        returns = stage.returns([policy.tree, other], 5)
        np.testing.assert_array_equal(returns[0], stage.trace(policy.tree, 5).returns)
        np.testing.assert_array_equal(returns[1], stage.trace(other, 5).returns)


@pytest.mark.parametrize("name", ["Hopper", "InvertedPendulum", "LunarLander", "Reacher", "Swimmer", "Walker2d"])
def test_the_printed_trees(sirl_command, name):
    code, out, _ = sirl_command("prune", f"paper:{name}", "--episodes", 2, "--max-steps", 40, "--workers", 1)
    assert code == 0
    assert "nothing to prune" in out or f"written to {name}-pruned.json" in out


def test_the_command_tells_what_it_did(sirl_command, refusal):
    code, out, _ = sirl_command(
        "prune",
        "paper:LunarLander",
        "--max-leaves",
        2,
        "--episodes",
        3,
        "--max-steps",
        60,
        "--workers",
        1,
        "--out",
        "small.json",
    )
    assert code == 0
    assert out.count("left out: as if always ") >= 3
    assert "size   6 leaves, depth 4 → 2 leaves, depth 1" in out
    assert "on the same 3 unseen episodes" in out
    small = sirl.load("small.json")
    assert small.tree.n_leaves == 2
    assert small.origin.changed == "pruned by visits, then by reward"
    assert small.origin.published_score is None
    assert "goes with --by reward" in refusal("prune", "paper:Hopper", "--tolerance", "3")
    assert "--least 70 goes with" in refusal("prune", "paper:Hopper", "--least", "70")


def test_a_limit_of_leaves_comes_after_the_visits(sirl_command):
    asked = ["paper:LunarLander", "--least", 5, "--episodes", 3, "--workers", 1, "--out"]
    sirl_command("prune", *asked, "visits.json")
    sirl_command("prune", *asked, "both.json", "--max-leaves", 50)
    trees = [sirl.load(name).tree for name in ("visits.json", "both.json")]
    assert trees[0].n_leaves == trees[1].n_leaves < 6


def test_any_tree_prunes_to_any_number_of_leaves():
    rng = np.random.default_rng(0)
    tree = random_tree(15, 2, 2, rng)
    for most in (1, 3, 8):
        assert limit_leaves(tree, lambda trees: rng.normal(size=(len(trees), 2)), most).tree.n_leaves <= most


def test_training_within_a_number_of_leaves(sirl_command, register):
    env = register(Tiny)
    asked = [*TINY_FLAGS, "--max-leaves", 3, "--prune", "visits", "--generations", 3, "--population", 60]
    code, out, _ = sirl_command("train", env, "--out", "run", *asked)
    assert code == 0
    assert sirl.load("run").tree.n_leaves <= 3
    assert "nothing to prune" in out or "written to run/champion-pruned.json" in out
