"""MuJoCo tasks: what Gymnasium lays over their physics.

Where an episode starts, what is seen, what a step earns, when it is over. The arithmetic is Gymnasium's in order and
dtype, since bits depend on both: a float32 action has a float32 control cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import mujoco
import numpy as np
from gymnasium.utils import seeding

from sirl.arrays import Floats, Seeds
from sirl.jit import part
from sirl.simulators.mujoco.seeding import first_uniforms

_ASSETS = Path(gym.__file__).parent / "envs" / "mujoco" / "assets"
# MuJoCo's warnings of a broken state, which it then silently sets back: BADQPOS, BADQVEL, BADQACC, BADCTRL.
DIVERGED = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)
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
    starts: Callable[[mujoco.MjModel, Seeds], Floats] | None = None
    """Where that is not so: from seeds (n,) to positions and then velocities, (n, nq + nv)."""
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
    reaches: bool = False
    """An arm that is to reach a target; else a body that is to stay upright, or to move forward."""


def _noisy_starts(model: mujoco.MjModel, seeds: Seeds, noise: float) -> Floats:
    default = _default(model)
    return np.asarray(default + _stretch(first_uniforms(seeds, len(default)), noise))


def _cheetah_starts(model: mujoco.MjModel, seeds: Seeds) -> Floats:
    starts = np.tile(_default(model), (len(seeds), 1))
    for start, seed in zip(starts, seeds.tolist(), strict=True):
        rng, _ = seeding.np_random(seed)
        start[: model.nq] += rng.uniform(-0.1, 0.1, model.nq)
        start[model.nq :] += 0.1 * rng.standard_normal(model.nv)
    return starts


def _reacher_starts(model: mujoco.MjModel, seeds: Seeds, tries: int = 8) -> Floats:
    """The last two joints place the target: at rest, uniformly in the disc that the arm reaches."""
    nq, nv, rows = model.nq, model.nv, np.arange(len(seeds))
    draws = first_uniforms(seeds, nq + 2 * tries + nv)
    targets = _stretch(draws[:, nq : nq + 2 * tries].reshape(-1, tries, 2), 0.2)
    inside = np.sqrt(np.vecdot(targets, targets)) < 0.2
    taken = inside.argmax(axis=1)
    speeds = np.take_along_axis(draws, (nq + 2 * (taken + 1))[:, None] + np.arange(nv), axis=1)
    starts = np.asarray(
        _default(model) + np.concatenate([_stretch(draws[:, :nq], 0.1), _stretch(speeds, 0.005)], axis=1)
    )
    starts[:, nq - 2 : nq] = targets[rows, taken]
    starts[:, -2:] = 0
    unlucky = ~inside.any(axis=1)
    if unlucky.any():
        starts[unlucky] = _reacher_starts(model, seeds[unlucky], 2 * tries)
    return starts


def _default(model: mujoco.MjModel) -> Floats:
    return np.concatenate([model.qpos0, np.zeros(model.nv)])


def _stretch(draws: Floats, bound: float) -> Floats:
    """Draws in [0, 1) as NumPy's ``uniform(-bound, bound)`` makes use of them."""
    return -bound + (bound - -bound) * draws


_HOPS = Overlay(
    "hopper.xml",
    4,
    noise=5e-3,
    control_cost=1e-3,
    forward=1.0,
    alive=1.0,
    hidden=1,
    speed_bound=10.0,
    fall=_HOPPER,
)
SUPPORTED: dict[str, Overlay] = {
    "InvertedPendulum-v4": Overlay("inverted_pendulum.xml", 2, noise=0.01, alive=1.0, fall=_PENDULUM),
    "Swimmer-v4": Overlay("swimmer.xml", 4, noise=0.1, control_cost=1e-4, forward=1.0, hidden=2),
    "Reacher-v4": Overlay("reacher.xml", 2, starts=_reacher_starts, control_cost=1.0, reaches=True),
    "Hopper-v4": _HOPS,
    "Walker2d-v4": replace(_HOPS, xml="walker2d.xml", fall=_WALKER),
    "HalfCheetah-v4": Overlay("half_cheetah.xml", 5, starts=_cheetah_starts, control_cost=0.1, forward=1.0, hidden=1),
}
"""The tasks whose physics is MuJoCo's alone, by Gymnasium id."""


def load_model(env_id: str) -> mujoco.MjModel:
    """The model of a task of ``SUPPORTED``."""
    return mujoco.MjModel.from_xml_path(str(_ASSETS / SUPPORTED[env_id].xml))


def time_limit(env_id: str, max_steps: int | None) -> int:
    """Steps after which an episode is truncated: Gymnasium's limit, or ``max_steps`` if that is less."""
    limit = gym.registry[env_id].max_episode_steps
    assert limit is not None
    return limit if max_steps is None else min(max_steps, limit)


def draw_starts(task: Overlay, model: mujoco.MjModel, seeds: Seeds) -> Floats:
    """Where episodes with these ``seeds`` (n,) start: positions and then velocities, (n, nq + nv)."""
    return _noisy_starts(model, seeds, task.noise) if task.starts is None else task.starts(model, seeds)


class BodyRules(NamedTuple):
    """What a body sees and earns, and when it has fallen; for the meaning see `Overlay`."""

    dt: float
    """Seconds of a step."""
    forward: float
    alive: float
    hidden: int
    speed_bound: float
    fall: int

    @staticmethod
    def of(task: Overlay, model: mujoco.MjModel) -> BodyRules:
        """The rules of a task."""
        dt = model.opt.timestep * task.frame_skip
        return BodyRules(dt, task.forward, task.alive, task.hidden, task.speed_bound, task.fall)


@part
def observe_body(qpos: Any, qvel: Any, rules: BodyRules, observation: Any) -> None:
    """Write what a body at positions (1, nq) and velocities (1, nv) sees to ``observation`` (1, n_features)."""
    n_positions = qpos.shape[1] - rules.hidden
    for j in range(n_positions):
        observation[0, j] = qpos[0, rules.hidden + j]
    for j in range(qvel.shape[1]):
        observation[0, n_positions + j] = min(max(qvel[0, j], -rules.speed_bound), rules.speed_bound)


@part
def reward_body(qpos: Any, before: float, cost: float, rules: BodyRules) -> float:
    """What a step earns that began at the position ``before`` and took an action of some cost."""
    velocity = (qpos[0, 0] - before) / rules.dt
    return rules.forward * velocity + rules.alive - cost  # type: ignore[no-any-return]


@part
def has_fallen(qpos: Any, qvel: Any, rules: BodyRules) -> bool:
    """Whether the episode is over."""
    if rules.fall == _PENDULUM:
        return bool(abs(qpos[0, 1]) > 0.2)
    if rules.fall == _HOPPER:
        calm = True
        for j in range(2, qpos.shape[1]):
            calm &= abs(qpos[0, j]) < 100.0
        for j in range(qvel.shape[1]):
            calm &= abs(qvel[0, j]) < 100.0
        return not (calm and qpos[0, 1] > 0.7 and abs(qpos[0, 2]) < 0.2)
    if rules.fall == _WALKER:
        return not (0.8 < qpos[0, 1] < 2.0 and abs(qpos[0, 2]) < 1.0)
    return False


@part
def is_broken(qpos: Any, qvel: Any, warnings: Any) -> bool:
    """Whether a state has a warning or a number that is none."""
    well = True
    for kind in range(warnings.shape[1]):
        well &= warnings[0, kind] == 0
    for j in range(qpos.shape[1]):
        well &= bool(np.isfinite(qpos[0, j]))
    for j in range(qvel.shape[1]):
        well &= bool(np.isfinite(qvel[0, j]))
    return not well


def has_diverged(data: mujoco.MjData) -> bool:
    """Whether MuJoCo has lost a simulation's state since its reset: :func:`is_broken` outside of compiled loops."""
    return bool(data.warning.number[DIVERGED].any())


def silence_mujoco() -> None:
    """Stop MuJoCo from writing warnings to MUJOCO_LOG.TXT in the working directory, and to the console.

    The setting is MuJoCo's own and holds for the process; the simulators look at the warnings that matter.
    A Python handler would do it too, but compiled loops would have to wait for the interpreter.
    """
    config = mujoco.MjLogConfig.get()
    config.logto_file = False
    config.logto_console = False
    config.set()
