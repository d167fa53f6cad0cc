import numpy as np
import pytest

from sirl.learning.voting import ELECTING, count, weigh

EQUAL = np.ones(5)
PROPOSALS = np.array([2, 0, 2, 1, 1], dtype=np.int32)


def test_a_random_vote_gives_every_tree_an_equal_chance():
    voters = ELECTING["random"](EQUAL, np.linspace(0, 1, 1000, endpoint=False))
    assert np.bincount(voters).tolist() == [200] * 5


def test_the_leader_is_the_tree_that_scored_best():
    weights = weigh(np.array([3.0, -1.0, 7.0, 2.0, 7.0]), "leader", 5)
    assert ELECTING["leader"](weights, np.array([0.1, 0.9])).tolist() == [4, 4]  # of two equals, the later


@pytest.mark.parametrize(("chance", "winner"), [(0.0, 1), (0.49, 1), (0.51, 2), (0.99, 2)])
def test_a_tie_in_a_majority_is_broken_by_chance(chance, winner):
    assert count(PROPOSALS, EQUAL, 4, chance) == winner


def test_weight_can_outvote_a_majority():
    weights = weigh(np.array([0.0, 900.0, 1.0, 2.0, 3.0]), "weighted", 5)
    assert weights.tolist() == [0.2, 1.0, 0.4, 0.6, 0.8]
    assert count(PROPOSALS, weights, 4, 0.5) == 1  # 0.6 + 0.8 against 1.0 and 0.2 + 0.4


@pytest.mark.parametrize("rule", ["random", "majority"])
def test_rules_that_do_not_go_by_performance_weigh_all_trees_alike(rule):
    assert weigh(np.array([1.0, 2.0]), rule, 2).tolist() == [1.0, 1.0]
