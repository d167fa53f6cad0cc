"""Phases in lockstep can be cut in any way; the slots of a simulator never sit idle while players wait."""

import gymnasium as gym
import numpy as np
import pytest

from conftest import Tiny
from sirl.keys import Key
from sirl.learning.forest import pack
from sirl.learning.q_learning import Rule, Table
from sirl.model.leaves import Constants, QLeaves
from sirl.model.menu import Menu
from sirl.model.tree import Tree
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.work import CollaborativeOrder, IndividualOrder, Learning, PlayOrder
from sirl.simulators import Step
from sirl.simulators.spaces import describe


class Countdown:
    """Episodes of 1 to 6 steps, by the seed; the reward is the action, the observation is noise of the seed."""

    def __init__(self, n_slots):
        self.n_slots = n_slots
        self.seed = np.zeros(n_slots, dtype=np.int64)
        self.time = np.zeros(n_slots, dtype=np.int64)
        self.widths = []
        self.coming = []

    def expect(self, seeds):
        assert not self.coming, "all that was expected has come"
        self.coming = seeds.tolist()

    def _observe(self, ids):
        return np.stack([np.sin(self.seed[ids] % 1000 + self.time[ids]), np.cos(self.time[ids])], axis=1)

    def reset(self, ids, seeds):
        assert len(ids)
        for seed in seeds.tolist():
            self.coming.remove(seed)
        self.seed[ids], self.time[ids] = seeds, 0
        return self._observe(ids)

    def step(self, ids, actions):
        assert (np.diff(ids) > 0).all()
        self.widths.append(len(ids))
        self.time[ids] += 1
        over = self.time[ids] > self.seed[ids] % 6
        odd = self.seed[ids] % 2 == 1
        return Step(self._observe(ids), actions.astype(float), over & odd, over & ~odd)

    def close(self):
        pass


class Fragile(Countdown):
    """Breaks down in the second step of episodes with certain seeds."""

    def step(self, ids, actions):
        out = super().step(ids, actions)
        broken = (self.time[ids] == 2) & (self.seed[ids] % 5 == 0)
        return out._replace(terminated=out.terminated | broken, broken=broken if broken.any() else None)


MENU = Menu(np.arange(3), ["a", "b", "c"])
LEARNING = Learning(Rule(0.1, False, 0.9, False, True), MENU.values, np.array([0.3, 0.2, 0.1, 0.0]), 5)
KEY = Key(99)
TASK = describe(Tiny(action_space=gym.spaces.Discrete(3)), "Tiny-v0")


def arena(n_slots, simulator=Countdown):
    return LockstepArena(simulator(n_slots), TASK)


@pytest.fixture
def forest():
    rng = np.random.default_rng(0)
    children = np.array([[1, ~2], [~0, ~1]], dtype=np.int32)
    return pack(
        [
            Tree(rng.normal(size=(2, 2)), rng.normal(size=2), children, QLeaves(np.zeros((3, 3)), MENU))
            for _ in range(11)
        ]
    )


@pytest.fixture
def table(forest):
    return Table.of(np.random.default_rng(1).uniform(-1, 1, (forest.n_leaves, 3)), np.zeros((0, 0), np.int64))


@pytest.mark.parametrize("n_slots", [1, 4, 64])
def test_an_individual_phase_is_the_same_in_any_number_of_slots_and_parts(forest, table, n_slots):
    whole = arena(64).individual(IndividualOrder(forest, table, np.arange(11), LEARNING, KEY))
    parts = []
    for a, b in [(0, 3), (3, 4), (4, 11)]:
        own = table.rows(forest.first_leaf[a], forest.first_leaf[b])
        order = IndividualOrder(forest.part(a, b), own, np.arange(a, b), LEARNING, KEY)
        parts.append(arena(n_slots).individual(order))
    np.testing.assert_array_equal(np.concatenate([p.returns for p in parts]), whole.returns)
    np.testing.assert_array_equal(np.concatenate([p.table.q_values for p in parts]), whole.table.q_values)
    assert sum(p.steps for p in parts) == whole.steps
    assert (whole.table.q_values != table.q_values).any()


@pytest.mark.parametrize("voting", ["random", "majority", "leader", "weighted"])
def test_a_collaborative_phase_is_the_same_for_any_grouping_of_its_copies(forest, table, voting):
    weights = np.linspace(0.1, 1, 11)

    def run(n_slots, copies):
        order = CollaborativeOrder(forest, table, np.array(copies), weights, voting, LEARNING, KEY)
        return arena(n_slots).collaborative(order).tables.q_values

    whole = run(64, range(5))
    np.testing.assert_array_equal(np.concatenate([run(1, [0, 1]), run(2, [2, 3, 4])]), whole)
    assert len({copy.tobytes() for copy in whole}) == 5


def test_phases_leave_what_they_are_given_alone(forest, table):
    before = table.q_values.copy()
    arena(4).individual(IndividualOrder(forest, table, np.arange(11), LEARNING, KEY))
    order = CollaborativeOrder(forest, table, np.arange(2), np.ones(11), "random", LEARNING, KEY)
    arena(4).collaborative(order)
    np.testing.assert_array_equal(table.q_values, before)


def test_a_slot_whose_player_is_done_takes_the_next(forest, table):
    played = arena(4)
    result = played.individual(IndividualOrder(forest, table, np.arange(11), LEARNING, KEY))
    simulator = played.simulator
    assert sum(simulator.widths) == result.steps
    full = next(
        i for i, width in enumerate(simulator.widths) if width < 4
    )  # from here on there is nobody left to take a seat
    assert simulator.widths[:full] == [4] * full
    assert simulator.widths[full:] == sorted(simulator.widths[full:], reverse=True)


def test_play_neither_learns_nor_explores(forest, table):
    law = QLeaves(table.q_values, MENU).law()
    seeds = np.arange(1000, 1000 + 11 * 7).reshape(11, 7)
    result = arena(5).play(PlayOrder(forest, law, seeds))
    again = arena(1).play(PlayOrder(forest, law, seeds))
    np.testing.assert_array_equal(result.returns, again.returns)
    np.testing.assert_array_equal(result.lengths, 1 + seeds % 6)


def test_an_episode_in_which_the_simulation_breaks_down_has_no_return(forest):
    seeds = np.arange(1, 31).reshape(3, 10)
    order = PlayOrder(forest.part(0, 3), Constants(np.zeros((forest.first_leaf[3], 1), dtype=np.int64)), seeds)
    result = arena(4, Fragile).play(order)
    broke = (seeds % 5 == 0) & (seeds % 6 > 0)  # the others end before
    assert (np.isneginf(result.returns) == broke).all()
    assert (result.lengths[broke] == 2).all()
