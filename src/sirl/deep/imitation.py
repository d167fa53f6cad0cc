"""From a network to a tree that a person can read: the bridge from deep to readable.

Imitation in rounds (DAgger, Ross et al., 2011): the network plays, and a tree is fitted to what it did; then the tree
plays, the network says what it would have done in the states that the tree comes to, and the next tree is fitted to all
of it. Every tree is scored on episodes of its own; the best one stays, of equals the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from sirl import __version__
from sirl.arrays import Floats, Seeds
from sirl.config import Settings
from sirl.deep.episodes import SLOTS, Act, actor, make_simulator, play, seeds_of
from sirl.deep.fitting import fit
from sirl.deep.policy import NetworkPolicy, q_values
from sirl.errors import SirlError
from sirl.keys import Stream, fold_all, root
from sirl.model.menu import make_menu
from sirl.model.policy import Policy
from sirl.model.policy_file import Origin
from sirl.model.tree import Tree, simplify
from sirl.runs.evaluation import playable
from sirl.simulators import Simulator


class Distilled(NamedTuple):
    """A tree made from a network."""

    tree: Policy
    score: float
    """Mean return on the episodes that chose it."""
    agreement: float
    """Part of the states it came to in which the network would have done the same."""


def distil(
    network: NetworkPolicy,
    env: str | Callable[[], gym.Env[Any, Any]] | None = None,
    *,
    max_leaves: int = 8,
    oblique: bool = True,
    rounds: int = 8,
    episodes: int = 10,
    validation_episodes: int = 50,
    seed: int = 0,
    max_steps: int | None = None,
    env_options: dict[str, Any] | None = None,
) -> Distilled:
    """The best tree of a few sizes that imitates a network.

    Args:
        network: what to imitate.
        env: its task, if that is a function or has options.
        max_leaves: no tree is larger; halves of it are tried too.
        oblique: splits may weigh several features; else each looks at one.
        rounds: of imitation.
        episodes: that are played in a round.
        validation_episodes: by which a tree is scored.
        seed: same seed, same tree.
        max_steps: cut episodes here.
        env_options: keyword arguments of the environment.
    """
    if max_leaves < 2:
        raise SirlError(f"max_leaves = {max_leaves} leaves nothing to decide: give at least 2.")
    recipe, max_steps = playable(network, env, env_options, max_steps)
    simulator = make_simulator(recipe, min(SLOTS, max(episodes, validation_episodes)), max_steps)
    keys = fold_all(root(seed, Stream.DISTILLATION, 0), np.arange(rounds + 1))
    starts = seeds_of(keys[rounds], validation_episodes)
    menu = make_menu(network.task, Settings())
    sizes = [size for size in (max_leaves, max_leaves // 2, max_leaves // 4) if size > 1]
    act, seen = actor(network.layers, menu.values), list[Floats]()
    found: list[Distilled] = []
    for number in range(rounds):
        play(act, simulator, seeds_of(keys[number], episodes), seen)
        observations = np.concatenate(seen)
        values = q_values(network.layers, observations).astype(np.float64)
        trees = [simplify(fit(observations, values, menu, size, oblique)) for size in sizes]
        act = trees[0].act
        found += [_tried(tree, network, actor(network.layers, menu.values), simulator, starts) for tree in trees]
    simulator.close()
    return max(found, key=lambda distilled: (distilled.score, -distilled.tree.tree.n_leaves))


def _tried(tree: Tree, network: NetworkPolicy, model: Act, simulator: Simulator, starts: Seeds) -> Distilled:
    """A tree as it scores on episodes with the seeds ``starts`` (n,)."""
    seen: list[Floats] = []
    score = play(tree.act, simulator, starts, seen).mean
    observations = np.concatenate(seen)
    same = tree.act(observations) == model(observations)
    return Distilled(Policy(network.task, tree, _origin(network, score)), score, float(np.mean(same)))


def _origin(network: NetworkPolicy, score: float) -> Origin:
    return Origin(
        method="distilled",
        seed=network.origin.seed,
        validation_score=score,
        note=f"from the network {network.point} of a {network.origin.method} grid search",
        sirl=__version__,
    )
