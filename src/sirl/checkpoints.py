"""A completed generation on disk: written whole or not at all, checked before it is believed.

A checkpoint is one file: a line that names the format, the SHA-256 of the rest, and the state as MessagePack.
It is written under a temporary name, synced, and renamed, so a reader finds either all of it or nothing. The
last three are kept; if the newest is damaged, the one before is used. Reading one decodes numbers and text
and nothing else.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sirl.errors import SirlError
from sirl.evolution import Champion, State
from sirl.files import write_atomically
from sirl.policy import Policy
from sirl.runs import Record

SCHEMA = 1
_MAGIC = b"sirl checkpoint\n"
_KEPT = 3


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What a run needs to go on as if it had never stopped."""

    schema: int
    config: str
    """Digest of the run's configuration: a checkpoint of another run does not fit."""
    generation: int
    solved: bool
    codons: _Array
    fitness: _Array
    champion: bytes
    """The champion's model file; empty if there is none."""
    history: list[Record]


class _Array(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @staticmethod
    def of(array: NDArray[Any]) -> _Array:
        return _Array(array.dtype.str, array.shape, array.tobytes())

    def array(self, dtype: str) -> NDArray[Any]:
        """The array, if it is what the name says: no size is believed that the data does not have."""
        if self.dtype != dtype or len(self.data) != np.dtype(dtype).itemsize * int(np.prod(self.shape, dtype=object)):
            raise ValueError("an array does not have the size that it claims")
        return np.frombuffer(self.data, dtype=dtype).reshape(self.shape).copy()


def save(directory: Path, state: State, champion: Policy | None, history: list[Record], config: str) -> None:
    """Keep a completed generation, and drop the oldest beyond the last three."""
    checkpoint = Checkpoint(
        schema=SCHEMA,
        config=config,
        generation=state.generation,
        solved=state.solved,
        codons=_Array.of(state.codons),
        fitness=_Array.of(state.fitness),
        champion=b"" if champion is None else champion.to_json(),
        history=history,
    )
    payload = msgspec.msgpack.encode(checkpoint)
    digest = hashlib.sha256(payload).hexdigest().encode()
    directory.mkdir(exist_ok=True)
    write_atomically(directory / f"{state.generation:08d}.ckpt", _MAGIC + digest + b"\n" + payload)
    for old in sorted(directory.glob("*.ckpt"))[:-_KEPT]:
        old.unlink()


def load_latest(directory: Path, config: str) -> tuple[Checkpoint | None, list[str]]:
    """The newest good checkpoint of a run, and a warning for each newer one that is damaged."""
    warnings: list[str] = []
    for path in sorted(directory.glob("*.ckpt"), reverse=True):
        try:
            checkpoint = _read(path)
        except (OSError, ValueError, msgspec.DecodeError, RecursionError) as error:
            warnings.append(f"{path} is damaged ({error}): an older checkpoint is used, or none.")
            continue
        if checkpoint.schema > SCHEMA:
            raise SirlError(f"{path} has schema {checkpoint.schema}, newer than {SCHEMA}: install a newer sirl.")
        if checkpoint.config != config:
            raise SirlError(f"{path} belongs to a run with other settings: restore the run's own config.toml.")
        return checkpoint, warnings
    return None, warnings


def _read(path: Path) -> Checkpoint:
    content = path.read_bytes()
    head = len(_MAGIC) + 65
    if not content.startswith(_MAGIC) or len(content) < head:
        raise ValueError("it is not a checkpoint")
    payload = content[head:]
    if content[len(_MAGIC) : head] != hashlib.sha256(payload).hexdigest().encode() + b"\n":
        raise ValueError("its checksum does not fit")
    checkpoint = msgspec.msgpack.decode(payload, type=Checkpoint)
    to_state(checkpoint)
    return checkpoint


def to_state(checkpoint: Checkpoint) -> State:
    """The state that a checkpoint holds."""
    codons, fitness = checkpoint.codons.array("<i4"), checkpoint.fitness.array("<f8")
    if codons.ndim != 2 or fitness.shape != codons.shape[:1] or np.isnan(fitness).any():
        raise ValueError("its population is incomplete")
    return State(checkpoint.generation, codons, fitness, _to_champion(checkpoint.champion), checkpoint.solved)


def _to_champion(content: bytes) -> Champion | None:
    if not content:
        return None
    try:
        policy = Policy.from_json(content)
    except SirlError as error:
        raise ValueError(str(error)) from None
    origin = policy.origin
    if origin.generation is None or origin.individual is None or origin.training_score is None:
        raise ValueError("its champion has no origin")
    return Champion(policy.tree, origin.generation, origin.individual, origin.training_score, origin.validation_score)
