"""A trained network as a policy: ``predict`` as trees have it, and its files.

``network.json`` is made to be read: the task, the hyperparameters, where the network comes from, and the checksum of
``network.safetensors``, which holds the numbers. Loading checks both and executes nothing. Neither needs PyTorch.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from sirl.deep.grid import Point
from sirl.errors import SirlError
from sirl.files import read_plain, write_atomically
from sirl.model.task import Task

SCHEMA = 1
_FORMAT = "sirl network"
_LARGEST = 5 * 10**8

Arrays = list[tuple[NDArray[np.float32], NDArray[np.float32]]]
"""One network: weights (units, inputs) and biases (units,) of each layer."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a network comes from."""

    method: str
    seed: int
    number: int
    """In the grid."""
    individual_score: float
    validation_score: float | None
    sirl: str


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    schema: int
    task: Task
    point: Point
    origin: Origin
    weights: str
    """SHA-256 of the file of numbers."""


def q_values(layers: Arrays, rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """A network's value of each action, (n, n_actions), for rows of features (n, n_features)."""
    values = rows.astype(np.float32)
    for weights, biases in layers[:-1]:
        values = np.maximum(values @ weights.T + biases, 0.0)
    weights, biases = layers[-1]
    return np.asarray(values @ weights.T + biases)


class NetworkPolicy:
    """A deep Q-network that plays one task.

    Args:
        task: with a Discrete action.
        point: its hyperparameters.
        layers: weights (units, inputs) and biases (units,) of each layer.
        origin: where it comes from.
    """

    def __init__(self, task: Task, point: Point, layers: Arrays, origin: Origin):
        self.task, self.point, self.layers, self.origin = task, point, layers, origin

    def q_values(self, observations: Any) -> NDArray[np.float32]:
        """The network's value of each action, (n, n_actions), for one observation or n of them."""
        return q_values(self.layers, self.task.rows(observations))

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,  # noqa: ARG002 - part of the signature
        deterministic: bool = True,  # noqa: ARG002 - the best action, always
    ) -> tuple[Any, tuple[NDArray[Any], ...] | None]:
        """The action for an observation, or the actions (n,) for a stack of them, as Stable-Baselines3 has it."""
        actions = self.q_values(observation).argmax(axis=1) + int(self.task.action_low[0])
        single_ndim = 0 if self.task.observation == "one-hot" else 1
        return (actions[0] if np.ndim(observation) == single_ndim else actions), state

    def mismatch(self, task: Task) -> str:
        """Why this network can't play a task; empty if it can."""
        return self.task.mismatch(task)

    def __repr__(self) -> str:
        return f"<NetworkPolicy for {self.task.env}: {self.point}>"

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write both files; the numbers first, so that a reader finds the old pair, the new one, or is told."""
        path = Path(directory)
        tensors: dict[str, NDArray[np.float32]] = {}
        for number, (weights, biases) in enumerate(self.layers):
            tensors |= {f"{number}.weights": weights, f"{number}.biases": biases}
        content = save_tensors(tensors)
        text = _File(
            format=_FORMAT,
            schema=SCHEMA,
            task=self.task,
            point=self.point,
            origin=self.origin,
            weights=hashlib.sha256(content).hexdigest(),
        )
        write_atomically(path / "network.safetensors", content)
        told = msgspec.json.encode(text, enc_hook=repr)  # an option of the environment may be any object
        write_atomically(path / "network.json", msgspec.json.format(told, indent=2) + b"\n")


def load(directory: str | os.PathLike[str]) -> NetworkPolicy:
    """The network in a run directory of ``sirl social-dqn``."""
    path = Path(directory)
    try:
        file = msgspec.json.decode(read_plain(path / "network.json", 10**7), type=_File)
        content = read_plain(path / "network.safetensors", _LARGEST)
        if file.format != _FORMAT:
            raise ValueError("it is not a sirl network")
        if file.schema > SCHEMA:
            raise SirlError(f"{path} has schema {file.schema}, newer than {SCHEMA}: install a newer sirl.")
        if hashlib.sha256(content).hexdigest() != file.weights:
            raise ValueError("the checksum of network.safetensors does not fit")
        layers = _layers(load_tensors(content), file.task, file.point)
    except OSError as error:
        raise SirlError(
            f"{path} has no readable network ({error.strerror or error}): give a run directory of sirl social-dqn."
        ) from None
    except (ValueError, RecursionError, SafetensorError) as error:
        raise SirlError(f"the network in {path} is damaged ({error}): restore it, or train again.") from None
    return NetworkPolicy(file.task, file.point, layers, file.origin)


def _layers(tensors: dict[str, NDArray[Any]], task: Task, point: Point) -> Arrays:
    """The layers that a file holds, if they fit together and to the task."""
    widths = (task.n_features, *point.hidden, len(task.action_names))
    layers: Arrays = []
    for number, (inputs, units) in enumerate(itertools.pairwise(widths)):
        weights, biases = tensors.get(f"{number}.weights"), tensors.get(f"{number}.biases")
        if weights is None or biases is None or weights.shape != (units, inputs) or biases.shape != (units,):
            raise ValueError(f"layer {number} is missing or of another shape")
        if weights.dtype != np.float32 or biases.dtype != np.float32 or not np.isfinite(weights).all():
            raise ValueError(f"layer {number} does not hold finite float32 numbers")
        layers.append((weights, biases))
    return layers
