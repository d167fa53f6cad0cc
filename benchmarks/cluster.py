"""What Ray costs on one machine: the same generations on the local engine and on Ray, in turns.

python benchmarks/cluster.py                     # the table of docs/cluster.md
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import sirl
from sirl.engine import Engine, make_engine
from sirl.engine.messages import encode_call

TASKS = {"InvertedPendulum-v4": {}, "LunarLander-v3": {"population": 100, "collaborative_iterations": 10}}
GENERATIONS = 4
"""The first one of a run, in which Ray's workers start, is left out."""


class Weighed:
    """An engine that notes how large its orders and results are, and how long a map takes."""

    def __init__(self, engine: Engine[Any], notes: list[tuple[int, int, int]]):
        self.engine, self.notes, self.workers = engine, notes, engine.workers

    def map(self, function: Any, items: Any) -> Any:
        """See `Engine.map`."""
        results = self.engine.map(function, items)
        orders = [len(encode_call(function, item)) for item in items]
        self.notes.append((len(items), max(orders), max(len(encode_call(len, result)) for result in results)))
        return results

    def close(self) -> None:
        """See `Engine.close`."""
        self.engine.close()

    def __enter__(self) -> Weighed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def seconds(env: str, engine: str, settings: dict[str, Any], notes: list[tuple[int, int, int]]) -> float:
    """The median time of a generation."""
    how: Any = (lambda arena: Weighed(make_engine("ray", arena, 2, None), notes)) if engine == "ray" else engine
    run = sirl.Training(env, engine=how, workers=2, generations=GENERATIONS, **settings)
    times, start = [], time.perf_counter()
    for _ in run.generations():
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
    return statistics.median(times[1:])


def main() -> None:
    """Measure, and print a table."""
    print("| task | local, s a generation | Ray, s | Ray ÷ local | orders a phase | largest order | largest result |")
    print("|---|---|---|---|---|---|---|")
    for env, settings in TASKS.items():
        notes: list[tuple[int, int, int]] = []
        pairs = [(seconds(env, "local", settings, notes), seconds(env, "ray", settings, notes)) for _ in range(3)]
        local, ray = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in pairs)
        orders = f"{min(n for n, _, _ in notes)} to {max(n for n, _, _ in notes)}"
        sizes = [f"{max(note[k] for note in notes) / 1e6:.1f} MB" for k in (1, 2)]
        print(f"| {env} | {local:.2f} | {ray:.2f} | {ratio:.2f} | {orders} | {sizes[0]} | {sizes[1]} |", flush=True)


if __name__ == "__main__":
    main()
