"""One MuJoCo simulation inside compiled loops: no call of Python between an action and what it leads to.

Episodes in lockstep share what a call from Python costs; here there is none to share. Only loops that are compiled
from end to end can use it, so it is no :class:`~sirl.simulators.Simulator`. Bit-equal to Gymnasium.

A fatal error of MuJoCo would end the process here, where Python's bindings raise an exception. None of the tasks is
known to have one; a worker process that ends is told of by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sirl.arrays import Actions, Floats
from sirl.jit import part
from sirl.model.task import Task
from sirl.simulators.derived import Nothing, Programs, derive, make_programs
from sirl.simulators.mujoco.library import (
    Loop,
    address_of,
    bind_loop,
    call_with_four,
    call_with_two,
    find_library,
    stop_timers,
)
from sirl.simulators.mujoco.rules import (
    DIVERGED,
    SUPPORTED,
    BodyRules,
    has_fallen,
    is_broken,
    load_model,
    observe_body,
    reward_body,
    silence_mujoco,
    time_limit,
)


class Physics(NamedTuple):
    """What MuJoCo computes: addresses for its functions, and live views of the simulation."""

    reset: int
    place: int
    """Computes what follows from positions alone."""
    step: int
    model: int
    data: int
    frame_skip: int
    """Steps for each action."""
    qpos: Floats
    """(1, nq)"""
    qvel: Floats
    """(1, nv)"""
    ctrl: Floats
    """(nu,)"""
    warnings: NDArray[np.int32]
    """(1, n_kinds): how often each warning of a broken state was given."""


class Reach(NamedTuple):
    """What an arm sees and earns, and room to compute it in."""

    fingertip: Floats
    """(3,), a live view."""
    target: Floats
    """(3,), another."""
    gap: Floats
    """(3,): from one to the other."""
    square: Floats
    """(1,): of its length."""
    angles: Floats
    """(2,): of the joints."""
    cosines: Floats
    """(2,)"""
    sines: Floats
    """(2,)"""
    square_gap: Loop
    cos: Loop
    sin: Loop


class World(NamedTuple):
    """A simulation of one episode, for compiled loops."""

    physics: Physics
    control: Actions
    """(nu,) in the action's dtype: what is done next."""
    control_cost: Actions
    """(1,) in the action's dtype: of the sum of an action's squares, since Gymnasium computes it in that precision."""
    observation: Floats
    """(1, n_features): what is seen now, and what is derived from it."""
    derived: Programs | Nothing
    max_steps: int
    """Episodes are truncated here."""
    reaches: bool
    """An arm that is to reach a target, not a body that is to stay upright or move."""
    body: BodyRules
    reach: Reach


@part
def begin(world: World, start: Any) -> None:
    """Begin an episode with positions and velocities (nq + nv,); ``world.observation`` is its first."""
    physics = world.physics
    nq = physics.qpos.shape[1]
    call_with_two(physics.reset, physics.model, physics.data)
    for j in range(nq):
        physics.qpos[0, j] = start[j]
    for j in range(physics.qvel.shape[1]):
        physics.qvel[0, j] = start[nq + j]
    if world.reaches:
        call_with_two(physics.place, physics.model, physics.data)
    _observe(world)
    derive(world.derived, world.observation[0])


@part
def advance(world: World) -> Any:
    """Do what ``world.control`` says; ``world.observation`` is what it leads to.

    Returns:
        The reward, whether the episode is over, and whether that is because the simulation broke down.
    """
    physics = world.physics
    squares = world.control[0] * world.control[0]
    physics.ctrl[0] = world.control[0]
    for j in range(1, len(physics.ctrl)):
        squares += world.control[j] * world.control[j]
        physics.ctrl[j] = world.control[j]
    cost = float(world.control_cost[0] * squares)
    before = physics.qpos[0, 0]
    reward = 0.0
    if world.reaches:  # the distance before the action counts, as it was seen
        reward = -np.sqrt(world.reach.square[0]) - cost
    for _ in range(physics.frame_skip):
        call_with_two(physics.step, physics.model, physics.data)
    if is_broken(physics.qpos, physics.qvel, physics.warnings):
        for j in range(world.observation.shape[1]):
            world.observation[0, j] = 0.0
        derive(world.derived, world.observation[0])
        return 0.0, True, True
    _observe(world)
    derive(world.derived, world.observation[0])
    if world.reaches:
        return reward, False, False
    return (
        reward_body(physics.qpos, before, cost, world.body),
        has_fallen(physics.qpos, physics.qvel, world.body),
        False,
    )


@part
def _observe(world: World) -> None:
    qpos, qvel, seen, reach = world.physics.qpos, world.physics.qvel, world.observation, world.reach
    if not world.reaches:
        observe_body(qpos, qvel, world.body, seen)
        return
    _measure(reach)
    for j in range(2):
        reach.angles[j] = qpos[0, j]
    _run(reach.cos)
    _run(reach.sin)
    for j in range(2):
        seen[0, j], seen[0, 2 + j] = reach.cosines[j], reach.sines[j]
        seen[0, 4 + j], seen[0, 6 + j] = qpos[0, 2 + j], qvel[0, j]
    for j in range(3):
        seen[0, 8 + j] = reach.gap[j]


@part
def _measure(reach: Reach) -> None:
    """The gap as it is now, and its square."""
    for j in range(3):
        reach.gap[j] = reach.fingertip[j] - reach.target[j]
    _run(reach.square_gap)


@part
def _run(loop: Loop) -> None:
    call_with_four(loop.function, loop.arrays, loop.dimensions, loop.strides, loop.data)


class Memory(NamedTuple):
    """What must live as long as a world: it holds addresses."""

    model: mujoco.MjModel
    data: mujoco.MjData
    arrays: list[Any]


def make_world(
    env_id: str, action_dtype: str, max_steps: int | None = None, seen: Task | None = None
) -> tuple[World, Memory]:
    """A task of ``SUPPORTED`` for compiled loops, where MuJoCo's library is found.

    Args:
        env_id: its id.
        action_dtype: of the controls, float32 or float64.
        max_steps: truncate episodes here, if that is before Gymnasium's own time limit.
        seen: the task whose features are derived, if some are.
    """
    silence_mujoco()
    stop_timers()
    task, model = SUPPORTED[env_id], load_model(env_id)
    data = mujoco.MjData(model)
    reach, arrays = _make_reach(data, task.reaches)
    body, derived = BodyRules.of(task, model), make_programs(seen)
    n_features = 11 if task.reaches else model.nq - body.hidden + model.nv
    world = World(
        physics=_make_physics(model, data, task.frame_skip),
        control=np.zeros(model.nu, action_dtype),
        control_cost=np.array([task.control_cost], action_dtype),
        observation=np.zeros((1, n_features if seen is None else seen.n_features)),
        derived=derived,
        max_steps=time_limit(env_id, max_steps),
        reaches=task.reaches,
        body=body,
        reach=reach,
    )
    return world, Memory(model, data, arrays)


def _make_physics(model: mujoco.MjModel, data: mujoco.MjData, frame_skip: int) -> Physics:
    library = find_library()
    assert library is not None, "the library is not found, which is to be asked before"
    return Physics(
        address_of(library, "mj_resetData"),
        address_of(library, "mj_kinematics"),
        address_of(library, "mj_step"),
        model._address,
        data._address,
        frame_skip,
        data.qpos[None],
        data.qvel[None],
        data.ctrl,
        data.warning.number[None, DIVERGED],
    )


def _make_reach(data: mujoco.MjData, reaches: bool) -> tuple[Reach, list[Any]]:
    """For a task that does not reach, just of the right type: all tasks then share what is compiled."""
    bodies = ("fingertip", "target") if reaches else ("world", "world")
    fingertip, target = (data.body(name).xpos for name in bodies)
    gap, square, angles, cosines, sines = (np.zeros(n) for n in (3, 1, 2, 2, 2))
    calls = [bind_loop(np.vecdot, gap, gap, square), bind_loop(np.cos, angles, cosines)]
    calls.append(bind_loop(np.sin, angles, sines))
    loops = [loop for loop, _ in calls]
    return Reach(fingertip, target, gap, square, angles, cosines, sines, *loops), [memory for _, memory in calls]
