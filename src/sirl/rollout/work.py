"""What a phase is asked for, and what it gives: what workers get and send back.

What comes of an order depends on the order alone, since every draw is keyed by individual (or copy) and episode: so a
phase can be cut into orders in any way and computed anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Actions, Floats, Ints, Seeds
from sirl.keys import Key, Keys, fold_all
from sirl.learning.forest import Forest
from sirl.learning.q_learning import Rule, Table
from sirl.simulators.derived import Nothing, Programs


class Learning(NamedTuple):
    """The settings of Q-learning that the phases need."""

    rule: Rule
    menu: Actions
    """What leaves choose from, (n_actions, *action_shape)."""
    epsilons: Floats
    """ε of each episode of the order, (n_episodes,)."""
    first_episode: int
    """The number of the order's first episode within the generation, for its key."""

    def keys(self, key: Key, players: Ints) -> Keys:
        """The key of every player's every episode, (n_players, n_episodes)."""
        numbers = np.arange(self.first_episode, self.first_episode + len(self.epsilons))
        return fold_all(fold_all(key, players)[:, None], numbers)


class IndividualOrder(NamedTuple):
    """Each tree of a forest plays ``len(learning.epsilons)`` episodes of its own, one after another."""

    forest: Forest
    table: Table
    individuals: Ints
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
        table = self.table.rows(self.forest.first_leaf[start], self.forest.first_leaf[stop])
        return self._replace(forest=forest, table=table, individuals=self.individuals[start:stop])


class IndividualResult(NamedTuple):
    """What an individual phase gave."""

    table: Table
    returns: Floats
    """(n_trees, n_episodes); -inf where the simulation broke down."""
    steps: int


class CollaborativeOrder(NamedTuple):
    """In each copy, all trees play ``len(learning.epsilons)`` episodes together."""

    forest: Forest
    table: Table
    copies: Ints
    """(n_copies,): which copies of the phase these are."""
    weights: Floats
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

    tables: Table
    """Of each copy: (n_copies, n_leaves, n_actions)."""
    steps: int


class Signal(NamedTuple):
    """What training counts besides the return, and where it cuts episodes."""

    shaping: Programs | Nothing = Nothing()
    """Of each observation that an action leads to: what it adds."""
    ending: float = 0.0
    """What an end before the time limit adds."""
    max_steps: int = 2**62
    """An episode is cut here, if it is not over before."""


RETURN = Signal()
"""The return of whole episodes, and nothing else."""


class PlayOrder(NamedTuple):
    """Each tree plays one episode from each of its seeds, without learning or exploring."""

    forest: Forest
    law: Any
    """What its leaves do, as compiled loops take it (``acting.py``)."""
    seeds: Seeds
    """(n_trees, n_episodes)"""
    signal: Signal = RETURN

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        return f"{self.seeds.size} episodes without learning"


class PlayResult(NamedTuple):
    """What playing gave."""

    returns: Floats
    """(n_trees, n_episodes); -inf where the simulation broke down."""
    lengths: Ints
    """(n_trees, n_episodes), in steps."""
    extra: Floats
    """(n_trees, n_episodes): what the signal counts besides the return."""

    @property
    def steps(self) -> int:
        """Of all episodes."""
        return int(self.lengths.sum())
