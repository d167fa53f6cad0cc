"""MuJoCo tasks at the speed of their physics, bit-equal to Gymnasium.

``mujoco.batch`` steps the physics of every slot in one call. What a Gymnasium environment lays over the physics
(where an episode starts, what is seen, what a step earns, when it is over) is a rulebook; its arithmetic is
Gymnasium's in order and dtype, since bits depend on both: a float32 action has a float32 control cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import mujoco
import numpy as np
from gymnasium.utils import seeding
from mujoco.batch import Batch
from numba import njit
from numpy.typing import NDArray

from sirl.errors import SirlError, did_you_mean
from sirl.simulators import Ids, Step
from sirl.simulators.seeding import first_uniforms
from sirl.simulators.timers import stop_timers

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Actions = NDArray[Any]

_ASSETS = Path(gym.__file__).parent / "envs" / "mujoco" / "assets"
# MuJoCo's warnings of a broken state, which it then silently sets back: BADQPOS, BADQVEL, BADQACC, BADCTRL.
_DIVERGED = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)
# How a task knows that its body has fallen.
_NEVER, _PENDULUM, _HOPPER, _WALKER = range(4)


@dataclass(frozen=True)
class Overlay:
    """What a Gymnasium environment lays over the physics."""

    xml: str
    """The model, a file that comes with Gymnasium."""
    frame_skip: int
    """Physics steps for each action."""
    noise: float = 0.0
    """An episode starts uniformly so far around the model's default positions and velocities."""
    start: Callable[[np.random.Generator, Floats, Floats], None] | None = None
    """Where that is not so: changes one slot's default ``qpos`` (nq,) and ``qvel`` (nv,) in place."""
    control_cost: float = 0.0
    """Cost of the sum of an action's squares."""
    forward: float = 0.0
    """Reward for a unit of forward velocity."""
    alive: float = 0.0
    """Reward for every step."""
    hidden: int = 0
    """Leading positions that are not observed: where the body is says nothing of how to move it."""
    speed_bound: float = np.inf
    """Observed velocities are clipped here."""
    fall: int = _NEVER
    """When the episode is over."""


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


SUPPORTED: dict[str, Overlay] = {
    "InvertedPendulum-v4": Overlay("inverted_pendulum.xml", 2, noise=0.01, alive=1.0, fall=_PENDULUM),
    "Swimmer-v4": Overlay("swimmer.xml", 4, noise=0.1, control_cost=1e-4, forward=1.0, hidden=2),
    "Reacher-v4": Overlay("reacher.xml", 2, start=_reacher_start),
    "Hopper-v4": Overlay(
        "hopper.xml",
        4,
        noise=5e-3,
        control_cost=1e-3,
        forward=1.0,
        alive=1.0,
        hidden=1,
        speed_bound=10.0,
        fall=_HOPPER,
    ),
    "Walker2d-v4": Overlay(
        "walker2d.xml",
        4,
        noise=5e-3,
        control_cost=1e-3,
        forward=1.0,
        alive=1.0,
        hidden=1,
        speed_bound=10.0,
        fall=_WALKER,
    ),
    "HalfCheetah-v4": Overlay("half_cheetah.xml", 5, start=_cheetah_start, control_cost=0.1, forward=1.0, hidden=1),
}
"""The tasks that ``MujocoSimulator`` plays, by Gymnasium id."""


def load_model(env_id: str) -> mujoco.MjModel:
    """The model of a task of ``SUPPORTED``."""
    return _load(SUPPORTED[env_id])


def _load(task: Overlay) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(_ASSETS / task.xml))


class _Views(NamedTuple):
    """The live arrays of a batch."""

    states: Floats
    """(n_slots, n_state): a simulation is its row, and nothing else."""
    default: Floats
    """(n_state,): the row of the model's default state."""
    qpos: Floats
    """(n_slots, nq), a part of the states."""
    qvel: Floats
    """(n_slots, nv), another."""
    warnings: NDArray[np.int32]
    """(n_slots, n_kinds): how often each warning of a broken state was given."""


class _Physics:
    """A batch of simulations, read and written by slots."""

    def __init__(self, task: Overlay, n_slots: int, n_threads: int):
        self.model = _load(task)
        self.batch = Batch(self.model, n_slots, n_threads)
        self.frame_skip = task.frame_skip
        self.dt: float = self.model.opt.timestep * task.frame_skip
        # Live views, (n_slots, ...), current after every call of the batch.
        self.qpos: Floats = self.batch.bind("qpos")
        self.qvel: Floats = self.batch.bind("qvel")
        self.ctrl: Floats = self.batch.bind("ctrl")
        states: Floats = self.batch.state
        self.views = _Views(states, states[0].copy(), self.qpos, self.qvel, self.batch.warning[:, _DIVERGED, 1])
        self.n_coordinates = int(self.model.nq + self.model.nv)

    def step(self, ids: Ids, actions: Actions) -> None:
        """Hold ``actions`` (n, nu) for ``frame_skip`` steps of the physics."""
        self.ctrl[ids] = actions
        # A batch checks the slots that it is given; when it is all of them, it need not be given any.
        self.batch.step(None if len(ids) == self.batch.nsim else ids, self.frame_skip)


@njit(nogil=True, cache=True)
def _start(views: _Views, elapsed: Any, ids: Any, draws: Any, noise: float) -> None:
    """Put the slots ``ids`` (n,) into the model's default state, with noise by draws (n, nq + nv) if there are any."""
    low, span = -noise, noise - -noise
    for i in range(len(ids)):
        slot = ids[i]
        elapsed[slot] = 0
        for kind in range(views.warnings.shape[1]):
            views.warnings[slot, kind] = 0
        for j in range(len(views.default)):
            views.states[slot, j] = views.default[j]
        if draws.shape[1] > 0:
            nq = views.qpos.shape[1]
            for j in range(nq):
                views.qpos[slot, j] += low + span * draws[i, j]
            for j in range(views.qvel.shape[1]):
                views.qvel[slot, j] += low + span * draws[i, nq + j]


@njit(nogil=True, cache=True)
def _count(views: _Views, elapsed: Any, max_steps: int, ids: Any) -> Any:
    """Count a step of the slots ``ids`` (n,): which are at their last (n,), and which have a state that broke (n,).

    A broken state has a warning or a number that is none.

    Returns:
        Truncated, broken, and whether any are.
    """
    truncated = np.empty(len(ids), dtype=np.bool_)
    broken = np.empty(len(ids), dtype=np.bool_)
    any_broken = False
    for i in range(len(ids)):
        slot = ids[i]
        elapsed[slot] += 1
        truncated[i] = elapsed[slot] >= max_steps
        well = True
        for kind in range(views.warnings.shape[1]):
            well &= views.warnings[slot, kind] == 0
        for j in range(views.qpos.shape[1]):
            well &= bool(np.isfinite(views.qpos[slot, j]))
        for j in range(views.qvel.shape[1]):
            well &= bool(np.isfinite(views.qvel[slot, j]))
        broken[i] = not well
        any_broken |= not well
    return truncated, broken, any_broken


class _Rulebook(Protocol):
    """What happens around a step of the physics."""

    def place(self, ids: Ids) -> None:
        """The slots' states were written; a step of the physics does by itself what this must do."""
        ...

    def observe(self, ids: Ids) -> Floats:
        """Observations (n, n_features)."""
        ...

    def before(self, ids: Ids, actions: Actions) -> Floats:
        """What must be known from before a step, (n,) or longer."""
        ...

    def after(self, ids: Ids, before: Floats, actions: Actions) -> tuple[Floats, Floats, Flags]:
        """Observations (n, n_features), rewards (n,) and whether the episodes are over (n,)."""
        ...


class _Body:
    """A body that is to stay upright, or to move forward."""

    def __init__(self, task: Overlay, physics: _Physics):
        self._qpos, self._qvel = physics.qpos, physics.qvel
        self._control_cost, self._forward = task.control_cost, task.forward
        self._nothing = np.zeros(len(self._qpos))
        self._rules = _BodyRules(physics.dt, task.forward, task.alive, task.hidden, task.speed_bound, task.fall)

    def place(self, ids: Ids) -> None:
        pass

    def observe(self, ids: Ids) -> Floats:
        observations: Floats = _observe_body(self._qpos, self._qvel, ids, self._rules)
        return observations

    def before(self, ids: Ids, actions: Actions) -> Floats:  # noqa: ARG002
        return np.asarray(self._qpos[ids, 0]) if self._forward else self._nothing

    def after(self, ids: Ids, before: Floats, actions: Actions) -> tuple[Floats, Floats, Flags]:
        costs = self._control_cost * np.square(actions).sum(axis=1) if self._control_cost else self._nothing
        return _judge_body(self._qpos, self._qvel, ids, before, costs, self._rules)  # type: ignore[no-any-return]


class _BodyRules(NamedTuple):
    dt: float
    forward: float
    alive: float
    hidden: int
    speed_bound: float
    fall: int


@njit(nogil=True, cache=True)
def _observe_body(qpos: Any, qvel: Any, ids: Any, rules: _BodyRules) -> Any:
    n_positions, n_velocities = qpos.shape[1] - rules.hidden, qvel.shape[1]
    observations = np.empty((len(ids), n_positions + n_velocities))
    for i in range(len(ids)):
        slot = ids[i]
        for j in range(n_positions):
            observations[i, j] = qpos[slot, rules.hidden + j]
        for j in range(n_velocities):
            speed = min(max(qvel[slot, j], -rules.speed_bound), rules.speed_bound)
            observations[i, n_positions + j] = speed
    return observations


@njit(nogil=True, cache=True)
def _judge_body(qpos: Any, qvel: Any, ids: Any, before: Any, costs: Any, rules: _BodyRules) -> Any:
    observations = _observe_body(qpos, qvel, ids, rules)
    rewards = np.empty(len(ids))
    terminated = np.zeros(len(ids), dtype=np.bool_)
    for i in range(len(ids)):
        slot = ids[i]
        velocity = (qpos[slot, 0] - before[i]) / rules.dt
        rewards[i] = rules.forward * velocity + rules.alive - costs[i]
        if rules.fall == _PENDULUM:
            terminated[i] = abs(qpos[slot, 1]) > 0.2
        elif rules.fall == _HOPPER:
            calm = True
            for j in range(2, qpos.shape[1]):
                calm &= abs(qpos[slot, j]) < 100.0
            for j in range(qvel.shape[1]):
                calm &= abs(qvel[slot, j]) < 100.0
            terminated[i] = not (calm and qpos[slot, 1] > 0.7 and abs(qpos[slot, 2]) < 0.2)
        elif rules.fall == _WALKER:
            terminated[i] = not (0.8 < qpos[slot, 1] < 2.0 and abs(qpos[slot, 2]) < 1.0)
    return observations, rewards, terminated


class _Reacher:
    """An arm that is to bring its fingertip to a target."""

    def __init__(self, physics: _Physics):
        self._physics = physics
        self._fingertip: Floats = physics.batch.body("fingertip").xpos
        self._target: Floats = physics.batch.body("target").xpos

    def place(self, ids: Ids) -> None:
        self._physics.batch.forward(ids, stage=mujoco.mjtStage.mjSTAGE_POS)

    def observe(self, ids: Ids) -> Floats:
        qpos, qvel = self._physics.qpos[ids], self._physics.qvel[ids]
        angles = np.ascontiguousarray(qpos[:, :2])
        return np.concatenate([np.cos(angles), np.sin(angles), qpos[:, 2:], qvel[:, :2], self._gap(ids)], axis=1)

    def before(self, ids: Ids, actions: Actions) -> Floats:
        """The reward: v4 measures the distance before the action."""
        gap = self._gap(ids)
        # Gymnasium's norm of one row is the root of a BLAS dot product: vecdot is that same product, row by row.
        rewards: Floats = -np.sqrt(np.vecdot(gap, gap)) - np.square(actions).sum(axis=1)
        return rewards

    def after(self, ids: Ids, before: Floats, actions: Actions) -> tuple[Floats, Floats, Flags]:  # noqa: ARG002
        return self.observe(ids), before, np.zeros(len(ids), np.bool_)

    def _gap(self, ids: Ids) -> Floats:
        return self._fingertip[ids] - self._target[ids]


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
        stop_timers()
        self.n_slots = n_slots
        self._env_id = env_id
        self._task = SUPPORTED[env_id]
        self._physics = _Physics(self._task, n_slots, n_threads)
        self._rules: _Rulebook = _Reacher(self._physics) if env_id == "Reacher-v4" else _Body(self._task, self._physics)
        self._elapsed = np.zeros(n_slots, np.int64)
        time_limit = gym.registry[env_id].max_episode_steps
        assert time_limit is not None
        self._max_steps = time_limit if max_steps is None else min(max_steps, time_limit)

    def expect(self, seeds: NDArray[np.int64]) -> None:
        """Nothing to prepare: starts are drawn at reset."""

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> Floats:
        """Start an episode in each slot, from ``seeds`` (n,); return first observations (n, n_features)."""
        physics = self._physics
        draws = first_uniforms(seeds, physics.n_coordinates if self._task.start is None else 0)
        _start(physics.views, self._elapsed, ids, draws, self._task.noise)
        if self._task.start is not None:
            for slot, seed in zip(ids.tolist(), seeds.tolist(), strict=True):
                rng, _ = seeding.np_random(seed)
                self._task.start(rng, physics.qpos[slot], physics.qvel[slot])
        self._rules.place(ids)
        return self._rules.observe(ids)

    def step(self, ids: Ids, actions: Actions) -> Step:
        """Advance each slot of ``ids`` by its row of ``actions`` (n, nu), float32 or float64."""
        before = self._rules.before(ids, actions)
        self._physics.step(ids, actions)
        observations, rewards, terminated = self._rules.after(ids, before, actions)
        truncated, broken, any_broken = _count(self._physics.views, self._elapsed, self._max_steps, ids)
        if any_broken:
            observations[broken], rewards[broken], terminated[broken] = 0.0, 0.0, True
        return Step(observations, rewards, terminated, truncated, broken if any_broken else None)

    def states(self, ids: Ids) -> tuple[Floats, Floats]:
        """Positions (n, nq) and velocities (n, nv) of the slots, as they are now."""
        return self._physics.qpos[ids], self._physics.qvel[ids]

    def close(self) -> None:
        """Let go of the physics, whose threads end with it."""
        vars(self).pop("_physics", None)
        vars(self).pop("_rules", None)


def has_diverged(data: mujoco.MjData) -> bool:
    """Whether MuJoCo has lost a simulation's state since its reset."""
    return bool(data.warning.number[_DIVERGED].any())


def silence_mujoco() -> None:
    """Stop MuJoCo from writing warnings to MUJOCO_LOG.TXT in the working directory, and to the console.

    The setting is MuJoCo's own and holds for the process; the simulators look at the warnings that matter.
    A Python handler would do it too, but the batch's threads would have to wait for the interpreter.
    """
    config = mujoco.MjLogConfig.get()
    config.logto_file = False
    config.logto_console = False
    config.set()
