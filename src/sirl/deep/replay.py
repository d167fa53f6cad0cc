"""What was experienced: transitions of one or many streams in lockstep, and batches drawn from them.

A stream is one sequence of episodes. All streams gain one transition in the same step, so that one place to write
serves them all. What networks have lived through together is kept once, as ``shared``, when they part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.jit import compiled
from sirl.keys import Keys, draw, fold


class Transitions(NamedTuple):
    """Columns of transitions, (n, n_streams, …); ``final`` marks that no next state counts."""

    observations: NDArray[np.float32]
    """(n, n_streams, n_features)"""
    following: NDArray[np.float32]
    """(n, n_streams, n_features)"""
    actions: NDArray[np.int64]
    """(n, n_streams)"""
    rewards: NDArray[np.float32]
    """(n, n_streams)"""
    final: NDArray[np.bool_]
    """(n, n_streams)"""

    @staticmethod
    def empty(n: int, n_streams: int, n_features: int) -> Transitions:
        """Room for ``n`` transitions of each stream."""
        rows, numbers = (n, n_streams, n_features), (n, n_streams)
        return Transitions(
            np.zeros(rows, np.float32),
            np.zeros(rows, np.float32),
            np.zeros(numbers, np.int64),
            np.zeros(numbers, np.float32),
            np.zeros(numbers, np.bool_),
        )

    def part(self, index: Any) -> Transitions:
        """The same columns, indexed."""
        return Transitions(*(np.ascontiguousarray(column[index]) for column in self))


class Batch(NamedTuple):
    """What a group of networks learns from, each from draws of its own; laid out for products."""

    inputs: NDArray[np.float32]
    """(n, n_features, batch)"""
    following: NDArray[np.float32]
    """(n, n_features, batch)"""
    actions: NDArray[np.int64]
    """(n, 1, batch)"""
    rewards: NDArray[np.float32]
    """(n, batch)"""
    discounts: NDArray[np.float32]
    """(n, batch): zero where the next state does not count."""

    @staticmethod
    def empty(n: int, n_features: int, batch: int) -> Batch:
        """Room for a batch; what is never written stays zero."""
        rows = (n, n_features, batch)
        return Batch(
            np.zeros(rows, np.float32),
            np.zeros(rows, np.float32),
            np.zeros((n, 1, batch), np.int64),
            np.zeros((n, batch), np.float32),
            np.zeros((n, batch), np.float32),
        )


class Replay:
    """The last transitions of each stream, and before them what all streams share.

    Args:
        capacity: transitions of a stream that are kept.
        n_streams: streams in lockstep.
        n_features: of an observation.
        shared: what was experienced before, (n, 1, …).
    """

    def __init__(self, capacity: int, n_streams: int, n_features: int, shared: Transitions | None = None):
        self.capacity = capacity
        self.shared = Transitions.empty(0, 1, n_features) if shared is None else shared
        self.own = Transitions.empty(min(capacity, 1024), n_streams, n_features)
        self.added = 0
        """Transitions that each stream has ever added."""

    @property
    def size(self) -> int:
        """Transitions that a network can draw from."""
        return len(self.shared.rewards) + min(self.added, self.capacity)

    def add(self, observations: Any, actions: Any, rewards: Any, following: Any, final: Any) -> None:
        """One transition of each stream; the oldest goes where there is no more room."""
        room = len(self.own.rewards)
        if self.added == room < self.capacity:
            more = Transitions.empty(min(room, self.capacity - room), *self.own.observations.shape[1:])
            pairs: Iterable[Any] = zip(self.own, more, strict=True)
            self.own = Transitions(*(np.concatenate(pair) for pair in pairs))
        place = self.added % self.capacity
        columns: Iterable[Any] = zip(self.own, (observations, following, actions, rewards, final), strict=True)
        for column, values in columns:
            column[place] = values
        self.added += 1

    def keep(self, streams: NDArray[np.bool_]) -> None:
        """Forget all streams but these."""
        self.own = self.own.part((slice(None), streams))

    def restore(self, own: Transitions, added: int) -> None:
        """Take up what :meth:`known` gave, of streams that had added so many."""
        if added:
            self.own = own
        self.added = added

    def known(self) -> Transitions:
        """What the streams have added and still remember, oldest place first or not."""
        return self.own.part(slice(min(self.added, self.capacity)))


def fill(batch: Batch, replay: Replay, streams: Any, keys: Keys, sizes: Any, discounts: Any, update: int) -> None:
    """Draw a batch for each network of a group.

    Args:
        batch: where to.
        replay: where from.
        streams: of each network, (n,).
        keys: of each network, (n,).
        sizes: batch size of each network, (n,); the rest of its row stays as it is.
        discounts: of each network, (n,).
        update: which of the networks' updates it is for.
    """
    n_own = replay.size - len(replay.shared.rewards)
    _fill(batch, replay.shared, replay.own, n_own, streams, keys, sizes, discounts, update)


@compiled
def _fill(
    batch: Any, shared: Any, own: Any, n_own: int, streams: Any, keys: Any, sizes: Any, discounts: Any, update: int
) -> None:
    n_shared, n_features = len(shared.rewards), batch.inputs.shape[1]
    for network in range(len(keys)):
        key = fold(keys[network], update)
        for place in range(sizes[network]):
            index = np.int64(draw(key, place) % np.uint64(n_shared + n_own))
            source, stream = (shared, 0) if index < n_shared else (own, streams[network])
            if index >= n_shared:
                index -= n_shared
            for feature in range(n_features):
                batch.inputs[network, feature, place] = source.observations[index, stream, feature]
                batch.following[network, feature, place] = source.following[index, stream, feature]
            batch.actions[network, 0, place] = source.actions[index, stream]
            batch.rewards[network, place] = source.rewards[index, stream]
            batch.discounts[network, place] = 0.0 if source.final[index, stream] else discounts[network]
