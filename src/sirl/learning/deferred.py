"""Deferred learning: trees that share episodes learn from them when they must (Algorithm 2).

With a vote that only asks one tree, the others need not learn at once. What happens goes to a log; a tree catches up
over a whole stretch of it when it is next asked or when the log is full, which is much faster than to follow every
step. The order of each tree's own updates is unchanged, and so are the bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Flags, Floats, Ints, Nodes
from sirl.jit import compiled, part
from sirl.learning.forest import Forest, walk
from sirl.learning.q_learning import DRAWS_PER_CHOICE, Rule, Table, choose, update

LOG_CAPACITY = 512
"""States of a copy that trees may lag behind: a compromise between caches and long stretches."""

_SHORT = 4
"""Below so many states, walking each is faster than weighing all splits for all states …"""
_MANY = 64
"""… and so it is above so many splits, most of which a state never meets."""


class Log(NamedTuple):
    """States one after another, and how each came about: what trees may still have to learn from."""

    states: Floats
    """(n_copies, n_features, capacity)"""
    begins: Flags
    """(n_copies, capacity): an episode begins with this state; else a transition from the state before led to it."""
    actions: Nodes
    """(n_copies, capacity): of the transition, like what follows."""
    rewards: Floats
    """(n_copies, capacity)"""
    bootstraps: Flags
    """(n_copies, capacity): the state's value counts."""
    length: Ints
    """(n_copies,): states in the log."""
    learned: Ints
    """(n_copies, n_trees): states that a tree has caught up with."""
    leaves: Nodes
    """(n_copies, n_trees): where a tree is at the last of these."""


class Scratch(NamedTuple):
    """Room to catch up in, for any one tree: made once, since to make it takes longer than to use it."""

    following: Nodes
    """(capacity,): the leaves that the states reach."""
    totals: Floats
    """(capacity,): a split's weighed sums."""
    reached: Nodes
    """(most splits of a tree + 2, capacity): the leaves that are reached from a split on."""


def make_scratch(forest: Forest) -> Scratch:
    """Room for the trees of a forest."""
    most = int(np.diff(forest.first_split).max())
    return Scratch(
        np.empty(LOG_CAPACITY, dtype=np.int32),
        np.empty(LOG_CAPACITY),
        np.empty((most + 2, LOG_CAPACITY), dtype=np.int32),
    )


def make_log(n_copies: int, forest: Forest) -> Log:
    """An empty log."""
    n_trees, capacity = forest.n_trees, LOG_CAPACITY
    return Log(
        np.empty((n_copies, forest.weights.shape[1], capacity)),
        np.empty((n_copies, capacity), dtype=np.bool_),
        np.empty((n_copies, capacity), dtype=np.int32),
        np.empty((n_copies, capacity)),
        np.empty((n_copies, capacity), dtype=np.bool_),
        np.zeros(n_copies, dtype=np.int64),
        np.zeros((n_copies, n_trees), dtype=np.int64),
        np.zeros((n_copies, n_trees), dtype=np.int32),
    )


@part
def _walk_stretch(forest: Forest, tree: int, observations: Any, start: int, stop: int, scratch: Scratch) -> None:
    """``scratch.following`` from ``start`` on: the leaves that columns of observations (n_features, …) reach in a tree.

    All splits are weighed for all states, and each picks between what its two branches reach, the last split
    first: a split's number is smaller than those below it. So every inner loop is one that the compiler turns into
    vector instructions, without a branch to predict. A sum still adds its terms in the order of the features, so it
    has the bits of :func:`~sirl.learning.q_learning.walk`; a zero weight adds nothing to a finite sum and is left out.
    """
    first, last, n_states = forest.first_split[tree], forest.first_split[tree + 1], stop - start
    leaves = scratch.following[start:stop]
    totals = scratch.totals[:n_states]
    if first == last:
        leaves[:] = ~forest.roots[tree]
    for split in range(last - 1, first - 1, -1):
        totals[:] = 0.0
        for feature in range(observations.shape[0]):
            weight = forest.weights[split, feature]
            if weight != 0.0:
                values = observations[feature, start:stop]
                for state in range(n_states):
                    totals[state] += weight * values[state]
        if_true = _reached(forest.children[split, 0], first, scratch, last - first, n_states)
        if_false = _reached(forest.children[split, 1], first, scratch, last - first + 1, n_states)
        here = leaves if split == first else scratch.reached[split - first, :n_states]
        threshold = forest.thresholds[split]
        for state in range(n_states):
            here[state] = if_true[state] if totals[state] < threshold else if_false[state]


@part
def _reached(node: int, first_split: int, scratch: Scratch, spare: int, n_states: int) -> Any:
    """The leaves (n_states,) that are reached from a node on; those of a leaf are written to a spare row."""
    if node >= 0:
        return scratch.reached[node - first_split, :n_states]
    row = scratch.reached[spare, :n_states]
    row[:] = ~node
    return row


@part
def log_start(log: Log, copy: int, states: Any, i: int) -> None:
    """Append the first state of an episode, row ``i`` of states (n, n_features)."""
    k = log.length[copy]
    log.begins[copy, k] = True
    for feature in range(states.shape[1]):  # a slice here would take numba seconds to compile
        log.states[copy, feature, k] = states[i, feature]
    log.length[copy] = k + 1


@part
def log_step(log: Log, copy: int, action: int, reward: float, counts: bool, states: Any, i: int) -> bool:
    """Append a state, row ``i`` of states (n, n_features), and the transition to it; ``counts``: its value does.

    Returns:
        Whether there may be no room for another state and the start of an episode.
    """
    k = log.length[copy]
    log.begins[copy, k] = False
    for feature in range(states.shape[1]):
        log.states[copy, feature, k] = states[i, feature]
    log.actions[copy, k] = action
    log.rewards[copy, k] = reward
    log.bootstraps[copy, k] = counts
    log.length[copy] = k + 1
    return bool(k + 3 > log.actions.shape[1])


@part
def copy_of(table: Table, copy: int) -> Table:
    """What one copy has learned."""
    return Table(table.q_values[copy], table.visits[copy], table.best[copy])


@part
def catch_up(forest: Forest, table: Table, rule: Rule, log: Log, scratch: Scratch, copy: int, tree: int) -> None:
    """A tree goes through the states of a copy that it has not seen, and learns from transitions (Algorithm 2)."""
    following = scratch.following
    start, stop = log.learned[copy, tree], log.length[copy]
    states = log.states[copy]
    if stop - start < _SHORT or forest.first_split[tree + 1] - forest.first_split[tree] > _MANY:
        for k in range(start, stop):
            following[k] = walk(forest, tree, states[:, k])
    else:
        _walk_stretch(forest, tree, states, start, stop, scratch)
    leaf = log.leaves[copy, tree]
    begins, actions, rewards, bootstraps = log.begins[copy], log.actions[copy], log.rewards[copy], log.bootstraps[copy]
    for k in range(start, stop):
        if not begins[k]:
            target = rewards[k]
            if bootstraps[k]:
                target += rule.discount * table.best[following[k]]
            update(table, leaf, actions[k], target, rule)
        leaf = following[k]
    log.leaves[copy, tree] = leaf
    log.learned[copy, tree] = stop


@part
def propose(table: Table, log: Log, copy: int, tree: int, epsilon: float, key: Any, step: int) -> int:
    """What a tree that has caught up proposes at a step of an episode of a copy."""
    counter = (step * log.leaves.shape[1] + tree) * DRAWS_PER_CHOICE
    return choose(table.q_values[log.leaves[copy, tree]], epsilon, key, counter)


@compiled
def learn_log(forest: Forest, tables: Table, rule: Rule, log: Log, scratch: Scratch) -> None:
    """Every tree learns from all that is in the log; the log is empty after."""
    for copy in range(len(log.length)):
        table = copy_of(tables, copy)
        for tree in range(len(forest.roots)):
            catch_up(forest, table, rule, log, scratch, copy, tree)
    log.learned[:] = 0
    log.length[:] = 0
