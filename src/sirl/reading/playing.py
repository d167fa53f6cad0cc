"""Episodes for reading: what a policy saw and did, and what variants of it score from the same starts.

What is chosen here (a split to drop, a weight to round) is chosen on episodes of its own stream; what a person is told
in the end is the score on others, the unseen episodes of :func:`sirl.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from sirl.arrays import Actions, Floats, Ints, Seeds
from sirl.config import MaxSteps, checked
from sirl.engine import Engine, local_engine
from sirl.errors import EnvironmentFailure
from sirl.keys import Stream, episode_seeds, fold_all, root
from sirl.learning.forest import pack
from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.model.tree import Tree
from sirl.options import Episodes, Seed, Workers
from sirl.rollout.arena import Arena, play
from sirl.rollout.recipe import ArenaRecipe
from sirl.rollout.work import PlayOrder
from sirl.runs.evaluation import Evaluation, evaluate, playable
from sirl.simulators import Simulator
from sirl.simulators.derived import deriving
from sirl.simulators.environments import choose_backend, usable_cores
from sirl.simulators.gymnasium import GymnasiumSimulator
from sirl.simulators.recipes import Recipe

_SLOTS = 32


class Stage:
    """Where a policy and its variants play: the policy's own task, as it was trained on.

    Workers are started when they are first needed, and end with the ``with`` block.

    Args:
        policy: whose task it is.
        env: the task, if not the one that the policy names.
        seed: which episodes.
        workers: processes to use; all usable cores if not given. The result is the same.
        max_steps: cut episodes here; if not given, where training did.
        env_options: keyword arguments of the environment; if not given, those of training.
    """

    def __init__(
        self,
        policy: Policy,
        env: str | Callable[[], gym.Env[Any, Any]] | None = None,
        seed: int = 0,
        workers: int | None = None,
        max_steps: int | None = None,
        env_options: dict[str, Any] | None = None,
    ):
        self.task = policy.task
        self.recipe, self.max_steps = playable(policy, env, env_options, checked("max_steps", max_steps, MaxSteps))
        self.seed = checked("seed", seed, Seed)
        self.workers = checked("workers", workers, Workers) or usable_cores()
        self._env = env

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *exception: object) -> None:
        if "_engine" in self.__dict__:
            self._engine.close()

    @cached_property
    def _engine(self) -> Engine[Arena]:
        backend = choose_backend(self.recipe, "auto")  # bit-equal to Gymnasium, and faster
        return local_engine(ArenaRecipe(self.recipe, self.task, backend, self.max_steps), self.workers)

    def seeds(self, episodes: int) -> Seeds:
        """Of episodes to choose by, (episodes,)."""
        episodes = checked("episodes", episodes, Episodes)
        return episode_seeds(fold_all(root(self.seed, Stream.READING, 0), np.arange(episodes)))

    def returns(self, trees: Sequence[Tree], episodes: int) -> Floats:
        """What trees score, each from the same starts, (n_trees, episodes); -inf where the simulation broke down."""
        cuts = np.array_split(self.seeds(episodes), min(self.workers, episodes) if len(trees) < self.workers else 1)
        orders = [PlayOrder(pack([tree]), tree.leaves.law(), cut[None]) for tree in trees for cut in cuts]
        results = self._engine.map(play, orders)
        return np.concatenate([result.returns[0] for result in results]).reshape(len(trees), episodes)

    def score(self, policy: Policy, episodes: int) -> Evaluation:
        """What a policy scores on unseen episodes, on Gymnasium."""
        return evaluate(
            policy,
            self._env,
            episodes=episodes,
            seed=self.seed,
            workers=self.workers,
            max_steps=self.max_steps,
            env_options=self.recipe.options,
        )

    def trace(self, tree: Tree, episodes: int) -> Trace:
        """What a tree sees and does."""
        return trace(tree, self.task, self.recipe, self.seeds(episodes), self.max_steps)


class Trace(NamedTuple):
    """Every step of some episodes, one episode after another."""

    observations: Floats
    """(n_steps, n_features): what was seen before each action."""
    leaves: Ints
    """(n_steps,): which leaf acted."""
    actions: Actions
    """(n_steps, *action_shape)"""
    rewards: Floats
    """(n_steps,)"""
    starts: Ints
    """(n_episodes + 1,): where each episode begins."""

    @property
    def n_episodes(self) -> int:
        """Episodes in it."""
        return len(self.starts) - 1

    @property
    def returns(self) -> Floats:
        """What each episode scored, (n_episodes,)."""
        return np.add.reduceat(self.rewards, self.starts[:-1])


def trace(tree: Tree, task: Task, recipe: Recipe, seeds: Seeds, max_steps: int | None = None) -> Trace:
    """Play a tree from each of the seeds (n_episodes,) on Gymnasium, and keep what it saw and did."""
    plain = GymnasiumSimulator(recipe, min(_SLOTS, len(seeds)), max_steps, name=recipe.name)
    simulator = deriving(plain, task)
    episodes: list[list[tuple[Floats, int, Any, float]]] = [[] for _ in seeds]
    try:
        for first in range(0, len(seeds), simulator.n_slots):
            block = seeds[first : first + simulator.n_slots]
            _play_block(tree, simulator, block, episodes[first : first + len(block)])
    finally:
        simulator.close()
    steps = [step for episode in episodes for step in episode]
    observations, leaves, actions, rewards = (np.array(column) for column in zip(*steps, strict=True))
    starts = np.cumsum([0, *(len(episode) for episode in episodes)])
    return Trace(observations, leaves, actions, rewards, starts)


def _play_block(tree: Tree, simulator: Simulator, seeds: Seeds, episodes: list[list[Any]]) -> None:
    """An episode from each of the seeds (n,), side by side; steps go to ``episodes``."""
    ids = np.arange(len(seeds), dtype=np.int32)
    observations = simulator.reset(ids, seeds)
    while len(ids):
        leaves = tree.walk(observations)
        actions = tree.leaves.act(leaves, observations)
        step = simulator.step(ids, actions)
        if step.broken is not None and step.broken.any():
            raise EnvironmentFailure(
                "the simulation lost its state under this policy's actions (MuJoCo's warnings tell), so its episodes "
                "can't be read: prune or edit it, or take another policy"
            )
        for row, slot in enumerate(ids.tolist()):
            episodes[slot].append((observations[row], leaves[row], actions[row], step.rewards[row]))
        going = ~(step.terminated | step.truncated)
        ids, observations = ids[going], step.observations[going]


class Visits(NamedTuple):
    """How often each node of a tree was met."""

    splits: Ints
    """(n_splits,)"""
    leaves: Ints
    """(n_leaves,)"""
    n_episodes: int

    def of(self, node: int) -> int:
        """Visits of a split, or of ~leaf."""
        return int(self.splits[node] if node >= 0 else self.leaves[~node])

    def share(self, leaf: int) -> float:
        """The part of all steps in which a leaf acted."""
        return float(self.leaves[leaf] / max(1, self.leaves.sum()))


def count_visits(tree: Tree, seen: Trace) -> Visits:
    """How often each node of a tree was met in episodes that it played."""
    return sum_visits(tree, np.bincount(seen.leaves, minlength=tree.n_leaves), seen.n_episodes)


def sum_visits(tree: Tree, leaves: Ints, n_episodes: int) -> Visits:
    """How often each node was met, by how often each leaf (n_leaves,) was."""
    splits = np.zeros(tree.n_splits, dtype=np.int64)
    for split in range(tree.n_splits - 1, -1, -1):  # pre-order: children come after their parent
        splits[split] = sum(splits[c] if c >= 0 else leaves[~c] for c in tree.children[split].tolist())
    return Visits(splits, leaves, n_episodes)


def reaches(tree: Tree, observations: Floats) -> list[Ints]:
    """For each split, the rows of observations (n, n_features) that come to it."""
    at = np.full(len(observations), tree.root, dtype=np.int64)
    rows: list[Ints] = []
    for split in range(tree.n_splits):  # pre-order: a row is at its split when the split's turn comes
        here = np.flatnonzero(at == split)
        rows.append(here)
        holds = observations[here] @ tree.weights[split] < tree.thresholds[split]
        at[here] = tree.children[split, np.where(holds, 0, 1)]
    return rows
