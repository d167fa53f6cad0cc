"""What an experiment will cost: episodes are known, steps and hours are estimated from runs like these."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sirl.errors import SirlError
from sirl.experiments.cells import Cell, Plan
from sirl.experiments.paper import OURS
from sirl.experiments.results import is_sound
from sirl.files import read_plain
from sirl.runs.directory import LARGEST_HISTORY, read_history
from sirl.search.records import Record


class Pace(NamedTuple):
    """How runs on a task go on one core."""

    steps_per_episode: float
    steps_per_second: float


PACES = {
    "InvertedPendulum-v4": Pace(90, 41_000),
    "LunarLander-v3": Pace(255, 10_500),
    "Swimmer-v4": Pace(1000, 13_300),
    "Reacher-v4": Pace(50, 30_400),
    "Hopper-v4": Pace(87, 8_800),
    "Walker2d-v4": Pace(130, 5_400),
}
"""Of whole runs of SIRL-LB, from docs/performance.md: half of what two cores did."""
ON_ENVPOOL = {"LunarLander-v3": Pace(200, 30_000)}
"""Of the runs in results/, at the speed of one worker in docs/performance.md."""


class Cost(NamedTuple):
    """What is left to do of a plan."""

    runs: int
    episodes: int
    """At most: genotypes that give no tree play none."""
    steps: float
    hours: float
    """On one core."""
    unknown: list[str]
    """Tasks with no pace, and methods whose episodes depend on what they find: left out."""


def remaining(plan: Plan) -> Cost:
    """What is left to do; runs that have begun tell how fast it goes here."""
    runs, episodes, steps, seconds = 0, 0, 0.0, 0.0
    unknown: set[str] = set()
    paces = {cell.task: _pace(plan, cell.task) for cell in plan.cells}
    for cell in plan.cells:
        settings = cell.settings(plan.scale)
        for run in plan.runs:
            if is_sound(plan, cell, run):
                continue
            runs += 1
            if cell.method in OURS:
                unknown.add(cell.method)
                continue
            left = settings.generations - generations_done(plan, cell, run)
            more = left * settings.episodes_per_generation()
            episodes += more
            pace = paces[cell.task]
            if pace is None:
                unknown.add(cell.task)
            else:
                steps += more * pace.steps_per_episode
                seconds += more * pace.steps_per_episode / pace.steps_per_second
    return Cost(runs, episodes, steps, seconds / 3600, sorted(unknown))


def generations_done(plan: Plan, cell: Cell, run: int) -> int:
    """Lines in a run's history, without reading them."""
    file = plan.directory(cell, run) / "history.jsonl"
    try:
        return read_plain(file, LARGEST_HISTORY).count(b"\n")
    except OSError:
        return 0


def _pace(plan: Plan, task: str) -> Pace | None:
    """As runs of this task went here, or else as they went when the table was measured."""
    cells = [cell for cell in plan.cells if cell.task == task]
    begun = [plan.directory(cell, run) for cell in cells for run in plan.runs if generations_done(plan, cell, run)]
    records = [record for directory in begun for record in _readable(directory)]
    seconds, episodes = sum(r.seconds for r in records), sum(r.episodes for r in records)
    if seconds < 10:  # too short to tell, and mostly what it takes to start
        on_envpool = any(cell.simulator == "envpool" for cell in cells)
        return (ON_ENVPOOL if on_envpool else PACES).get(task)
    steps = sum(r.steps for r in records)
    return Pace(steps / episodes, steps / seconds)


def _readable(directory: Path) -> list[Record]:
    """A run's history; nothing of one that was left half-written."""
    try:
        return read_history(directory)
    except SirlError:
        return []
