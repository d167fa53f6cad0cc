"""The front of a run on disk: front.json, score against size, and a model for each size in front/."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from sirl.errors import SirlError
from sirl.files import make_directory, read_plain, write_atomically
from sirl.search.front import Front

_LARGEST = 10**7


class FrontRow(msgspec.Struct, frozen=True):
    """A policy of front.json: the best of its size."""

    model: str
    """Where in the run directory it is."""
    size: int
    """Numbers that a person reads in it."""
    leaves: int
    score: float
    """Mean return on the starts of the run's validation, the same for all."""
    error: float
    """Standard error of that."""


def write_front(path: Path, front: Front) -> None:
    """Keep a front in a run directory: first the models, then what tells of them; then old models go."""
    make_directory(path / "front")
    rows = []
    for point in front:
        name = f"front/{point.size:04d}.json"
        point.policy.save(path / name)
        rows.append(FrontRow(name, point.size, point.policy.tree.n_leaves, point.score, point.error))
    write_atomically(path / "front.json", msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    for old in (path / "front").glob("[0-9][0-9][0-9][0-9]*.json"):
        if f"front/{old.name}" not in {row.model for row in rows}:
            old.unlink()


def read_front(path: str | os.PathLike[str]) -> list[FrontRow]:
    """The front of a run; empty where it has none."""
    file = Path(path) / "front.json"
    try:
        return msgspec.json.decode(read_plain(file, _LARGEST), type=list[FrontRow])
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise SirlError(f"{file} can't be read ({error}): remove it, or train again.") from None
