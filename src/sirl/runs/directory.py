"""The run directory: what was asked (config.toml), what happened (history.jsonl, log.txt), and the champions.

champion.json is the champion, champion-training.json who has the best training score, as the paper crowns.

Files are written whole or not at all, and a history line is flushed as soon as its generation ends, so
that whatever stops a run, what it has earned so far can be read. One process at a time works in a directory.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec
import tomli_w

from sirl.config import Method, Settings
from sirl.errors import InUseError, SirlError, WriteFailure
from sirl.files import append, make_directory, open_to_append, read_plain, set_aside, write_atomically
from sirl.model.policy import Policy, is_edited
from sirl.options import Backend
from sirl.runs.fronts import write_front
from sirl.search.front import Front
from sirl.search.records import Record

_LARGEST_CONFIG = 10**6
_LARGEST_SCORE = 10**9
LARGEST_HISTORY = 10**9
"""Bytes: three million generations."""
_TRACES = {".lock", ".config.toml.part", "start.json", ".start.json.part"}
"""All that a run leaves behind that was killed before it had begun."""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run was asked to do: enough to do it again."""

    env: str
    method: Method
    seed: int
    simulator: Backend
    sirl: str
    features: list[str]
    actions: list[str]
    """Names of what is observed, and of the actions or their components."""
    settings: Settings
    start: str = ""
    """The SHA-256 of the model that it starts from; empty: of none."""
    env_options: dict[str, Any] = {}
    versions: dict[str, str] = {}
    """What it is computed with."""
    derive: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Derived features; not there if there are none."""
    mirror: list[str] | msgspec.UnsetType = msgspec.UNSET
    """What changes places in the mirror; not there if nothing does."""

    def digest(self) -> str:
        """A fingerprint of all that the result of a generation depends on."""
        settings = self.settings.replace(generations=1, stop_at=None, confirmation_episodes=1)
        asked = msgspec.structs.replace(self, settings=settings, versions={}, sirl="")
        return hashlib.sha256(msgspec.json.encode(asked, order="deterministic", enc_hook=repr)).hexdigest()


class Score(msgspec.Struct, frozen=True):
    """How a champion does on episodes that no training has seen: score.json."""

    episodes: int
    mean: float
    std: float
    returns: list[float]
    """Of every episode."""


class RunDirectory:
    """A run's files."""

    def __init__(self, path: Path):
        self.path = path
        self.champion = path / "champion.json"
        self.trained = path / "champion-training.json"
        self.history = path / "history.jsonl"
        self.score = path / "score.json"
        self.log = path / "log.txt"
        self.checkpoints = path / "checkpoints"
        self._unlock: Callable[[], object] = lambda: None

    @staticmethod
    def create(
        path: str | os.PathLike[str], config: msgspec.Struct, start: Policy | None = None, command: str = "train"
    ) -> RunDirectory:
        """A new directory, with the policy that the run starts from; one that holds a run already is left alone."""
        run = RunDirectory(Path(path))
        with writable(run.path):
            if run.path.exists() and (not run.path.is_dir() or {p.name for p in run.path.iterdir()} - _TRACES):
                raise SirlError(
                    f"{run.path} already exists and is not empty: go on with `sirl {command} --resume {run.path}`, "
                    "give another directory, or remove it."
                )
            make_directory(run.path)
        run.lock()
        if start is not None:
            with writable(run.path):
                start.save(run.path / "start.json")
        run.configure(config)
        return run

    def lock(self) -> None:
        """Keep others out until :meth:`unlock`, or until this process ends in whatever way."""
        if os.name != "posix":
            return
        import fcntl

        with writable(self.path / ".lock"):
            file = open_to_append(self.path / ".lock")
        self._unlock = weakref.finalize(self, _let_go, file)  # also if nobody calls unlock
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.unlock()
            raise InUseError(f"another process is at work in {self.path}: wait for it, or stop it first.") from None

    def unlock(self) -> None:
        """Let others in."""
        self._unlock()

    def configure(self, config: msgspec.Struct) -> None:
        """Write what the run was asked to do."""
        # An option of the environment may be any object; what TOML can't hold is written as Python would show it.
        content = tomli_w.dumps(without_none(msgspec.to_builtins(config, enc_hook=repr)))
        with writable(self.path):
            write_atomically(self.path / "config.toml", content.encode())

    def add(self, record: Record) -> None:
        """Append a generation to the history."""
        with writable(self.history):
            append(self.history, msgspec.json.encode(record) + b"\n")

    def agree(self, champion: Policy | None, trained: Policy | None, history: list[Record]) -> list[str]:
        """Let champions and history be those that a run goes on from.

        What is there and is more, or something else, is kept under another name; a sentence for each.
        """
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in history)
        best, paper = (b"" if policy is None else policy.to_json() for policy in (champion, trained))
        kept = []
        for path, content, now in (
            (self.history, lines, champion),
            (self.champion, best, champion),
            (self.trained, paper, trained),
        ):
            with writable(path):
                before = _content(path)
                if before is not None and not content.startswith(before) and not _is_earlier(before, now):
                    told = set_aside(path, "before").name
                    kept.append(f"{path} is not what the run goes on from, and is kept as {told}.")
                if content and content != before:
                    write_atomically(path, content)
        return kept

    def edited(self) -> list[Path]:
        """The champions that a person has changed."""
        return [path for path in (self.champion, self.trained) if is_edited(path)]

    def crown(self, policy: Policy) -> None:
        """Keep a new champion."""
        with writable(self.champion):
            policy.save(self.champion)

    def crown_trained(self, policy: Policy) -> None:
        """Keep who has the best training score now."""
        with writable(self.trained):
            policy.save(self.trained)

    def keep_front(self, front: Front) -> None:
        """Keep policies from the smallest to the best, if there are any."""
        if not front:
            return
        with writable(self.path / "front"):
            write_front(self.path, front)

    def keep_score(self, score: Score) -> None:
        """Write what the champion scores on unseen episodes."""
        with writable(self.score):
            write_atomically(self.score, msgspec.json.encode(score) + b"\n")

    def note(self, when: str, what: str) -> None:
        """Append what an environment did to the log."""
        with writable(self.log):
            append(self.log, (f"{when}: {what}".rstrip() + "\n").encode(errors="replace"))


def read_history(path: str | os.PathLike[str]) -> list[Record]:
    """The history of a run directory."""
    file = Path(path) / "history.jsonl"
    try:
        return [msgspec.json.decode(line, type=Record) for line in read_plain(file, LARGEST_HISTORY).splitlines()]
    except OSError as error:
        raise SirlError(f"{path} has no readable history.jsonl ({error.strerror}): give a run directory.") from None
    except (ValueError, RecursionError) as error:
        raise SirlError(f"{file} is damaged ({error}): restore it, or train again.") from None


def read_score(path: str | os.PathLike[str]) -> Score:
    """The score of a run that has ended."""
    file = Path(path) / "score.json"
    try:
        return msgspec.json.decode(read_plain(file, _LARGEST_SCORE), type=Score)
    except (OSError, ValueError) as error:
        raise SirlError(f"{file} can't be read ({error}): train the run to its end first.") from None


def read_config(path: str | os.PathLike[str]) -> Config:
    """What a run directory was asked to do."""
    file = Path(path) / "config.toml"
    try:
        content = read_plain(file, _LARGEST_CONFIG).decode()
        return msgspec.convert(tomllib.loads(content), Config)
    except OSError as error:
        raise SirlError(f"{path} has no readable config.toml ({error.strerror}): give a run directory.") from None
    except (ValueError, RecursionError) as error:
        raise SirlError(f"{file} is damaged ({error}): restore it, or train again.") from None


def fresh_path(base: str | os.PathLike[str]) -> Path:
    """``base``, or the first of ``base-2``, ``base-3``, … that does not exist yet."""
    path, number = Path(base), 1
    while path.exists():
        number += 1
        path = Path(f"{base}-{number}")
    return path


def _let_go(lock: IO[bytes]) -> None:
    with suppress(OSError):  # it is gone even if the system complains
        lock.close()


def _content(path: Path) -> bytes | None:
    """What a file holds; None if it is not there."""
    try:
        return read_plain(path, LARGEST_HISTORY)
    except FileNotFoundError:
        return None
    except OSError:
        return b"?"  # whatever it is, it is not ours


def _is_earlier(model: bytes, champion: Policy | None) -> bool:
    """Whether a model file is as sirl wrote it for an earlier champion than this one."""
    try:
        before = Policy.from_json(model)
    except SirlError:
        return False
    if champion is None or before.to_json() != model or before.origin.changed:
        return False
    then, now = before.origin.generation, champion.origin.generation
    return then is not None and now is not None and then < now


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn a failure to write ``path`` into a sentence."""
    try:
        yield
    except OSError as error:
        raise WriteFailure(
            f"{path} can't be written ({error.strerror or error}): give a directory where you may write and there is "
            "room."
        ) from None


def without_none(value: Any) -> Any:
    """TOML has no null: a setting that is None is left out, and None is its default."""
    if isinstance(value, dict):
        return {key: without_none(inner) for key, inner in value.items() if inner is not None}
    return [without_none(inner) for inner in value if inner is not None] if isinstance(value, list | tuple) else value
