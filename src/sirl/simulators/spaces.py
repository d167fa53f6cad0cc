"""From the spaces of a Gymnasium environment to the task that a tree can play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from sirl.errors import SirlError
from sirl.model.task import NO_BOUND, Task
from sirl.simulators.naming import known_names

_MOST_FEATURES = 100_000
_NO_BOUND = 1e30
"""An action that may reach this far is in truth unbounded: 3.4e38 is the largest float32."""


def describe(
    env: gym.Env[Any, Any],
    env_id: str,
    features: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
) -> Task:
    """The task that an environment offers, or a sentence why a tree can't play it."""
    known = known_names(env, env_id)
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
    return [float(v) if abs(float(v)) < NO_BOUND else None for v in values]


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


def _choose_names(what: str, given: Sequence[str] | None, known: list[str], n: int, prefix: str) -> list[str]:
    if given is not None:
        names = [given] if isinstance(given, str) else list(given)
        fine = all(isinstance(name, str) and name and name.isprintable() for name in names)
        if len(names) != n or len(set(names)) != n or not fine:
            raise SirlError(f"{what} needs {n} different names, got {len(names)}: {', '.join(map(str, names))}.")
        return names
    return known if len(known) == n else [f"{prefix}{i}" for i in range(n)]
