"""Trees of any size on a simulator made of noise: next to nothing but trees costs time."""

from __future__ import annotations

import numpy as np

from sirl.arrays import Actions, Floats, Seeds
from sirl.benchmarking.tapes import Call
from sirl.keys import Key
from sirl.learning.forest import Forest
from sirl.learning.q_learning import Rule, Table
from sirl.model.task import Task
from sirl.rollout.arena import collaborative, individual
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.work import CollaborativeOrder, IndividualOrder, Learning
from sirl.simulators import Ids, Step


class Noise:
    """Episodes of a fixed length whose observations are noise: next to nothing but trees costs time."""

    def __init__(self, n_slots: int, n_features: int, length: int):
        self.n_slots, self._length = n_slots, length
        self._noise = np.random.default_rng(0).normal(size=(997, n_features))
        self._at = np.zeros(n_slots, np.int64)
        self._elapsed = np.zeros(n_slots, np.int64)

    def expect(self, seeds: Seeds) -> None:
        """See `Simulator.expect`."""

    def reset(self, ids: Ids, seeds: Seeds) -> Floats:
        """See `Simulator.reset`."""
        self._at[ids], self._elapsed[ids] = seeds % 997, 0
        return np.asarray(self._noise[self._at[ids]])

    def step(self, ids: Ids, actions: Actions) -> Step:
        """See `Simulator.step`."""
        self._at[ids] = (self._at[ids] + 1) % 997
        self._elapsed[ids] += 1
        over = self._elapsed[ids] >= self._length
        observations = np.asarray(self._noise[self._at[ids]])
        return Step(observations, observations[:, 0] + actions, np.zeros(len(ids), np.bool_), over)

    def close(self) -> None:
        """See `Simulator.close`."""


def noise_arena(n_features: int, n_actions: int, length: int = 50) -> LockstepArena:
    """An arena of noise."""
    task = Task(
        env="noise",
        features=[f"x{i}" for i in range(n_features)],
        observation="box",
        feature_low=[None] * n_features,
        feature_high=[None] * n_features,
        action="discrete",
        action_names=[f"a{i}" for i in range(n_actions)],
        action_shape=[],
        action_dtype="int64",
        action_low=[0.0],
        action_high=[n_actions - 1.0],
    )
    return LockstepArena(Noise(128, n_features, length), task)


def balanced_forest(n_trees: int, n_splits: int, n_features: int) -> Forest:
    """Trees of ``n_splits`` each, as flat as can be, with random weights."""
    rng = np.random.default_rng(1)
    below = 2 * np.arange(n_splits)[:, None] + np.array([1, 2])
    one = np.where(below < n_splits, below, ~(below - n_splits))
    splits, leaves = np.arange(n_trees + 1) * n_splits, np.arange(n_trees + 1) * (n_splits + 1)
    children = np.where(one >= 0, one + splits[:-1, None, None], one - leaves[:-1, None, None])
    return Forest(
        rng.normal(size=(n_trees * n_splits, n_features)),
        rng.normal(size=n_trees * n_splits),
        children.reshape(-1, 2).astype(np.int32),
        splits[:-1].astype(np.int32),
        splits.astype(np.int32),
        leaves.astype(np.int32),
    )


def noise_phases(n_trees: int, n_splits: int, n_features: int, n_actions: int, copies: int = 10) -> list[Call]:
    """A collaborative and an individual phase of trees of that size, not run yet."""
    forest = balanced_forest(n_trees, n_splits, n_features)
    q_values = np.random.default_rng(2).uniform(-1, 1, (forest.n_leaves, n_actions))
    table, menu = Table.of(q_values, np.zeros((0, 0), np.int64)), np.arange(n_actions)
    rule = Rule(0.1, False, 0.9, False, True)
    together = Learning(rule, menu, np.full(10, 0.05), 0)
    alone = Learning(rule, menu, np.full(1, 0.05), 0)
    order = CollaborativeOrder(forest, table, np.arange(copies), np.ones(n_trees), "random", together, Key(1))
    own = IndividualOrder(forest, table, np.arange(n_trees), alone, Key(2))
    return [Call(collaborative, [order], 0.0, []), Call(individual, [own], 0.0, [])]
