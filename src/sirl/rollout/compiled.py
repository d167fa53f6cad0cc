"""The phases inside compiled loops, one whole episode after another, where physics can be called from there.

The same draws, the same updates in the same order as in lockstep, and so the same bits. A loop goes on from where it is
told and comes back after some thousand steps at most: in between, Python can notice that it is to stop. A loop is
called once even if there is nothing to play: `sirl.rollout.warm_up` gets it compiled so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.jit import compiled
from sirl.keys import episode_seeds
from sirl.learning.deferred import (
    Log,
    Scratch,
    all_vote_chances,
    catch_up,
    copy_of,
    learn_log,
    log_start,
    log_step,
    make_log,
    make_scratch,
    propose,
    repeat_table,
)
from sirl.learning.forest import Forest
from sirl.learning.q_learning import DRAWS_PER_CHOICE, Rule, Table, bootstraps, choose, learn, make_table, walk
from sirl.learning.voting import ELECTING
from sirl.rollout.work import (
    CollaborativeOrder,
    CollaborativeResult,
    IndividualOrder,
    IndividualResult,
    Knowledge,
    PlayOrder,
    PlayResult,
)
from sirl.simulators.mujoco.world import Controls, Direct, World, advance, begin

_AT_A_TIME = 2000
"""Steps after which no further episode is begun."""
_BLOCK = 64
"""Episodes of a copy whose votes are drawn at once."""


class Episodes(NamedTuple):
    """What is to be played, one player after another, and what came of it."""

    starts: NDArray[np.float64]
    """(n_players * n_episodes, nq + nv)"""
    returns: NDArray[np.float64]
    """(n_players, n_episodes); -inf where the simulation broke down."""
    lengths: NDArray[np.int64]
    """(n_players, n_episodes), in steps."""

    @staticmethod
    def of(direct: Direct, seeds: NDArray[np.int64]) -> Episodes:
        """The episodes with ``seeds`` (n_players, n_episodes)."""
        return Episodes(direct.starts(seeds.ravel()), np.zeros(seeds.shape), np.zeros(seeds.shape, dtype=np.int64))


def refine(direct: Direct, actions: NDArray[Any], order: IndividualOrder) -> IndividualResult:
    """See `sirl.rollout.phases.refine`."""
    keys, table, learning = order.keys(), make_table(*order.knowledge), order.learning
    episodes = Episodes.of(direct, episode_seeds(keys))
    what = (order.forest, table, learning.rule, keys, learning.epsilons, episodes)
    done, controls = 0, direct.controls(actions)
    while (done := _learn_alone(direct.world, controls, *what, done)) < keys.size:
        pass
    knowledge = Knowledge(table.q_values, table.visits)
    return IndividualResult(knowledge, episodes.returns, int(episodes.lengths.sum()))


def collaborate(direct: Direct, actions: NDArray[Any], order: CollaborativeOrder) -> CollaborativeResult:
    """See `sirl.rollout.phases.collaborate`; for a vote that asks one tree only. One copy plays after another."""
    forest, rule, controls = order.forest, order.learning.rule, direct.controls(actions)
    tables = repeat_table(make_table(*order.knowledge), len(order.copies))
    log, scratch = make_log(1, forest), make_scratch(forest)
    steps = 0
    for copy, keys in enumerate(order.keys()):
        one = slice(copy, copy + 1)
        table = Table(tables.q_values[one], tables.visits[one], tables.best[one])
        for block in np.split(np.arange(keys.size), range(_BLOCK, keys.size, _BLOCK)):
            episodes = Episodes.of(direct, episode_seeds(keys[None, block]))
            chances = all_vote_chances(keys[block], direct.world.max_steps)
            voters = ELECTING[order.voting](order.weights, chances.ravel()).reshape(chances.shape)
            what = (voters, keys[block], order.learning.epsilons[block], episodes, np.zeros(2, dtype=np.int64))
            while _learn_together(direct.world, controls, forest, table, rule, log, scratch, *what):
                learn_log(forest, table, rule, log, scratch)
            steps += int(episodes.lengths.sum())
        learn_log(forest, table, rule, log, scratch)
    return CollaborativeResult(Knowledge(tables.q_values, tables.visits), steps)


def play(direct: Direct, order: PlayOrder) -> PlayResult:
    """See `sirl.rollout.phases.play`."""
    episodes = Episodes.of(direct, order.seeds)
    done, controls = 0, direct.controls(order.actions)
    while (done := _play_alone(direct.world, controls, order.forest, episodes, done)) < order.seeds.size:
        pass
    return PlayResult(episodes.returns, episodes.lengths)


@compiled
def _learn_alone(
    world: World,
    controls: Controls,
    forest: Forest,
    table: Table,
    rule: Rule,
    keys: Any,
    epsilons: Any,
    episodes: Episodes,
    first: int,
) -> int:
    """Trees play and learn alone (Algorithm 3), with ``keys`` (n_players, n_episodes)."""
    steps = 0
    while first < keys.size and steps < _AT_A_TIME:
        tree, episode = first // len(epsilons), first % len(epsilons)
        begin(world, episodes.starts[first])
        leaf = walk(forest, tree, world.observation[0])
        total, step, over, broken = 0.0, 0, False, False
        while not over:
            action = choose(table.q_values[leaf], epsilons[episode], keys[tree, episode], step * DRAWS_PER_CHOICE)
            reward, terminated, broken = advance(world, controls, action)
            step += 1
            truncated = step >= world.max_steps
            seen = world.observation[0]
            leaf = learn(forest, table, rule, tree, leaf, action, seen, reward, terminated, truncated)
            total += reward
            over = terminated or truncated
        episodes.returns[tree, episode] = -np.inf if broken else total
        episodes.lengths[tree, episode] = step
        steps += step
        first += 1
    return first


@compiled
def _learn_together(
    world: World,
    controls: Controls,
    forest: Forest,
    tables: Table,
    rule: Rule,
    log: Log,
    scratch: Scratch,
    voters: Any,
    keys: Any,
    epsilons: Any,
    episodes: Episodes,
    done: Any,
) -> bool:
    """All trees play in the one copy of tables and log (Algorithm 2), with ``keys`` (n_episodes,).

    ``voters`` (n_episodes, max_steps) have their way. ``done`` (2,) says where to go on: how many episodes are over,
    and how many steps of the next, which waits in ``world`` in the meantime.

    Returns:
        Whether the log is full, and all must learn it; else every episode is over.
    """
    table = copy_of(tables, 0)
    episode, step = done[0], done[1]
    full = False
    while episode < len(keys) and not full:
        if step == 0:
            begin(world, episodes.starts[episode])
            log_start(log, 0, world.observation, 0)
        tree = voters[episode, step]
        catch_up(forest, table, rule, log, scratch, 0, tree)
        action = propose(table, log, 0, tree, epsilons[episode], keys[episode], step)
        reward, terminated, _ = advance(world, controls, action)
        step += 1
        truncated = step >= world.max_steps
        full = log_step(log, 0, action, reward, bootstraps(terminated, truncated, rule), world.observation, 0)
        if terminated or truncated:
            episodes.lengths[0, episode] = step
            episode, step = episode + 1, 0
    done[0], done[1] = episode, step
    return full


@compiled
def _play_alone(world: World, controls: Controls, forest: Forest, episodes: Episodes, first: int) -> int:
    """Trees play without learning; what a leaf does is the control with its number."""
    steps = 0
    while first < episodes.lengths.size and steps < _AT_A_TIME:
        tree, episode = first // episodes.lengths.shape[1], first % episodes.lengths.shape[1]
        begin(world, episodes.starts[first])
        total, step, over, broken = 0.0, 0, False, False
        while not over:
            reward, terminated, broken = advance(world, controls, walk(forest, tree, world.observation[0]))
            step += 1
            total += reward
            over = terminated or step >= world.max_steps
        episodes.returns[tree, episode] = -np.inf if broken else total
        episodes.lengths[tree, episode] = step
        steps += step
        first += 1
    return first
