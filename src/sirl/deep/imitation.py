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
from sirl.config import Settings
from sirl.deep.episodes import SLOTS, Act, Floats, actor, make_simulator, play, seeds_of
from sirl.deep.fitting import fit
from sirl.deep.policy import NetworkPolicy, q_values
from sirl.keys import Stream, fold_all, root
from sirl.model.policy import Origin, Policy
from sirl.model.task import Menu, make_menu
from sirl.model.tree import Tree, simplify
from sirl.simulators.environments import make_recipe


class Distilled(NamedTuple):
    """A tree made from a network."""

    tree: Policy
    score: float
    """Mean return on the episodes that chose it."""
    agreement: float
    """Part of the states it came to in which the network would have done the same."""
    rounds: int
    """Of imitation."""


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
    recipe = make_recipe(env or network.task.env, env_options)
    simulator = make_simulator(recipe, min(SLOTS, max(episodes, validation_episodes)), max_steps)
    keys = fold_all(root(seed, Stream.DISTILLATION, 0), np.arange(rounds + 1))
    starts = seeds_of(keys[rounds], validation_episodes)
    menu = make_menu(network.task, Settings())
    sizes = [size for size in (max_leaves, max_leaves // 2, max_leaves // 4) if size > 1]
    act, best = actor(network.layers, menu.values), None
    seen: list[Floats] = []
    for number in range(rounds):
        play(act, simulator, seeds_of(keys[number], episodes), seen)
        observations = np.concatenate(seen)
        values = q_values(network.layers, observations).astype(np.float64)
        for size in sizes:
            tree = simplify(fit(observations, values, size, oblique), menu)
            visited: list[Floats] = []
            score = play(_actor(tree, menu), simulator, starts, visited).mean
            if size == max_leaves:
                act = _actor(tree, menu)
            if best is None or (score, -tree.n_leaves) > (best[0], -best[1].n_leaves):
                best = score, tree, _agreement(tree, network, np.concatenate(visited), menu)
    simulator.close()
    assert best is not None
    score, tree, agreement = best
    return Distilled(Policy(network.task, menu, tree, _origin(network, score)), score, agreement, rounds)


def _actor(tree: Tree, menu: Menu) -> Act:
    """A tree as it plays."""
    actions = tree.leaves.actions(menu)
    return lambda observations: actions[tree.walk(observations)]


def _agreement(tree: Tree, network: NetworkPolicy, observations: Floats, menu: Menu) -> float:
    same = _actor(tree, menu)(observations) == actor(network.layers, menu.values)(observations)
    return float(np.mean(same))


def _origin(network: NetworkPolicy, score: float) -> Origin:
    return Origin(
        method="distilled",
        seed=network.origin.seed,
        validation_score=score,
        note=f"from the network {network.point} of a {network.origin.method} grid search",
        sirl=__version__,
    )
