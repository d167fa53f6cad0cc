"""Slots of a simulator: who plays in which, and the loops over them that lockstep calls once a step.

Players (trees, or copies of a whole forest) play their episodes one after another; a slot whose player is done takes
the next one, so that a simulator stays full to the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.jit import compiled
from sirl.keys import Keys
from sirl.learning.deferred import Log, Scratch, catch_up, copy_of, log_start, log_step, propose
from sirl.learning.forest import Forest, walk
from sirl.learning.q_learning import DRAWS_PER_CHOICE, Rule, Table, bootstraps, choose, learn
from sirl.learning.voting import vote_chance
from sirl.rollout.work import Signal
from sirl.simulators.derived import added


class Seats(NamedTuple):
    """What is under way in the slots of a simulator, a row for each slot."""

    player: Ints
    """(n_slots,): who plays, a tree or a copy of the forest."""
    episode: Ints
    """(n_slots,): which of the player's episodes."""
    step: Ints
    """(n_slots,): steps done in the episode."""
    key: Keys
    """(n_slots,): the key of the episode."""


class Book(NamedTuple):
    """Every episode of every player: what is to be played, and what came of it."""

    keys: Keys
    """(n_players, n_episodes): for the draws of an episode."""
    returns: Floats
    """(n_players, n_episodes)"""
    lengths: Ints
    """(n_players, n_episodes), in steps."""
    next_player: Ints
    """(1,): the first that waits for a slot."""


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
def add_each(signal: Signal, seats: Seats, ids: Any, observations: Any, terminated: Any, extra: Any) -> None:
    """Add to ``extra`` (n_players,) what the signal counts of a step of the slots ``ids`` (n,)."""
    for i in range(len(ids)):
        player = seats.player[ids[i]]
        extra[player] += added(signal.shaping, observations[i])
        if terminated[i]:
            extra[player] += signal.ending


@compiled
def choose_each(table: Table, seats: Seats, ids: Any, leaves: Any, epsilons: Any) -> Any:
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


@compiled
def vote_chances(seats: Seats, ids: Any) -> Any:
    """A vote's random number for each of the slots (n,), apart from the draws of the trees."""
    chances = np.empty(len(ids))
    for i in range(len(ids)):
        chances[i] = vote_chance(seats.key[ids[i]], seats.step[ids[i]])
    return chances


@compiled
def propose_one(
    forest: Forest,
    tables: Table,
    rule: Rule,
    log: Log,
    scratch: Scratch,
    seats: Seats,
    ids: Any,
    epsilons: Any,
    voters: Any,
) -> Any:
    """What one tree (n,) proposes in each of the slots ``ids`` (n,)."""
    actions = np.empty(len(ids), dtype=np.int32)
    for i in range(len(ids)):
        slot, tree = ids[i], voters[i]
        copy = seats.player[slot]
        table = copy_of(tables, copy)
        catch_up(forest, table, rule, log, scratch, copy, tree)
        epsilon = epsilons[seats.episode[slot]]
        actions[i] = propose(table, log, copy, tree, epsilon, seats.key[slot], seats.step[slot])
    return actions


@compiled
def propose_all(
    forest: Forest,
    tables: Table,
    rule: Rule,
    log: Log,
    scratch: Scratch,
    seats: Seats,
    ids: Any,
    epsilons: Any,
) -> Any:
    """What every tree proposes in each of the slots ``ids`` (n,), (n, n_trees)."""
    proposals = np.empty((len(ids), len(forest.roots)), dtype=np.int32)
    for i in range(len(ids)):
        slot = ids[i]
        copy = seats.player[slot]
        table = copy_of(tables, copy)
        for tree in range(len(forest.roots)):
            catch_up(forest, table, rule, log, scratch, copy, tree)
            epsilon = epsilons[seats.episode[slot]]
            proposals[i, tree] = propose(table, log, copy, tree, epsilon, seats.key[slot], seats.step[slot])
    return proposals


@compiled
def log_starts(log: Log, seats: Seats, ids: Any, states: Any) -> None:
    """Append the first state (n, n_features) of an episode in each of the slots ``ids`` (n,)."""
    for i in range(len(ids)):
        log_start(log, seats.player[ids[i]], states, i)


@compiled
def log_steps(
    log: Log,
    rule: Rule,
    seats: Seats,
    ids: Any,
    actions: Any,
    states: Any,
    rewards: Any,
    terminated: Any,
    truncated: Any,
) -> bool:
    """Append the state (n, n_features) that each of the slots ``ids`` (n,) has come to, and its transition.

    Returns:
        Whether there may be no room for another state and the start of an episode.
    """
    full = False
    for i in range(len(ids)):
        counts = bootstraps(terminated[i], truncated[i], rule)
        full |= log_step(log, seats.player[ids[i]], actions[i], rewards[i], counts, states, i)
    return full
