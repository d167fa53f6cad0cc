"""MuJoCo tasks at the speed of their physics, bit-equal to Gymnasium.

``mujoco.batch`` steps the physics of every slot in one call, on threads. What a Gymnasium environment lays
over the physics is a ``Task``: where an episode starts, what is seen, what a step earns, when it is over.
Float arithmetic depends on order and dtype, so each rule computes as Gymnasium's own does: a float32 action
has a float32 control cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import mujoco
import numpy as np
from gymnasium.utils import seeding
from mujoco.batch import Batch
from numpy.typing import NDArray

from sirl.errors import EnvironmentFailure, SirlError, did_you_mean
from sirl.simulators import Ids, Step

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Actions = NDArray[Any]

_ASSETS = Path(gym.__file__).parent / "envs" / "mujoco" / "assets"
# MuJoCo's warnings of a broken state, which it then silently sets back: BADQPOS, BADQVEL, BADQACC, BADCTRL.
_DIVERGED = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)


class Moment(NamedTuple):
    """The physics of some slots at one time, a row each."""

    qpos: Floats
    """(n, nq): positions of the joints."""
    qvel: Floats
    """(n, nv): velocities of the joints."""
    motion: Floats
    """(n, nq + nv): both, side by side."""
    bodies: tuple[Floats, ...]
    """(n, 3) each: where the bodies are that the task names."""


@dataclass(frozen=True)
class Task:
    """The rules that a Gymnasium environment lays over the physics."""

    xml: str
    """The model, a file that comes with Gymnasium."""
    frame_skip: int
    """Physics steps for each action."""
    start: Callable[[np.random.Generator, Floats, Floats], None]
    """Change one slot's default ``qpos`` (nq,) and ``qvel`` (nv,) into an episode's first state, in place."""
    observe: Callable[[Moment], Floats]
    """Observations (n, n_features), C-contiguous."""
    reward: Callable[[Moment, Moment, Actions, float], Floats]
    """Rewards (n,) of the moments before and after the ``actions`` (n, nu), and the seconds between them."""
    terminated: Callable[[Moment], Flags]
    """Whether each episode is over (n,)."""
    bodies: tuple[str, ...] = ()
    """Bodies whose places the rules need."""


def _uniform_start(rng: np.random.Generator, qpos: Floats, qvel: Floats, *, noise: float) -> None:
    qpos += rng.uniform(-noise, noise, qpos.size)
    qvel += rng.uniform(-noise, noise, qvel.size)


def _cheetah_start(rng: np.random.Generator, qpos: Floats, qvel: Floats) -> None:
    qpos += rng.uniform(-0.1, 0.1, qpos.size)
    qvel += 0.1 * rng.standard_normal(qvel.size)


def _reacher_start(rng: np.random.Generator, qpos: Floats, qvel: Floats) -> None:
    """The last two joints place the target: at rest, uniformly in the disc that the arm reaches."""
    qpos += rng.uniform(-0.1, 0.1, qpos.size)
    while True:
        target = rng.uniform(-0.2, 0.2, 2)
        if np.linalg.norm(target) < 0.2:
            break
    qpos[-2:] = target
    qvel += rng.uniform(-0.005, 0.005, qvel.size)
    qvel[-2:] = 0


def _observe_all(now: Moment) -> Floats:
    return now.motion


def _observe_body(now: Moment, *, hidden: int, speed_bound: float | None = None) -> Floats:
    """All but the first ``hidden`` positions: where the body is says nothing of how to move it."""
    observations = now.motion[:, hidden:].copy()
    if speed_bound is not None:
        velocities = observations[:, -now.qvel.shape[1] :]
        velocities.clip(-speed_bound, speed_bound, out=velocities)
    return observations


def _observe_reacher(now: Moment) -> Floats:
    fingertip, target = now.bodies
    angles = now.qpos[:, :2].copy()
    return np.concatenate(
        [np.cos(angles), np.sin(angles), now.qpos[:, 2:], now.qvel[:, :2], fingertip - target], axis=1
    )


def _alive_reward(_before: Moment, after: Moment, _actions: Actions, _dt: float) -> Floats:
    return np.ones(len(after.motion))


def _forward_reward(
    before: Moment, after: Moment, actions: Actions, dt: float, *, control_cost: float, alive: float = 0.0
) -> Floats:
    cost = control_cost * np.square(actions).sum(axis=1)
    rewards: Floats = (after.qpos[:, 0] - before.qpos[:, 0]) / dt + alive - cost
    return rewards


def _reacher_reward(before: Moment, _after: Moment, actions: Actions, _dt: float) -> Floats:
    """Minus the distance to the target before the action, as in Gymnasium's v4, minus the control cost."""
    fingertip, target = before.bodies
    gap = fingertip - target
    # Gymnasium's norm of one row is the root of a BLAS dot product: vecdot is that same product, row by row.
    rewards: Floats = -np.sqrt(np.vecdot(gap, gap)) - np.square(actions).sum(axis=1)
    return rewards


def _never(now: Moment) -> Flags:
    return np.zeros(len(now.motion), np.bool_)


def _pendulum_fell(now: Moment) -> Flags:
    return np.abs(now.qpos[:, 1]) > 0.2


def _hopper_fell(now: Moment) -> Flags:
    height, angle = now.qpos[:, 1], now.qpos[:, 2]
    calm = (np.abs(now.motion[:, 2:]) < 100.0).all(axis=1)
    return ~(calm & (height > 0.7) & (np.abs(angle) < 0.2))


def _walker_fell(now: Moment) -> Flags:
    height, angle = now.qpos[:, 1], now.qpos[:, 2]
    return ~((height > 0.8) & (height < 2.0) & (np.abs(angle) < 1.0))


SUPPORTED: dict[str, Task] = {
    "InvertedPendulum-v4": Task(
        xml="inverted_pendulum.xml",
        frame_skip=2,
        start=partial(_uniform_start, noise=0.01),
        observe=_observe_all,
        reward=_alive_reward,
        terminated=_pendulum_fell,
    ),
    "Swimmer-v4": Task(
        xml="swimmer.xml",
        frame_skip=4,
        start=partial(_uniform_start, noise=0.1),
        observe=partial(_observe_body, hidden=2),
        reward=partial(_forward_reward, control_cost=1e-4),
        terminated=_never,
    ),
    "Reacher-v4": Task(
        xml="reacher.xml",
        frame_skip=2,
        start=_reacher_start,
        observe=_observe_reacher,
        reward=_reacher_reward,
        terminated=_never,
        bodies=("fingertip", "target"),
    ),
    "Hopper-v4": Task(
        xml="hopper.xml",
        frame_skip=4,
        start=partial(_uniform_start, noise=5e-3),
        observe=partial(_observe_body, hidden=1, speed_bound=10.0),
        reward=partial(_forward_reward, control_cost=1e-3, alive=1.0),
        terminated=_hopper_fell,
    ),
    "Walker2d-v4": Task(
        xml="walker2d.xml",
        frame_skip=4,
        start=partial(_uniform_start, noise=5e-3),
        observe=partial(_observe_body, hidden=1, speed_bound=10.0),
        reward=partial(_forward_reward, control_cost=1e-3, alive=1.0),
        terminated=_walker_fell,
    ),
    "HalfCheetah-v4": Task(
        xml="half_cheetah.xml",
        frame_skip=5,
        start=_cheetah_start,
        observe=partial(_observe_body, hidden=1),
        reward=partial(_forward_reward, control_cost=0.1),
        terminated=_never,
    ),
}
"""The tasks that ``MujocoSimulator`` plays, by Gymnasium id."""


class _Physics:
    """A batch of simulations, read and written by slots."""

    def __init__(self, task: Task, n_slots: int, n_threads: int):
        model = mujoco.MjModel.from_xml_path(str(_ASSETS / task.xml))
        self._batch = Batch(model, n_slots, n_threads)
        self._frame_skip = task.frame_skip
        self._nq = model.nq
        self.dt: float = model.opt.timestep * task.frame_skip
        # Live views, (n_slots, ...), current after every call of the batch.
        self.qpos: Floats = self._batch.bind("qpos")
        self.qvel: Floats = self._batch.bind("qvel")
        self._motion = self._batch.state[:, 1 : 1 + model.nq + model.nv]  # a row is time, qpos, qvel, ...
        self._ctrl = self._batch.bind("ctrl")
        self._bodies = [self._batch.body(name).xpos for name in task.bodies]
        self._warnings = self._batch.warning[:, _DIVERGED, 1]

    def reset(self, ids: Ids) -> None:
        """Set slots to the model's defaults; call ``place`` when their state is written."""
        self._batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE)

    def place(self, ids: Ids) -> None:
        """Compute where the bodies are; a step does it by itself."""
        if self._bodies:
            self._batch.forward(ids, stage=mujoco.mjtStage.mjSTAGE_POS)

    def step(self, ids: Ids, actions: Actions) -> None:
        """Hold ``actions`` (n, nu) for ``frame_skip`` steps of the physics."""
        self._ctrl[ids] = actions
        everyone = len(ids) == len(self._ctrl)  # the batch is 1 to 2 % quicker if it is not told which
        self._batch.step(None if everyone else ids, self._frame_skip)

    def look(self, ids: Ids) -> Moment:
        """What is now, in copies that later steps leave alone."""
        motion = self._motion[ids]
        return Moment(motion[:, : self._nq], motion[:, self._nq :], motion, tuple(b[ids] for b in self._bodies))

    def divergence(self, ids: Ids, now: Moment) -> tuple[int, str] | None:
        """The first slot whose state broke since its reset, and MuJoCo's name for it, if there is one."""
        warnings = self._warnings[ids]
        if not warnings.any() and np.isfinite(now.motion).all():
            return None
        row = int((warnings.any(axis=1) | ~np.isfinite(now.motion).all(axis=1)).argmax())
        if not warnings[row].any():
            return int(ids[row]), "state not finite"
        return int(ids[row]), mujoco.mjtWarning(_DIVERGED.start + int(warnings[row].argmax())).name


class MujocoSimulator:
    """A task of ``SUPPORTED`` in lockstep, bit-equal to ``gymnasium.make`` at any number of threads.

    Args:
        env_id: one of ``SUPPORTED``.
        n_slots: number of episodes side by side.
        n_threads: threads that share the physics of a call, the caller's included.
        max_steps: truncate episodes here, if that is before Gymnasium's own time limit.
    """

    def __init__(self, env_id: str, n_slots: int, n_threads: int = 1, max_steps: int | None = None):
        if env_id not in SUPPORTED:
            hint = did_you_mean(env_id, list(SUPPORTED))
            raise SirlError(f"environment {env_id!r} has no MuJoCo simulator, use the Gymnasium one{hint}")
        silence_mujoco()
        self.n_slots = n_slots
        self._env_id = env_id
        self._task = SUPPORTED[env_id]
        self._physics = _Physics(self._task, n_slots, n_threads)
        self._elapsed = np.zeros(n_slots, np.int64)
        time_limit = gym.registry[env_id].max_episode_steps
        assert time_limit is not None
        self._max_steps = time_limit if max_steps is None else min(max_steps, time_limit)

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> Floats:
        """Start an episode in each slot, from ``seeds`` (n,); return first observations (n, n_features)."""
        physics, task = self._physics, self._task
        physics.reset(ids)
        for slot, seed in zip(ids.tolist(), seeds.tolist(), strict=True):
            rng, _ = seeding.np_random(seed)
            task.start(rng, physics.qpos[slot], physics.qvel[slot])
        physics.place(ids)
        self._elapsed[ids] = 0
        return task.observe(physics.look(ids))

    def step(self, ids: Ids, actions: Actions) -> Step:
        """Advance each slot of ``ids`` by its row of ``actions`` (n, nu), float32 or float64."""
        physics, task = self._physics, self._task
        before = physics.look(ids)
        physics.step(ids, actions)
        after = physics.look(ids)
        if (divergence := physics.divergence(ids, after)) is not None:
            raise self._failure(*divergence)
        elapsed = self._elapsed[ids] + 1
        self._elapsed[ids] = elapsed
        return Step(
            observations=task.observe(after),
            rewards=task.reward(before, after, actions, physics.dt),
            terminated=task.terminated(after),
            truncated=elapsed >= self._max_steps,
        )

    def close(self) -> None:
        """Let go of the physics, whose threads end with it."""
        vars(self).pop("_physics", None)

    def _failure(self, slot: int, kind: str) -> EnvironmentFailure:
        return EnvironmentFailure(
            f"{self._env_id} diverged in slot {slot} ({kind}): MuJoCo could not follow the actions; "
            "keep them finite and within the bounds of the action space"
        )


def silence_mujoco() -> None:
    """Stop MuJoCo from writing warnings to MUJOCO_LOG.TXT in the working directory, and to the console.

    The setting is MuJoCo's own and holds for the process; ``MujocoSimulator`` raises for the warnings that
    matter. A Python handler would do it too, but the batch's threads would have to wait for the interpreter.
    """
    config = mujoco.MjLogConfig.get()
    config.logto_file = False
    config.logto_console = False
    config.set()
