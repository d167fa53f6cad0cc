"""Physics inside compiled loops: bit-equal to Gymnasium, and whole phases bit-equal to those in lockstep."""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import partial, partialmethod
from typing import Any

import numpy as np
import pytest
from gymnasium.utils import seeding
from numba import njit

import sirl
from sirl.keys import Key
from sirl.learning import deferred
from sirl.learning.q_learning import Rule, Table
from sirl.model.leaves import QLeaves
from sirl.rollout.compiled import CompiledArena
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.recipe import ArenaRecipe
from sirl.rollout.work import CollaborativeOrder, IndividualOrder, Learning, PlayOrder
from sirl.search.grammar import translate
from sirl.search.population import make_problem
from sirl.simulators.gymnasium import GymnasiumSimulator, make_environment
from sirl.simulators.mujoco import library
from sirl.simulators.mujoco import world as worlds
from sirl.simulators.mujoco.rules import SUPPORTED, draw_starts, load_model
from sirl.simulators.mujoco.world import advance, begin, make_world
from sirl.simulators.recipes import inspect, make_recipe

SEEDS = np.array([7, 2**63 - 1, 2**32, 123_456_789_012_345, 0])


@njit
def trace(world, controls, start, observations, rewards, terminated):
    """Take the controls one after the other until the episode ends; how many were taken."""
    begin(world, start)
    observations[0] = world.observation[0]
    for k in range(len(rewards)):
        world.control[:] = controls[k]
        rewards[k], terminated[k], _ = advance(world)
        observations[k + 1] = world.observation[0]
        if terminated[k]:
            return k + 1
    return len(rewards)


def play(env_id: str, seed: int, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observations, rewards and ends of an episode."""
    world, memory = make_world(env_id, str(actions.dtype))
    n = len(actions)
    out = np.zeros((n + 1, world.observation.shape[1])), np.zeros(n), np.zeros(n, np.bool_)
    taken = trace(world, actions, draw_starts(SUPPORTED[env_id], memory.model, np.array([seed]))[0], *out)
    return out[0][: taken + 1], out[1][:taken], out[2][:taken]


def menu(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (2 * rng.integers(0, 7, shape) / 6 - 1).astype(np.float32)


def continuous(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def gentle(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Float64, and so small that hopper and walker fall later and faster."""
    return rng.uniform(-0.05, 0.05, shape)


@pytest.mark.parametrize("draw", [menu, continuous, gentle])
@pytest.mark.parametrize("env_id", SUPPORTED)
def test_bit_equal_to_gymnasium(env_id, draw):
    environment, rng = make_environment(env_id), np.random.default_rng(3)
    limit = environment.spec.max_episode_steps
    for seed in SEEDS[:1] if env_id in ("Swimmer-v4", "HalfCheetah-v4") else SEEDS:
        actions = draw(rng, (limit, environment.action_space.shape[0]))
        observations, rewards, terminated = play(env_id, seed, actions)
        first, _ = environment.reset(seed=int(seed))
        steps = [environment.step(action) for action in actions[: len(rewards)]]
        assert observations.tobytes() == np.stack([first, *(step[0] for step in steps)]).tobytes()
        assert rewards.tobytes() == np.array([step[1] for step in steps], np.float64).tobytes()
        assert terminated.tolist() == [step[2] for step in steps]
        assert steps[-1][2] or steps[-1][3], "the episode was played to its end"


def reacher_start(rng: np.random.Generator) -> np.ndarray:
    """As Gymnasium draws it."""
    qpos = rng.uniform(-0.1, 0.1, 4)
    while np.linalg.norm(target := rng.uniform(-0.2, 0.2, 2)) >= 0.2:
        pass
    return np.concatenate([qpos[:2], target, rng.uniform(-0.005, 0.005, 4)[:2], [0, 0]])


def test_a_reacher_start_after_many_misses():
    """Of 2,000 targets some are drawn more often than there is room for at first."""
    seeds = np.random.default_rng(0).integers(2**63 - 1, size=2000)
    expected = np.array([reacher_start(seeding.np_random(seed)[0]) for seed in seeds.tolist()])
    starts = draw_starts(SUPPORTED["Reacher-v4"], load_model("Reacher-v4"), seeds)
    np.testing.assert_array_equal(starts, expected)
    few = SUPPORTED["Reacher-v4"].starts(load_model("Reacher-v4"), seeds, 1)
    np.testing.assert_array_equal(few, expected)


def parts(result: Any) -> list[bytes]:
    """The bits of all that a phase gave."""
    if isinstance(result, tuple):
        return [bits for part in result for bits in parts(part)]
    return [np.asarray(result).tobytes()]


def both(arena: CompiledArena, phase: str, order: Any, make: Any = None) -> list[list[bytes]]:
    """The bits of a phase in compiled loops, and in lockstep on Gymnasium."""
    make = make or partial(make_environment, arena._env_id)
    lockstep = LockstepArena(GymnasiumSimulator(make, 16, arena.world.max_steps), arena._task)
    return [parts(getattr(one, phase)(order)) for one in (arena, lockstep)]


def grown(env_id: str, **settings: Any) -> tuple[CompiledArena, Any, Table, Any]:
    """An arena, the first trees of a population, random leaves for them, and their menu."""
    recipe = make_recipe(env_id)
    chosen = sirl.preset_settings(env_id, "sirl-lb").replace(population=40, **settings)
    problem = make_problem(inspect(recipe).task, chosen, "sirl-lb", seed=0)
    codons = np.random.default_rng(0).integers(0, 40_000, (40, 1000), dtype=np.uint16)
    forest, _ = translate(codons, problem.grammar)
    q_values = np.random.default_rng(1).uniform(-1, 1, (forest.n_leaves, len(problem.menu.values)))
    visits = np.zeros(q_values.shape if settings else (0, 0), np.int64)
    arena = ArenaRecipe(recipe, problem.task, "mujoco", 80)()
    assert isinstance(arena, CompiledArena)
    return arena, forest, Table.of(q_values, visits), problem.menu


RULES = [Rule(0.1, False, 0.9, False, True), Rule(0.1, True, 0.9, True, False)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("env_id", SUPPORTED)
def test_phases_are_bit_equal_to_those_in_lockstep(env_id, rule, monkeypatch):
    monkeypatch.setattr(deferred, "LOG_CAPACITY", 64)  # full in the middle of an episode
    arena, forest, table, menu = grown(env_id, **({"learning_rate_rule": "1/visits"} if rule.by_visits else {}))
    learning = Learning(rule, menu.values, np.array([0.3, 0.05, 0.0]), 4)
    individual = IndividualOrder(forest, table, 3 + np.arange(forest.n_trees), learning, Key(5))
    compiled, in_lockstep = both(arena, "individual", individual)
    assert compiled == in_lockstep
    for voting in ("random", "leader", "majority", "weighted"):
        weights = np.linspace(0.1, 1, forest.n_trees)
        order = CollaborativeOrder(forest, table, np.array([2, 5]), weights, voting, learning, Key(6))
        compiled, in_lockstep = both(arena, "collaborative", order)
        assert compiled == in_lockstep
    played = PlayOrder(forest, QLeaves(table.q_values, menu).law(), np.arange(3 * forest.n_trees).reshape(-1, 3))
    compiled, in_lockstep = both(arena, "play", played)
    assert compiled == in_lockstep


def test_a_long_phase_is_bit_equal_too():
    """So many steps that loops come back to Python several times, and so many episodes that votes come in blocks."""
    arena, forest, table, menu = grown("Reacher-v4")
    learning = Learning(RULES[0], menu.values, np.full(150, 0.05), 0)
    order = CollaborativeOrder(forest, table, np.arange(2), np.ones(forest.n_trees), "random", learning, Key(6))
    compiled, in_lockstep = both(arena, "collaborative", order)
    assert compiled == in_lockstep
    alone = IndividualOrder(forest.part(0, 2), table, np.arange(2), learning, Key(5))
    compiled, in_lockstep = both(arena, "individual", alone)
    assert compiled == in_lockstep


def wild(reset: Any, self: Any, *, seed: int, options: Any = None) -> Any:
    """A hopper that starts a third of its episodes at a speed that its physics can't follow."""
    observation, info = reset(self, seed=seed, options=options)
    if seed % 3 == 0:
        self.data.qvel[:] = 1e200
        observation = self._get_obs()
    return observation, info


def test_divergence_is_bit_equal_too(monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    hopper = SUPPORTED["Hopper-v4"]

    def starts(model: Any, seeds: np.ndarray) -> np.ndarray:
        rows = draw_starts(hopper, model, seeds)
        rows[seeds % 3 == 0, model.nq :] = 1e200
        return rows

    arena, forest, table, menu = grown("Hopper-v4")
    environment = type(make_environment("Hopper-v4").unwrapped)
    monkeypatch.setattr(environment, "reset", partialmethod(partial(wild, environment.reset)))
    monkeypatch.setitem(SUPPORTED, "Hopper-v4", replace(hopper, starts=starts))
    learning = Learning(RULES[0], menu.values, np.array([0.3, 0.05, 0.0]), 4)
    order = IndividualOrder(forest, table, np.arange(forest.n_trees), learning, Key(5))
    played = PlayOrder(forest, QLeaves(table.q_values, menu).law(), np.arange(forest.n_trees)[:, None])
    for phase, what in (("individual", order), ("play", played)):
        compiled, in_lockstep = both(arena, phase, what)
        assert compiled == in_lockstep
        returns = getattr(arena, phase)(what).returns
        assert np.isneginf(returns).any()
        assert np.isfinite(returns).any()
    together = CollaborativeOrder(forest, table, np.arange(4), np.ones(forest.n_trees), "random", learning, Key(6))
    compiled, in_lockstep = both(arena, "collaborative", together)
    assert compiled == in_lockstep
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


def test_without_the_library_episodes_run_on_gymnasium(monkeypatch):
    settings = {"method": "sirl-lb", "population": 6, "candidates": 1, "generations": 1, "max_steps": 20, "workers": 1}
    with_it = sirl.train("Reacher-v4", **settings)
    monkeypatch.setattr(library, "find_library", lambda: None)
    without = sirl.Training("Reacher-v4", **settings)
    assert isinstance(without.arena(), LockstepArena)
    assert without.config == with_it.config
    for _ in without.generations():
        pass
    assert without.champion.to_json() == with_it.champion.to_json()


def test_a_library_of_another_version_is_not_taken(monkeypatch):
    library.find_library.cache_clear()
    monkeypatch.setattr("mujoco.mj_version", lambda: 1)
    assert library.find_library() is None
    library.find_library.cache_clear()


def test_physics_is_freed_with_its_arena():
    def n_simulations() -> int:
        gc.collect()
        return sum(type(thing) is CompiledArena for thing in gc.get_objects())

    before, arena = n_simulations(), grown("Reacher-v4")[0]
    assert n_simulations() == before + 1
    arena.close()
    del arena
    assert n_simulations() == before


def test_loops_have_the_bits_of_their_ufuncs():
    rng = np.random.default_rng(0)
    angles, cosines, row, square = np.zeros(2), np.zeros(2), np.zeros(3), np.zeros(1)
    cos, held = library.bind_loop(np.cos, angles, cosines)
    dot, held_too = library.bind_loop(np.vecdot, row, row, square)
    run = njit(lambda loop: worlds._run(loop))
    for _ in range(1000):
        angles[:], row[:] = rng.normal(scale=10, size=2), rng.normal(size=3)
        run(cos)
        run(dot)
        assert cosines.tobytes() == np.cos(angles).tobytes()
        assert square[0] == np.dot(row, row)
    assert held
    assert held_too
