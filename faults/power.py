"""Power losses, replayed: what was not synced is dropped or comes out of order, then the run goes on (Linux, gcc).

python faults/power.py --times 500

A tiny run is written down, system call by system call, together with what it said. A replay takes a random moment. Of
each file, what was written since its last sync may be there, in part, or not; of each directory, any of the names that
were made, changed or removed since its own last sync may be as before. The run then goes on from what that leaves. No
generation that it had told of may be lost, and it ends with the bytes of an undisturbed run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from machine import MEMORY, TINY
from shim import preload
from sirl.cli import main as cli
from sirl.runs.training import Training
from watched import flags, outcome


class Event(NamedTuple):
    """One system call, or something that was said."""

    operation: str
    """create, truncate, write, fsync, rename, unlink, mkdir or say, by its first letter."""
    path: str
    """Within the directory that was watched."""
    content: bytes
    """What was written or said, or the new name."""


def write_down(shim: Any, work: Path, minutes: float) -> list[Event]:
    """A whole run, event by event."""
    record = work / "record"
    arguments = ["train", "CartPole-v1", "--workers", "1", *flags(TINY), "--checkpoint-minutes", str(minutes)]
    pid = os.fork()
    if pid == 0:
        descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        shim.shim_watch(str(work / "run").encode())
        shim.shim_record(descriptor)
        os._exit(cli.main([*arguments, "--out", str(work / "run")]))
    assert os.waitpid(pid, 0)[1] == 0
    return list(_events(record.read_bytes(), str(work / "run")))


def _events(content: bytes, root: str) -> Iterator[Event]:
    while content:
        head, _, content = content.partition(b"\n")
        operation, length, path = head.decode().split(" ", 2)
        more, content = content[: int(length)], content[int(length) :]
        if operation == "r":
            more = more.removeprefix(root.encode())
        yield Event(operation, path.removeprefix(root), more)


class Disk:
    """A directory as the system sees it, and as it is on the disk for certain."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        """Of files, as all see them."""
        self.certain: dict[str, int] = {}
        """Of files, as a power loss leaves them at least."""
        self.pending: list[tuple[str, dict[str, int | None]]] = []
        """Changes of names that are not synced: in which directory, and which names become which file, or none."""
        self.files: list[bytes] = []
        self.synced: list[int] = []
        """How many bytes of each file are on the disk for certain."""
        self.directories: set[str] = set()

    def do(self, event: Event) -> None:
        """One more system call."""
        operation, path, content = event
        if operation == "m":
            self.directories.add(path)
        elif operation == "c":
            self.files.append(b"")
            self.synced.append(0)
            self._rename(path, {path: len(self.files) - 1})
        elif operation == "w":
            self.files[self.names[path]] += content
        elif operation == "r":
            self._rename(path, {content.decode(): self.names[path], path: None})
        elif operation == "u":
            self._rename(path, {path: None})
        elif operation == "f" and path in self.names:
            self.synced[self.names[path]] = len(self.files[self.names[path]])
        elif operation == "f":
            for place, changes in self.pending:
                if place == path:
                    _apply(self.certain, changes)
            self.pending = [change for change in self.pending if change[0] != path]
        else:
            assert operation == "s", event

    def _rename(self, path: str, changes: dict[str, int | None]) -> None:
        _apply(self.names, changes)
        self.pending.append((os.path.dirname(path).rstrip("/"), changes))

    def after_power_loss(self, rng: random.Random) -> dict[str, bytes]:
        """What is left: of all that is not synced any part, in any order."""
        names, some = dict(self.certain), [changes for _, changes in self.pending if rng.random() < 0.5]
        rng.shuffle(some)
        for changes in some:
            _apply(names, changes)
        return {name: self._left_of(file, rng) for name, file in names.items()}

    def _left_of(self, file: int, rng: random.Random) -> bytes:
        content, synced = self.files[file], self.synced[file]
        end = rng.choice([synced, len(content), rng.randint(synced, len(content))])
        hole = rng.random() < 0.3  # the length is there, the content is not
        return content[:synced] + (bytes(end - synced) if hole else content[synced:end])


def _apply(names: dict[str, int], changes: dict[str, int | None]) -> None:
    for name, file in changes.items():
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


def lose_power(events: list[Event], rng: random.Random, path: Path) -> int:
    """Let a run directory be as after a power loss at a random moment; how many generations had been told by then."""
    disk, told = Disk(), 0
    for event in events[: rng.randint(0, len(events))]:
        disk.do(event)
        if event.operation == "s":
            told += len(re.findall(rb"^generation \d+/", event.content, re.M))
    shutil.rmtree(path, ignore_errors=True)
    for name, content in disk.after_power_loss(rng).items():
        (path / name.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (path / name.lstrip("/")).write_bytes(content)
    return told


def go_on(path: Path) -> tuple[int, Training]:
    """The run again: from which generation on, and its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if (path / "config.toml").exists():
            run = Training.resume(path, workers=1)
        else:
            run = Training("CartPole-v1", out=path, workers=1, **TINY)
        begun = run.state.generation
        list(run.generations())
    return begun, run


def replay(shim: Any, times: int, rng: random.Random, work: Path) -> dict[str, Any]:
    """Lose power so often."""
    events = write_down(shim, work, minutes=0.0)
    whole, bad = outcome(work / "run"), []
    for number in range(times):
        told = lose_power(events, rng, work / "lost")
        try:
            begun, _ = go_on(work / "lost")
            why = f"goes on from {begun}" if begun < told else "" if outcome(work / "lost") == whole else "other bytes"
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        if why:
            bad.append(f"replay {number}, {told} generations told: {why}")
            print(bad[-1], flush=True)
    return {
        "times": times,
        "events": len(events),
        "bad": bad,
        "figure": f"{times - len(bad)} of {times}: nothing told is lost, and the run ends with identical bytes",
        "good": not bad,
    }


def main() -> None:
    """Lose power."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shim = preload()
    with tempfile.TemporaryDirectory(prefix="sirl-power-", dir=MEMORY) as work:
        print(json.dumps(replay(shim, options.times, random.Random(options.seed), Path(work))))


if __name__ == "__main__":
    main()
