"""Episodes on tape: what a phase did to its simulator, so that physics alone can do the same again.

A phase and raw physics are only comparable on the same work: the same states under the same actions, as many of
them in a call. So the starts and actions of a phase's episodes are recorded, and ``mujoco.batch.Batch`` alone goes
through them once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco.batch import Batch

from sirl.arrays import Actions, Floats, Seeds
from sirl.benchmarking.measure import Time, time_of
from sirl.engine import Engine
from sirl.model.task import Task
from sirl.rollout.arena import Arena
from sirl.rollout.lockstep import LockstepArena
from sirl.simulators import Ids, Step
from sirl.simulators.gymnasium import GymnasiumSimulator
from sirl.simulators.mujoco.library import stop_timers
from sirl.simulators.mujoco.rules import SUPPORTED, draw_starts, load_model, silence_mujoco
from sirl.simulators.recipes import Recipe

SLOTS = 128
"""Simulations in lockstep: raw physics shares what a call costs by as many."""


class Start(NamedTuple):
    """Episodes begin in some slots."""

    ids: Ids
    seeds: Seeds
    qpos: Floats
    """(n, nq) where MuJoCo computes the episodes, else (0, 0)."""
    qvel: Floats
    """(n, nv), likewise."""


class Move(NamedTuple):
    """Some slots advance."""

    ids: Ids
    actions: Actions
    """(n, *action_shape)"""


class Tape(NamedTuple):
    """All that an order of a phase did to its simulator."""

    events: list[Start | Move]
    steps: int
    end: Floats
    """Positions of all slots at the end, (n_slots, nq); (0, 0) without MuJoCo."""

    def episodes(self) -> list[tuple[int, list[Any]]]:
        """The seed and the actions of each episode."""
        found: list[tuple[int, list[Any]]] = []
        under_way: dict[int, list[Any]] = {}
        for event in self.events:
            if isinstance(event, Start):
                for slot, seed in zip(event.ids.tolist(), event.seeds.tolist(), strict=True):
                    under_way[slot] = []
                    found.append((seed, under_way[slot]))
            else:
                for slot, action in zip(event.ids.tolist(), event.actions, strict=True):
                    under_way[slot].append(action)
        return found


class Recorder(GymnasiumSimulator):
    """Gymnasium in lockstep, with the bits of compiled loops, and a tape that runs along."""

    def __init__(self, recipe: Recipe, max_steps: int | None):
        super().__init__(recipe, SLOTS, max_steps, name=recipe.name)
        self.env_id = recipe.name
        self.model = load_model(recipe.name) if recipe.name in SUPPORTED else None
        self.events: list[Start | Move] = []

    def reset(self, ids: Ids, seeds: Seeds) -> Floats:
        """See `Simulator.reset`."""
        qpos = qvel = np.zeros((0, 0))
        if self.model is not None:
            qpos, qvel = np.split(draw_starts(SUPPORTED[self.env_id], self.model, seeds), [self.model.nq], axis=1)
        self.events.append(Start(ids.copy(), seeds.copy(), qpos, qvel))
        return super().reset(ids, seeds)

    def step(self, ids: Ids, actions: Actions) -> Step:
        """See `Simulator.step`."""
        self.events.append(Move(ids.copy(), actions.copy()))
        return super().step(ids, actions)

    def take_tape(self) -> Tape:
        """What was recorded since the last one."""
        events, self.events = self.events, []
        steps = sum(len(event.ids) for event in events if isinstance(event, Move))
        return Tape(events, steps, self._positions())

    def _positions(self) -> Floats:
        """Of all slots, as they are now; those never used are at zero."""
        if self.model is None:
            return np.zeros((0, 0))
        found = np.zeros((self.n_slots, self.model.nq))
        for slot, environment in self._environments.items():
            found[slot] = environment.unwrapped.data.qpos  # type: ignore[attr-defined]
        return found


def recording_arena(recipe: Recipe, task: Task, max_steps: int | None) -> LockstepArena:
    """An arena that keeps a tape."""
    return LockstepArena(Recorder(recipe, max_steps), task)


class Call(NamedTuple):
    """A phase that an engine was asked for."""

    function: Callable[[Arena, Any], Any]
    orders: Sequence[Any]
    seconds: float
    tapes: list[Tape]
    """One for each order, if it was recorded."""


class Watched(Engine[Arena]):
    """An engine that remembers what it was asked, and how long that took.

    Args:
        engine: does the work.
        records: whether to keep tapes; its arenas are recording ones then, in this process.
        workers: how many to cut the work for, if not for as many as there are.
    """

    def __init__(self, engine: Engine[Any], records: bool = False, workers: int | None = None):
        self.engine, self.records = engine, records
        self.workers = engine.workers if workers is None else workers
        self.calls: list[Call] = []

    def map(self, function: Callable[[Arena, Any], Any], items: Sequence[Any]) -> list[Any]:
        """See `Engine.map`."""
        start = time.perf_counter()
        tapes: list[Tape] = []
        if self.records:
            results, tapes = record(self.engine, function, items)
        else:
            results = self.engine.map(function, items)
        self.calls.append(Call(function, items, time.perf_counter() - start, tapes))
        return results

    def close(self) -> None:
        """The engine is its owner's to close."""


def record(
    engine: Engine[LockstepArena], function: Callable[[Arena, Any], Any], orders: Sequence[Any]
) -> tuple[list[Any], list[Tape]]:
    """The results of a phase on recording arenas, and a tape of each order."""
    pairs = engine.map(partial(_record_one, function), orders)
    return [result for result, _ in pairs], [tape for _, tape in pairs]


def _record_one(function: Callable[[Arena, Any], Any], arena: LockstepArena, order: Any) -> tuple[Any, Tape]:
    assert isinstance(arena.simulator, Recorder)
    arena.simulator.take_tape()  # an order that failed may have left something
    result = function(arena, order)
    return result, arena.simulator.take_tape()


class RawPhysics:
    """``mujoco.batch.Batch`` alone, and what it is to go through."""

    def __init__(self, env_id: str, tapes: Sequence[Tape]):
        silence_mujoco()
        stop_timers()  # as training does
        self.tapes = tapes
        task = SUPPORTED[env_id]
        self.batch = Batch(load_model(env_id), SLOTS, 1)
        self.frame_skip = task.frame_skip
        self.qpos: Floats = self.batch.bind("qpos")
        self.qvel: Floats = self.batch.bind("qvel")
        self.ctrl: Floats = self.batch.bind("ctrl")


class Replayed(NamedTuple):
    """What raw physics did."""

    placing: float
    """Seconds that went into starts, not into steps."""
    end: Floats
    """Positions of all slots at the end, (n_slots, nq)."""


def replay(raw: RawPhysics, number: int) -> Replayed:
    """Go through one of the tapes with physics alone: set the controls, step."""
    batch, ctrl, n_slots, frame_skip = raw.batch, raw.ctrl, raw.batch.nsim, raw.frame_skip
    placing = 0.0
    for event in raw.tapes[number].events:
        if isinstance(event, Move):
            ids, actions = event
            ctrl[ids] = actions
            batch.step(None if len(ids) == n_slots else ids, frame_skip)
        else:
            start = time.perf_counter()
            batch.reset(event.ids, stage=mujoco.mjtStage.mjSTAGE_NONE)
            raw.qpos[event.ids] = event.qpos
            raw.qvel[event.ids] = event.qvel
            placing += time.perf_counter() - start
    return Replayed(placing, raw.qpos.copy())


def replay_all(engine: Engine[RawPhysics], numbers: Sequence[int]) -> Time:
    """What stepping alone takes for a phase's tapes, in lockstep, each worker its share.

    What starts cost is taken off: to step and nothing else is the strictest thing to be compared with.
    """
    results: list[Replayed] = []
    wall, cpu = time_of(lambda: results.extend(engine.map(replay, numbers)), engine.workers)
    placing = sum(result.placing for result in results)
    return Time(wall - placing / min(engine.workers, len(numbers)), None if cpu is None else cpu - placing)


def random_tape(recipe: Recipe, steps: int, seed: int) -> Tape:
    """Lockstep episodes under actions that are uniform within the bounds; one that ends is followed by the next."""
    rng = np.random.default_rng(seed)
    recorder = Recorder(recipe, None)
    assert recorder.model is not None
    low, high = recorder.model.actuator_ctrlrange.T
    everyone = np.arange(SLOTS, dtype=np.int32)
    fresh = everyone
    done = 0
    while done < steps:
        if fresh.size:
            recorder.reset(fresh, rng.integers(2**63 - 1, size=len(fresh)))
        out = recorder.step(everyone, rng.uniform(low, high, (SLOTS, len(low))))
        fresh, done = everyone[out.terminated | out.truncated], done + SLOTS
    tape = recorder.take_tape()
    recorder.close()
    return tape
