"""Whole generations and whole runs: wall time, episodes, steps, and what of it physics alone would take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import sirl
from sirl.benchmarking.measure import Effort, Table
from sirl.benchmarking.tapes import replay_all
from sirl.benchmarking.work import PAPER, Bench, warm_up
from sirl.cli.progress import duration
from sirl.search.evolution import State, first_state, next_generation
from sirl.search.records import Record
from sirl.simulators.environments import usable_cores

_GENERATIONS = 100
_MILESTONES = (1, 25, 50, 75, 100)
_WHOLE = "InvertedPendulum-v4"
"""The task that is short enough for a whole run."""
_SHORT = 15.0
"""Seconds of a generation that is short enough to be recorded, which takes several times as long."""


_NOTE = (
    "SIRL-LB at the paper's size on all cores, from the first generation on: all 100 of InvertedPendulum, of the "
    "others as many as begin within a minute (in the quick form, one). A row is one generation, everything included, "
    f"and, if that takes less than {_SHORT:.0f} s, what physics alone takes for the same episodes, in lockstep on as "
    "many workers. The run: what all 100 generations take, or would take if those still to come took as long as this "
    "one."
)


def generations(effort: Effort, **settings: Any) -> Iterator[Table]:
    """One generation of every paper task at full size, first and after a while, and the whole run projected."""
    rows: list[dict[str, Any]] = []
    for env_id in PAPER if effort.scale == 1.0 else (_WHOLE, "Hopper-v4"):
        for row in _a_while(env_id, effort, settings):
            rows.append(row)
            yield Table("Whole generations", _NOTE, rows)


def _a_while(env_id: str, effort: Effort, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    bench, cores = Bench.of(env_id, **settings), usable_cores()
    state, spent = first_state(bench.problem), 0.0
    most = math.inf if env_id == _WHOLE and effort.scale == 1.0 else 60 * effort.minutes
    with bench.engine(cores) as engine:
        warm_up(env_id, engine, **settings)
        while True:
            before, start = state, time.perf_counter()
            state, record = next_generation(before, bench.problem, engine)
            wall = time.perf_counter() - start
            spent += wall
            last = spent >= most or state.generation == _GENERATIONS
            if last or state.generation in _MILESTONES:
                yield _row(bench, before, record, wall, spent, cores)
            if last:
                return


def _row(bench: Bench, before: State, record: Record, wall: float, spent: float, cores: int) -> dict[str, Any]:
    number = before.generation + 1
    return {
        "task": bench.recipe.name,
        "generation": number,
        "seconds": wall,
        "episodes": record.episodes + record.validation.episodes,
        "steps": record.steps,
        "steps/s": record.steps / wall,
        "raw physics, seconds": (raw := _raw_seconds(bench, before, cores) if wall < _SHORT else None),
        "share of raw physics": None if raw is None else raw / wall,
        "the run": duration(spent + (_GENERATIONS - number) * wall),
    }


def _raw_seconds(bench: Bench, before: State, cores: int) -> float | None:
    """What physics alone takes for a generation; None where it is not MuJoCo's."""
    if bench.backend != "mujoco":
        return None
    calls = bench.recorded(before, cores)
    seconds = 0.0
    for call in calls:
        with bench.raw_engine(cores, call.tapes) as engine:
            replay_all(engine, range(len(call.tapes)))  # its workers start, and get their tapes
            seconds += replay_all(engine, range(len(call.tapes))).wall
    return seconds


def runs(effort: Effort) -> Iterator[Table]:
    """From scratch to a goal."""
    rows = []
    for seed in (0, 1, 2) if effort.scale == 1.0 else (1,):
        start = time.perf_counter()
        run = sirl.train("InvertedPendulum-v4", seed=seed, stop_at=1000)
        rows.append(
            {
                "task": "InvertedPendulum-v4",
                "goal": 1000,
                "seed": seed,
                "seconds": time.perf_counter() - start,
                "generations": len(run.history),
                "episodes": sum(record.episodes for record in run.history),
                "steps": sum(record.steps for record in run.history),
                "leaves": run.champion.tree.n_leaves,
            }
        )
    yield Table("Whole runs to a goal", "`sirl train InvertedPendulum-v4 --stop-at 1000` on all cores.", rows)
