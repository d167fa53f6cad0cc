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
from sirl.keys import fold, uniform

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
    after_termination: bool
    """The next state's value counts although the episode has terminated."""
    after_truncation: bool
    """The next state's value counts although the episode has been truncated."""


class Seats(NamedTuple):
    """What is under way in the slots of a simulator, a row for each slot."""

    player: NDArray[np.int64]
    """(n_slots,): who plays, a tree or a copy of the forest."""
    episode: NDArray[np.int64]
    """(n_slots,): which of the player's episodes."""
    step: NDArray[np.int64]
    """(n_slots,): steps done in the episode."""
    key: NDArray[np.uint64]
    """(n_slots,): the key of the episode."""


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


@register_jitable
def _bootstraps(terminated: bool, truncated: bool, rule: Rule) -> bool:
    if terminated:
        return rule.after_termination
    return rule.after_truncation or not truncated


@njit(nogil=True, cache=True)
def end_step(seats: Seats, ids: Any, rewards: Any, terminated: Any, truncated: Any, returns: Any) -> Any:
    """Count a step of the slots ``ids`` (n,) and add its rewards to returns (n_players, n_episodes).

    Returns:
        The slots whose episode is over.
    """
    over = np.empty(len(ids), dtype=np.int32)
    n_over = 0
    for i in range(len(ids)):
        slot = ids[i]
        seats.step[slot] += 1
        returns[seats.player[slot], seats.episode[slot]] += rewards[i]
        if terminated[i] or truncated[i]:
            over[n_over] = slot
            n_over += 1
    return over[:n_over]


@njit(nogil=True, cache=True)
def vote_chances(seats: Seats, ids: Any) -> Any:
    """A vote's random number for each of the slots (n,), apart from the draws of the trees."""
    chances = np.empty(len(ids))
    for i in range(len(ids)):
        chances[i] = uniform(fold(seats.key[ids[i]], 1), seats.step[ids[i]])
    return chances


@njit(nogil=True, cache=True)
def walk_each(forest: Forest, trees: Any, observations: Any) -> Any:
    """The leaf that each observation (n, n_features) reaches in its own tree (n,)."""
    leaves = np.empty(len(trees), dtype=np.int32)
    for i in range(len(trees)):
        leaves[i] = _walk(forest, trees[i], observations[i])
    return leaves


@njit(nogil=True, cache=True)
def act_each(table: Table, seats: Seats, ids: Any, leaves: Any, epsilons: Any) -> Any:
    """An action for each of the slots ``ids`` (n,), whose trees are at ``leaves`` (n_slots,)."""
    actions = np.empty(len(ids), dtype=np.int32)
    for i in range(len(ids)):
        slot = ids[i]
        epsilon, counter = epsilons[seats.episode[slot]], seats.step[slot] * DRAWS_PER_CHOICE
        actions[i] = _choose(table.q_values[leaves[slot]], epsilon, seats.key[slot], counter)
    return actions


@njit(nogil=True, cache=True)
def learn_each(
    forest: Forest,
    table: Table,
    rule: Rule,
    seats: Seats,
    ids: Any,
    leaves: Any,
    actions: Any,
    observations: Any,
    rewards: Any,
    terminated: Any,
    truncated: Any,
) -> None:
    """Q-learning of each tree from its own transition (Algorithm 3); ``leaves`` (n_slots,) move on."""
    for i in range(len(ids)):
        slot = ids[i]
        following = _walk(forest, seats.player[slot], observations[i])
        target = rewards[i]
        if _bootstraps(terminated[i], truncated[i], rule):
            target += rule.discount * table.best[following]
        _update(table, leaves[slot], actions[i], target, rule)
        leaves[slot] = following


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
    forest: Forest, table: Table, log: Log, seats: Seats, slot: int, tree: int, observation: Any, epsilons: Any
) -> int:
    """What a tree that has caught up proposes at the observation (n_features,) of a slot."""
    step = seats.step[slot]
    leaf = log.leaves[seats.player[slot], tree] if step > 0 else _walk(forest, tree, observation)
    counter = (step * len(forest.roots) + tree) * DRAWS_PER_CHOICE
    return _choose(table.q_values[leaf], epsilons[seats.episode[slot]], seats.key[slot], counter)


@njit(nogil=True, cache=True)
def propose_one(
    forest: Forest,
    tables: Table,
    log: Log,
    rule: Rule,
    seats: Seats,
    ids: Any,
    observations: Any,
    epsilons: Any,
    voters: Any,
) -> Any:
    """What one tree (n,) proposes in each of the slots ``ids`` (n,), at its observation (n_slots, n_features)."""
    following, totals = _scratch(forest, log)
    actions = np.empty(len(ids), dtype=np.int32)
    for i in range(len(ids)):
        slot, tree = ids[i], voters[i]
        copy = seats.player[slot]
        table = _copy_of(tables, copy)
        _catch_up(forest, table, log, copy, tree, rule, following, totals)
        actions[i] = _propose(forest, table, log, seats, slot, tree, observations[slot], epsilons)
    return actions


@njit(nogil=True, cache=True)
def propose_all(
    forest: Forest,
    tables: Table,
    log: Log,
    rule: Rule,
    seats: Seats,
    ids: Any,
    observations: Any,
    epsilons: Any,
) -> Any:
    """What every tree proposes in each of the slots ``ids`` (n,), (n, n_trees)."""
    following, totals = _scratch(forest, log)
    proposals = np.empty((len(ids), len(forest.roots)), dtype=np.int32)
    for i in range(len(ids)):
        slot = ids[i]
        copy = seats.player[slot]
        table = _copy_of(tables, copy)
        for tree in range(len(forest.roots)):
            _catch_up(forest, table, log, copy, tree, rule, following, totals)
            proposals[i, tree] = _propose(forest, table, log, seats, slot, tree, observations[slot], epsilons)
    return proposals


@njit(nogil=True, cache=True)
def write_log(
    log: Log,
    rule: Rule,
    seats: Seats,
    ids: Any,
    observations: Any,
    actions: Any,
    after: Any,
    rewards: Any,
    terminated: Any,
    truncated: Any,
) -> bool:
    """Append the transition of each of the slots ``ids`` (n,); whether the log is now full.

    ``observations`` (n_slots, n_features) become ``after`` (n, n_features).
    """
    full = False
    for i in range(len(ids)):
        slot = ids[i]
        copy = seats.player[slot]
        k = log.length[copy]
        log.begins[copy, k] = seats.step[slot] == 0
        for feature in range(after.shape[1]):  # a slice here would take numba seconds to compile
            log.before[copy, feature, k] = observations[slot, feature]
            log.after[copy, feature, k] = after[i, feature]
            observations[slot, feature] = after[i, feature]
        log.actions[copy, k] = actions[i]
        log.rewards[copy, k] = rewards[i]
        log.bootstraps[copy, k] = _bootstraps(terminated[i], truncated[i], rule)
        log.length[copy] = k + 1
        full |= k + 1 == log.actions.shape[1]
    return full


@njit(nogil=True, cache=True)
def learn_log(forest: Forest, tables: Table, log: Log, rule: Rule) -> None:
    """Every tree learns from all that is in the log; the log is empty after."""
    following, totals = _scratch(forest, log)
    for tree in range(len(forest.roots)):
        for copy in range(len(log.length)):
            _catch_up(forest, _copy_of(tables, copy), log, copy, tree, rule, following, totals)
    log.learned[:] = 0
    log.length[:] = 0
