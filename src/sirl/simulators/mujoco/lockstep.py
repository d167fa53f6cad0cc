"""MuJoCo tasks in lockstep, bit-equal to Gymnasium: ``mujoco.batch`` steps the physics of every slot in one call."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from sirl.errors import SirlError, did_you_mean
from sirl.jit import compiled
from sirl.simulators import Ids, Step
from sirl.simulators.mujoco.library import stop_timers
from sirl.simulators.mujoco.rules import (
    DIVERGED,
    SUPPORTED,
    BodyRules,
    Overlay,
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
Flags = NDArray[np.bool_]
Actions = NDArray[Any]


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

    def __init__(self, env_id: str, n_slots: int):
        task = SUPPORTED[env_id]
        self.model = load_model(env_id)
        self.batch = Batch(self.model, n_slots, 1)
        self.frame_skip = task.frame_skip
        # Live views, (n_slots, ...), current after every call of the batch.
        self.qpos: Floats = self.batch.bind("qpos")
        self.qvel: Floats = self.batch.bind("qvel")
        self.ctrl: Floats = self.batch.bind("ctrl")
        states: Floats = self.batch.state
        self.views = _Views(states, states[0].copy(), self.qpos, self.qvel, self.batch.warning[:, DIVERGED, 1])

    def step(self, ids: Ids, actions: Actions) -> None:
        """Hold ``actions`` (n, nu) for ``frame_skip`` steps of the physics."""
        self.ctrl[ids] = actions
        # A batch checks the slots that it is given; when it is all of them, it need not be given any.
        self.batch.step(None if len(ids) == self.batch.nsim else ids, self.frame_skip)


@compiled
def _start(views: _Views, elapsed: Any, ids: Any, starts: Any) -> None:
    """Begin in each of the slots ``ids`` (n,) at its row of starts (n, nq + nv)."""
    for i in range(len(ids)):
        slot = ids[i]
        elapsed[slot] = 0
        for kind in range(views.warnings.shape[1]):
            views.warnings[slot, kind] = 0
        for j in range(len(views.default)):
            views.states[slot, j] = views.default[j]
        nq = views.qpos.shape[1]
        for j in range(nq):
            views.qpos[slot, j] = starts[i, j]
        for j in range(views.qvel.shape[1]):
            views.qvel[slot, j] = starts[i, nq + j]


@compiled
def _count(views: _Views, elapsed: Any, max_steps: int, ids: Any) -> Any:
    """Count a step of the slots ``ids`` (n,): which are at their last (n,), and which have a state that broke (n,).

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
        broken[i] = is_broken(views.qpos, views.qvel, views.warnings, slot)
        any_broken |= broken[i]
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


@compiled
def _observe_bodies(qpos: Any, qvel: Any, ids: Any, rules: BodyRules) -> Any:
    observations = np.empty((len(ids), qpos.shape[1] - rules.hidden + qvel.shape[1]))
    for i in range(len(ids)):
        observe_body(qpos, qvel, ids[i], rules, observations, i)
    return observations


@compiled
def _judge_bodies(qpos: Any, qvel: Any, ids: Any, before: Any, costs: Any, rules: BodyRules) -> Any:
    rewards = np.empty(len(ids))
    terminated = np.empty(len(ids), dtype=np.bool_)
    for i in range(len(ids)):
        rewards[i] = reward_body(qpos, ids[i], before[i], costs[i], rules)
        terminated[i] = has_fallen(qpos, qvel, ids[i], rules)
    return _observe_bodies(qpos, qvel, ids, rules), rewards, terminated


class _Bodies:
    """Bodies that are to stay upright, or to move forward."""

    def __init__(self, task: Overlay, physics: _Physics):
        self._task, self._qpos, self._qvel = task, physics.qpos, physics.qvel
        self._rules = BodyRules.of(task, physics.model)

    def place(self, ids: Ids) -> None:
        pass

    def observe(self, ids: Ids) -> Floats:
        observations: Floats = _observe_bodies(self._qpos, self._qvel, ids, self._rules)
        return observations

    def before(self, ids: Ids, actions: Actions) -> Floats:  # noqa: ARG002
        return np.asarray(self._qpos[ids, 0])

    def after(self, ids: Ids, before: Floats, actions: Actions) -> tuple[Floats, Floats, Flags]:
        costs = control_costs(self._task, actions)
        return _judge_bodies(self._qpos, self._qvel, ids, before, costs, self._rules)  # type: ignore[no-any-return]


class _Reachers:
    """Arms that are to bring their fingertip to a target."""

    def __init__(self, task: Overlay, physics: _Physics):
        self._task, self._physics = task, physics
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
        rewards: Floats = -np.sqrt(np.vecdot(gap, gap)) - control_costs(self._task, actions)
        return rewards

    def after(self, ids: Ids, before: Floats, actions: Actions) -> tuple[Floats, Floats, Flags]:  # noqa: ARG002
        return self.observe(ids), before, np.zeros(len(ids), np.bool_)

    def _gap(self, ids: Ids) -> Floats:
        return self._fingertip[ids] - self._target[ids]


class MujocoSimulator:
    """A task of ``SUPPORTED`` in lockstep, bit-equal to ``gymnasium.make``.

    Args:
        env_id: one of ``SUPPORTED``.
        n_slots: number of episodes side by side.
        max_steps: truncate episodes here, if that is before Gymnasium's own time limit.
    """

    def __init__(self, env_id: str, n_slots: int, max_steps: int | None = None):
        if env_id not in SUPPORTED:
            hint = did_you_mean(env_id, list(SUPPORTED))
            raise SirlError(f"environment {env_id!r} has no MuJoCo simulator, use the Gymnasium one{hint}")
        silence_mujoco()
        stop_timers()
        self.n_slots = n_slots
        self._task = SUPPORTED[env_id]
        self._physics = _Physics(env_id, n_slots)
        rulebook = _Reachers if self._task.reaches else _Bodies
        self._rules: _Rulebook = rulebook(self._task, self._physics)
        self._elapsed = np.zeros(n_slots, np.int64)
        self._max_steps = time_limit(env_id, max_steps)

    def expect(self, seeds: NDArray[np.int64]) -> None:
        """Nothing to prepare: starts are drawn at reset."""

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> Floats:
        """Start an episode in each slot, from ``seeds`` (n,); return first observations (n, n_features)."""
        physics = self._physics
        _start(physics.views, self._elapsed, ids, draw_starts(self._task, physics.model, seeds))
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
        """Let go of the physics."""
        vars(self).pop("_physics", None)
        vars(self).pop("_rules", None)
