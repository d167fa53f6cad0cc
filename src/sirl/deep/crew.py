"""The crew: all networks of a grid that still take part, what they know, and how they act and learn as one.

Deep Q-learning as usual (a target network, replay, Adam, the Huber loss), each network with its own draws, learning
rate, batch size and target period.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sirl.deep import networks
from sirl.deep.grid import Point
from sirl.deep.networks import Group, Layer, Moments
from sirl.deep.policy import Arrays
from sirl.deep.replay import Batch, Replay, fill
from sirl.keys import Stream, fold_all, root


class Knowledge(NamedTuple):
    """What networks have learned, (n_parameters,) each; all that a checkpoint needs of them."""

    online: Tensor
    target: Tensor
    moments: Moments

    def picked(self, groups: list[Group], kept: NDArray[np.bool_]) -> Knowledge:
        """What the networks ``kept`` have learned."""
        online, target, first, second = (networks.pick(flat, groups, kept) for flat in self.flats())
        return Knowledge(online, target, Moments(first, second))

    def flats(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Its four vectors."""
        return self.online, self.target, *self.moments


class _Desk(NamedTuple):
    """Where one group works: views of what its networks know, and room for a batch."""

    group: Group
    online: list[Layer]
    target: list[Layer]
    gradients: list[Layer]
    batch: Batch
    tensors: tuple[Tensor, ...]
    """The batch again, as torch sees it."""
    shares: Tensor
    """(n, batch): the weight of each sample in the mean over a network's own batch."""
    sizes: NDArray[np.int64]
    discounts: NDArray[np.float32]
    keys: NDArray[np.uint64]


class Crew:
    """Networks that act and learn together.

    Args:
        points: hyperparameters of each.
        ids: their numbers in the grid, ascending, (n,).
        seed: of the run; first weights and replay draws follow from it and a network's number.
        n_features: of an observation.
        n_actions: to choose among.
        knowledge: what they know; fresh if not given.
        updates: that they have made.
    """

    def __init__(
        self,
        points: list[Point],
        ids: NDArray[np.int64],
        seed: int,
        n_features: int,
        n_actions: int,
        knowledge: Knowledge | None = None,
        updates: int = 0,
    ):
        self.points, self.ids, self.seed, self.updates = points, ids, seed, updates
        self.n_features, self.n_actions = n_features, n_actions
        self._hidden = [point.hidden for point in points]
        batch_sizes = [point.batch_size for point in points]
        self.groups = networks.make_groups(self._hidden, batch_sizes, n_features, n_actions)
        self.knowledge = knowledge or self._fresh()
        self._gradient = torch.zeros_like(self.knowledge.online)
        self._rates = networks.spread(np.array([point.learning_rate for point in points]), self.groups)
        self._periods = np.array([point.target_period for point in points])
        self._desks = self._set_up()
        self._places = {row: (desk, i) for desk in self._desks for i, row in enumerate(desk.group.rows.tolist())}

    def __len__(self) -> int:
        return len(self.ids)

    def kept(self, rows: NDArray[np.bool_]) -> Crew:
        """The crew without the networks that are not ``rows`` (n,)."""
        points = [point for point, stays in zip(self.points, rows, strict=True) if stays]
        knowledge = self.knowledge.picked(self.groups, rows)
        return Crew(points, self.ids[rows], self.seed, self.n_features, self.n_actions, knowledge, self.updates)

    def network(self, row: int) -> Arrays:
        """One network's weights and biases."""
        desk, place = self._places[row]
        return networks.read(desk.online, place, (self.n_features, *self.points[row].hidden, self.n_actions))

    def q_values(self, observations: NDArray[np.float64]) -> NDArray[np.float32]:
        """Q-values (n, n_actions) of each network for an observation of its own (n, n_features)."""
        found = np.empty((len(self), self.n_actions), np.float32)
        inputs = observations.astype(np.float32)
        for desk in self._desks:
            mine = torch.from_numpy(inputs[desk.group.rows]).unsqueeze(2)
            found[desk.group.rows] = networks.forward(desk.online, mine)[0].squeeze(2).numpy()
        return found

    def q_values_of(self, row: int, observation: NDArray[np.float64]) -> NDArray[np.float32]:
        """Q-values (1, n_actions) of one network for an observation (n_features,)."""
        desk, place = self._places[row]
        layers = [Layer(w[place : place + 1], b[place : place + 1]) for w, b in desk.online]
        inputs = torch.from_numpy(observation.astype(np.float32)).view(1, -1, 1)
        return np.asarray(networks.forward(layers, inputs)[0].squeeze(2).numpy())

    def learn(self, replay: Replay, streams: NDArray[np.int64]) -> None:
        """One update of every network, from its stream (n,) of the replay."""
        for desk in self._desks:
            mine = streams[desk.group.rows]
            fill(desk.batch, replay, mine, desk.keys, desk.sizes, desk.discounts, self.updates)
            _differentiate(desk)
        self.updates += 1
        networks.adam(self.knowledge.online, self._gradient, self.knowledge.moments, self._rates, self.updates)
        due = self.updates % self._periods == 0
        if due.any():
            mask = networks.spread(due.astype(np.float64), self.groups).bool()
            self.knowledge.target[mask] = self.knowledge.online[mask]

    def _fresh(self) -> Knowledge:
        keys = fold_all(root(self.seed, Stream.NETWORKS, 0), self.ids)
        online = networks.first_weights(keys, self._hidden, self.groups)
        return Knowledge(online, online.clone(), Moments(torch.zeros_like(online), torch.zeros_like(online)))

    def _set_up(self) -> list[_Desk]:
        views = (
            networks.layers_of(flat, self.groups)
            for flat in (self.knowledge.online, self.knowledge.target, self._gradient)
        )
        keys = fold_all(root(self.seed, Stream.REPLAY, 0), self.ids)
        desks = []
        for group, online, target, gradients in zip(self.groups, *views, strict=True):
            points = [self.points[row] for row in group.rows]
            sizes = np.array([point.batch_size for point in points])
            batch = Batch.empty(len(points), self.n_features, group.batch)
            shares = np.where(np.arange(group.batch) < sizes[:, None], 1.0 / sizes[:, None], 0.0).astype(np.float32)
            desks.append(
                _Desk(
                    group,
                    online,
                    target,
                    gradients,
                    batch,
                    tuple(torch.from_numpy(column) for column in batch),
                    torch.from_numpy(shares),
                    sizes,
                    np.array([point.discount for point in points], np.float32),
                    keys[group.rows],
                )
            )
        return desks


def _differentiate(desk: _Desk) -> None:
    """The gradients of the Huber loss over a group's batch."""
    inputs, following, actions, rewards, discounts = desk.tensors
    targets = networks.forward(desk.target, following)[0].amax(1).mul_(discounts).add_(rewards)
    q_values, seen = networks.forward(desk.online, inputs)
    errors = q_values.gather(1, actions).squeeze(1).sub_(targets)
    slopes = errors.clamp_(-1.0, 1.0).mul_(desk.shares)
    networks.backward(
        desk.online, seen, torch.zeros_like(q_values).scatter_(1, actions, slopes.unsqueeze(1)), desk.gradients
    )


@contextmanager
def undisturbed() -> Iterator[None]:
    """PyTorch as the crew wants it: without autograd, and on one thread, so that sums keep their order."""
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(usual)
