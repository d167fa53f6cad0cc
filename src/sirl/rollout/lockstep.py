"""The phases in lockstep, for any simulator: many episodes advance in one call, and no slot sits idle."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sirl.keys import Keys, episode_seeds
from sirl.learning import deferred as catching_up
from sirl.learning import q_learning as kernels
from sirl.learning.deferred import make_log, make_scratch, repeat_table
from sirl.learning.forest import Forest
from sirl.learning.q_learning import Book, Seats, make_table
from sirl.learning.voting import COUNTING, ELECTING
from sirl.rollout.work import (
    Arena,
    CollaborativeOrder,
    CollaborativeResult,
    IndividualOrder,
    IndividualResult,
    Knowledge,
    PlayOrder,
    PlayResult,
)
from sirl.simulators import Ids, Simulator, Step


def refine(arena: Arena, order: IndividualOrder) -> IndividualResult:
    """See `sirl.rollout.phases.refine`."""
    keys = order.keys()
    slots = _Slots(arena.simulator, episode_seeds(keys), keys)
    players = _Alone(arena, order, slots)
    slots.run(players)
    knowledge = Knowledge(players.table.q_values, players.table.visits)
    return IndividualResult(knowledge, slots.returns, int(slots.lengths.sum()))


def collaborate(arena: Arena, order: CollaborativeOrder) -> CollaborativeResult:
    """See `sirl.rollout.phases.collaborate`."""
    keys = order.keys()
    slots = _Slots(arena.simulator, episode_seeds(keys), keys)
    players = _Together(arena, order, slots)
    slots.run(players)
    players.learn_rest()
    knowledge = Knowledge(players.tables.q_values, players.tables.visits)
    return CollaborativeResult(knowledge, int(slots.lengths.sum()))


def play(arena: Arena, order: PlayOrder) -> PlayResult:
    """See `sirl.rollout.phases.play`."""
    slots = _Slots(arena.simulator, order.seeds.reshape(-1, 1), np.zeros((order.seeds.size, 1), dtype=np.uint64))
    slots.run(_Finished(order, slots))
    shape = order.seeds.shape
    return PlayResult(slots.returns.reshape(shape), slots.lengths.reshape(shape))


class _Players(Protocol):
    """Who plays in the slots."""

    forest: Forest

    def begin(self, ids: Ids, observations: NDArray[np.float64]) -> None:
        """An episode has begun in each of the slots ``ids``."""
        ...

    def act(self, ids: Ids) -> NDArray[Any]:
        """Actions for the environments, (n, *action_shape)."""
        ...

    def learn(self, ids: Ids, out: Step) -> None:
        """The actions led to ``out``."""
        ...


class _Slots:
    """The episodes under way: which player is in which slot, and what comes next when one ends.

    Players (trees, or copies of a whole forest) play ``n_episodes`` each, one after another; a slot whose
    player is done takes the next one, so that the simulator stays full to the end.

    Args:
        simulator: where the episodes run.
        seeds: of each player's each episode, (n_players, n_episodes).
        keys: for the draws of each player's each episode, (n_players, n_episodes).
    """

    def __init__(self, simulator: Simulator, seeds: NDArray[np.int64], keys: Keys):
        n_players, n_episodes = seeds.shape
        n = min(simulator.n_slots, n_players) if n_episodes else 0
        self.simulator, self.seeds = simulator, seeds
        self.ids: Ids = np.arange(n, dtype=np.int32)
        """The slots in use."""
        episodes, steps = np.zeros((2, n), dtype=np.int64)
        self.seats = Seats(np.arange(n), episodes, steps, keys[:n, :1].flatten())
        self.returns = np.zeros((n_players, n_episodes))
        self.lengths = np.zeros((n_players, n_episodes), dtype=np.int64)
        self._book = Book(keys, self.returns, self.lengths, np.array([n]))

    def run(self, players: _Players) -> None:
        """Play every episode of every player."""
        n = len(self.ids)
        if n == 0:
            self._rehearse(players)
            return
        waves = [self.seeds[first : first + n].T.ravel() for first in range(0, len(self.seeds), n)]
        self.simulator.expect(np.concatenate(waves))
        player, episode, _, _ = self.seats
        ids = fresh = self.ids
        while ids.size:
            if fresh.size:
                players.begin(fresh, self.simulator.reset(fresh, self.seeds[player[fresh], episode[fresh]]))
            out = self.simulator.step(ids, players.act(ids))
            players.learn(ids, out)
            if out.broken is not None:
                lost = ids[out.broken]
                self.returns[player[lost], episode[lost]] = -np.inf
            fresh, ids = kernels.end_step(self.seats, self._book, ids, out.rewards, out.terminated, out.truncated)

    def _rehearse(self, players: _Players) -> None:
        """Call all that players have compiled, for nobody."""
        nobody, nothing, never = self.ids, np.zeros(0), np.zeros(0, dtype=np.bool_)
        seen = np.zeros((0, players.forest.weights.shape[1]))
        players.begin(nobody, seen)
        players.act(nobody)
        players.learn(nobody, Step(seen, nothing, never, never))
        kernels.end_step(self.seats, self._book, nobody, nothing, never, never)


class _Alone:
    """Trees in the individual phase: a player is a tree."""

    def __init__(self, arena: Arena, order: IndividualOrder, slots: _Slots):
        self.arena, self.order, self.slots, self.forest = arena, order, slots, order.forest
        self.table = make_table(*order.knowledge)
        self.leaves = np.zeros(len(slots.ids), dtype=np.int32)
        self.actions = np.zeros(0, dtype=np.int32)

    def begin(self, ids: Ids, observations: NDArray[np.float64]) -> None:
        self.leaves[ids] = kernels.walk_each(self.forest, self.slots.seats.player[ids], observations)

    def act(self, ids: Ids) -> NDArray[Any]:
        epsilons = self.order.learning.epsilons
        self.actions = kernels.act_each(self.table, self.slots.seats, ids, self.leaves, epsilons)
        return np.asarray(self.arena.actions[self.actions])

    def learn(self, ids: Ids, out: Step) -> None:
        rule, seats = self.order.learning.rule, self.slots.seats
        kernels.learn_each(self.forest, self.table, rule, seats, ids, self.leaves, self.actions, *out[:4])


class _Together:
    """The whole forest in the collaborative phase: a player is a copy of it."""

    def __init__(self, arena: Arena, order: CollaborativeOrder, slots: _Slots):
        self.arena, self.order, self.slots, self.forest = arena, order, slots, order.forest
        n_copies = len(order.copies)
        self.tables = repeat_table(make_table(*order.knowledge), n_copies)
        self.log, self.scratch = make_log(n_copies, self.forest), make_scratch(self.forest)
        self.actions = np.zeros(0, dtype=np.int32)

    def begin(self, ids: Ids, observations: NDArray[np.float64]) -> None:
        catching_up.log_starts(self.log, self.slots.seats, ids, observations)

    def act(self, ids: Ids) -> NDArray[Any]:
        order, seats = self.order, self.slots.seats
        chances = catching_up.vote_chances(seats, ids)
        who = (self.forest, self.tables, order.learning.rule, self.log, self.scratch)
        if order.voting in ELECTING:
            voters = ELECTING[order.voting](order.weights, chances)
            self.actions = catching_up.propose_one(*who, seats, ids, order.learning.epsilons, voters)
        else:
            proposals = catching_up.propose_all(*who, seats, ids, order.learning.epsilons)
            count, n_actions = COUNTING[order.voting], len(self.arena.actions)
            if not ids.size:  # a rehearsal: there is no row to count, and counting is compiled too
                count(np.zeros(self.forest.n_trees, dtype=np.int32), order.weights, n_actions, 0.0)
            votes = [count(row, order.weights, n_actions, u) for row, u in zip(proposals, chances, strict=True)]
            self.actions = np.array(votes, dtype=np.int32)
        return np.asarray(self.arena.actions[self.actions])

    def learn(self, ids: Ids, out: Step) -> None:
        rule, seats = self.order.learning.rule, self.slots.seats
        if catching_up.log_steps(self.log, rule, seats, ids, self.actions, *out[:4]):
            self.learn_rest()

    def learn_rest(self) -> None:
        """Every tree catches up with all that has happened."""
        order = self.order
        catching_up.learn_log(self.forest, self.tables, order.learning.rule, self.log, self.scratch)


class _Finished:
    """Trees that have learned what they will: a player is a tree on a seed."""

    def __init__(self, order: PlayOrder, slots: _Slots):
        n_trees, n_episodes = order.seeds.shape
        self.order, self.slots, self.forest = order, slots, order.forest
        self.trees = np.repeat(np.arange(n_trees), n_episodes)
        self.leaves = np.zeros(len(slots.ids), dtype=np.int32)

    def begin(self, ids: Ids, observations: NDArray[np.float64]) -> None:
        trees = self.trees[self.slots.seats.player[ids]]
        self.leaves[ids] = kernels.walk_each(self.forest, trees, observations)

    def act(self, ids: Ids) -> NDArray[Any]:
        return np.asarray(self.order.actions[self.leaves[ids]])

    def learn(self, ids: Ids, out: Step) -> None:
        self.begin(ids, out.observations)
