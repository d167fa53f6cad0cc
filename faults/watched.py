"""Runs of the command line that are started, watched, killed and resumed: for faults.py and soak.py (Linux)."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import msgspec

from sirl.runs.directory import read_history

SMALL = {
    "method": "sirl-lb",
    "population": 20,
    "generations": 12,
    "individual_episodes": 2,
    "collaborative_copies": 2,
    "collaborative_iterations": 2,
    "candidates": 2,
    "validation_episodes": 4,
}
"""Settings of a run that takes a few seconds."""

_TAG = "SIRL_WATCHED"


def flags(settings: dict[str, Any]) -> list[str]:
    """Settings as the command line takes them."""
    return [word for name, value in settings.items() for word in ("--" + name.replace("_", "-"), str(value))]


class Watched:
    """One ``sirl`` command in a process; whatever it starts carries its tag."""

    def __init__(self, *arguments: object, environment: dict[str, str] | None = None, cwd: Path | None = None):
        self.tag = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sirl", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}) | {_TAG: self.tag},
            cwd=cwd,
        )

    def running(self) -> bool:
        """Whether the driver still runs."""
        return self.process.poll() is None

    def end(self, timeout: float = 1800) -> tuple[int, str, str]:
        """Wait for the end: exit code, output, errors."""
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err

    def kill(self) -> None:
        """SIGKILL, for the driver alone."""
        self.process.kill()
        self.process.communicate()

    def processes(self) -> list[int]:
        """Every live process that the command has started, itself included."""
        return [pid for pid in _all_processes() if f"{_TAG}={self.tag}".encode() in _read(pid, "environ")]

    def workers(self) -> list[int]:
        """The worker processes."""
        return [pid for pid in self.processes() if b"sirl.engine.worker" in _read(pid, "cmdline")]

    def kill_a_worker(self, rng: random.Random) -> bool:
        """SIGKILL for a random worker, if there is one."""
        workers = self.workers()
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(workers), signal.SIGKILL)
                return True
        return False

    def left_after(self, seconds: float) -> int:
        """Processes that are left when so much time has passed since the end, or earlier if there are none."""
        deadline = time.monotonic() + seconds
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        return len(self.processes())


def outcome(path: Path) -> tuple[bytes, list[Any]]:
    """What must not depend on how often a run was stopped: everything but wall time."""
    history = [msgspec.structs.replace(record, seconds=0.0) for record in read_history(path)]
    return b"".join((path / name).read_bytes() for name in ("champion.json", "champion-training.json")), history


def go_on(path: Path, *start: object, workers: int = 2) -> Watched:
    """The run again, from where it stands; from the start if it was stopped before its config.toml was written."""
    if (path / "config.toml").exists():
        return Watched("train", "--resume", path, "--workers", workers)
    return Watched(*start)


def memory_of(pids: list[int]) -> float:
    """Resident memory of some processes, in MB."""
    pages = [_read(pid, "statm").split() for pid in pids]
    return sum(int(fields[1]) for fields in pages if fields) * os.sysconf("SC_PAGESIZE") / 1e6


def handles_of(pid: int) -> int:
    """Open file descriptors of a process."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _all_processes() -> list[int]:
    alive = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in alive if _read(pid, "stat").rpartition(b")")[2].split()[:1] not in ([b"Z"], [])]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
