"""What is measured: real generations of the paper's tasks, and trees of any size on a simulator made of noise."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.benchmarking.tapes import Call, RawPhysics, Tape, Watched
from sirl.config import preset_settings
from sirl.engine import Engine, local_engine
from sirl.keys import Key
from sirl.learning.forest import Forest
from sirl.learning.q_learning import Rule
from sirl.rollout.phases import collaborate, refine
from sirl.rollout.work import Arena, CollaborativeOrder, IndividualOrder, Knowledge, Learning
from sirl.search.evolution import State, first_state, next_generation
from sirl.search.population import Problem, make_problem
from sirl.simulators import Ids, Step
from sirl.simulators.environments import SLOTS, ArenaRecipe, Backend, choose_backend, in_lockstep
from sirl.simulators.recipes import Recipe, inspect, make_recipe

MUJOCO = ("InvertedPendulum-v4", "Swimmer-v4", "Reacher-v4", "Hopper-v4", "Walker2d-v4")
PAPER = (*MUJOCO, "LunarLander-v3")


class Bench(NamedTuple):
    """A task to be trained on, and where its work runs."""

    recipe: Recipe
    problem: Problem
    backend: Backend

    @staticmethod
    def of(env_id: str, simulator: Any = "auto", **settings: Any) -> Bench:
        """A task with the settings of SIRL-LB, some of them changed."""
        recipe = make_recipe(env_id)
        backend = choose_backend(recipe, simulator)
        chosen = preset_settings(env_id, "sirl-lb").replace(**settings)
        return Bench(recipe, make_problem(inspect(recipe).task, chosen, 0, in_lockstep(backend)), backend)

    @property
    def arena_recipe(self) -> ArenaRecipe:
        """How a worker gets its arena."""
        return ArenaRecipe(self.recipe, self.problem.menu, self.backend, self.problem.settings.max_steps)

    def engine(self, workers: int) -> Engine[Arena]:
        """As :class:`sirl.Training` makes it."""
        return local_engine(self.arena_recipe, workers)

    def raw_engine(self, workers: int, tapes: list[Tape]) -> Engine[RawPhysics]:
        """The same for physics alone, with the tapes at hand."""
        return local_engine(partial(RawPhysics, self.recipe.name, SLOTS["mujoco"], tapes), workers)

    def first_generation(self, engine: Engine[Arena]) -> dict[str, Call]:
        """The phases of the first generation by the name of their function, run once."""
        watched = Watched(engine)
        next_generation(first_state(self.problem), self.problem, watched)
        return {call.function.__name__: call for call in watched.calls}

    def recorded(self, before: State, workers: int) -> list[Call]:
        """The phases of a generation in lockstep as they are cut for so many workers, run here and recorded."""
        with self.engine(1) as engine:
            watched = Watched(engine, records=True, workers=workers)
            next_generation(before, self.problem._replace(lockstep=True), watched)
        return watched.calls


def warm_up(env_id: str, engine: Engine[Arena], **settings: Any) -> None:
    """A small generation, so that all workers have started and have loaded what is compiled."""
    few: dict[str, Any] = {"population": 20, "individual_episodes": 1, "collaborative_iterations": 1, "candidates": 1}
    problem = Bench.of(env_id, **settings | few).problem
    next_generation(first_state(problem), problem, engine)


def compile_all() -> None:
    """Compile, or load, every kernel: it is measured elsewhere."""
    few: dict[str, Any] = {"population": 4, "individual_episodes": 1, "collaborative_iterations": 1, "candidates": 1}
    with ExitStack() as stack:
        for env_id in ("InvertedPendulum-v4", "Reacher-v4"):
            bench = Bench.of(env_id, collaborative_copies=2, validation_episodes=1, max_steps=5, **few)
            bench.first_generation(stack.enter_context(bench.engine(1)))
            bench.recorded(first_state(bench.problem), 1)  # in lockstep, too


class Noise:
    """Episodes of a fixed length whose observations are noise: next to nothing but trees costs time."""

    def __init__(self, n_slots: int, n_features: int, length: int):
        self.n_slots, self._length = n_slots, length
        self._noise = np.random.default_rng(0).normal(size=(997, n_features))
        self._at = np.zeros(n_slots, np.int64)
        self._elapsed = np.zeros(n_slots, np.int64)

    def expect(self, seeds: NDArray[np.int64]) -> None:
        """See `Simulator.expect`."""

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Simulator.reset`."""
        self._at[ids], self._elapsed[ids] = seeds % 997, 0
        return np.asarray(self._noise[self._at[ids]])

    def step(self, ids: Ids, actions: NDArray[Any]) -> Step:
        """See `Simulator.step`."""
        self._at[ids] = (self._at[ids] + 1) % 997
        self._elapsed[ids] += 1
        over = self._elapsed[ids] >= self._length
        observations = np.asarray(self._noise[self._at[ids]])
        return Step(observations, observations[:, 0] + actions, np.zeros(len(ids), np.bool_), over)

    def close(self) -> None:
        """See `Simulator.close`."""


def noise_arena(n_features: int, n_actions: int, length: int = 50) -> Arena:
    """An arena of noise."""
    return Arena(Noise(128, n_features, length), np.arange(n_actions, dtype=np.float64))


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
    knowledge = Knowledge(q_values, np.zeros((0, 0), np.int64))
    rule = Rule(0.1, False, 0.9, False, True)
    together = Learning(rule, np.full(10, 0.05), 0)
    alone = Learning(rule, np.full(1, 0.05), 0)
    order = CollaborativeOrder(forest, knowledge, np.arange(copies), np.ones(n_trees), "random", together, Key(1))
    own = IndividualOrder(forest, knowledge, np.arange(n_trees), alone, Key(2))
    return [Call(collaborate, [order], 0.0, []), Call(refine, [own], 0.0, [])]
