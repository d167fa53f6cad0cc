"""Generations late in a run, of the paper's tasks at full size.

python benchmarks/late.py run --minutes 20    # train each task for so long, or go on with it, in runs/late
python benchmarks/late.py measure > late.md   # one more generation of each, as often as --times says; none is kept
python benchmarks/into_docs.py late.md docs/performance.md late
"""

from __future__ import annotations

import argparse
import threading
import time
from _thread import interrupt_main
from pathlib import Path
from statistics import median
from typing import Any

from sirl.benchmarking.measure import Table
from sirl.benchmarking.report import markdown_table
from sirl.benchmarking.work import PAPER, warm_up
from sirl.cli.progress import duration
from sirl.engine import local_engine
from sirl.runs.training import Training

NOTE = (
    "SIRL-LB at the paper's size on all cores, from a checkpoint late in a run on: median, fastest and slowest of "
    "several times the same generation, everything included. The run: the steps of all generations so far, and of "
    "those to come if they are like this one, at this one's speed."
)


def run(options: argparse.Namespace) -> None:
    """Train each task for a while."""
    for env_id in options.env or PAPER:
        out = options.out / env_id
        training = Training.resume(out) if out.exists() else Training(env_id, out=out)
        up = threading.Event()

        def end(up: threading.Event = up) -> None:
            up.set()
            interrupt_main()

        clock = threading.Timer(60 * options.minutes, end)
        clock.start()
        try:
            for record in training.generations():
                print(f"{env_id}: generation {record.generation + 1}, {record.seconds:.1f} s", flush=True)
        except KeyboardInterrupt:
            if not up.is_set():
                raise
        finally:
            clock.cancel()


def measure(options: argparse.Namespace) -> None:
    """Print the table."""
    runs = {env_id: Training.resume(options.out / env_id) for env_id in options.env or PAPER}
    rows = [_row(env_id, training, options.times) for env_id, training in runs.items() if training.history]
    print("\n".join(markdown_table(Table("Late generations", NOTE, rows))))


def _row(env_id: str, training: Training, times: int) -> dict[str, Any]:
    walls = []
    with local_engine(training.arena, training.workers) as engine:
        warm_up(env_id, engine)
        for _ in range(times):
            start = time.perf_counter()
            _, record = training.search.step(training.state, engine)
            walls.append(time.perf_counter() - start)
    steps, speed = record.steps, record.steps / median(walls)
    done = training.state.generation
    whole = sum(record.steps for record in training.history) + (training.settings.generations - done) * steps
    return {
        "task": env_id,
        "generation": done + 1,
        "seconds": median(walls),
        "range": f"{min(walls):.1f}–{max(walls):.1f}",
        "episodes": record.episodes + record.validation.episodes,
        "steps": steps,
        "steps/s": speed,
        "steps ÷ those of the first": steps / training.history[0].steps,
        "the run": duration(whole / speed),
    }


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "measure"))
    parser.add_argument("--out", type=Path, default=Path("runs/late"))
    parser.add_argument("--env", action="append", help="only this task; may be given again")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    {"run": run, "measure": measure}[options.what](options)


if __name__ == "__main__":
    main()
