"""What a phase is asked for, and what it gives: what workers get and send back.

What comes of an order depends on the order alone, since every draw is keyed by individual (or copy) and episode: so a
phase can be cut into orders in any way and computed anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.keys import Key, Keys, fold_all
from sirl.learning.forest import Forest
from sirl.learning.q_learning import Rule
from sirl.simulators import Simulator

if TYPE_CHECKING:
    from sirl.simulators.mujoco.world import Direct


class Arena(NamedTuple):
    """Where trees play."""

    simulator: Simulator
    actions: NDArray[Any]
    """The menu, (n_actions, *action_shape)."""
    direct: Direct | None = None
    """The same task for compiled loops, if there is such a thing."""

    def close(self) -> None:
        """Let go of the simulator."""
        self.simulator.close()


class Knowledge(NamedTuple):
    """What the leaves have learned, between phases."""

    q_values: NDArray[np.float64]
    """(n_leaves, n_actions)"""
    visits: NDArray[np.int64]
    """Updates of each Q-value, where the learning rate asks for them; else of shape (0, 0)."""


class Learning(NamedTuple):
    """The settings of Q-learning that the phases need."""

    rule: Rule
    epsilons: NDArray[np.float64]
    """ε of each episode of the order, (n_episodes,)."""
    first_episode: int
    """The number of the order's first episode within the generation, for its key."""

    def keys(self, key: Key, players: NDArray[np.int64]) -> Keys:
        """The key of every player's every episode, (n_players, n_episodes)."""
        numbers = np.arange(self.first_episode, self.first_episode + len(self.epsilons))
        return fold_all(fold_all(key, players)[:, None], numbers)


class IndividualOrder(NamedTuple):
    """Each tree of a forest plays ``len(learning.epsilons)`` episodes of its own, one after another."""

    forest: Forest
    knowledge: Knowledge
    individuals: NDArray[np.int64]
    """(n_trees,): which individual of the population a tree is."""
    learning: Learning
    key: Key

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        first, last = self.individuals[0], self.individuals[-1]
        return f"individual {first}" if first == last else f"individuals {first} to {last}"

    def keys(self) -> Keys:
        """The key of every tree's every episode, (n_trees, n_episodes)."""
        return self.learning.keys(self.key, self.individuals)

    def parts(self) -> Iterator[IndividualOrder]:
        """The order of each tree alone."""
        for tree in range(self.forest.n_trees):
            yield self.part(tree, tree + 1)

    def part(self, start: int, stop: int) -> IndividualOrder:
        """The order of some of the trees."""
        forest = self.forest.part(start, stop)
        rows = slice(self.forest.first_leaf[start], self.forest.first_leaf[stop])
        knowledge = Knowledge(self.knowledge.q_values[rows], self.knowledge.visits[rows])
        return self._replace(forest=forest, knowledge=knowledge, individuals=self.individuals[start:stop])


class IndividualResult(NamedTuple):
    """What an individual phase gave."""

    knowledge: Knowledge
    returns: NDArray[np.float64]
    """(n_trees, n_episodes); -inf where the simulation broke down."""
    steps: int


class CollaborativeOrder(NamedTuple):
    """In each copy, all trees play ``len(learning.epsilons)`` episodes together."""

    forest: Forest
    knowledge: Knowledge
    copies: NDArray[np.int64]
    """(n_copies,): which copies of the phase these are."""
    weights: NDArray[np.float64]
    """The weight of each tree's voice, (n_trees,)."""
    voting: str
    learning: Learning
    key: Key

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        first, last = self.copies[0], self.copies[-1]
        return f"collaborative copy {first}" if first == last else f"collaborative copies {first} to {last}"

    def keys(self) -> Keys:
        """The key of every copy's every episode, (n_copies, n_episodes)."""
        return self.learning.keys(self.key, self.copies)


class CollaborativeResult(NamedTuple):
    """What a collaborative phase gave."""

    knowledge: Knowledge
    """Of each copy: (n_copies, n_leaves, n_actions)."""
    steps: int


class PlayOrder(NamedTuple):
    """Each tree plays one episode from each of its seeds, without learning or exploring."""

    forest: Forest
    actions: NDArray[Any]
    """What each leaf does, (n_leaves, *action_shape)."""
    seeds: NDArray[np.int64]
    """(n_trees, n_episodes)"""

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        return f"{self.seeds.size} episodes without learning"


class PlayResult(NamedTuple):
    """What playing gave."""

    returns: NDArray[np.float64]
    """(n_trees, n_episodes); -inf where the simulation broke down."""
    lengths: NDArray[np.int64]
    """(n_trees, n_episodes), in steps."""
