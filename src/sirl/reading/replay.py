"""One episode to look at: what was seen, done and earned at each step, with pictures where there are any."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from sirl.arrays import Floats, Ints
from sirl.errors import SirlError
from sirl.model.policy import Policy
from sirl.simulators.gymnasium import ENDLESS
from sirl.simulators.recipes import Recipe

_SIDE = 320
"""Pixels of MuJoCo's pictures, which take long to draw where no graphics card helps."""

Picture = NDArray[np.uint8]
"""(height, width, 3)"""


class Moment(NamedTuple):
    """One step of an episode."""

    observation: Floats
    """(n_features,): what was seen before the action."""
    leaf: int
    action: Any
    reward: float
    picture: Picture | None
    """Of the state that was seen; None if the environment draws none."""


class Replay(NamedTuple):
    """A whole episode."""

    seed: int
    observations: Floats
    """(n_steps, n_features)"""
    leaves: Ints
    """(n_steps,)"""
    rewards: Floats
    """(n_steps,)"""
    pictures: list[Picture | None]
    """Of each step."""


def play_moments(
    policy: Policy, recipe: Recipe, seed: int, max_steps: int | None = None, every: int = 1, render: str = "rgb_array"
) -> Iterator[Moment]:
    """Play an episode from a seed, a step a turn, with a picture of every so many; ``render`` is how they are drawn."""
    env, draws = open_drawn(recipe, render)
    try:
        seen, _ = env.reset(seed=seed)
        for step in range(max_steps or ENDLESS):
            rows = policy.task.rows(seen)
            leaf = int(policy.tree.walk(rows)[0])
            action = policy.tree.act(rows)[0]
            picture = _picture(env) if draws and step % every == 0 else None
            seen, reward, terminated, truncated, _ = env.step(action)
            yield Moment(rows[0], leaf, action, float(reward), picture)
            if terminated or truncated:
                return
    finally:
        env.close()


def play_replay(policy: Policy, recipe: Recipe, seed: int, max_steps: int | None = None, every: int = 1) -> Replay:
    """Play an episode from a seed, and keep it, with a picture of every so many steps."""
    moments = list(play_moments(policy, recipe, seed, max_steps, every))
    return Replay(
        seed,
        np.array([m.observation for m in moments]),
        np.array([m.leaf for m in moments]),
        np.array([m.reward for m in moments]),
        [m.picture for m in moments],
    )


def open_drawn(recipe: Recipe, render: str) -> tuple[gym.Env[Any, Any], bool]:
    """A new environment that draws as asked, and whether it does; one that can't is opened without."""
    if "DISPLAY" not in os.environ and "WAYLAND_DISPLAY" not in os.environ and os.name == "posix":
        os.environ.setdefault("MUJOCO_GL", "egl")  # MuJoCo draws without a screen
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # and so does pygame
    size = {"width": _SIDE, "height": _SIDE} if _is_mujoco(recipe) and render == "rgb_array" else {}
    try:
        env = replace(recipe, options={**size, **recipe.options, "render_mode": render})()
    except (
        SirlError,
        TypeError,
        ValueError,
    ):  # a factory that takes no render_mode, or an environment without this one
        env = recipe()
    return env, env.render_mode == render


def frames_per_second(recipe: Recipe) -> float:
    """How fast an environment's pictures follow each other in life."""
    env = recipe()
    env.close()
    return float(env.metadata.get("render_fps") or 30)


def _is_mujoco(recipe: Recipe) -> bool:
    spec = gym.registry.get(recipe.name) if recipe.factory is None else None
    return spec is not None and str(spec.entry_point).startswith("gymnasium.envs.mujoco.")


def _picture(env: gym.Env[Any, Any]) -> Picture | None:
    """What the environment draws now; None if drawing fails, as without a graphics library."""
    try:
        drawn = env.render()
    except Exception:  # whatever a stranger's drawing does, its episode can still be read
        return None
    return drawn if isinstance(drawn, np.ndarray) and drawn.ndim == 3 else None
