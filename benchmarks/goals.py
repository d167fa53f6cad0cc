"""From scratch to the goals of docs/results.md: train each task with several seeds, score on unseen episodes.

python benchmarks/goals.py run   --out runs/goals        # skips what is finished
python benchmarks/goals.py table --out runs/goals        # the table of docs/results.md
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sirl


class Goal(NamedTuple):
    """A score to reach, and how to train for it."""

    env: str
    score: float
    settings: dict[str, Any]


GOALS = [
    Goal("CartPole-v1", 475, {"stop_at": 490}),
    Goal("InvertedPendulum-v4", 1000, {"stop_at": 1000}),
    Goal("Acrobot-v1", -100, {"stop_at": -95}),
    Goal("MountainCar-v0", -110, {"stop_at": -107.5, "simulator": "envpool"}),
    Goal(
        "LunarLander-v3",
        200,
        {
            "stop_at": 215,
            "population": 200,
            "luck": "corrected",
            "individual_episodes": 8,
            "collaborative_copies": 20,
            "collaborative_iterations": 40,
            "epsilon_decay": 0.95,
            "candidates": 15,
            "validation_episodes": 40,
            "simulator": "envpool",
        },
    ),
]


def run(options: argparse.Namespace) -> None:
    """Train every goal with every seed; a finished run has a result.json."""
    for goal in GOALS:
        if options.env and goal.env != options.env:
            continue
        for seed in range(options.seeds):
            out = options.out / f"{goal.env}-{seed}"
            if (out / "result.json").exists():
                continue
            shutil.rmtree(out, ignore_errors=True)
            print(f"{goal.env}, seed {seed}", flush=True)
            start = time.perf_counter()
            training = sirl.train(
                goal.env, seed=seed, out=out, workers=options.workers, on_generation=_tell, **goal.settings
            )
            seconds = time.perf_counter() - start
            score = sirl.evaluate(training.champion, episodes=100, seed=12345, workers=options.workers)
            result = {
                "env": goal.env,
                "goal": goal.score,
                "seed": seed,
                "mean": score.mean,
                "std": score.std,
                "generations": len(training.history),
                "episodes": sum(r.episodes for r in training.history),
                "validation": sum(r.validation.episodes for r in training.history),
                "leaves": training.champion.tree.n_leaves,
                "seconds": round(seconds, 1),
            }
            (out / "result.json").write_text(json.dumps(result))
            print(result, flush=True)


def _tell(record: Any) -> None:
    champion = record.champion
    print(
        f"  {record.generation + 1} best {record.best:.1f} mean {record.mean:.1f} champion "
        f"{champion.validation_score:.1f} ({champion.leaves} leaves) {record.seconds:.1f} s",
        flush=True,
    )


def table(options: argparse.Namespace) -> None:
    """Print the results, one line a task."""
    print("| task | goal | score on 100 unseen episodes, by seed | generations | episodes | leaves | seconds |")
    print("|---|---|---|---|---|---|---|")
    for goal in GOALS:
        results = [json.loads(p.read_text()) for p in sorted(options.out.glob(f"{goal.env}-*/result.json"))]
        if results:
            scores = ", ".join(f"{r['mean']:.1f} ± {r['std']:.1f}" for r in results)
            rest = [", ".join(f"{r[k]:,}" for r in results) for k in ("generations", "episodes", "leaves")]
            seconds = np.median([r["seconds"] for r in results])
            print(f"| {goal.env} | {goal.score:g} | {scores} | {' | '.join(rest)} | {seconds:.0f} (median) |")


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--out", type=Path, default=Path("runs/goals"))
    parser.add_argument("--env", help="only this task")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    {"run": run, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
