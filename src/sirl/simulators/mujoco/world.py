"""One MuJoCo simulation inside compiled loops: no call of Python between an action and what it leads to.

Episodes in lockstep share what a call from Python costs; here there is none to share. Only loops that are compiled
from end to end can use it, so it is no :class:`~sirl.simulators.Simulator`. Bit-equal to Gymnasium, too.

A fatal error of MuJoCo would end the process here, where Python's bindings raise an exception. None of the tasks is
known to have one; a worker process that ends is told of by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from sirl.jit import part
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
    control_costs,
    draw_starts,
    has_fallen,
    is_broken,
    load_model,
    observe_body,
    reward_body,
    silence_mujoco,
    time_limit,
)

Floats = NDArray[np.float64]


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
    observation: Floats
    """(1, n_features): what is seen now."""
    max_steps: int
    """Episodes are truncated here."""
    reaches: bool
    """An arm that is to reach a target, not a body that is to stay upright or move."""
    body: BodyRules
    reach: Reach


class Controls(NamedTuple):
    """The actions that may be taken."""

    values: Floats
    """(n_actions, nu)"""
    costs: Floats
    """(n_actions,)"""


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


@part
def advance(world: World, controls: Controls, action: int) -> Any:
    """Take an action; ``world.observation`` is what it leads to.

    Returns:
        The reward, whether the episode is over, and whether that is because the simulation broke down.
    """
    physics = world.physics
    for j in range(len(physics.ctrl)):
        physics.ctrl[j] = controls.values[action, j]
    before = physics.qpos[0, 0]
    reward = 0.0
    if world.reaches:  # the distance before the action counts, as it was seen
        reward = -np.sqrt(world.reach.square[0]) - controls.costs[action]
    for _ in range(physics.frame_skip):
        call_with_two(physics.step, physics.model, physics.data)
    if is_broken(physics.qpos, physics.qvel, physics.warnings, 0):
        for j in range(world.observation.shape[1]):
            world.observation[0, j] = 0.0
        return 0.0, True, True
    _observe(world)
    if world.reaches:
        return reward, False, False
    reward = reward_body(physics.qpos, 0, before, controls.costs[action], world.body)
    return reward, has_fallen(physics.qpos, physics.qvel, 0, world.body), False


@part
def _observe(world: World) -> None:
    qpos, qvel, seen, reach = world.physics.qpos, world.physics.qvel, world.observation, world.reach
    if not world.reaches:
        observe_body(qpos, qvel, 0, world.body, seen, 0)
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


class Direct:
    """A task of ``SUPPORTED`` for compiled loops.

    Args:
        env_id: one of ``SUPPORTED``.
        library: where MuJoCo's functions are.
        max_steps: truncate episodes here, if that is before Gymnasium's own time limit.
    """

    def __init__(self, env_id: str, library: Any, max_steps: int | None):
        silence_mujoco()
        stop_timers()
        self._task = SUPPORTED[env_id]
        self._model = load_model(env_id)
        self._data = mujoco.MjData(self._model)
        reach, self._memory = self._make_reach(self._task.reaches)
        body = BodyRules.of(self._task, self._model)
        n_features = 11 if self._task.reaches else self._model.nq - body.hidden + self._model.nv
        physics = self._make_physics(library)
        self.world = World(
            physics, np.zeros((1, n_features)), time_limit(env_id, max_steps), self._task.reaches, body, reach
        )

    @classmethod
    def of(cls, env_id: str, max_steps: int | None = None) -> Self | None:
        """The task, if MuJoCo's library is where its package usually has it."""
        library = find_library()
        return None if library is None else cls(env_id, library, max_steps)

    def starts(self, seeds: NDArray[np.int64]) -> Floats:
        """Where episodes with ``seeds`` (n,) begin, (n, nq + nv)."""
        return draw_starts(self._task, self._model, seeds)

    def controls(self, actions: NDArray[Any]) -> Controls:
        """The actions (n_actions, nu), float32 or float64, as compiled loops need them."""
        return Controls(actions.astype(np.float64), control_costs(self._task, actions))

    def _make_physics(self, library: Any) -> Physics:
        model, data = self._model, self._data
        return Physics(
            address_of(library, "mj_resetData"),
            address_of(library, "mj_kinematics"),
            address_of(library, "mj_step"),
            model._address,
            data._address,
            self._task.frame_skip,
            data.qpos[None],
            data.qvel[None],
            data.ctrl,
            data.warning.number[None, DIVERGED],
        )

    def _make_reach(self, reaches: bool) -> tuple[Reach, list[Any]]:
        """For a task that does not reach, just of the right type: all tasks then share what is compiled."""
        bodies = ("fingertip", "target") if reaches else ("world", "world")
        fingertip, target = (self._data.body(name).xpos for name in bodies)
        gap, square, angles, cosines, sines = (np.zeros(n) for n in (3, 1, 2, 2, 2))
        calls = [bind_loop(np.vecdot, gap, gap, square), bind_loop(np.cos, angles, cosines)]
        calls.append(bind_loop(np.sin, angles, sines))
        loops = [loop for loop, _ in calls]
        return Reach(fingertip, target, gap, square, angles, cosines, sines, *loops), [memory for _, memory in calls]
