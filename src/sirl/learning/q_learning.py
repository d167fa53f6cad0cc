"""The inner loops: trees that walk, act and learn alone, compiled with numba; the GIL is released.

Every random draw comes from a key and a counter. ``tests/plain.py``, the
same in plain Python, gives the same bits; ``tests/test_kernels.py`` holds that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.jit import compiled, part
from sirl.keys import uniform
from sirl.learning.forest import Forest

DRAWS_PER_CHOICE = 3
"""An ε-greedy choice draws: whether to explore, which action then, which of the tied best."""


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


class Book(NamedTuple):
    """Every episode of every player: what is to be played, and what came of it."""

    keys: NDArray[np.uint64]
    """(n_players, n_episodes): for the draws of an episode."""
    returns: NDArray[np.float64]
    """(n_players, n_episodes)"""
    lengths: NDArray[np.int64]
    """(n_players, n_episodes), in steps."""
    next_player: NDArray[np.int64]
    """(1,): the first that waits for a slot."""


def make_table(q_values: NDArray[np.float64], visits: NDArray[np.int64]) -> Table:
    """A table that may be written to, from Q-values and visits that stay as they are."""
    return Table(q_values.copy(), visits.copy(), q_values.max(axis=-1))


@compiled
def fill_uniform(q_values: Any, first_leaf: Any, keys: Any, low: float, high: float) -> None:
    """Uniform Q-values in [low, high), by the key of each tree (n_trees,)."""
    n_actions = q_values.shape[1]
    for tree in range(len(keys)):
        start = first_leaf[tree]
        for leaf in range(start, first_leaf[tree + 1]):
            for action in range(n_actions):
                u = uniform(keys[tree], (leaf - start) * n_actions + action)
                q_values[leaf, action] = low + (high - low) * u


@part
def walk(forest: Forest, tree: int, observation: Any) -> int:
    """The forest's leaf that an observation (n_features,) reaches in a tree."""
    node = forest.roots[tree]
    while node >= 0:
        total = 0.0
        for feature in range(len(observation)):
            total += forest.weights[node, feature] * observation[feature]
        node = forest.children[node, 0 if total < forest.thresholds[node] else 1]
    return int(~node)


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


@compiled
def end_step(seats: Seats, book: Book, ids: Any, rewards: Any, terminated: Any, truncated: Any) -> Any:
    """Count a step of the slots ``ids`` (n,), and give a slot whose episode is over the next one.

    That is the next of its player, or the first of the next player that waits.

    Returns:
        The slots in which an episode begins, and those that go on, these included.
    """
    fresh, going = np.empty(len(ids), dtype=np.int32), np.empty(len(ids), dtype=np.int32)
    n_fresh = n_going = 0
    n_players, n_episodes = book.returns.shape
    for i in range(len(ids)):
        slot = ids[i]
        player, episode = seats.player[slot], seats.episode[slot]
        seats.step[slot] += 1
        book.returns[player, episode] += rewards[i]
        if terminated[i] or truncated[i]:
            book.lengths[player, episode] = seats.step[slot]
            episode += 1
            if episode == n_episodes:
                player, episode = book.next_player[0], 0
                if player == n_players:
                    continue
                book.next_player[0] += 1
            seats.player[slot], seats.episode[slot], seats.step[slot] = player, episode, 0
            seats.key[slot] = book.keys[player, episode]
            fresh[n_fresh] = slot
            n_fresh += 1
        going[n_going] = slot
        n_going += 1
    return fresh[:n_fresh], going[:n_going]


@compiled
def walk_each(forest: Forest, trees: Any, observations: Any) -> Any:
    """The leaf that each observation (n, n_features) reaches in its own tree (n,)."""
    leaves = np.empty(len(trees), dtype=np.int32)
    for i in range(len(trees)):
        leaves[i] = walk(forest, trees[i], observations[i])
    return leaves


@compiled
def act_each(table: Table, seats: Seats, ids: Any, leaves: Any, epsilons: Any) -> Any:
    """An action for each of the slots ``ids`` (n,), whose trees are at ``leaves`` (n_slots,)."""
    actions = np.empty(len(ids), dtype=np.int32)
    for i in range(len(ids)):
        slot = ids[i]
        epsilon, counter = epsilons[seats.episode[slot]], seats.step[slot] * DRAWS_PER_CHOICE
        actions[i] = choose(table.q_values[leaves[slot]], epsilon, seats.key[slot], counter)
    return actions


@compiled
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
        transition = (leaves[slot], actions[i], observations[i], rewards[i], terminated[i], truncated[i])
        leaves[slot] = learn(forest, table, rule, seats.player[slot], *transition)
