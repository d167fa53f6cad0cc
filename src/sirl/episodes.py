"""Whole episodes inside one compiled loop: the phases where physics can be called from there.

The same draws, the same updates in the same order as in lockstep, and so the same bits. Each function plays episodes
from a given one on, and comes back after some thousand steps with the number of the next: in between, Python can
notice that it is to stop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sirl.catching_up import Log, Scratch, catch_up, copy_of, learn_log, log_start, log_step, propose
from sirl.forest import Forest
from sirl.kernels import DRAWS_PER_CHOICE, Rule, Table, bootstraps, choose, learn, walk
from sirl.simulators.direct import Controls, World, advance, begin

_AT_A_TIME = 2000
"""Steps after which no further episode is begun."""


class Episodes(NamedTuple):
    """What is to be played, in this order, and what came of it."""

    starts: NDArray[np.float64]
    """(n_episodes, nq + nv)"""
    players: NDArray[np.int64]
    """(n_episodes,): the tree that plays; unused where all do."""
    keys: NDArray[np.uint64]
    """(n_episodes,): for the draws of an episode."""
    epsilons: NDArray[np.float64]
    """(n_episodes,)"""
    returns: NDArray[np.float64]
    """(n_episodes,); -inf where the simulation broke down."""
    lengths: NDArray[np.int64]
    """(n_episodes,), in steps."""


@njit(nogil=True, cache=True)
def learn_alone(
    world: World, controls: Controls, forest: Forest, table: Table, rule: Rule, episodes: Episodes, first: int
) -> int:
    """Trees play and learn alone (Algorithm 3)."""
    done = 0
    while first < len(episodes.keys) and done < _AT_A_TIME:
        tree, key, epsilon = episodes.players[first], episodes.keys[first], episodes.epsilons[first]
        begin(world, episodes.starts[first])
        leaf = walk(forest, tree, world.observation[0])
        total, step, over, broken = 0.0, 0, False, False
        while not over:
            action = choose(table.q_values[leaf], epsilon, key, step * DRAWS_PER_CHOICE)
            reward, terminated, broken = advance(world, controls, action)
            step += 1
            truncated = step >= world.max_steps
            seen = world.observation[0]
            leaf = learn(forest, table, rule, tree, leaf, action, seen, reward, terminated, truncated)
            total += reward
            over = terminated or truncated
        episodes.returns[first] = -np.inf if broken else total
        episodes.lengths[first] = step
        done += step
        first += 1
    return first


@njit(nogil=True, cache=True)
def learn_together(
    world: World,
    controls: Controls,
    forest: Forest,
    tables: Table,
    rule: Rule,
    log: Log,
    scratch: Scratch,
    voters: Any,
    episodes: Episodes,
    first: int,
) -> int:
    """All trees play in the only copy of tables and log (Algorithm 2); ``voters`` (n_episodes, max_steps) decide."""
    table = copy_of(tables, 0)
    done = 0
    while first < len(episodes.keys) and done < _AT_A_TIME:
        key, epsilon = episodes.keys[first], episodes.epsilons[first]
        begin(world, episodes.starts[first])
        log_start(log, 0, world.observation, 0)
        step, over = 0, False
        while not over:
            tree = voters[first, step]
            catch_up(forest, table, log, 0, tree, rule, scratch)
            action = propose(table, log, 0, tree, epsilon, key, step)
            reward, terminated, _ = advance(world, controls, action)
            step += 1
            truncated = step >= world.max_steps
            counts = bootstraps(terminated, truncated, rule)
            if log_step(log, 0, action, reward, counts, world.observation, 0):
                learn_log(forest, tables, log, rule, scratch)
            over = terminated or truncated
        episodes.lengths[first] = step
        done += step
        first += 1
    return first


@njit(nogil=True, cache=True)
def play_alone(world: World, controls: Controls, forest: Forest, episodes: Episodes, first: int) -> int:
    """Trees play without learning; the action of a leaf is the control with its number."""
    done = 0
    while first < len(episodes.keys) and done < _AT_A_TIME:
        tree = episodes.players[first]
        begin(world, episodes.starts[first])
        total, step, over, broken = 0.0, 0, False, False
        while not over:
            reward, terminated, broken = advance(world, controls, walk(forest, tree, world.observation[0]))
            step += 1
            total += reward
            over = terminated or step >= world.max_steps
        episodes.returns[first] = -np.inf if broken else total
        episodes.lengths[first] = step
        done += step
        first += 1
    return first
