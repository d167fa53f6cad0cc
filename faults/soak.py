"""Runs for long under random kills: the bytes stay the same, and nothing piles up (Linux).

python faults/soak.py --minutes 60 --out runs/soak.json

One run after the other, each with a seed of its own. Every few seconds a worker or the driver is killed, and a
killed driver's run is resumed. Each run is compared with one that nothing stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from watched import SMALL, Watched, flags, go_on, handles_of, memory_of, outcome

SETTINGS = SMALL | {"generations": 20, "individual_episodes": 3, "population": 30}


class Soak:
    """What has happened so far."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.counts: Counter[str] = Counter()
        self.megabytes: list[float] = []
        self.handles: list[int] = []
        self.bad: list[str] = []

    def one_run(self, work: Path, seed: int, deadline: float) -> None:
        """A run under kills, and its twin without."""
        env = self.rng.choice(["CartPole-v1", "Acrobot-v1"])
        start = ("train", env, "--seed", seed, "--workers", 2, *flags(SETTINGS), "--out")
        path, twin = work / f"{seed}-killed", work / f"{seed}-whole"
        run = Watched(*start, path)
        while not self._watch(run, deadline):
            self.counts["drivers killed"] += 1
            run = go_on(path, *start, path)
        code, _, err = Watched(*start, twin).end()
        if code or run.process.returncode:
            self.bad.append(f"seed {seed}: exit code {run.process.returncode}, its twin {code}: {err}")
        elif outcome(path) != outcome(twin):
            self.bad.append(f"seed {seed}: other bytes")
        else:
            self.counts["runs with identical bytes"] += 1

    def _watch(self, run: Watched, deadline: float) -> bool:
        """Kill workers until the run ends (True), or until it is the driver's turn (False)."""
        reader = threading.Thread(target=run.end)  # or the pipe would fill up
        reader.start()
        while reader.is_alive():
            reader.join(self.rng.uniform(1, 20))
            if not reader.is_alive() or time.monotonic() > deadline:
                continue
            self.megabytes.append(memory_of(run.processes()))
            self.handles.append(handles_of(run.process.pid))
            if self.rng.random() < 0.7:
                self.counts["workers killed"] += run.kill_a_worker(self.rng)
            else:
                run.process.kill()
                reader.join()
                self._look_for_leftovers(run)
                return False
        self._look_for_leftovers(run)
        return True

    def _look_for_leftovers(self, run: Watched) -> None:
        if left := run.left_after(5):
            self.bad.append(f"{left} processes left")

    def report(self, minutes: float) -> dict[str, Any]:
        """All of it."""
        return {
            "minutes": minutes,
            **self.counts,
            "most MB of a run, its workers included": round(max(self.megabytes, default=0)),
            "most open files of a driver": max(self.handles, default=0),
            "bad": self.bad,
        }


def main() -> None:
    """Soak for so many minutes, then let the last run end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the kills, and of the first run")
    parser.add_argument("--out", type=Path, help="a file for the report")
    options = parser.parse_args()
    soak, begin, seed = Soak(random.Random(options.seed)), time.monotonic(), options.seed
    deadline = begin + 60 * options.minutes
    while time.monotonic() < deadline:
        with tempfile.TemporaryDirectory(prefix="sirl-soak-") as work:
            soak.one_run(Path(work), seed, deadline)
        seed += 1
        report = soak.report(round((time.monotonic() - begin) / 60, 1))
        print(json.dumps(report), flush=True)
        if options.out is not None:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
