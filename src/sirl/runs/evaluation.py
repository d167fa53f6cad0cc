"""A policy on episodes it has never seen: what it scores, how long it lasts, how complex it is.

Always on Gymnasium, whatever simulator trained the policy: it is the field's reference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np

from sirl.arrays import Floats, Ints
from sirl.config import MaxSteps, checked
from sirl.engine import local_engine
from sirl.errors import EnvironmentFailure, SirlError
from sirl.keys import Stream, episode_seeds, fold_all, root
from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.options import Episodes, HangLimit, Seed, Workers
from sirl.rollout.recipe import ArenaRecipe
from sirl.rollout.spread import play_all
from sirl.simulators.environments import usable_cores
from sirl.simulators.recipes import Recipe, inspect, make_recipe, named_by_file


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


class Player(Protocol):
    """A policy of any kind, as far as it matters for where it can play."""

    @property
    def task(self) -> Task:
        """What it was made for."""

    def mismatch(self, task: Task) -> str:
        """Why it can't play another task; empty if it can."""


def evaluate(
    policy: Policy,
    env: str | Callable[[], gym.Env[Any, Any]] | None = None,
    episodes: int = 100,
    seed: int = 0,
    workers: int | None = None,
    hang_limit: float | None = None,
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
        hang_limit: seconds after which a stretch of work in an environment counts as hung.
        max_steps: cut episodes here; if not given, where training did, if this is the task that it was on.
        env_options: keyword arguments of the environment; if not given, those of training, in the same way.
    """
    episodes, seed = checked("episodes", episodes, Episodes), checked("seed", seed, Seed)
    workers, max_steps = checked("workers", workers, Workers), checked("max_steps", max_steps, MaxSteps)
    hang_limit = checked("hang_limit", hang_limit, HangLimit)
    workers = min(workers or usable_cores(), -(-episodes // 8))
    recipe, max_steps = playable(policy, env, env_options, max_steps, workers, hang_limit)
    seeds = episode_seeds(fold_all(root(seed, Stream.EVALUATION, 0), np.arange(episodes)))
    with local_engine(ArenaRecipe(recipe, policy.task, "gymnasium", max_steps), workers, hang_limit) as engine:
        returns, lengths, _ = (rows[0] for rows in play_all([policy.tree], seeds, recipe.name, engine))
    if n_broken := np.isneginf(returns).sum():
        raise EnvironmentFailure(
            f"{recipe.name} lost its state in {n_broken} of {episodes} episodes (MuJoCo's warnings tell), so this "
            "policy has no score: its actions are more than the simulation can follow."
        )
    return Evaluation(returns, lengths)


def playable(
    policy: Player,
    env: str | Callable[[], gym.Env[Any, Any]] | None = None,
    options: dict[str, Any] | None = None,
    max_steps: int | None = None,
    workers: int = 1,
    hang_limit: float | None = None,
) -> tuple[Recipe, int | None]:
    """An environment that a policy can play, and where episodes are cut: as in training, unless others are asked."""
    if env is None and ":" not in policy.task.env and policy.task.env not in gym.registry:
        raise SirlError(
            f"this policy's environment {policy.task.env!r} is not registered here: give it as env, either a function "
            "that makes it or module:id."
        )
    fix = f"give --env {policy.task.env} (in Python env={policy.task.env!r})"
    recipe = make_recipe(named_by_file(policy.task.env, fix) if env is None else env, options)
    if recipe.name == policy.task.env:
        max_steps = max_steps or policy.task.max_steps or None
        if options is None and policy.task.env_options:
            recipe = dataclasses.replace(recipe, options=policy.task.env_options)
    if why := policy.mismatch(inspect(recipe, workers=workers, hang_limit=hang_limit).task):
        raise SirlError(
            f"this policy was made for {policy.task.env} and can't play {recipe.name} ({why}): "
            "evaluate it on a task with the same spaces."
        )
    return recipe, max_steps
