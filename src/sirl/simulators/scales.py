"""How large the features of a task are: observations under random actions, for whoever needs to scale them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Actions, Floats
from sirl.keys import Key, episode_seeds, fold_all, uniforms
from sirl.model.task import Task
from sirl.simulators.derived import deriving
from sirl.simulators.gymnasium import GymnasiumSimulator
from sirl.simulators.recipes import Recipe

_EPISODES = 8
_STEPS = 200
"""Of an episode, at most."""
_HELD = 5
"""Steps that an action is held for: what changes at every step averages out."""


class ScaleOrder(NamedTuple):
    """What a worker needs to know."""

    recipe: Recipe
    task: Task
    key: Key

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        return "a first look"


def observe(_: Any, order: ScaleOrder) -> Floats:
    """Observations (n, n_features) of some episodes with random actions."""
    simulator = deriving(GymnasiumSimulator(order.recipe, 1, name=order.recipe.name), order.task)
    seen, slot = [], np.zeros(1, dtype=np.int32)
    for key in fold_all(order.key, np.arange(_EPISODES)):
        seen.append(simulator.reset(slot, episode_seeds(np.array([key]))))
        actions = _random_actions(order.task, key)
        for step in range(_STEPS):
            out = simulator.step(slot, actions[step // _HELD][None])
            seen.append(out.observations)
            if out.terminated[0] or out.truncated[0]:
                break
    simulator.close()
    return np.concatenate(seen)


def _random_actions(task: Task, key: Key) -> Actions:
    """Actions that are uniform within the bounds, (n, *action_shape)."""
    low, high, n = np.array(task.action_low), np.array(task.action_high), _STEPS // _HELD
    draws = uniforms(key, np.arange(n * len(low))).reshape(n, -1)
    whole = 0 if task.action == "box" else 1
    values = low + draws * (high + whole - low)
    actions = (np.floor(values) if whole else values).astype(task.action_dtype)
    return np.asarray(actions.reshape(n, *task.action_shape))
