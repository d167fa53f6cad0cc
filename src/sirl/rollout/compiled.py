"""The arena of tasks whose physics can be called from compiled loops: one whole episode after another.

The same draws, the same updates in the same order as in lockstep, and so the same bits. A loop goes on from where it is
told and comes back after some thousand steps at most: in between, Python can notice that it is to stop.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints, Seeds
from sirl.jit import compiled, implemented, part
from sirl.keys import episode_seeds
from sirl.learning.deferred import (
    Log,
    Scratch,
    catch_up,
    copy_of,
    learn_log,
    log_start,
    log_step,
    make_log,
    make_scratch,
    propose,
)
from sirl.learning.forest import Forest, walk
from sirl.learning.q_learning import DRAWS_PER_CHOICE, Rule, Table, bootstraps, choose, learn
from sirl.learning.voting import ELECTING, all_vote_chances, count
from sirl.model.task import Task
from sirl.rollout.acting import act
from sirl.rollout.arena import Arena, Cuts
from sirl.rollout.work import (
    CollaborativeOrder,
    CollaborativeResult,
    IndividualOrder,
    IndividualResult,
    PlayOrder,
    PlayResult,
    Signal,
)
from sirl.simulators.derived import added
from sirl.simulators.mujoco.rules import SUPPORTED, draw_starts
from sirl.simulators.mujoco.world import World, advance, begin, make_world

_AT_A_TIME = 2000
"""Steps after which no further episode is begun."""
_BLOCK = 64
"""Episodes of a copy whose votes are drawn at once."""


class Episodes(NamedTuple):
    """What is to be played, one player after another, and what came of it."""

    starts: Floats
    """(n_players * n_episodes, nq + nv)"""
    returns: Floats
    """(n_players, n_episodes); -inf where the simulation broke down."""
    lengths: Ints
    """(n_players, n_episodes), in steps."""


class CompiledArena(Arena):
    """A task of MuJoCo's own in compiled loops.

    Args:
        env_id: one of :data:`sirl.simulators.mujoco.rules.SUPPORTED`.
        task: the same, with its spaces.
        max_steps: truncate episodes here, if that is before Gymnasium's own time limit.
    """

    cuts: ClassVar[Cuts] = Cuts(individual=4, collaborative=8)  # many small orders make up for a slower worker
    loop: ClassVar[str] = "_individual"

    def __init__(self, env_id: str, task: Task, max_steps: int | None = None):
        self._env_id, self._task = env_id, task
        self.world, self._memory = make_world(env_id, task.action_dtype, max_steps, task)

    def individual(self, order: IndividualOrder) -> IndividualResult:
        """See `Arena.individual`."""
        keys, table, learning = order.keys(), order.table.copy(), order.learning
        episodes = self._episodes(episode_seeds(keys))
        what = (order.forest, table, learning.rule, learning.menu, keys, learning.epsilons, episodes)
        done = 0
        while done < keys.size:
            done = _individual(self.world, *what, done)
        return IndividualResult(table, episodes.returns, int(episodes.lengths.sum()))

    def collaborative(self, order: CollaborativeOrder) -> CollaborativeResult:
        """See `Arena.collaborative`. One copy plays after another."""
        forest, learning = order.forest, order.learning
        tables = order.table.repeated(len(order.copies))
        log, scratch = make_log(1, forest), make_scratch(forest)
        steps = 0
        for copy, keys in enumerate(order.keys()):
            table = tables.rows(copy, copy + 1)
            what = (forest, table, learning.rule, learning.menu, log, scratch)
            for block in np.split(np.arange(keys.size), range(_BLOCK, keys.size, _BLOCK)):
                episodes = self._episodes(episode_seeds(keys[None, block]))
                chances = all_vote_chances(keys[block], self.world.max_steps)
                vote = _make_vote(order, chances)
                which = (keys[block], learning.epsilons[block], episodes, np.zeros(2, dtype=np.int64))
                while _collaborative(self.world, *what, vote, *which):
                    learn_log(forest, table, learning.rule, log, scratch)
                steps += int(episodes.lengths.sum())
            learn_log(forest, table, learning.rule, log, scratch)
        return CollaborativeResult(tables, steps)

    def play(self, order: PlayOrder) -> PlayResult:
        """See `Arena.play`."""
        episodes, extra = self._episodes(order.seeds), np.zeros(order.seeds.shape)
        done = 0
        while done < order.seeds.size:
            done = _play(self.world, order.law, order.forest, order.signal, episodes, extra, done)
        return PlayResult(episodes.returns, episodes.lengths, extra)

    def brief(self) -> CompiledArena:
        """See `Arena.brief`."""
        return CompiledArena(self._env_id, self._task, 1)

    def close(self) -> None:
        """See `Arena.close`: the physics goes with its memory."""

    def _episodes(self, seeds: Seeds) -> Episodes:
        """The episodes with ``seeds`` (n_players, n_episodes)."""
        starts = draw_starts(SUPPORTED[self._env_id], self._memory.model, seeds.ravel())
        return Episodes(starts, np.zeros(seeds.shape), np.zeros(seeds.shape, dtype=np.int64))


@part
def _take(world: World, menu: Any, choice: int) -> Any:
    """Take an action of the menu (n_actions, nu): the reward, whether it is over, whether the simulation broke."""
    for j in range(len(world.control)):
        world.control[j] = menu[choice, j]
    return advance(world)


@compiled
def _individual(
    world: World,
    forest: Forest,
    table: Table,
    rule: Rule,
    menu: Any,
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
            choice = choose(table.q_values[leaf], epsilons[episode], keys[tree, episode], step * DRAWS_PER_CHOICE)
            reward, terminated, broken = _take(world, menu, choice)
            step += 1
            truncated = step >= world.max_steps
            seen = world.observation[0]
            leaf = learn(forest, table, rule, tree, leaf, choice, seen, reward, terminated, truncated)
            total += reward
            over = terminated or truncated
        episodes.returns[tree, episode] = -np.inf if broken else total
        episodes.lengths[tree, episode] = step
        steps += step
        first += 1
    return first


class _Elected(NamedTuple):
    """A vote that only asks one tree."""

    voters: Ints
    """(n_episodes, max_steps)"""


class _Counted(NamedTuple):
    """A vote that asks all."""

    weights: Floats
    """(n_trees,)"""
    chances: Floats
    """(n_episodes, max_steps)"""
    proposals: Ints
    """(n_trees,), room for one vote."""


def _make_vote(order: CollaborativeOrder, chances: Floats) -> _Elected | _Counted:
    """All votes of some episodes, by their random numbers (n_episodes, max_steps)."""
    if order.voting in ELECTING:
        voters = ELECTING[order.voting](order.weights, chances.ravel())
        return _Elected(voters.reshape(chances.shape))
    return _Counted(order.weights, chances, np.zeros(len(order.weights), dtype=np.int64))


def _decide(vote: Any, *_: Any) -> int:
    """What the vote at a step of an episode comes to; whoever is asked has caught up before."""
    raise TypeError(vote)


_decides = implemented(_decide)


@_decides(_Elected)
def _elect(vote, forest, table, rule, log, scratch, epsilon, key, episode, step):  # type: ignore[no-untyped-def]
    tree = vote.voters[episode, step]
    catch_up(forest, table, rule, log, scratch, 0, tree)
    return propose(table, log, 0, tree, epsilon, key, step)


@_decides(_Counted)
def _count(vote, forest, table, rule, log, scratch, epsilon, key, episode, step):  # type: ignore[no-untyped-def]
    for tree in range(len(vote.proposals)):
        catch_up(forest, table, rule, log, scratch, 0, tree)
        vote.proposals[tree] = propose(table, log, 0, tree, epsilon, key, step)
    return count(vote.proposals, vote.weights, table.q_values.shape[1], vote.chances[episode, step])


@compiled
def _collaborative(
    world: World,
    forest: Forest,
    tables: Table,
    rule: Rule,
    menu: Any,
    log: Log,
    scratch: Scratch,
    vote: Any,
    keys: Any,
    epsilons: Any,
    episodes: Episodes,
    done: Any,
) -> bool:
    """All trees play in the one copy of tables and log (Algorithm 2), with ``keys`` (n_episodes,).

    ``done`` (2,) says where to go on: how many episodes are over, and how many steps of the next, which waits in
    ``world`` in the meantime.

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
        epsilon, key = epsilons[episode], keys[episode]
        choice = _decide(vote, forest, table, rule, log, scratch, epsilon, key, episode, step)
        reward, terminated, _ = _take(world, menu, choice)
        step += 1
        truncated = step >= world.max_steps
        full = log_step(log, 0, choice, reward, bootstraps(terminated, truncated, rule), world.observation, 0)
        if terminated or truncated:
            episodes.lengths[0, episode] = step
            episode, step = episode + 1, 0
    done[0], done[1] = episode, step
    return full


@compiled
def _play(world: World, law: Any, forest: Forest, signal: Signal, episodes: Episodes, extra: Any, first: int) -> int:
    """Trees play without learning; their leaves act on what is observed."""
    steps, most = 0, min(world.max_steps, signal.max_steps)
    while first < episodes.lengths.size and steps < _AT_A_TIME:
        tree, episode = first // episodes.lengths.shape[1], first % episodes.lengths.shape[1]
        begin(world, episodes.starts[first])
        total, step, over, terminated, broken = 0.0, 0, False, False, False
        seen = world.observation[0]
        while not over:
            act(law, walk(forest, tree, seen), seen, world.control)
            reward, terminated, broken = advance(world)
            step += 1
            total += reward
            extra[tree, episode] += added(signal.shaping, seen)
            over = terminated or step >= most
        if terminated:
            extra[tree, episode] += signal.ending
        episodes.returns[tree, episode] = -np.inf if broken else total
        episodes.lengths[tree, episode] = step
        steps += step
        first += 1
    return first
