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
from numpy.typing import NDArray

from sirl.benchmarking.measure import Time, time_of
from sirl.engine import Engine
from sirl.rollout.work import Arena
from sirl.simulators import Ids, Simulator, Step
from sirl.simulators.mujoco.library import stop_timers
from sirl.simulators.mujoco.lockstep import MujocoSimulator
from sirl.simulators.mujoco.rules import SUPPORTED, load_model, silence_mujoco

Floats = NDArray[np.float64]


class Start(NamedTuple):
    """Episodes begin in some slots."""

    ids: Ids
    seeds: NDArray[np.int64]
    qpos: Floats
    """(n, nq) where MuJoCo computes the episodes, else (0, 0)."""
    qvel: Floats
    """(n, nv), likewise."""


class Move(NamedTuple):
    """Some slots advance."""

    ids: Ids
    actions: NDArray[Any]
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


class Recorder:
    """A simulator that keeps a tape."""

    def __init__(self, simulator: Simulator):
        self.simulator = simulator
        self.n_slots = simulator.n_slots
        self.events: list[Start | Move] = []
        self.steps = 0

    def expect(self, seeds: NDArray[np.int64]) -> None:
        """See `Simulator.expect`."""
        self.simulator.expect(seeds)

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> Floats:
        """See `Simulator.reset`."""
        observations = self.simulator.reset(ids, seeds)
        qpos, qvel = self._states(ids)
        self.events.append(Start(ids.copy(), seeds.copy(), qpos, qvel))
        return observations

    def step(self, ids: Ids, actions: NDArray[Any]) -> Step:
        """See `Simulator.step`."""
        self.events.append(Move(ids.copy(), actions.copy()))
        self.steps += len(ids)
        return self.simulator.step(ids, actions)

    def close(self) -> None:
        """See `Simulator.close`."""
        self.simulator.close()

    def tape(self) -> Tape:
        """What was recorded."""
        return Tape(self.events, self.steps, self._states(np.arange(self.n_slots, dtype=np.int32))[0])

    def _states(self, ids: Ids) -> tuple[Floats, Floats]:
        if not isinstance(self.simulator, MujocoSimulator):
            return np.zeros((0, 0)), np.zeros((0, 0))
        return self.simulator.states(ids)


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
        records: whether to keep tapes; not where workers are processes, which would have to send them.
        workers: how many to cut the work for, if not for as many as there are.
    """

    def __init__(self, engine: Engine[Arena], records: bool = False, workers: int | None = None):
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
    engine: Engine[Arena], function: Callable[[Arena, Any], Any], orders: Sequence[Any]
) -> tuple[list[Any], list[Tape]]:
    """The results of a phase, and a tape of each order."""
    pairs = engine.map(partial(_record_one, function), orders)
    return [result for result, _ in pairs], [tape for _, tape in pairs]


def _record_one(function: Callable[[Arena, Any], Any], arena: Arena, order: Any) -> tuple[Any, Tape]:
    recorder = Recorder(arena.simulator)
    result = function(Arena(recorder, arena.actions), order)
    return result, recorder.tape()


class RawPhysics:
    """``mujoco.batch.Batch`` alone, and what it is to go through."""

    def __init__(self, env_id: str, n_slots: int, tapes: Sequence[Tape]):
        silence_mujoco()
        stop_timers()  # as training does
        self.tapes = tapes
        task = SUPPORTED[env_id]
        self.batch = Batch(load_model(env_id), n_slots, 1)
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


def random_tape(env_id: str, n_slots: int, steps: int, seed: int) -> Tape:
    """Lockstep episodes under actions that are uniform within the bounds; one that ends is followed by the next."""
    rng = np.random.default_rng(seed)
    recorder = Recorder(MujocoSimulator(env_id, n_slots))
    low, high = load_model(env_id).actuator_ctrlrange.T
    everyone = np.arange(n_slots, dtype=np.int32)
    fresh = everyone
    while recorder.steps < steps:
        if fresh.size:
            recorder.reset(fresh, rng.integers(2**63 - 1, size=len(fresh)))
        out = recorder.step(everyone, rng.uniform(low, high, (n_slots, len(low))))
        fresh = everyone[out.terminated | out.truncated]
    tape = recorder.tape()
    recorder.close()
    return tape
