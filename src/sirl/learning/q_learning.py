"""Q-learning in the leaves of a forest: what they know, how they choose, and how a transition teaches them.

The inner functions are compiled into the loops that call them. Every random draw comes from a key and a counter.
``tests/plain.py``, the same in plain Python, gives the same bits; ``tests/test_q_learning.py`` holds that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.config import Settings
from sirl.jit import compiled, part
from sirl.keys import Keys, uniform
from sirl.learning.forest import Forest, walk

DRAWS_PER_CHOICE = 3
"""An ε-greedy choice draws: whether to explore, which action then, which of the tied best."""


class Table(NamedTuple):
    """What the leaves of a forest have learned; with a first axis of copies in the collaborative phase."""

    q_values: Floats
    """(n_leaves, n_actions)"""
    visits: Ints
    """Updates of each Q-value, where the learning rate asks for them; else of shape (0, 0)."""
    best: Floats
    """The largest Q-value of each leaf, kept beside it, (n_leaves,)."""

    @staticmethod
    def of(q_values: Floats, visits: Ints) -> Table:
        """The table of Q-values and visits."""
        return Table(q_values, visits, q_values.max(axis=-1))

    def copy(self) -> Table:
        """A table that may be written to while this one stays as it is."""
        return Table(self.q_values.copy(), self.visits.copy(), self.best.copy())

    def rows(self, start: int, stop: int) -> Table:
        """What some of the leaves have learned, or some of the copies."""
        return Table(self.q_values[start:stop], self.visits[start:stop], self.best[start:stop])

    def repeated(self, n_copies: int) -> Table:
        """The table for each of ``n_copies``, along a first axis."""
        q_values, visits, best = (np.repeat(array[None], n_copies, axis=0) for array in self)
        return Table(q_values, visits, best)  # type: ignore[arg-type]


class Rule(NamedTuple):
    """How a Q-value moves."""

    learning_rate: float
    by_visits: bool
    """The learning rate is one over the visits instead."""
    discount: float
    after_termination: bool
    """The next state's value counts although the episode has terminated."""
    after_truncation: bool
    """The next state's value counts although the episode has been truncated."""

    @staticmethod
    def of(settings: Settings) -> Rule:
        """The rule that the settings ask for."""
        return Rule(
            settings.learning_rate,
            settings.learning_rate_rule == "1/visits",
            settings.discount,
            after_termination=settings.bootstrap == "always",
            after_truncation=settings.bootstrap != "never",
        )


def fresh_table(forest: Forest, n_actions: int, keys: Keys, settings: Settings) -> Table:
    """What leaves know before they have learned anything: uniform Q-values, by the key of each tree (n_trees,)."""
    q_values = np.empty((forest.n_leaves, n_actions))
    _fill_uniform(q_values, forest.first_leaf, keys, settings.q_low, settings.q_high)
    by_visits = settings.learning_rate_rule == "1/visits"
    return Table.of(q_values, np.zeros(q_values.shape if by_visits else (0, 0), dtype=np.int64))


@compiled
def _fill_uniform(q_values: Any, first_leaf: Any, keys: Any, low: float, high: float) -> None:
    """Uniform Q-values in [low, high), by the key of each tree (n_trees,)."""
    n_actions = q_values.shape[1]
    for tree in range(len(keys)):
        start = first_leaf[tree]
        for leaf in range(start, first_leaf[tree + 1]):
            for action in range(n_actions):
                u = uniform(keys[tree], (leaf - start) * n_actions + action)
                q_values[leaf, action] = low + (high - low) * u


@part
def choose(q_row: Any, epsilon: float, key: Any, counter: int) -> int:
    """ε-greedy inside a leaf: a random action with probability ε, else the best, ties broken at random."""
    if epsilon > 0.0 and uniform(key, counter) < epsilon:
        return int(uniform(key, counter + 1) * len(q_row))
    best, first, ties = q_row[0], 0, 1
    for action in range(1, len(q_row)):
        if q_row[action] > best:
            best, first, ties = q_row[action], action, 1
        elif q_row[action] == best:
            ties += 1
    if ties == 1:
        return first
    skip = int(uniform(key, counter + 2) * ties)
    for action in range(first, len(q_row)):
        if q_row[action] == best:
            if skip == 0:
                return action
            skip -= 1
    return first


@part
def update(table: Table, leaf: int, action: int, target: float, rule: Rule) -> None:
    """Q(leaf, a) += α (target - Q(leaf, a)), and the leaf's best value follows."""
    rate = rule.learning_rate
    if rule.by_visits:
        table.visits[leaf, action] += 1
        rate = 1.0 / table.visits[leaf, action]
    row = table.q_values[leaf]
    old = row[action]
    new = old + rate * (target - old)
    row[action] = new
    if new >= table.best[leaf]:
        table.best[leaf] = new
    elif old == table.best[leaf]:  # it was the best, and may still be
        best = row[0]
        for other in range(1, len(row)):
            best = max(best, row[other])
        table.best[leaf] = best


@part
def bootstraps(terminated: bool, truncated: bool, rule: Rule) -> bool:
    """Whether the next state's value counts."""
    if terminated:
        return rule.after_termination
    return rule.after_truncation or not truncated


@part
def learn(
    forest: Forest,
    table: Table,
    rule: Rule,
    tree: int,
    leaf: int,
    action: int,
    observation: Any,
    reward: float,
    terminated: bool,
    truncated: bool,
) -> int:
    """Q-learning of a tree from one transition (Algorithm 3); the leaf that it led to."""
    following = walk(forest, tree, observation)
    target = reward
    if bootstraps(terminated, truncated, rule):
        target += rule.discount * table.best[following]
    update(table, leaf, action, target, rule)
    return following
