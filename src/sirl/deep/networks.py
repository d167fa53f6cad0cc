"""Many small networks as one: parameters stacked by shape, so that one product serves a whole group.

All parameters of all networks lie in one flat vector; a layer of a group is a view of it. So the optimiser and the
target copy are a few operations on a vector, whatever the grid. Narrow networks are padded with units whose weights are
zero: such a unit gives zero, gets no gradient, and so stays zero, which makes padding exact. Gradients are written out
rather than left to autograd, which for networks of this size costs more than the arithmetic.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sirl.deep.policy import Arrays
from sirl.keys import Key, Keys, fold_all, uniforms

_PAD_UNITS = 16
"""Hidden layers are padded to multiples of this: a product with 8 units takes as long as one with 16."""
_PAD_BATCH = 128


class Group(NamedTuple):
    """Networks that are computed together."""

    rows: NDArray[np.int64]
    """(n,): their places among all networks."""
    widths: tuple[int, ...]
    """Features, units of each hidden layer (padded), actions."""
    batch: int
    """The largest batch size, padded."""

    @property
    def parameters(self) -> int:
        """Numbers that the group takes in a flat vector."""
        return len(self.rows) * sum((i + 1) * o for i, o in itertools.pairwise(self.widths))


class Layer(NamedTuple):
    """One layer of all networks of a group."""

    weights: Tensor
    """(n, units, inputs)"""
    biases: Tensor
    """(n, units, 1)"""


def make_groups(
    hidden: Sequence[tuple[int, ...]], batch_sizes: Sequence[int], n_features: int, n_actions: int
) -> list[Group]:
    """Networks with the hidden layers of each, grouped by padded shape."""
    rows: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for row, (layers, batch) in enumerate(zip(hidden, batch_sizes, strict=True)):
        widths = (n_features, *(_padded(units, _PAD_UNITS) for units in layers), n_actions)
        rows.setdefault((widths, _padded(batch, _PAD_BATCH)), []).append(row)
    return [
        Group(np.array(members), widths, max(batch_sizes[row] for row in members))
        for (widths, _), members in sorted(rows.items())
    ]


def _padded(size: int, to: int) -> int:
    return -(-size // to) * to


def layers_of(flat: Tensor, groups: Sequence[Group]) -> list[list[Layer]]:
    """Views of a flat vector (n_parameters,): the layers of each group."""
    start, found = 0, []
    for group in groups:
        n, layers = len(group.rows), []
        for inputs, units in itertools.pairwise(group.widths):
            middle, end = start + n * units * inputs, start + n * units * (inputs + 1)
            layers.append(Layer(flat[start:middle].view(n, units, inputs), flat[middle:end].view(n, units, 1)))
            start = end
        found.append(layers)
    return found


def pick(flat: Tensor, groups: Sequence[Group], kept: NDArray[np.bool_]) -> Tensor:
    """The flat vector of the networks ``kept`` (n_networks,) alone; :func:`make_groups` puts them in this order."""
    parts = []
    for group, layers in zip(groups, layers_of(flat, groups), strict=True):
        places = torch.from_numpy(np.flatnonzero(kept[group.rows]))
        parts += [part[places].flatten() for layer in layers for part in layer]
    return torch.cat([torch.zeros(0), *parts])


def spread(values: NDArray[np.float64], groups: Sequence[Group]) -> Tensor:
    """A number for each network (n_networks,), repeated for each of its parameters as the flat vector has them."""
    parts = []
    for group in groups:
        mine = torch.from_numpy(values[group.rows].astype(np.float32))
        parts += [mine.repeat_interleave(i * o) for i, o in _shapes(group)]
    return torch.cat([torch.zeros(0), *parts])


def _shapes(group: Group) -> list[tuple[int, int]]:
    """(inputs, units) of the weights, (1, units) of the biases, of each layer."""
    return [shape for i, o in itertools.pairwise(group.widths) for shape in ((i, o), (1, o))]


def first_weights(keys: Keys, hidden: Sequence[tuple[int, ...]], groups: Sequence[Group]) -> Tensor:
    """Fresh parameters, uniform within ±1/√inputs as in ``torch.nn.Linear``, by the key of each network."""
    flat = torch.zeros(sum(group.parameters for group in groups))
    for group, layers in zip(groups, layers_of(flat, groups), strict=True):
        for place, row in enumerate(group.rows.tolist()):
            widths = (group.widths[0], *hidden[row], group.widths[-1])
            write(layers, place, _fresh(Key(keys[row]), widths))
    return flat


def _fresh(key: Key, widths: tuple[int, ...]) -> Arrays:
    arrays: Arrays = []
    for number, (inputs, units) in enumerate(itertools.pairwise(widths)):
        bound = inputs**-0.5
        draws = uniforms(fold_all(key, np.array([number])), np.arange(units * (inputs + 1)))
        values = (bound * (2.0 * draws - 1.0)).astype(np.float32)
        arrays.append((values[: units * inputs].reshape(units, inputs), values[units * inputs :]))
    return arrays


def write(layers: Sequence[Layer], place: int, arrays: Arrays) -> None:
    """Put one network into its place in a group; what is padding stays as it is."""
    for layer, (weights, biases) in zip(layers, arrays, strict=True):
        units, inputs = weights.shape
        layer.weights[place, :units, :inputs] = torch.from_numpy(weights)
        layer.biases[place, :units, 0] = torch.from_numpy(biases)


def read(layers: Sequence[Layer], place: int, widths: Sequence[int]) -> Arrays:
    """One network of a group, without padding."""
    return [
        (layer.weights[place, :units, :inputs].numpy().copy(), layer.biases[place, :units, 0].numpy().copy())
        for layer, (inputs, units) in zip(layers, itertools.pairwise(widths), strict=True)
    ]


def forward(layers: Sequence[Layer], inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Q-values (n, n_actions, batch) for inputs (n, n_features, batch), and what went into each layer."""
    seen = [inputs]
    for layer in layers[:-1]:
        seen.append(torch.baddbmm(layer.biases, layer.weights, seen[-1]).relu_())
    return torch.baddbmm(layers[-1].biases, layers[-1].weights, seen[-1]), seen


def backward(layers: Sequence[Layer], seen: Sequence[Tensor], slopes: Tensor, gradients: Sequence[Layer]) -> None:
    """Write the gradients of a loss, whose slopes by Q-value are (n, n_actions, batch), over ``gradients``."""
    for number in reversed(range(len(layers))):
        torch.bmm(slopes, seen[number].transpose(1, 2), out=gradients[number].weights)
        torch.sum(slopes, 2, keepdim=True, out=gradients[number].biases)
        if number:
            slopes = torch.bmm(layers[number].weights.transpose(1, 2), slopes)
            slopes = torch.ops.aten.threshold_backward(slopes, seen[number], 0)  # the slope of relu


class Moments(NamedTuple):
    """What Adam remembers of the gradients, (n_parameters,) each."""

    first: Tensor
    second: Tensor


def adam(flat: Tensor, gradient: Tensor, moments: Moments, rates: Tensor, update: int) -> None:
    """Adam's ``update``-th step, from 1 on, with a learning rate for each parameter; the rest as in torch.optim."""
    moments.first.lerp_(gradient, 0.1)
    moments.second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
    scale = moments.second.sqrt().div_((1.0 - 0.999**update) ** 0.5).add_(1e-8)
    flat.addcdiv_(moments.first * rates, scale, value=-1.0 / (1.0 - 0.9**update))
