"""Whole episodes played by a finished policy, network or tree, in lockstep: to score it, or to see where it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sirl.arrays import Floats
from sirl.deep.policy import Arrays, NetworkPolicy, q_values
from sirl.errors import SirlError
from sirl.keys import Key, Stream, episode_seeds, fold_all, root
from sirl.model.task import Task
from sirl.runs.evaluation import Evaluation, playable
from sirl.simulators import Simulator
from sirl.simulators.gymnasium import GymnasiumSimulator
from sirl.simulators.recipes import Recipe, inspect

Act = Callable[[Floats], NDArray[Any]]
"""Observations (n, n_features) -> what the environment is given (n,)."""

SLOTS = 50


def inspect_discrete(recipe: Recipe, features: Sequence[str] | None, actions: Sequence[str] | None) -> Task:
    """The task that a recipe's environment offers, if its actions are discrete."""
    task = inspect(recipe, features, actions).task
    if task.action != "discrete":
        raise SirlError(
            f"{task.env} has {task.action} actions, and a Q-network chooses among discrete ones: "
            f"use `sirl train {task.env}`, which cuts actions into a menu, or wrap the environment."
        )
    return task


def make_simulator(recipe: Recipe, n_slots: int, max_steps: int | None) -> GymnasiumSimulator:
    """Slots for episodes of a recipe's environment."""
    return GymnasiumSimulator(recipe, n_slots, max_steps, name=recipe.name)


def play(act: Act, simulator: Simulator, seeds: NDArray[np.int64], seen: list[Floats] | None = None) -> Evaluation:
    """Play an episode for each seed (n,); observations (m, n_features) on the way are added to ``seen``."""
    returns, lengths = np.zeros(len(seeds)), np.zeros(len(seeds), np.int64)
    for first in range(0, len(seeds), simulator.n_slots):
        cut = seeds[first : first + simulator.n_slots]
        ids = np.arange(len(cut), dtype=np.int32)
        observations = simulator.reset(ids, cut)
        while ids.size:
            if seen is not None:
                seen.append(observations)
            out = simulator.step(ids, act(observations))
            returns[first + ids] += out.rewards
            lengths[first + ids] += 1
            going = ~(out.terminated | out.truncated)
            ids, observations = ids[going], out.observations[going]
    return Evaluation(returns, lengths)


def actor(layers: Arrays, actions: NDArray[np.int64]) -> Act:
    """A network as it plays, given what the environment takes for each choice (n_actions,)."""
    return lambda observations: actions[q_values(layers, observations).argmax(axis=1)]


def seeds_of(key: Key, n_episodes: int) -> NDArray[np.int64]:
    """Seeds of the episodes under a key."""
    return episode_seeds(fold_all(key, np.arange(n_episodes)))


def evaluate(
    policy: NetworkPolicy,
    env: str | Callable[[], Any] | None = None,
    episodes: int = 100,
    seed: int = 0,
    max_steps: int | None = None,
    env_options: dict[str, Any] | None = None,
) -> Evaluation:
    """Play unseen episodes, the very starts on which :func:`sirl.evaluate` plays a tree."""
    actions = np.arange(len(policy.task.action_names)) + int(policy.task.action_low[0])
    seeds = seeds_of(root(seed, Stream.EVALUATION, 0), episodes)
    recipe, max_steps = playable(policy, env, env_options, max_steps)
    return play_greedily(recipe, policy.layers, actions, seeds, max_steps)


def play_greedily(
    recipe: Recipe, layers: Arrays, actions: NDArray[np.int64], seeds: NDArray[np.int64], max_steps: int | None
) -> Evaluation:
    """An episode of a network for each seed (n,), given what the environment takes for each choice (n_actions,)."""
    simulator = make_simulator(recipe, min(SLOTS, len(seeds)), max_steps)
    try:
        return play(actor(layers, actions), simulator, seeds)
    finally:
        simulator.close()
