"""A grid search on disk, at any step: with its last bit, and without what can be computed again.

The state of an environment is its seed and the actions taken since, so that is what is kept of it. One file: a line
that names the format, the SHA-256 of the rest, then safetensors with the facts as JSON in its header.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from torch import from_numpy

from sirl.deep.crew import Crew, Knowledge
from sirl.deep.grid import Point
from sirl.deep.networks import Moments
from sirl.deep.play import Play
from sirl.deep.policy import Arrays
from sirl.deep.records import Left
from sirl.deep.replay import Replay, Transitions
from sirl.errors import SirlError
from sirl.files import read_plain, write_atomically

_MAGIC = b"sirl grid search 1\n"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Of a grid search under way, all that is not an array."""

    config: str
    """Digest of what was asked: a checkpoint of another search does not fit."""
    together: bool
    rounds_begun: int
    ids: list[int]
    streams: list[int]
    updates: int
    steps: int
    added: int
    weights: list[float]
    returns: dict[int, list[float]]
    taken: list[list[int]]
    finished: dict[int, int]
    """Networks that are done, and the number of their layers."""
    diverged: dict[int, int]
    collaborative: list[float]
    left: list[Left]
    scouted: int
    transitions: int
    seconds: float


def save(path: Path, play: Play, **more: Any) -> None:
    """Write where a search stands; ``more`` are the facts that ``play`` does not know."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, flat in zip(("online", "target", "first", "second"), play.crew.knowledge.flats(), strict=True):
        arrays[name] = flat.numpy()
    for name, columns in (("shared", play.replay.shared), ("own", play.replay.known())):
        arrays |= {f"{name}.{field}": column for field, column in columns._asdict().items()}
    for number, layers in play.finished.items():
        for place, (weights, biases) in enumerate(layers):
            arrays |= {f"network.{number}.{place}.weights": weights, f"network.{number}.{place}.biases": biases}
    facts = Facts(
        together=play.together,
        ids=play.crew.ids.tolist(),
        streams=play.streams.tolist(),
        updates=play.crew.updates,
        steps=play.steps,
        added=play.replay.added,
        weights=play.weights.tolist(),
        returns=play.returns,
        taken=play.taken,
        finished={number: len(layers) for number, layers in play.finished.items()},
        diverged=play.diverged,
        **more,
    )
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    payload = save_tensors(arrays, metadata={"facts": msgspec.json.encode(facts).decode()})
    digest = hashlib.sha256(payload).hexdigest().encode()
    write_atomically(path, _MAGIC + digest + b"\n" + payload)


class Kept(NamedTuple):
    """A checkpoint that was read and believed."""

    facts: Facts
    arrays: dict[str, Any]

    def crew(self, grid: list[Point], seed: int, n_features: int, n_actions: int) -> Crew:
        """The networks that still take part, with what they know."""
        online, target, first, second = (
            from_numpy(self.arrays[name]) for name in ("online", "target", "first", "second")
        )
        points = [grid[number] for number in self.facts.ids]
        knowledge = Knowledge(online, target, Moments(first, second))
        ids = np.array(self.facts.ids, np.int64)
        return Crew(points, ids, seed, n_features, n_actions, knowledge, self.facts.updates)

    def bring(self, play: Play) -> None:
        """Let a phase that has just begun, with these networks, stand where it stood."""
        facts = self.facts
        shared, own = (
            Transitions(*(self.arrays[f"{name}.{field}"] for field in Transitions._fields))
            for name in ("shared", "own")
        )
        play.replay = Replay(play.replay.capacity, len(facts.streams), play.crew.n_features, shared)
        play.replay.restore(own, facts.added)
        play.steps, play.weights = facts.steps, np.array(facts.weights)
        play.returns, play.diverged, play.finished = facts.returns, facts.diverged, self._finished()
        play.rewind(facts.taken)

    def _finished(self) -> dict[int, Arrays]:
        return {
            number: [
                (self.arrays[f"network.{number}.{i}.weights"], self.arrays[f"network.{number}.{i}.biases"])
                for i in range(n_layers)
            ]
            for number, n_layers in self.facts.finished.items()
        }


def load(path: Path, config: str) -> Kept | None:
    """The checkpoint of a search, if it has one."""
    if not path.exists():
        return None
    try:
        content = read_plain(path, path.stat().st_size)
        head = len(_MAGIC) + 65
        payload = content[head:]
        if content[:head] != _MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n":
            raise ValueError("its checksum does not fit")
        length = int.from_bytes(payload[:8], "little")
        header = msgspec.json.decode(payload[8 : 8 + length], type=dict[str, Any])
        facts = msgspec.json.decode(header["__metadata__"]["facts"], type=Facts)
        if facts.config != config:
            raise SirlError(f"{path} belongs to a search with other settings: restore its own config.toml.")
        arrays = {name: array.copy() for name, array in load_tensors(payload).items()}  # they are written to
        return Kept(facts, arrays)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise SirlError(f"{path} is damaged ({error}): restore it, or train again in another directory.") from None
