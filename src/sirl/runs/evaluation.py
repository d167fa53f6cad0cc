"""A policy on episodes it has never seen: what it scores, how long it lasts, how complex it is.

Always on Gymnasium, whatever simulator trained the policy: it is the field's reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from sirl.arrays import Floats, Ints
from sirl.config import MaxSteps, checked
from sirl.engine import local_engine
from sirl.errors import EnvironmentFailure, SirlError
from sirl.keys import Stream, episode_seeds, fold_all, root
from sirl.learning.forest import pack
from sirl.model.policy import Policy
from sirl.options import Episodes, Seed, Workers
from sirl.rollout.arena import play
from sirl.rollout.recipe import ArenaRecipe
from sirl.rollout.work import PlayOrder
from sirl.simulators.environments import Recipe, inspect, make_recipe, named_by_file, usable_cores


class Evaluation(NamedTuple):
    """Scores of one policy on unseen episodes."""

    returns: Floats
    """(episodes,)"""
    lengths: Ints
    """(episodes,), in steps."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        """Standard deviation of the returns over episodes."""
        return float(self.returns.std(ddof=1)) if len(self.returns) > 1 else 0.0

    @property
    def standard_error(self) -> float:
        """Standard error of the mean return."""
        return self.std / math.sqrt(len(self.returns))


def evaluate(
    policy: Policy,
    env: str | Callable[[], gym.Env[Any, Any]] | None = None,
    episodes: int = 100,
    seed: int = 0,
    workers: int | None = None,
    max_steps: int | None = None,
    env_options: dict[str, Any] | None = None,
) -> Evaluation:
    """Play ``episodes`` with a policy.

    Two policies given the same seed meet the same starts. No training run of any seed uses these.

    Args:
        policy: what plays.
        env: the task, if not the one that the policy was trained on.
        episodes: how many.
        seed: which ones.
        workers: processes to use; all usable cores if not given. The result is the same.
        max_steps: cut episodes here, if the environment has no limit of its own.
        env_options: keyword arguments of the environment.
    """
    episodes, seed = checked("episodes", episodes, Episodes), checked("seed", seed, Seed)
    workers, max_steps = checked("workers", workers, Workers), checked("max_steps", max_steps, MaxSteps)
    recipe = playable(policy, env, env_options)
    seeds = episode_seeds(fold_all(root(seed, Stream.EVALUATION, 0), np.arange(episodes)))
    workers = min(workers or usable_cores(), -(-episodes // 8))
    forest, law = pack([policy.tree]), policy.tree.leaves.law()
    orders = [PlayOrder(forest, law, cut[None]) for cut in np.array_split(seeds, workers)]
    with local_engine(ArenaRecipe(recipe, policy.task, "gymnasium", max_steps), workers) as engine:
        results = engine.map(play, orders)
    returns = np.concatenate([r.returns[0] for r in results])
    if n_broken := np.isneginf(returns).sum():
        raise EnvironmentFailure(
            f"{recipe.name} lost its state in {n_broken} of {episodes} episodes (MuJoCo's warnings tell), so this "
            "policy has no score: its actions are more than the simulation can follow."
        )
    return Evaluation(returns, np.concatenate([r.lengths[0] for r in results]))


def playable(
    policy: Policy, env: str | Callable[[], gym.Env[Any, Any]] | None = None, options: dict[str, Any] | None = None
) -> Recipe:
    """The recipe of an environment that a policy can play: its own, unless another is given."""
    if env is None and ":" not in policy.task.env and policy.task.env not in gym.registry:
        raise SirlError(
            f"this policy's environment {policy.task.env!r} is not registered here: give it as env, either a function "
            "that makes it or module:id."
        )
    recipe = make_recipe(
        named_by_file(policy.task.env, f"give --env {policy.task.env}") if env is None else env, options
    )
    if why := policy.mismatch(inspect(recipe)):
        raise SirlError(
            f"this policy was made for {policy.task.env} and can't play {recipe.name} ({why}): "
            "evaluate it on a task with the same spaces."
        )
    return recipe
