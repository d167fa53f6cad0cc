"""The arena of every simulator: many episodes advance in one call, and no slot sits idle."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from sirl.arrays import Actions, Floats, Nodes, Seeds
from sirl.errors import EnvironmentFailure
from sirl.keys import Keys, episode_seeds
from sirl.learning.deferred import learn_log, make_log, make_scratch
from sirl.learning.voting import ELECTING, count_each
from sirl.model.task import Task
from sirl.rollout import slots as kernels
from sirl.rollout.acting import act_each
from sirl.rollout.arena import Arena, Cuts
from sirl.rollout.slots import Book, Seats
from sirl.rollout.work import (
    RETURN,
    CollaborativeOrder,
    CollaborativeResult,
    IndividualOrder,
    IndividualResult,
    PlayOrder,
    PlayResult,
)
from sirl.simulators import Ids, Simulator, Step


class LockstepArena(Arena):
    """Episodes that advance together on a simulator.

    Args:
        simulator: what computes them.
        task: what they are episodes of.
    """

    cuts: ClassVar[Cuts] = Cuts(individual=2, collaborative=1)  # episodes share the cost of a call: few large orders
    loop: ClassVar[str] = "learn_each"

    def __init__(self, simulator: Simulator, task: Task):
        self.simulator, self.task = simulator, task

    def individual(self, order: IndividualOrder) -> IndividualResult:
        """See `Arena.individual`."""
        keys = order.keys()
        slots = _Slots(self.simulator, episode_seeds(keys), keys)
        players = _Individual(order, slots)
        slots.run(players)
        return IndividualResult(players.table, slots.returns, int(slots.lengths.sum()))

    def collaborative(self, order: CollaborativeOrder) -> CollaborativeResult:
        """See `Arena.collaborative`."""
        keys = order.keys()
        slots = _Slots(self.simulator, episode_seeds(keys), keys)
        players = _Collaborative(order, slots)
        slots.run(players)
        players.learn_rest()
        return CollaborativeResult(players.tables, int(slots.lengths.sum()))

    def play(self, order: PlayOrder) -> PlayResult:
        """See `Arena.play`."""
        seeds = order.seeds.reshape(-1, 1)
        slots = _Slots(self.simulator, seeds, np.zeros(seeds.shape, dtype=np.uint64), order.signal.max_steps)
        players, shape = _Finished(order, slots, self.task), order.seeds.shape
        slots.run(players)
        return PlayResult(slots.returns.reshape(shape), slots.lengths.reshape(shape), players.extra.reshape(shape))

    def brief(self) -> LockstepArena:
        """See `Arena.brief`."""
        return LockstepArena(_Brief(self.task.n_features), self.task)

    def close(self) -> None:
        """See `Arena.close`."""
        self.simulator.close()


class _Brief:
    """A simulator whose episodes end after a step."""

    n_slots = 1

    def __init__(self, n_features: int):
        self._nothing = np.zeros((1, n_features))

    def expect(self, seeds: Seeds) -> None:
        """See `Simulator.expect`."""

    def reset(self, ids: Ids, seeds: Seeds) -> Floats:  # noqa: ARG002
        """See `Simulator.reset`."""
        return self._nothing

    def step(self, ids: Ids, actions: Actions) -> Step:  # noqa: ARG002
        """See `Simulator.step`."""
        return Step(self._nothing, np.zeros(1), np.ones(1, np.bool_), np.zeros(1, np.bool_))

    def close(self) -> None:
        """See `Simulator.close`."""


class _Players(Protocol):
    """Who plays in the slots."""

    def begin(self, ids: Ids, observations: Floats) -> None:
        """An episode has begun in each of the slots ``ids``."""
        ...

    def act(self, ids: Ids) -> Actions:
        """Actions for the environments, (n, *action_shape)."""
        ...

    def learn(self, ids: Ids, out: Step) -> None:
        """The actions led to ``out``."""
        ...


class _Slots:
    """The episodes under way: which player is in which slot, and what comes next when one ends.

    Args:
        simulator: where the episodes run.
        seeds: of each player's each episode, (n_players, n_episodes).
        keys: for the draws of each player's each episode, (n_players, n_episodes).
        max_steps: cut episodes here.
    """

    def __init__(self, simulator: Simulator, seeds: Seeds, keys: Keys, max_steps: int = RETURN.max_steps):
        n_players, n_episodes = seeds.shape
        n = min(simulator.n_slots, n_players) if n_episodes else 0
        self.simulator, self.seeds, self._max_steps = simulator, seeds, max_steps
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
            truncated = out.truncated | (self.seats.step[ids] + 1 >= self._max_steps)
            fresh, ids = kernels.end_step(self.seats, self._book, ids, out.rewards, out.terminated, truncated)


class _Individual:
    """Trees in the individual phase: a player is a tree."""

    def __init__(self, order: IndividualOrder, slots: _Slots):
        self.order, self.slots, self.table = order, slots, order.table.copy()
        self.leaves: Nodes = np.zeros(len(slots.ids), dtype=np.int32)
        self.choices: Nodes = np.zeros(0, dtype=np.int32)

    def begin(self, ids: Ids, observations: Floats) -> None:
        self.leaves[ids] = kernels.walk_each(self.order.forest, self.slots.seats.player[ids], observations)

    def act(self, ids: Ids) -> Actions:
        learning = self.order.learning
        self.choices = kernels.choose_each(self.table, self.slots.seats, ids, self.leaves, learning.epsilons)
        return np.asarray(learning.menu[self.choices])

    def learn(self, ids: Ids, out: Step) -> None:
        order, seats = self.order, self.slots.seats
        who = (order.forest, self.table, order.learning.rule, seats)
        kernels.learn_each(*who, ids, self.leaves, self.choices, *out[:4])


class _Collaborative:
    """The whole forest in the collaborative phase: a player is a copy of it."""

    def __init__(self, order: CollaborativeOrder, slots: _Slots):
        self.order, self.slots = order, slots
        self.tables = order.table.repeated(len(order.copies))
        self.log, self.scratch = make_log(len(order.copies), order.forest), make_scratch(order.forest)
        self.choices: Nodes = np.zeros(0, dtype=np.int32)

    def begin(self, ids: Ids, observations: Floats) -> None:
        kernels.log_starts(self.log, self.slots.seats, ids, observations)

    def act(self, ids: Ids) -> Actions:
        order, seats, learning = self.order, self.slots.seats, self.order.learning
        chances = kernels.vote_chances(seats, ids)
        who = (order.forest, self.tables, learning.rule, self.log, self.scratch, seats, ids, learning.epsilons)
        if order.voting in ELECTING:
            self.choices = kernels.propose_one(*who, ELECTING[order.voting](order.weights, chances))
        else:
            self.choices = count_each(kernels.propose_all(*who), order.weights, len(learning.menu), chances)
        return np.asarray(learning.menu[self.choices])

    def learn(self, ids: Ids, out: Step) -> None:
        if kernels.log_steps(self.log, self.order.learning.rule, self.slots.seats, ids, self.choices, *out[:4]):
            self.learn_rest()

    def learn_rest(self) -> None:
        """Every tree catches up with all that has happened."""
        order = self.order
        learn_log(order.forest, self.tables, order.learning.rule, self.log, self.scratch)


class _Finished:
    """Trees that have learned what they will: a player is a tree on a seed."""

    def __init__(self, order: PlayOrder, slots: _Slots, task: Task):
        self.order, self.slots, self.task = order, slots, task
        self.trees = np.repeat(np.arange(order.forest.n_trees), order.seeds.shape[1])
        self.observations = np.zeros((len(slots.ids), task.n_features))
        self.extra = np.zeros(len(self.trees))

    def begin(self, ids: Ids, observations: Floats) -> None:
        self.observations[ids] = observations

    def act(self, ids: Ids) -> Actions:
        seen = self.observations[ids]
        leaves = kernels.walk_each(self.order.forest, self.trees[self.slots.seats.player[ids]], seen)
        actions = np.empty((len(ids), len(self.task.action_low)), dtype=self.task.action_dtype)
        act_each(self.order.law, leaves, seen, actions)
        return actions.reshape(-1, *self.task.action_shape)

    def learn(self, ids: Ids, out: Step) -> None:
        try:
            kernels.add_each(self.order.signal, self.slots.seats, ids, out.observations, out.terminated, self.extra)
        except ZeroDivisionError:
            raise EnvironmentFailure(
                f"{self.task.env} gave an observation on which the shaping divides by 0: let it keep to its bounds, or "
                "shape by what stays finite."
            ) from None
        self.begin(ids, out.observations)
