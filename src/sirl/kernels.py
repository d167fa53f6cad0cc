"""The inner loops: trees that walk, act and learn, compiled with numba; the GIL is released.

Every random draw comes from a key and a counter. A plain twin of these functions in
``tests/test_kernels.py`` gives the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from sirl.forest import Forest
from sirl.keys import uniform

DRAWS_PER_CHOICE = 3
"""An ε-greedy choice draws: whether to explore, which action then, which of the tied best."""

_SHORT = 4
"""Below so many states, walking each is faster than weighing all splits for all states."""


class Table(NamedTuple):
    """What the leaves of a forest have learned; with a first axis of copies in the collaborative phase."""

    q_values: NDArray[np.float64]
    """(n_leaves, n_actions)"""
    visits: NDArray[np.int64]
    """Updates of each Q-value, where the learning rate asks for them; else of shape (0, 0)."""
    best: NDArray[np.float64]
    """The largest Q-value of each leaf, kept beside it, (n_leaves,)."""


class Rule(NamedTuple):
    """How a Q-value moves."""

    learning_rate: float
    by_visits: bool
    """The learning rate is one over the visits instead."""
    discount: float


class Log(NamedTuple):
    """Transitions of the collaborative phase that trees may still have to learn from.

    With a vote that only asks one tree, the others need not learn at once: each catches up over a whole
    stretch when it is next asked or when the log is full. The order of a tree's own updates is unchanged.
    """

    before: NDArray[np.float64]
    """(n_copies, n_features, capacity): the state of a transition."""
    after: NDArray[np.float64]
    """(n_copies, n_features, capacity): the next state."""
    actions: NDArray[np.int32]
    """(n_copies, capacity)"""
    rewards: NDArray[np.float64]
    """(n_copies, capacity)"""
    bootstraps: NDArray[np.bool_]
    """(n_copies, capacity): the next state's value counts."""
    begins: NDArray[np.bool_]
    """(n_copies, capacity): an episode begins with this transition."""
    length: NDArray[np.int64]
    """(n_copies,): transitions in the log."""
    learned: NDArray[np.int64]
    """(n_copies, n_trees): transitions that a tree has learned from."""
    leaves: NDArray[np.int32]
    """(n_copies, n_trees): where a tree was after the last transition that it learned from."""


def make_table(q_values: NDArray[np.float64], visits: NDArray[np.int64]) -> Table:
    """A table that may be written to, from Q-values and visits that stay as they are."""
    return Table(q_values.copy(), visits.copy(), q_values.max(axis=-1))


def repeat_table(table: Table, n_copies: int) -> Table:
    """The table for each of ``n_copies``, along a first axis."""
    return Table(
        np.repeat(table.q_values[None], n_copies, axis=0),
        np.repeat(table.visits[None], n_copies, axis=0),
        np.repeat(table.best[None], n_copies, axis=0),
    )


def make_log(n_copies: int, n_features: int, n_trees: int, capacity: int) -> Log:
    """An empty log."""
    return Log(
        np.empty((n_copies, n_features, capacity)),
        np.empty((n_copies, n_features, capacity)),
        np.empty((n_copies, capacity), dtype=np.int32),
        np.empty((n_copies, capacity)),
        np.empty((n_copies, capacity), dtype=np.bool_),
        np.empty((n_copies, capacity), dtype=np.bool_),
        np.zeros(n_copies, dtype=np.int64),
        np.zeros((n_copies, n_trees), dtype=np.int64),
        np.zeros((n_copies, n_trees), dtype=np.int32),
    )


@njit(nogil=True, cache=True)
def fill_uniform(q_values: Any, first_leaf: Any, keys: Any, low: float, high: float) -> None:
    """Uniform Q-values in [low, high), by the key of each tree (n_trees,)."""
    n_actions = q_values.shape[1]
    for tree in range(len(keys)):
        start = first_leaf[tree]
        for leaf in range(start, first_leaf[tree + 1]):
            for action in range(n_actions):
                u = uniform(keys[tree], (leaf - start) * n_actions + action)
                q_values[leaf, action] = low + (high - low) * u


@register_jitable
def _walk(forest: Forest, tree: int, observation: Any) -> int:
    """The forest's leaf that an observation (n_features,) reaches in a tree."""
    node = forest.roots[tree]
    while node >= 0:
        total = 0.0
        for feature in range(len(observation)):
            total += forest.weights[node, feature] * observation[feature]
        node = forest.children[node, 0 if total < forest.thresholds[node] else 1]
    return int(~node)


@register_jitable
def _walk_stretch(
    forest: Forest, tree: int, observations: Any, start: int, stop: int, leaves: Any, totals: Any
) -> None:
    """The leaves (stop,) from ``start`` on that the columns of observations (n_features, …) reach in a tree.

    All splits are weighed for all states, a feature at a time, which the compiler turns into vector
    instructions. Each sum still adds its terms in the order of the features, so it has the bits of
    :func:`_walk`; a zero weight adds nothing to a finite sum and is left out.
    """
    first, n_states = forest.first_split[tree], stop - start
    for split in range(first, forest.first_split[tree + 1]):
        row = totals[split - first]
        row[:n_states] = 0.0
        for feature in range(observations.shape[0]):
            weight = forest.weights[split, feature]
            if weight != 0.0:
                values = observations[feature]
                for state in range(n_states):
                    row[state] += weight * values[start + state]
    for state in range(n_states):
        node = forest.roots[tree]
        while node >= 0:
            holds = totals[node - first, state] < forest.thresholds[node]
            node = forest.children[node, 0 if holds else 1]
        leaves[start + state] = ~node


@register_jitable
def _choose(q_row: Any, epsilon: float, key: Any, counter: int) -> int:
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


@register_jitable
def _update(table: Table, leaf: int, action: int, target: float, rule: Rule) -> None:
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


@njit(nogil=True, cache=True)
def walk_each(forest: Forest, trees: Any, observations: Any) -> Any:
    """The leaf that each observation (n, n_features) reaches in its own tree (n,)."""
    leaves = np.empty(len(trees), dtype=np.int32)
    for i in range(len(trees)):
        leaves[i] = _walk(forest, trees[i], observations[i])
    return leaves


@njit(nogil=True, cache=True)
def act_each(table: Table, leaves: Any, epsilons: Any, keys: Any, steps: Any) -> Any:
    """An action from each leaf (n,), by the key of its episode and the step in it."""
    actions = np.empty(len(leaves), dtype=np.int32)
    for i in range(len(leaves)):
        row = table.q_values[leaves[i]]
        actions[i] = _choose(row, epsilons[i], keys[i], steps[i] * DRAWS_PER_CHOICE)
    return actions


@njit(nogil=True, cache=True)
def learn_each(
    forest: Forest,
    table: Table,
    trees: Any,
    leaves: Any,
    actions: Any,
    rewards: Any,
    observations: Any,
    bootstraps: Any,
    rule: Rule,
) -> Any:
    """Q-learning of each tree from its own transition (Algorithm 3); the leaves of the next states (n,)."""
    following = np.empty(len(trees), dtype=np.int32)
    for i in range(len(trees)):
        following[i] = _walk(forest, trees[i], observations[i])
        target = rewards[i]
        if bootstraps[i]:
            target += rule.discount * table.best[following[i]]
        _update(table, leaves[i], actions[i], target, rule)
    return following


@register_jitable
def _copy_of(table: Table, copy: int) -> Table:
    return Table(table.q_values[copy], table.visits[copy], table.best[copy])


@register_jitable
def _scratch(forest: Forest, log: Log) -> Any:
    """Room for the leaves and the weighed splits of any one tree."""
    largest = 0
    for tree in range(len(forest.roots)):
        largest = max(largest, forest.first_split[tree + 1] - forest.first_split[tree])
    capacity = log.actions.shape[1]
    return np.empty(capacity, dtype=np.int32), np.empty((largest, capacity))


@register_jitable
def _catch_up(
    forest: Forest, table: Table, log: Log, copy: int, tree: int, rule: Rule, following: Any, totals: Any
) -> None:
    """A tree learns from the transitions of a copy that it has not learned from yet (Algorithm 2)."""
    start, stop = log.learned[copy, tree], log.length[copy]
    after = log.after[copy]
    if stop - start < _SHORT:
        for k in range(start, stop):
            following[k] = _walk(forest, tree, after[:, k])
    else:
        _walk_stretch(forest, tree, after, start, stop, following, totals)
    leaf = log.leaves[copy, tree]
    for k in range(start, stop):
        if log.begins[copy, k]:
            leaf = _walk(forest, tree, log.before[copy, :, k])
        target = log.rewards[copy, k]
        if log.bootstraps[copy, k]:
            target += rule.discount * table.best[following[k]]
        _update(table, leaf, log.actions[copy, k], target, rule)
        leaf = following[k]
    log.leaves[copy, tree] = leaf
    log.learned[copy, tree] = stop


@register_jitable
def _propose(
    forest: Forest,
    table: Table,
    log: Log,
    copy: int,
    tree: int,
    observation: Any,
    step: int,
    epsilon: float,
    key: Any,
) -> int:
    """What a tree that has caught up proposes at an observation."""
    leaf = log.leaves[copy, tree] if step > 0 else _walk(forest, tree, observation)
    counter = (step * len(forest.roots) + tree) * DRAWS_PER_CHOICE
    return _choose(table.q_values[leaf], epsilon, key, counter)


@njit(nogil=True, cache=True)
def propose_one(
    forest: Forest,
    tables: Table,
    log: Log,
    rule: Rule,
    copies: Any,
    observations: Any,
    steps: Any,
    epsilons: Any,
    keys: Any,
    voters: Any,
) -> Any:
    """What one tree (n,) of each of the ``copies`` (n,) proposes at that copy's observation (n, n_features)."""
    following, totals = _scratch(forest, log)
    actions = np.empty(len(copies), dtype=np.int32)
    for i in range(len(copies)):
        copy, tree = copies[i], voters[i]
        table = _copy_of(tables, copy)
        _catch_up(forest, table, log, copy, tree, rule, following, totals)
        actions[i] = _propose(forest, table, log, copy, tree, observations[i], steps[i], epsilons[i], keys[i])
    return actions


@njit(nogil=True, cache=True)
def propose_all(
    forest: Forest,
    tables: Table,
    log: Log,
    rule: Rule,
    copies: Any,
    observations: Any,
    steps: Any,
    epsilons: Any,
    keys: Any,
) -> Any:
    """What every tree of each of the ``copies`` (n,) proposes, (n, n_trees)."""
    following, totals = _scratch(forest, log)
    proposals = np.empty((len(copies), len(forest.roots)), dtype=np.int32)
    for i in range(len(copies)):
        table = _copy_of(tables, copies[i])
        for tree in range(len(forest.roots)):
            _catch_up(forest, table, log, copies[i], tree, rule, following, totals)
            proposals[i, tree] = _propose(
                forest, table, log, copies[i], tree, observations[i], steps[i], epsilons[i], keys[i]
            )
    return proposals


@njit(nogil=True, cache=True)
def write_log(
    log: Log,
    copies: Any,
    observations: Any,
    steps: Any,
    actions: Any,
    rewards: Any,
    after: Any,
    bootstraps: Any,
) -> None:
    """Append each copy's transition: from ``observations`` to ``after``, both (n, n_features)."""
    for i in range(len(copies)):
        copy = copies[i]
        k = log.length[copy]
        log.begins[copy, k] = steps[i] == 0
        for feature in range(after.shape[1]):  # a slice here would take numba seconds to compile
            log.before[copy, feature, k] = observations[i, feature]
            log.after[copy, feature, k] = after[i, feature]
        log.actions[copy, k] = actions[i]
        log.rewards[copy, k] = rewards[i]
        log.bootstraps[copy, k] = bootstraps[i]
        log.length[copy] = k + 1


@njit(nogil=True, cache=True)
def learn_log(forest: Forest, tables: Table, log: Log, rule: Rule) -> None:
    """Every tree learns from all that is in the log; the log is empty after."""
    following, totals = _scratch(forest, log)
    for tree in range(len(forest.roots)):
        for copy in range(len(log.length)):
            _catch_up(forest, _copy_of(tables, copy), log, copy, tree, rule, following, totals)
    log.learned[:] = 0
    log.length[:] = 0
