"""How time and memory grow with the size of a run; every size in a process of its own, for its peak of memory.

``python benchmarks/growth.py NAME VALUE`` measures one size and prints JSON.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from noise import noise_arena, noise_phases
from sirl.benchmarking.measure import Effort, Table
from sirl.benchmarking.tapes import Watched
from sirl.benchmarking.work import Bench, compile_all
from sirl.search.evolution import first_state, next_generation

POPULATIONS = (100, 500, 1_000, 5_000, 10_000, 50_000, 100_000)
LENGTHS = (100, 1_000, 10_000, 100_000)
SIZES = {
    "splits": (1, 3, 7, 15, 31, 63, 127, 255, 1_023),
    "features": (2, 4, 8, 16, 32, 64, 128, 376),
    "actions": (2, 7, 21, 42, 119, 500),
}
"""Of the trees of a phase: one is changed, the others are as here."""
_USUAL = {"splits": 7, "features": 8, "actions": 7}


def growth(effort: Effort) -> Iterator[Table]:
    """Time and peak memory by population, genotype length, tree size, features and actions."""
    full = effort.scale == 1.0
    yield Table(
        "Growth: population",
        "The second generation of InvertedPendulum-v4, SIRL-LB's settings, one core. Outside: selection, variation, "
        "translation, cutting, averaging, replacing. Per tree and per step: CPU time, 1 is linear growth; in a large "
        "population a tree learns to play longer. Memory is the peak of the whole process.",
        _grow("population", POPULATIONS if full else POPULATIONS[1:4]),
    )
    yield Table(
        "Growth: genotype length",
        "The same with 500 trees.",
        _grow("genotype_length", LENGTHS if full else LENGTHS[1:3]),
    )
    for name, values in SIZES.items():
        others = " and ".join(f"{value} {other}" for other, value in _USUAL.items() if other != name)
        yield Table(
            f"Growth: {name}",
            f"Phases of 500 balanced trees with {others} on a simulator made of noise, one core, ten copies: "
            "nanoseconds of CPU time for each tree's each step.",
            _grow(name, values if full else values[2:4]),
        )


def _grow(name: str, values: tuple[int, ...]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for value in values:
        command = [sys.executable, __file__, name, str(value)]
        rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    if name == "population":
        base = next(row for row in rows if row[name] >= 500)
        for row in rows:
            for what, work in (("tree", name), ("step", "steps")):
                row[f"per {what} ÷ that of 500"] = row["CPU seconds"] / row[work] / (base["CPU seconds"] / base[work])
    return rows


def measure_generation(**settings: Any) -> dict[str, Any]:
    """The second generation with some settings: time, and what of it is outside the phases."""
    bench = Bench.of("InvertedPendulum-v4", **settings)
    with bench.engine(1) as engine:
        watched = Watched(engine, records=False)
        state, _ = next_generation(first_state(bench.problem), bench.problem, watched)
        watched.calls.clear()
        start, cpu = time.perf_counter(), time.process_time()
        _, summary = next_generation(state, bench.problem, watched)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {
        "seconds": seconds,
        "CPU seconds": cpu,
        "individual": sum(call.seconds for call in watched.calls if call.function.__name__ == "individual"),
        "collaborative": sum(call.seconds for call in watched.calls if call.function.__name__ == "collaborative"),
        "outside": seconds - sum(call.seconds for call in watched.calls),
        "steps": summary.individual.steps + summary.collaborative.steps + summary.validation.steps,
        "memory, MB": peak_memory(),
    }


def measure_phases(splits: int, features: int, actions: int) -> dict[str, Any]:
    """Both phases of trees of some size."""
    trees, arena = 500, noise_arena(features, actions)
    found: dict[str, Any] = {}
    for call, learners in zip(noise_phases(trees, splits, features, actions), (trees, 1), strict=True):
        start = time.process_time()
        result = call.function(arena, call.orders[0])
        name = "collaborative" if learners > 1 else "individual"
        found[f"{name}, ns"] = 1e9 * (time.process_time() - start) / (result.steps * learners)
    return found | {"memory, MB": peak_memory()}


def peak_memory() -> float | None:
    """Most megabytes that this process has held so far; None on a system that does not say."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells on Linux begins with the process that started this one
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) * 1024 / 1e6
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(name: str, value: int) -> dict[str, Any]:
    """Measure one size."""
    compile_all()
    if name in _USUAL:
        return {name: value} | measure_phases(**_USUAL | {name: value})
    return {name: value} | measure_generation(**{name: value})


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
