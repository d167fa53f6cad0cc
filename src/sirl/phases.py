"""The two phases of a generation (Algorithms 2 and 3), and playing without learning.

Each of :func:`refine`, :func:`collaborate` and :func:`play` takes an arena (a simulator and the menu of
actions) and one order of work. What it returns depends on the order alone, since every draw is keyed by
individual (or copy) and episode: so a phase can be cut into orders in any way and computed anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sirl import catching_up, episodes, kernels
from sirl.catching_up import all_vote_chances, make_log, make_scratch, repeat_table
from sirl.episodes import Episodes
from sirl.forest import Forest
from sirl.kernels import Book, Rule, Seats, Table, make_table
from sirl.keys import Key, Keys, episode_seeds, fold_all
from sirl.simulators import Ids, Simulator, Step
from sirl.simulators.direct import Direct
from sirl.voting import COUNTING, ELECTING

_LOG_CAPACITY = 512
"""States of a copy that trees may lag behind: a compromise between caches and long stretches."""


class Arena(NamedTuple):
    """Where trees play."""

    simulator: Simulator
    actions: NDArray[Any]
    """The menu, (n_actions, *action_shape)."""
    direct: Direct | None = None
    """The same task for compiled loops, if there is such a thing."""

    def close(self) -> None:
        """Let go of the simulator."""
        self.simulator.close()


class Knowledge(NamedTuple):
    """What the leaves have learned, between phases."""

    q_values: NDArray[np.float64]
    """(n_leaves, n_actions)"""
    visits: NDArray[np.int64]
    """Updates of each Q-value, where the learning rate asks for them; else of shape (0, 0)."""


class Learning(NamedTuple):
    """The settings of Q-learning that the phases need."""

    rule: Rule
    epsilons: NDArray[np.float64]
    """ε of each episode of the order, (n_episodes,)."""
    first_episode: int
    """The number of the order's first episode within the generation, for its key."""


class IndividualOrder(NamedTuple):
    """Each tree of a forest plays ``len(learning.epsilons)`` episodes of its own, one after another."""

    forest: Forest
    knowledge: Knowledge
    individuals: NDArray[np.int64]
    """(n_trees,): which individual of the population a tree is."""
    learning: Learning
    key: Key

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        first, last = self.individuals[0], self.individuals[-1]
        return f"individual {first}" if first == last else f"individuals {first} to {last}"

    def parts(self) -> Iterator[IndividualOrder]:
        """The order of each tree alone."""
        for tree in range(self.forest.n_trees):
            yield self.part(tree, tree + 1)

    def part(self, start: int, stop: int) -> IndividualOrder:
        """The order of some of the trees."""
        forest = self.forest.part(start, stop)
        rows = slice(self.forest.first_leaf[start], self.forest.first_leaf[stop])
        knowledge = Knowledge(self.knowledge.q_values[rows], self.knowledge.visits[rows])
        return self._replace(forest=forest, knowledge=knowledge, individuals=self.individuals[start:stop])


class IndividualResult(NamedTuple):
    """What an individual phase gave."""

    knowledge: Knowledge
    returns: NDArray[np.float64]
    """(n_trees, n_episodes); -inf where the simulation broke down."""
    steps: int


class CollaborativeOrder(NamedTuple):
    """In each copy, all trees play ``len(learning.epsilons)`` episodes together."""

    forest: Forest
    knowledge: Knowledge
    copies: NDArray[np.int64]
    """(n_copies,): which copies of the phase these are."""
    weights: NDArray[np.float64]
    """The weight of each tree's voice, (n_trees,)."""
    voting: str
    learning: Learning
    key: Key

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        return f"collaborative copies {self.copies[0]} to {self.copies[-1]}"


class CollaborativeResult(NamedTuple):
    """What a collaborative phase gave."""

    knowledge: Knowledge
    """Of each copy: (n_copies, n_leaves, n_actions)."""
    steps: int


class PlayOrder(NamedTuple):
    """Each tree plays one episode from each of its seeds, without learning or exploring."""

    forest: Forest
    actions: NDArray[Any]
    """What each leaf does, (n_leaves, *action_shape)."""
    seeds: NDArray[np.int64]
    """(n_trees, n_episodes)"""

    @property
    def label(self) -> str:
        """What this order is, for a message."""
        return f"{self.seeds.size} episodes without learning"


class PlayResult(NamedTuple):
    """What playing gave."""

    returns: NDArray[np.float64]
    """(n_trees, n_episodes); -inf where the simulation broke down."""
    lengths: NDArray[np.int64]
    """(n_trees, n_episodes), in steps."""


def refine(arena: Arena, order: IndividualOrder) -> IndividualResult:
    """Individual phase (Algorithm 3): every tree learns alone; its mean return is its fitness."""
    keys = _episode_keys(order.key, order.individuals, order.learning)
    if arena.direct is not None:
        return _refine_directly(arena.direct, arena.actions, order, keys)
    slots = _Slots(arena.simulator, episode_seeds(keys), keys)
    players = _Alone(arena, order, slots)
    slots.run(players)
    knowledge = Knowledge(players.table.q_values, players.table.visits)
    return IndividualResult(knowledge, slots.returns, int(slots.lengths.sum()))


def collaborate(arena: Arena, order: CollaborativeOrder) -> CollaborativeResult:
    """Collaborative phase (Algorithm 2): all propose, a vote decides, all learn from the one transition."""
    keys = _episode_keys(order.key, order.copies, order.learning)
    if arena.direct is not None and order.voting in ELECTING:
        return _collaborate_directly(arena.direct, arena.actions, order, keys)
    slots = _Slots(arena.simulator, episode_seeds(keys), keys)
    players = _Together(arena, order, slots)
    slots.run(players)
    players.learn_rest()
    knowledge = Knowledge(players.tables.q_values, players.tables.visits)
    return CollaborativeResult(knowledge, int(slots.lengths.sum()))


def play(arena: Arena, order: PlayOrder) -> PlayResult:
    """Every tree on every one of its seeds, its leaves' actions as they are."""
    if arena.direct is not None:
        return _play_directly(arena.direct, order)
    slots = _Slots(arena.simulator, order.seeds.reshape(-1, 1), np.zeros((order.seeds.size, 1), dtype=np.uint64))
    slots.run(_Finished(order, slots))
    shape = order.seeds.shape
    return PlayResult(slots.returns.reshape(shape), slots.lengths.reshape(shape))


def _episode_keys(key: Key, players: NDArray[np.int64], learning: Learning) -> Keys:
    """The key of every player's every episode, (n_players, n_episodes)."""
    numbers = np.arange(learning.first_episode, learning.first_episode + len(learning.epsilons))
    return fold_all(fold_all(key, players)[:, None], numbers)


def _refine_directly(direct: Direct, actions: NDArray[Any], order: IndividualOrder, keys: Keys) -> IndividualResult:
    """:func:`refine` in compiled loops, one tree after another."""
    learning, table = order.learning, make_table(*order.knowledge)
    played = _episodes(direct, keys, order.learning, np.repeat(np.arange(len(keys)), keys.shape[1]))
    done, controls = 0, direct.controls(actions)
    while done < keys.size:
        done = episodes.learn_alone(direct.world, controls, order.forest, table, learning.rule, played, done)
    knowledge = Knowledge(table.q_values, table.visits)
    return IndividualResult(knowledge, played.returns.reshape(keys.shape), int(played.lengths.sum()))


def _collaborate_directly(
    direct: Direct, actions: NDArray[Any], order: CollaborativeOrder, keys: Keys
) -> CollaborativeResult:
    """:func:`collaborate` in compiled loops, one copy after another; for a vote that asks one tree only."""
    forest, rule, controls = order.forest, order.learning.rule, direct.controls(actions)
    tables = repeat_table(make_table(*order.knowledge), len(keys))
    log = make_log(1, forest.weights.shape[1], forest.n_trees, _LOG_CAPACITY)
    scratch = make_scratch(forest, _LOG_CAPACITY)
    steps = 0
    for copy, own in enumerate(keys):
        one = slice(copy, copy + 1)
        table = Table(tables.q_values[one], tables.visits[one], tables.best[one])
        chances = all_vote_chances(own, direct.world.max_steps)
        voters = ELECTING[order.voting](order.weights, chances.ravel()).reshape(chances.shape)
        played = _episodes(direct, own, order.learning, np.zeros(own.size, dtype=np.int64))
        done, what = 0, (direct.world, controls, forest, table, rule, log, scratch, voters, played)
        while done < own.size:
            done = episodes.learn_together(*what, done)
        catching_up.learn_log(forest, table, log, rule, scratch)
        steps += int(played.lengths.sum())
    return CollaborativeResult(Knowledge(tables.q_values, tables.visits), steps)


def _play_directly(direct: Direct, order: PlayOrder) -> PlayResult:
    """:func:`play` in compiled loops."""
    n_trees, n_episodes = shape = order.seeds.shape
    nothing = np.zeros(order.seeds.size, dtype=np.uint64)
    played = Episodes(
        direct.starts(order.seeds.ravel()),
        np.repeat(np.arange(n_trees), n_episodes),
        nothing,
        np.zeros(order.seeds.size),
        np.zeros(order.seeds.size),
        np.zeros(order.seeds.size, dtype=np.int64),
    )
    done, controls = 0, direct.controls(order.actions)
    while done < order.seeds.size:
        done = episodes.play_alone(direct.world, controls, order.forest, played, done)
    return PlayResult(played.returns.reshape(shape), played.lengths.reshape(shape))


def _episodes(direct: Direct, keys: Keys, learning: Learning, players: NDArray[np.int64]) -> Episodes:
    """The episodes of some keys, (n_episodes,) or (n_players, n_episodes), one after another."""
    n_players = keys.size // len(learning.epsilons)
    return Episodes(
        direct.starts(episode_seeds(keys).ravel()),
        players,
        keys.ravel(),
        np.tile(learning.epsilons, n_players),
        np.zeros(keys.size),
        np.zeros(keys.size, dtype=np.int64),
    )


class _Players(Protocol):
    """Who plays in the slots."""

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
        n = min(simulator.n_slots, n_players)
        self.simulator, self.seeds = simulator, seeds
        self.ids: Ids = np.arange(n, dtype=np.int32)
        """The slots in use."""
        self.seats = Seats(np.arange(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), keys[:n, 0].copy())
        self.returns = np.zeros((n_players, n_episodes))
        self.lengths = np.zeros((n_players, n_episodes), dtype=np.int64)
        self._book = Book(keys, self.returns, self.lengths, np.array([n]))

    def run(self, players: _Players) -> None:
        """Play every episode of every player."""
        n = len(self.ids)
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


class _Alone:
    """Trees in the individual phase: a player is a tree."""

    def __init__(self, arena: Arena, order: IndividualOrder, slots: _Slots):
        self.arena, self.order, self.slots = arena, order, slots
        self.table = make_table(*order.knowledge)
        self.leaves = np.zeros(len(slots.ids), dtype=np.int32)
        self.actions = np.zeros(0, dtype=np.int32)

    def begin(self, ids: Ids, observations: NDArray[np.float64]) -> None:
        self.leaves[ids] = kernels.walk_each(self.order.forest, self.slots.seats.player[ids], observations)

    def act(self, ids: Ids) -> NDArray[Any]:
        epsilons = self.order.learning.epsilons
        self.actions = kernels.act_each(self.table, self.slots.seats, ids, self.leaves, epsilons)
        return np.asarray(self.arena.actions[self.actions])

    def learn(self, ids: Ids, out: Step) -> None:
        rule, seats = self.order.learning.rule, self.slots.seats
        kernels.learn_each(self.order.forest, self.table, rule, seats, ids, self.leaves, self.actions, *out[:4])


class _Together:
    """The whole forest in the collaborative phase: a player is a copy of it."""

    def __init__(self, arena: Arena, order: CollaborativeOrder, slots: _Slots):
        self.arena, self.order, self.slots = arena, order, slots
        n_copies, n_trees = len(order.copies), order.forest.n_trees
        self.tables = repeat_table(make_table(*order.knowledge), n_copies)
        n_features = order.forest.weights.shape[1]
        self.log = make_log(n_copies, n_features, n_trees, _LOG_CAPACITY)
        self.scratch = make_scratch(order.forest, _LOG_CAPACITY)
        self.actions = np.zeros(0, dtype=np.int32)

    def begin(self, ids: Ids, observations: NDArray[np.float64]) -> None:
        catching_up.log_starts(self.log, self.slots.seats, ids, observations)

    def act(self, ids: Ids) -> NDArray[Any]:
        order, seats = self.order, self.slots.seats
        chances = catching_up.vote_chances(seats, ids)
        who = (order.forest, self.tables, self.log, order.learning.rule, self.scratch)
        if order.voting in ELECTING:
            voters = ELECTING[order.voting](order.weights, chances)
            self.actions = catching_up.propose_one(*who, seats, ids, order.learning.epsilons, voters)
        else:
            proposals = catching_up.propose_all(*who, seats, ids, order.learning.epsilons)
            count, n_actions = COUNTING[order.voting], len(self.arena.actions)
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
        catching_up.learn_log(order.forest, self.tables, self.log, order.learning.rule, self.scratch)


class _Finished:
    """Trees that have learned what they will: a player is a tree on a seed."""

    def __init__(self, order: PlayOrder, slots: _Slots):
        n_trees, n_episodes = order.seeds.shape
        self.order, self.slots = order, slots
        self.trees = np.repeat(np.arange(n_trees), n_episodes)
        self.leaves = np.zeros(len(slots.ids), dtype=np.int32)

    def begin(self, ids: Ids, observations: NDArray[np.float64]) -> None:
        trees = self.trees[self.slots.seats.player[ids]]
        self.leaves[ids] = kernels.walk_each(self.order.forest, trees, observations)

    def act(self, ids: Ids) -> NDArray[Any]:
        return np.asarray(self.order.actions[self.leaves[ids]])

    def learn(self, ids: Ids, out: Step) -> None:
        self.begin(ids, out.observations)
