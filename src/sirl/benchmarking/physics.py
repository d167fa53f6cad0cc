"""Our phases against physics alone, and two workers against one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

from sirl.benchmarking.measure import Effort, Table, Time, rate, speedup, take_turns, time_of
from sirl.benchmarking.tapes import SLOTS, random_tape, replay_all
from sirl.benchmarking.work import MUJOCO, Bench
from sirl.search.evolution import first_state

PHASES = ("individual", "collaborative")
_WORKERS = (1, 2)
_EPISODES: dict[str, tuple[int, int, int | None]] = {
    "InvertedPendulum-v4": (10, 200, None),
    "Swimmer-v4": (1, 5, 200),
    "Reacher-v4": (4, 60, None),
    "Hopper-v4": (1, 15, None),
    "Walker2d-v4": (1, 15, None),
}
"""Episodes of a tree alone, collaborative episodes in each of ten copies, and where episodes are cut: such that
every phase of the first generation takes a second or more."""
_QUICK_STEPS = 30
"""Where episodes are cut in the quick form."""


_RAW_NOTE = (
    f"`mujoco.batch.Batch` alone, {SLOTS} simulations in lockstep, frame skip included: episodes with "
    "uniformly random actions, that start and end as the task says."
)
_PHASES_NOTE = (
    "A phase of the first generation (500 genotypes, all that are valid; ten copies), everything included, against "
    "`mujoco.batch.Batch` alone on the same episodes: same starts, same actions, in lockstep (up to 128 trees, or all "
    "copies, of a worker's share). Raw physics is stepping alone, what its starts cost is taken off."
)
_WORKERS_NOTE = "The same measurements; raw physics beside it, for what the cores give."


def goal(env_id: str, phase: str) -> float:
    """What a phase is to reach of the speed of physics alone."""
    if phase == "individual":
        return 0.85
    return 0.55 if env_id in ("InvertedPendulum-v4", "Reacher-v4") else 0.80


def settings_for(env_id: str, effort: Effort) -> dict[str, Any]:
    """500 trees, and as many episodes as the effort allows."""
    alone, together, max_steps = _EPISODES[env_id]
    return {
        "individual_episodes": max(1, round(alone * effort.scale)),
        "collaborative_iterations": max(1, round(together * effort.scale)),
        "max_steps": max_steps if effort.scale == 1.0 else _QUICK_STEPS,
        "candidates": 1,
        "validation_episodes": 1,
    }


def raw_physics(effort: Effort) -> Iterator[Table]:
    """``mujoco.batch.Batch`` alone with random actions."""
    rows = []
    for env_id in MUJOCO:
        bench = Bench.of(env_id)
        steps = round(20_000 * effort.scale)
        tapes = [random_tape(bench.recipe, steps, seed) for seed in _WORKERS]
        with ExitStack() as stack:
            engines = {str(n): stack.enter_context(bench.raw_engine(n, tapes)) for n in _WORKERS}
            sides = {name: partial(replay_all, engine, range(len(tapes))) for name, engine in engines.items()}
            times = take_turns(sides, effort.repetitions)
        done = sum(tape.steps for tape in tapes)
        rows.append(
            {
                "task": env_id,
                "1 worker, steps/s": rate(done, times["1"]),
                "2 workers, steps/s": rate(done, times["2"]),
                "2 workers ÷ 1": speedup(times["2"], times["1"]).median,
            }
        )
        yield Table("Raw physics", _RAW_NOTE, rows)


def phases(effort: Effort, env_ids: tuple[str, ...] = MUJOCO, **settings: Any) -> Iterator[Table]:
    """Both phases with 500 trees, against physics alone on the same episodes."""
    rows: list[dict[str, Any]] = []
    workers: list[dict[str, Any]] = []
    for env_id in env_ids:
        times, steps = _measure(Bench.of(env_id, **settings_for(env_id, effort) | settings), effort.repetitions)
        for phase in PHASES:
            for n in _WORKERS:
                ours, raw = times[f"{phase} {n}"], times[f"raw {phase} {n}"]
                rows.append(
                    {
                        "task": env_id,
                        "phase": phase,
                        "workers": n,
                        "steps": steps[phase],
                        "steps/s": rate(steps[phase], ours),
                        "raw steps/s": rate(steps[phase], raw),
                        **speedup(ours, raw).columns(goal(env_id, phase)),
                    }
                )
            workers.append(
                {
                    "task": env_id,
                    "phase": phase,
                    **speedup(times[f"{phase} 2"], times[f"{phase} 1"]).columns(1.8),
                    "raw physics": speedup(times[f"raw {phase} 2"], times[f"raw {phase} 1"]).median,
                }
            )
        yield Table("Phases ÷ raw physics", _PHASES_NOTE, rows)
        yield Table("2 workers ÷ 1 worker", _WORKERS_NOTE, workers)


def _measure(bench: Bench, repetitions: int) -> tuple[dict[str, list[Time]], dict[str, int]]:
    """The times of every side, and the steps of each phase."""
    with ExitStack() as stack:
        sides: dict[str, Callable[[], Time]] = {}
        steps: dict[str, int] = {}
        for n in _WORKERS:
            engine = stack.enter_context(bench.engine(n))
            ours = bench.first_generation(engine)
            for call in bench.recorded(first_state(bench.problem), n):
                phase = call.function.__name__
                if phase not in PHASES:
                    continue
                orders = ours[phase].orders
                raw_engine = stack.enter_context(bench.raw_engine(n, call.tapes))
                steps[phase] = sum(tape.steps for tape in call.tapes)
                sides[f"{phase} {n}"] = partial(time_of, partial(engine.map, call.function, orders), n)
                sides[f"raw {phase} {n}"] = partial(replay_all, raw_engine, range(len(call.tapes)))
        return take_turns(sides, repetitions), steps
