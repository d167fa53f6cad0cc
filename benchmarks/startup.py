"""How long a user waits before anything happens."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from sirl.benchmarking.measure import Effort, Table

_TINY = {
    "population": 20,
    "generations": 1,
    "individual-episodes": 1,
    "collaborative-copies": 2,
    "collaborative-iterations": 1,
    "candidates": 1,
    "validation-episodes": 1,
}


def startup(effort: Effort) -> Iterator[Table]:
    """The command line from its start: to the end of the help, to the end of a tiny first generation."""
    rows: list[dict[str, Any]] = [_row("`sirl --help`", [_help() for _ in range(effort.repetitions)], 0.5)]
    for options in (["InvertedPendulum-v4"], ["InvertedPendulum-v4", "--workers", "1"], ["CartPole-v1"]):
        with tempfile.TemporaryDirectory() as scratch:
            first, *later = [_first_generation(options, Path(scratch), n) for n in range(1 + effort.repetitions)]
        command = " ".join(["sirl train", *options])
        rows.append(_row(f"`{command}`, the first time", [first], None))
        rows.append(_row(f"`{command}`, from then on", later, None))
    note = (
        "Seconds from the start of the process; of training, to the line of a tiny first generation (20 trees), on all "
        "cores if not said otherwise. The first time numba compiles, later it finds its cache."
    )
    yield Table("Start-up", note, rows)


def _row(what: str, seconds: list[float], goal: float | None) -> dict[str, Any]:
    middle = median(seconds)
    met = None if goal is None else "yes" if middle <= goal else "no"
    return {
        "what": what,
        "seconds": middle,
        "range": f"{min(seconds):.2f}–{max(seconds):.2f}",
        "at most": goal,
        "met": met,
    }


def _help() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sirl", "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _first_generation(options: list[str], scratch: Path, number: int) -> float:
    tiny = [text for name, value in _TINY.items() for text in (f"--{name}", str(value))]
    out = str(scratch / f"run{number}")
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "sirl", "train", *options, "--out", out, *tiny],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(scratch / "cache")},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("generation 1/"):
                break
        seconds = time.perf_counter() - start
        process.stdout.read()
    return seconds
