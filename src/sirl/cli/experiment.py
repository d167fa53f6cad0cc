"""What ``sirl reproduce`` and ``sirl sweep`` share: their options, what they say beforehand, and their progress."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sirl.cli.printing import count

if TYPE_CHECKING:
    from sirl.experiments.cells import Cell, Plan
    from sirl.experiments.pages import Report
    from sirl.experiments.work import Progress
    from sirl.runs.campaign import Failed

_RUNS = "10"
_PLAIN_SECONDS = 60.0
"""Between two lines where no one looks on."""


def add_options(parser: Any) -> None:
    """How much to run, and where."""
    parser.add_argument(
        "--runs",
        metavar="N",
        help=f"independent runs a cell, or a part of them such as 5-9; 0 trains nothing [{_RUNS}]",
    )
    parser.add_argument(
        "--scale",
        type=float,
        metavar="F",
        help="shrink population, generations and collaborative episodes by this factor [1]",
    )
    parser.add_argument("--episodes", type=int, default=100, metavar="N", help="unseen ones for each champion [100]")
    parser.add_argument("--workers", type=int, metavar="N", help="runs at the same time [all cores]")
    parser.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="where the runs are trained [local]"
    )
    parser.add_argument("--address", metavar="ADDRESS", help="of the Ray cluster")
    parser.add_argument("--report", action="store_true", help="train nothing: tables and figures of what is there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="put the report between this page's marks, too")


def plan_of(options: Namespace, out: Path, cells: list[Cell]) -> Plan:
    """Cells to fill as asked; all of their runs, and at the paper's size, where nothing is said of that."""
    from sirl.config import checked
    from sirl.experiments.cells import FULL, Plan, checked_scale, parse_runs
    from sirl.options import Episodes

    scale = checked_scale(FULL if options.scale is None else options.scale)
    runs = parse_runs(_RUNS if options.runs is None else options.runs)
    return Plan(out, scale, cells, runs, checked("episodes", options.episodes, Episodes))


def fill_cells(plan: Plan, options: Namespace) -> list[Failed]:
    """Say what it will cost and train what is missing, unless only a report is asked for; say what failed."""
    from sirl.config import checked
    from sirl.experiments.work import Place, fill
    from sirl.options import Workers
    from sirl.simulators.environments import usable_cores

    workers = checked("workers", options.workers, Workers) or usable_cores()
    if options.report:
        return []
    announce(plan, workers)
    failed = fill(plan, Place(workers, options.engine, options.address), Teller())
    _tell("in use", [(one.job.label, one.reason) for one in failed if one.in_use])
    failed = [one for one in failed if not one.in_use]
    _tell("failed", [(one.job.label, one.reason) for one in failed])
    return failed


def tell_left(report: Report, failed: list[Failed]) -> bool:
    """Say which runs are in no table, but for those that have been named; whether one is damaged."""
    named = {Path(one.job.out) for one in failed}
    left = [one for one in report.left if one.directory.resolve() not in named]
    _tell("left out", [(str(one.directory), one.why) for one in left])
    return any(one.damaged for one in left)


def _tell(what: str, runs: list[tuple[str, str]]) -> None:
    """Every reason once, with the first run that it stopped and how many more."""
    groups: dict[str, list[str]] = {}
    for run, reason in runs:
        groups.setdefault(reason, []).append(run)
    for reason, (first, *more) in groups.items():
        others = f" And {count(len(more), 'other run')} for the same reason." if more else ""
        print(f"sirl: {what}: {first}: {reason}{others}", file=sys.stderr)


def announce(plan: Plan, workers: int) -> None:
    """What is there, and what the rest will cost."""
    from sirl.experiments.cells import shown_scale
    from sirl.experiments.cost import remaining

    cost = remaining(plan)
    total = len(plan.cells) * len(plan.runs)
    print(f"{count(total, 'run')} in {count(len(plan.cells), 'cell')} at {shown_scale(plan.scale)} → {plan.root}")
    if not total:
        return
    if not cost.runs:
        print("all of them are finished", flush=True)
        return
    hours = cost.hours / min(workers, cost.runs)
    told = [count(cost.runs, "run")]
    if cost.episodes:
        told.append(f"up to {cost.episodes:,} episodes")
    if cost.steps:
        told.append(f"about {cost.steps:.1e} steps and {_hours(hours)} on {count(workers, 'worker')}")
    if cost.unknown:
        told.append(f"not counting {', '.join(cost.unknown)}, which can't be told beforehand")
    print(
        f"to do: {', '.join(told)}; then up to {4 * plan.episodes * cost.runs:,} unseen episodes: two champions a run, "
        "whole and pruned",
        flush=True,
    )


def _hours(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else count(max(1, round(60 * hours)), "minute")


class Teller:
    """Prints where an experiment stands: one line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._first: Progress | None = None
        self._last = 0.0

    def __call__(self, progress: Progress) -> None:
        """Tell it, if it is time to."""
        from sirl.cli.progress import duration

        now = time.monotonic()
        self._first = self._first or progress
        over = progress.runs_done + progress.failed >= progress.runs
        done = progress.generations_done - self._first.generations_done
        left = progress.generations - progress.generations_done
        text = (
            f"{progress.runs_done}/{progress.runs} runs, {progress.generations_done:,}/{progress.generations:,} "
            f"generations, {duration(now - self._start)}"
        )
        text += f", {progress.failed} failed" if progress.failed else ""
        text += f", about {duration(left * (now - self._start) / done)} left" if done and left else ""
        if sys.stdout.isatty():
            print(f"\r\033[K{text}", end="\n" if over else "", flush=True)
        elif over or now - self._last >= _PLAIN_SECONDS:
            self._last = now
            print(text, flush=True)
