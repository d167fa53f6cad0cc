"""A completed generation on disk: written whole or not at all, checked before it is believed.

A checkpoint is one file: a line that names the format, the SHA-256 of the rest, and the state as MessagePack.
It is written under a temporary name, synced, and renamed, so a reader finds either all of it or nothing. Three that
are known to be good are kept; if the newest is damaged, the one before is used, and the damaged one is set aside.
Reading one decodes numbers and text and nothing else.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sirl.errors import SirlError, printable
from sirl.files import make_directory, read_plain, set_aside, write_atomically
from sirl.model.policy import Policy
from sirl.runs.directory import Record
from sirl.search.evolution import Champion, State
from sirl.search.population import Problem

SCHEMA = 1
_MAGIC = b"sirl checkpoint\n"
_KEPT = 3
_NAMES = "[0-9]" * 8 + ".ckpt"
_LARGEST = 10**9
"""Bytes: more than the largest population takes."""


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


class _Head(msgspec.Struct):
    """What is read first, whatever a newer schema has changed in the rest."""

    schema: int
    config: str


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


class Checkpoints:
    """The checkpoints of one run.

    Which of its files are good is known by what was read and written here, and not by their names.

    Args:
        directory: where they are.
        config: the digest of the run's configuration.
    """

    def __init__(self, directory: Path, config: str):
        self._directory, self._config = directory, config
        self._good: list[Path] = []
        self._damaged: list[Path] = []

    def load_latest(self, problem: Problem) -> tuple[Checkpoint | None, list[str]]:
        """The newest good checkpoint, and a warning for each newer one that is damaged."""
        warnings: list[str] = []
        for path in sorted(self._directory.glob(_NAMES), reverse=True):
            try:
                checkpoint = self._read(path, problem)
            except (OSError, MemoryError, ValueError, RecursionError) as error:
                reason = getattr(error, "strerror", None) or str(error).rstrip(".") or type(error).__name__
                warnings.append(
                    f"{printable(str(path))} is damaged ({printable(reason)}): an older one is used, or none."
                )
                if isinstance(error, ValueError | RecursionError):  # and will not get better
                    self._damaged.append(path)
            else:
                self._good = [path]
                return checkpoint, warnings
        return None, warnings

    def _read(self, path: Path, problem: Problem) -> Checkpoint:
        payload = _payload(path)
        head = msgspec.msgpack.decode(payload, type=_Head)
        if head.schema > SCHEMA:
            raise SirlError(f"{path} has schema {head.schema}, newer than {SCHEMA}: install a newer sirl.")
        if head.config != self._config:
            raise SirlError(f"{path} belongs to a run with other settings: restore the run's own config.toml.")
        checkpoint = msgspec.msgpack.decode(payload, type=Checkpoint)
        if path.name != _name(checkpoint.generation):
            raise ValueError(f"it holds generation {checkpoint.generation}")
        _check(checkpoint, problem)
        return checkpoint

    def set_damaged_aside(self) -> None:
        """Give what was found to be damaged another name, so that it never again counts as a checkpoint."""
        for path in self._damaged:
            set_aside(path, "damaged")
        self._damaged = []

    def save(self, state: State, champion: Policy | None, history: list[Record]) -> None:
        """Keep a completed generation; once there are three good ones, drop what is older."""
        checkpoint = Checkpoint(
            schema=SCHEMA,
            config=self._config,
            generation=state.generation,
            solved=state.solved,
            codons=_Array.of(state.codons),
            fitness=_Array.of(state.fitness),
            champion=b"" if champion is None else champion.to_json(),
            history=history,
        )
        payload = msgspec.msgpack.encode(checkpoint)
        digest = hashlib.sha256(payload).hexdigest().encode()
        if self._directory.is_symlink():
            raise OSError(None, "it is a link to another directory")
        make_directory(self._directory)
        path = self._directory / _name(state.generation)
        write_atomically(path, _MAGIC + digest + b"\n" + payload)
        self._good = [*self._good, path][-_KEPT:]
        if len(self._good) == _KEPT:
            for old in self._directory.glob(_NAMES):
                if old.name < self._good[0].name:
                    old.unlink()


def _name(generation: int) -> str:
    return f"{generation:08d}.ckpt"


def _payload(path: Path) -> bytes:
    """What follows a checkpoint's checksum, if that fits."""
    content = read_plain(path, _LARGEST)
    head = len(_MAGIC) + 65
    if not content.startswith(_MAGIC) or len(content) < head:
        raise ValueError("it is not a checkpoint")
    payload = content[head:]
    if content[len(_MAGIC) : head] != hashlib.sha256(payload).hexdigest().encode() + b"\n":
        raise ValueError("its checksum does not fit")
    return payload


def _check(checkpoint: Checkpoint, problem: Problem) -> None:
    """Raise for a state that no run of this problem comes to: the kernels trust their arrays."""
    state, settings = to_state(checkpoint), problem.settings
    if state.codons.shape != (settings.population, settings.genotype_length):
        raise ValueError("its population is of another size")
    if state.codons.min() < 0 or state.codons.max() >= settings.codon_limit:
        raise ValueError("its codons are out of range")
    if state.generation != len(checkpoint.history):
        raise ValueError("its history is incomplete")
    if state.champion is not None:
        policy = Policy.from_json(checkpoint.champion)
        if policy.task != problem.task or not np.array_equal(policy.menu.values, problem.menu.values):
            raise ValueError("its champion plays another task")


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
