"""What a task offers to a tree: named features to look at, and a menu of actions to choose from.

A leaf chooses among finitely many actions. A Discrete space is its own menu. A Box is cut into bins: by
default, and in the paper, an action moves one joint and leaves the others at rest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import msgspec
import numpy as np
from numpy.typing import NDArray

from sirl.config import Settings, presets
from sirl.errors import SirlError

_LARGEST_MENU = 4096
_MOST_FEATURES = 100_000
_NO_BOUND = 1e30
"""An action that may reach this far is in truth unbounded: 3.4e38 is the largest float32."""


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spaces of an environment, named; part of every model file."""

    env: str
    features: list[str]
    observation: Literal["box", "one-hot"]
    observation_start: int = 0
    """First value of a Discrete observation."""
    feature_low: list[float | None]
    """Lower bound of each feature, None if there is none."""
    feature_high: list[float | None]
    action: Literal["discrete", "multi-discrete", "box"]
    action_names: list[str]
    """A name for each choice of a Discrete action, for each component of any other."""
    action_shape: list[int]
    action_dtype: str
    action_low: list[float]
    """Bounds of each component; for integer actions both are included."""
    action_high: list[float]

    @property
    def n_features(self) -> int:
        """Features in an observation."""
        return len(self.features)

    def rows(self, observations: Any) -> NDArray[np.float64]:
        """Observations as the trees see them: one observation or many, (n, n_features)."""
        array = np.asarray(observations)
        if self.observation == "one-hot":
            places = array.ravel()[:, None] - self.observation_start == np.arange(self.n_features)
            if not places.any(axis=1).all():
                last = self.observation_start + self.n_features - 1
                raise SirlError(
                    f"this policy looks at a number from {self.observation_start} to {last} but got {observations}: "
                    f"use it on {self.env}."
                )
            return np.asarray(places, dtype=np.float64)
        if array.shape[-1:] != (self.n_features,):
            raise SirlError(
                f"this policy looks at {self.n_features} features ({', '.join(self.features)}) but got an "
                f"observation of shape {array.shape}: use it on {self.env}."
            )
        return array.reshape(-1, self.n_features).astype(np.float64)

    def mismatch(self, other: Task) -> str:
        """Why a policy for this task can't run on ``other``; empty if it can."""
        if self.observation != other.observation or self.observation_start != other.observation_start:
            mine, theirs = ((t.observation, t.observation_start) for t in (self, other))
            return "{} observations from {} against {} from {}".format(*mine, *theirs)
        if self.n_features != other.n_features:
            return f"{self.n_features} features against {other.n_features}"
        if self.action != other.action or self.action_shape != other.action_shape:
            return f"{self.action} actions of shape {self.action_shape} against {other.action} {other.action_shape}"
        bounds, others = (self.action_low, self.action_high), (other.action_low, other.action_high)
        if self.action != "box" and bounds != others:
            return "actions from {} to {} against {} to {}".format(*bounds, *others)
        return ""


class Menu(NamedTuple):
    """The actions that a leaf chooses among."""

    values: NDArray[Any]
    """(n_actions, *action_shape) in the space's dtype: what the environment is given."""
    names: list[str]
    """What a person reads."""


def describe(
    env: gym.Env[Any, Any],
    env_id: str,
    features: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
) -> Task:
    """The task that an environment offers, or a sentence why a tree can't play it."""
    known = _names(env_id)
    observation = _observation(env.observation_space, env_id)
    action = _action(env.action_space, env_id)
    n_features, n_names = len(observation["feature_low"]), action.pop("n_names")
    return Task(
        env=env_id,
        features=_choose_names("features", features, known[0], n_features, "x"),
        action_names=_choose_names("actions", actions, known[1], n_names, "a"),
        **observation,
        **action,
    )


def _observation(space: gym.Space[Any], env_id: str) -> dict[str, Any]:
    if isinstance(space, gym.spaces.Discrete):
        n = int(space.n)
        if n > _MOST_FEATURES:
            raise SirlError(
                f"{env_id} observes one of {n} states, too many for a tree that has a feature for each: wrap the "
                "environment so that it gives a 1-D Box."
            )
        bounds: dict[str, Any] = {"feature_low": [0.0] * n, "feature_high": [1.0] * n}
        return {"observation": "one-hot", "observation_start": int(space.start), **bounds}
    if not isinstance(space, gym.spaces.Box):
        raise SirlError(
            f"{env_id} observes a {type(space).__name__}, but a tree needs one row of numbers: "
            "wrap the environment in gymnasium.wrappers.FlattenObservation."
        )
    if len(space.shape) != 1 or space.shape[0] == 0:
        what = "an image" if len(space.shape) in (2, 3) else "an array"
        raise SirlError(
            f"{env_id} observes {what} of shape {space.shape}, but a tree needs one row of features that mean "
            "something each: wrap the environment so that it gives a 1-D Box."
        )
    return {
        "observation": "box",
        "feature_low": _bounds(space.low),
        "feature_high": _bounds(space.high),
    }


def _bounds(values: NDArray[Any]) -> list[float | None]:
    # Gymnasium writes "no bound" as infinity or as the largest number of the dtype.
    return [float(v) if abs(float(v)) < 1e6 else None for v in values]


def _action(space: gym.Space[Any], env_id: str) -> dict[str, Any]:
    if isinstance(space, gym.spaces.Discrete):
        low, high = float(space.start), float(space.start + space.n - 1)
        shape: list[int] = []
        kind, dtype, n_names, lows, highs = "discrete", "int64", int(space.n), [low], [high]
    elif isinstance(space, gym.spaces.MultiDiscrete) and space.nvec.ndim == 1:
        start = np.asarray(space.start, dtype=np.float64)
        kind, dtype, n_names, shape = "multi-discrete", "int64", len(space.nvec), [len(space.nvec)]
        lows, highs = start.tolist(), (start + space.nvec - 1).tolist()
    elif isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.dtype is not None:
        kind, dtype, n_names, shape = "box", str(np.dtype(space.dtype)), space.shape[0], list(space.shape)
        lows, highs = space.low.astype(float).tolist(), space.high.astype(float).tolist()
        if not (np.abs([lows, highs]) < _NO_BOUND).all():
            raise SirlError(
                f"{env_id} has an unbounded action, which can't be cut into bins: give it finite bounds, "
                "for example with gymnasium.wrappers.RescaleAction."
            )
    else:
        raise SirlError(
            f"{env_id} acts with {space}, but a tree needs a Discrete, a MultiDiscrete or a 1-D Box action: "
            "wrap the environment so that it takes one of these."
        )
    return {
        "action": kind,
        "action_shape": shape,
        "action_dtype": dtype,
        "action_low": lows,
        "action_high": highs,
        "n_names": n_names,
    }


def _names(env_id: str) -> tuple[list[str], list[str]]:
    """Feature and action names that ship for an environment, of any version of it."""
    base = env_id.rpartition("/")[2].partition("-v")[0]
    for known_id, preset in presets().items():
        if known_id.partition("-v")[0] == base:
            return preset.features, preset.actions
    return [], []


def _choose_names(what: str, given: Sequence[str] | None, known: list[str], n: int, prefix: str) -> list[str]:
    if given is not None:
        names = [given] if isinstance(given, str) else list(given)
        fine = all(isinstance(name, str) and name and name.isprintable() for name in names)
        if len(names) != n or len(set(names)) != n or not fine:
            raise SirlError(f"{what} needs {n} different names, got {len(names)}: {', '.join(map(str, names))}.")
        return names
    return known if len(known) == n else [f"{prefix}{i}" for i in range(n)]


def make_menu(task: Task, settings: Settings) -> Menu:
    """The menu of a task under the settings ``bins``, ``menu`` and ``action_scale``."""
    if task.action == "discrete":
        _check_size(task, len(task.action_names))
        start = int(task.action_low[0])
        return Menu(np.arange(start, start + len(task.action_names), dtype=np.int64), task.action_names)
    if task.action == "multi-discrete":
        ranges = [range(int(a), int(b) + 1) for a, b in zip(task.action_low, task.action_high, strict=True)]
        return _product_menu(task, ranges)
    levels = _levels(task, settings)
    if settings.menu == "joint":
        return _product_menu(task, list(levels))
    return _one_joint_menu(task, settings, levels)


def _levels(task: Task, settings: Settings) -> NDArray[np.float64]:
    """The values of each joint, (n_joints, bins): 2·k/(bins-1) - 1, as in the paper, and where asked rescaled."""
    unit = 2.0 * np.arange(settings.bins) / (settings.bins - 1) - 1.0
    low, high = np.array(task.action_low)[:, None], np.array(task.action_high)[:, None]
    if settings.action_scale == "bounds":
        levels = np.clip(low + (unit + 1.0) / 2.0 * (high - low), low, high)  # rounding may lead an ulp too far
        return np.asarray(np.rint(levels) if np.dtype(task.action_dtype).kind in "iu" else levels)
    outside = np.flatnonzero((low > -1.0) | (high < 1.0))
    if outside.size:
        joint = outside[0]
        raise SirlError(
            f"action_scale = 'raw' gives values in [-1, 1], outside the bounds [{low[joint, 0]:g}, "
            f"{high[joint, 0]:g}] of action {task.action_names[joint]!r}: use action_scale = 'bounds'."
        )
    return np.tile(unit, (len(task.action_low), 1))


def _one_joint_menu(task: Task, settings: Settings, levels: NDArray[np.float64]) -> Menu:
    n_joints, bins = levels.shape
    rest = np.zeros(n_joints)
    if settings.action_scale == "bounds":
        rest = (np.array(task.action_low) + np.array(task.action_high)) / 2.0
    values = np.tile(rest, (n_joints * bins, 1))
    for action in range(n_joints * bins):
        joint = action // bins  # the paper prints a / n_a here, which runs out of range (docs/fidelity.md)
        values[action, joint] = levels[joint, action % bins]
    values = values.astype(task.action_dtype)
    labels = [_labels(levels[joint]) for joint in range(n_joints)]
    return Menu(values, [f"{task.action_names[joint]} {label}" for joint in range(n_joints) for label in labels[joint]])


def _product_menu(task: Task, levels: Sequence[Sequence[float] | NDArray[np.float64]]) -> Menu:
    _check_size(task, math.prod(len(level) for level in levels))
    rows = list(itertools.product(*levels))
    labels = itertools.product(*(_labels(level) for level in levels))
    names = [", ".join(f"{n} {text}" for n, text in zip(task.action_names, row, strict=True)) for row in labels]
    return Menu(np.array(rows).astype(task.action_dtype), names)


def _check_size(task: Task, size: int) -> None:
    if size > _LARGEST_MENU:
        fix = "use fewer bins or menu = 'one-joint'" if task.action == "box" else "wrap the environment to offer fewer"
        raise SirlError(f"{task.env} has a menu of {size} actions, more than {_LARGEST_MENU}: {fix}.")


def _labels(levels: Sequence[float] | NDArray[np.float64]) -> list[str]:
    """A joint's values as text: two decimals, or as many as it takes to tell them apart."""
    values = [float(level) for level in levels]
    for decimals in range(2, 12):
        labels = [_number(value, decimals) for value in values]
        if len(set(labels)) == len(set(values)):
            break
    return labels


def _number(value: float, decimals: int) -> str:
    value = round(value, decimals)
    return f"{value:+.{decimals}f}" if value != int(value) else f"{int(value):+d}" if value else "0"
