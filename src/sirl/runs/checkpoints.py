"""A completed generation on disk: written whole or not at all, checked before it is believed.

A checkpoint is one file: a line that names the format, the SHA-256 of the rest, and the state as MessagePack.
It is written under a temporary name, synced, and renamed, so a reader finds either all of it or nothing. Three that
are known to be good are kept; if the newest is damaged, the one before is used, and the damaged one is set aside.
Reading one decodes numbers and text and nothing else.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from sirl.errors import SirlError, printable
from sirl.files import make_directory, read_plain, set_aside, write_atomically
from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.search.base import Search, SearchState
from sirl.search.records import Record

SCHEMA = 4
_MAGIC = b"sirl checkpoint\n"
_KEPT = 3
_DTYPES = ("<i4", "<i8", "<u8", "<f8", "|b1")
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
    arrays: dict[str, _Array]
    """What is the search's own."""
    policies: dict[str, bytes]
    """Champions and others, as model files."""
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

    def array(self) -> NDArray[Any]:
        """The array, if it is plain numbers: no size is believed that the data does not have."""
        if self.dtype not in _DTYPES or min(self.shape, default=0) < 0:
            raise ValueError("an array is not of plain numbers")
        if len(self.data) != np.dtype(self.dtype).itemsize * int(np.prod(self.shape, dtype=object)):
            raise ValueError("an array does not have the size that it claims")
        return np.frombuffer(self.data, dtype=self.dtype).reshape(self.shape).copy()


class Loaded(NamedTuple):
    """Where a run can go on."""

    state: SearchState
    history: list[Record]


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

    def load_latest(self, search: Search[Any], task: Task) -> tuple[Loaded | None, list[str]]:
        """The newest good checkpoint, and a warning for each newer one that is damaged."""
        warnings: list[str] = []
        for path in sorted(self._directory.glob(_NAMES), reverse=True):
            try:
                loaded = self._read(path, search, task)
            except (OSError, MemoryError, ValueError, KeyError, RecursionError) as error:
                reason = getattr(error, "strerror", None) or str(error).rstrip(".") or type(error).__name__
                warnings.append(
                    f"{printable(str(path))} is damaged ({printable(reason)}): an older one is used, or none."
                )
                if isinstance(error, ValueError | RecursionError):  # and will not get better
                    self._damaged.append(path)
            else:
                self._good = [path]
                return loaded, warnings
        return None, warnings

    def _read(self, path: Path, search: Search[Any], task: Task) -> Loaded:
        payload = _payload(path)
        head = msgspec.msgpack.decode(payload, type=_Head)
        if head.schema != SCHEMA:
            raise SirlError(
                f"{path} has schema {head.schema}, and this sirl reads {SCHEMA}: install the sirl that wrote it, or "
                "train again in another directory."
            )
        if head.config != self._config:
            raise SirlError(f"{path} belongs to a run with other settings: restore the run's own config.toml.")
        checkpoint = msgspec.msgpack.decode(payload, type=Checkpoint)
        if path.name != _name(checkpoint.generation):
            raise ValueError(f"it holds generation {checkpoint.generation}")
        return Loaded(_to_state(checkpoint, search, task), checkpoint.history)

    def set_damaged_aside(self) -> None:
        """Give what was found to be damaged another name, so that it never again counts as a checkpoint."""
        for path in self._damaged:
            set_aside(path, "damaged")
        self._damaged = []

    def save(self, search: Search[Any], state: SearchState, history: list[Record]) -> None:
        """Keep a completed generation; once there are three good ones, drop what is older."""
        checkpoint = Checkpoint(
            schema=SCHEMA,
            config=self._config,
            generation=state.generation,
            solved=state.solved,
            arrays={name: _Array.of(array) for name, array in search.arrays(state).items()},
            policies={name: policy.to_json() for name, policy in search.policies(state).items() if policy is not None},
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


def _to_state(checkpoint: Checkpoint, search: Search[Any], task: Task) -> SearchState:
    """The state that a checkpoint holds; raises for one that no run comes to: the kernels trust their arrays."""
    if checkpoint.generation != len(checkpoint.history):
        raise ValueError("its history is incomplete")
    policies = {name: _to_policy(content, task) for name, content in checkpoint.policies.items()}
    arrays = {name: array.array() for name, array in checkpoint.arrays.items()}
    state: SearchState = search.restore(checkpoint.generation, checkpoint.solved, arrays, policies)
    return state


def _to_policy(content: bytes, task: Task) -> Policy:
    try:
        policy = Policy.from_json(content)
    except SirlError as error:
        raise ValueError(str(error)) from None
    if policy.task != task:
        raise ValueError("a policy in it plays another task")
    return policy
