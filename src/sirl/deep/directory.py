"""The directory of a grid search.

config.toml  checkpoint  result.json  network.json  network.safetensors  tree.json
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import NamedTuple

import msgspec

from sirl.deep.policy import NetworkPolicy
from sirl.deep.records import Config, Result
from sirl.errors import SirlError
from sirl.files import read_plain, write_atomically
from sirl.runs.directory import RunDirectory, writable

_LARGEST = 10**9


class Directory(NamedTuple):
    """Where a search keeps its files."""

    path: Path
    lock: RunDirectory
    """Keeps other processes out for as long as it lives."""

    @property
    def checkpoint(self) -> Path:
        """Where the search stands."""
        return self.path / "checkpoint"

    @property
    def is_finished(self) -> bool:
        """Whether the search has come to its end."""
        return (self.path / "result.json").exists()


def create(path: str | os.PathLike[str], config: Config) -> Directory:
    """A new directory; one that holds something already is left alone."""
    return Directory(Path(path), RunDirectory.create(path, config, command="social-dqn"))


def reopen(path: str | os.PathLike[str], config: Config) -> Directory:
    """The directory of an earlier process, if that was asked the same."""
    place = Path(path)
    if read_config(place).digest() != config.digest():
        raise SirlError(
            f"{place} holds another search, of another task, grid, seed or settings: give what it was started with, or "
            "another directory."
        )
    lock = RunDirectory(place)
    lock.lock()
    return Directory(place, lock)


def read_config(path: str | os.PathLike[str]) -> Config:
    """What a search was asked to do."""
    place = Path(path)
    try:
        return msgspec.convert(tomllib.loads(read_plain(place / "config.toml", 10**8).decode()), Config)
    except OSError as error:
        raise SirlError(
            f"{place} has no readable config.toml ({error.strerror or error}): give a directory of sirl social-dqn."
        ) from None
    except (ValueError, RecursionError) as error:
        raise SirlError(f"{place}/config.toml is damaged ({error}): restore it, or train again.") from None


def write_result(place: Directory, result: Result, champion: NetworkPolicy) -> None:
    """Write what came of the search, and let go of the checkpoint."""
    with writable(place.path):
        champion.save(place.path)
        write_atomically(place.path / "result.json", msgspec.json.encode(result) + b"\n")
        place.checkpoint.unlink(missing_ok=True)


def read_result(path: str | os.PathLike[str]) -> Result:
    """The result of a finished search."""
    file = Path(path) / "result.json"
    try:
        return msgspec.json.decode(read_plain(file, _LARGEST), type=Result)
    except OSError as error:
        raise SirlError(
            f"{path} has no readable result.json ({error.strerror or error}): give a finished search, or go on with it "
            f"by `sirl social-dqn --resume {path}`."
        ) from None
    except (ValueError, RecursionError) as error:
        raise SirlError(f"{file} is damaged ({error}): restore it, or train again.") from None
