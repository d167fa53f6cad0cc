"""Sides that are measured in turn, the ratio of two of them, and the machine that it was on."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec

from sirl import __version__


class Table(msgspec.Struct, frozen=True):
    """What a section found."""

    title: str
    note: str
    """What was measured and how, in a sentence or two."""
    rows: list[dict[str, Any]]
    """The columns of each row by name; all rows of a table have the same ones."""


class Effort(msgspec.Struct, frozen=True):
    """How much to measure."""

    repetitions: int
    """Turns that every side of a ratio gets."""
    scale: float
    """Part of the episodes of the full form."""
    minutes: float
    """Time that a whole run gets before it is projected."""


FULL = Effort(5, 1.0, 1.0)
QUICK = Effort(2, 0.1, 0.0)


class Time(NamedTuple):
    """What a piece of work took."""

    wall: float
    """Seconds on the clock."""
    cpu: float | None
    """Seconds at work, which counts on a machine that others use too; None where worker processes did it."""


class Ratio(NamedTuple):
    """How many times faster one side is than another, measured several times."""

    median: float
    lowest: float
    highest: float
    cpu: float | None
    """The median by CPU time; None where worker processes did the work."""

    def columns(self, goal: float | None) -> dict[str, Any]:
        """For a table, with what was to be reached."""
        met = None if goal is None else "yes" if self.median >= goal else "no"
        low_high = f"{self.lowest:.2f}–{self.highest:.2f}"
        return {"ratio": self.median, "range": low_high, "CPU ratio": self.cpu, "goal": goal, "met": met}


def take_turns(sides: Mapping[str, Callable[[], Time]], repetitions: int) -> dict[str, list[Time]]:
    """What each side took, once a repetition; every other repetition goes through them backwards.

    So a machine that is busy for a while, or slows down, hits all sides alike. A first turn of every side does not
    count: workers start, caches fill. What is alive now is left out of garbage collection, which would take longer
    the more recorded episodes there are.
    """
    found: dict[str, list[Time]] = {name: [] for name in sides}
    gc.collect()
    gc.freeze()
    try:
        for side in sides.values():
            side()
        for repetition in range(repetitions):
            for name in list(sides)[:: 1 if repetition % 2 == 0 else -1]:
                found[name].append(sides[name]())
    finally:
        gc.unfreeze()
    return found


def speedup(ours: list[Time], theirs: list[Time], work: float = 1.0) -> Ratio:
    """Theirs ÷ ours, repetition by repetition; ``work`` is how many times their work ours is."""
    walls = [work * b.wall / a.wall for a, b in zip(ours, theirs, strict=True)]
    cpus = [work * b.cpu / a.cpu for a, b in zip(ours, theirs, strict=True) if a.cpu and b.cpu]
    return Ratio(median(walls), min(walls), max(walls), median(cpus) if cpus else None)


def rate(steps: int, times: list[Time]) -> float:
    """Steps per second."""
    return steps / median(time.wall for time in times)


def time_of(function: Callable[[], object], workers: int = 1) -> Time:
    """How long a call takes; more than one worker are processes of their own."""
    start, cpu = time.perf_counter(), time.process_time()
    function()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    return Time(wall, cpu if workers == 1 else None)


def machine() -> dict[str, str]:
    """Where and with what it is measured."""
    packages = ("numpy", "numba", "mujoco", "gymnasium", "box2d", "envpool")
    return {
        "cpu": _cpu_model(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": _memory(),
        "load": load(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
        "sirl": __version__,
    }


def load() -> str:
    """How busy the machine is: the mean number of running processes over the last minute, this one included."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cpu_model() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    return "unknown"
