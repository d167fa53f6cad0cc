"""What the features and actions of an environment are called, by itself or by those who know it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces

from sirl.presets import presets


def known_names(env: gym.Env[Any, Any], env_id: str) -> tuple[list[str], list[str]]:
    """Names of an environment's features and of its actions; empty where nobody has given any.

    An environment, or a wrapper of it, may have ``feature_names`` and ``action_names``. A Dict that is flattened gives
    its keys. Else the preset's names are taken, by the id that was asked for or the one behind a function.
    """
    features, actions = _given(env, "feature_names"), _given(env, "action_names")
    by_id = _preset_names(env_id)
    if by_id == ([], []) and env.spec is not None:
        by_id = _preset_names(env.spec.id)
    if not _same_shape(env):  # a wrapper gives other features than the preset names
        by_id = ([], by_id[1])
    return features or _flattened(env) or by_id[0], actions or by_id[1]


def _given(env: gym.Env[Any, Any], attribute: str) -> list[str]:
    if not env.has_wrapper_attr(attribute):
        return []
    names = env.get_wrapper_attr(attribute)
    fine = isinstance(names, list | tuple) and all(isinstance(n, str) and n and n.isprintable() for n in names)
    return list(names) if fine and len(set(names)) == len(names) else []


def _same_shape(env: gym.Env[Any, Any]) -> bool:
    return env.observation_space.shape == env.unwrapped.observation_space.shape


def _flattened(env: gym.Env[Any, Any]) -> list[str]:
    """The names of a Dict's flattened entries, where a wrapper flattens one."""
    while isinstance(env, gym.Wrapper):
        inner = env.env.observation_space
        if isinstance(env, gym.wrappers.FlattenObservation) and isinstance(inner, spaces.Dict):
            return _entries("", inner)
        env = env.env
    return []


def _entries(name: str, space: spaces.Space[Any]) -> list[str]:
    """A name for each number of a flattened space, in Gymnasium's order."""
    if isinstance(space, spaces.Dict):
        parts = [(f"{name}.{key}" if name else str(key), inner) for key, inner in space.spaces.items()]
        return [entry for key, inner in parts for entry in _entries(key, inner)]
    size = spaces.flatdim(space)
    if isinstance(space, spaces.Discrete):
        return [f"{name}={value}" for value in range(int(space.start), int(space.start) + size)]
    return [name] if size == 1 else [f"{name}[{place}]" for place in range(size)]


def _preset_names(env_id: str) -> tuple[list[str], list[str]]:
    """Feature and action names that ship for an environment, of any version of it."""
    base = env_id.rpartition("/")[2].partition("-v")[0]
    for known_id, preset in presets().items():
        if known_id.partition("-v")[0] == base:
            return preset.features, preset.actions
    return [], []
