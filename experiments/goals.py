"""From scratch to the goals of docs/results.md: train each task with several seeds, score on unseen episodes.

python experiments/goals.py run   --out runs/goals        # skips what is finished
python experiments/goals.py table --out runs/goals        # the table of docs/results.md
python experiments/goals.py run   --method laws --seeds 5 --out runs/laws
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sirl.runs.campaign import Job, read_finished, train_all
from sirl.search.front import n_numbers


class Goal(NamedTuple):
    """A score to reach, and how to train for it."""

    env: str
    score: float
    settings: dict[str, Any]


LAWS = [
    Goal("InvertedPendulum-v4", 1000, {"stop_at": 1000}),
    Goal("CartPole-v1", 500, {"stop_at": 500}),
    Goal("Pendulum-v1", -170, {"simulator": "envpool"}),
    Goal("MountainCar-v0", -105, {"simulator": "envpool"}),
    Goal("Acrobot-v1", -80, {"simulator": "envpool"}),
    Goal("LunarLander-v3", 265, {"simulator": "envpool"}),
    Goal("Swimmer-v4", 350, {}),
    Goal("Reacher-v4", -5.5, {}),
    Goal("Hopper-v4", 2500, {}),
    Goal("HalfCheetah-v4", 3000, {}),
    Goal("Walker2d-v4", 1500, {}),
    Goal("BipedalWalker-v3", 250, {"simulator": "envpool"}),
]
"""For our own method, by the presets."""

GOALS = [
    Goal("CartPole-v1", 475, {"stop_at": 490}),
    Goal("InvertedPendulum-v4", 1000, {"stop_at": 1000}),
    Goal("Acrobot-v1", -100, {"stop_at": -95}),
    Goal("MountainCar-v0", -110, {"stop_at": -107.5, "simulator": "envpool"}),
    Goal(
        "LunarLander-v3",
        200,
        {
            "stop_at": 210,
            "population": 200,
            "luck": "corrected",
            "individual_episodes": 8,
            "collaborative_copies": 20,
            "collaborative_iterations": 40,
            "learning_rate": 0.01,
            "epsilon_decay": 0.95,
            "candidates": 15,
            "validation_episodes": 80,
            "simulator": "envpool",
        },
    ),
]


def run(options: argparse.Namespace) -> None:
    """Train every goal with every seed, one run on each worker; what is finished is not done again."""
    jobs = [
        Job(goal.env, seed, str(options.out / f"{goal.env}-{seed}"), goal.settings | {"method": options.method})
        for goal in _goals(options)
        if options.env in (None, goal.env)
        for seed in range(options.seeds)
    ]
    train_all(jobs, workers=options.workers, engine=options.engine, address=options.address)
    table(options)


def _goals(options: argparse.Namespace) -> list[Goal]:
    return LAWS if options.method in ("laws", "linear") else GOALS


def table(options: argparse.Namespace) -> None:
    """Print the results, one line a task."""
    print("| task | goal | median | worst | by seed | numbers | leaves | episodes | steps | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for goal in _goals(options):
        runs = [read_finished(path.parent) for path in sorted(options.out.glob(f"{goal.env}-*/score.json"))]
        if runs:
            scores = [run.score.mean for run in runs]
            trees = [run.champion.tree for run in runs]
            spent = {
                "episodes": [sum(r.episodes + r.validation.episodes for r in run.history) for run in runs],
                "steps": [sum(r.steps for r in run.history) for run in runs],
                "seconds": [sum(r.seconds for r in run.history) for run in runs],
            }
            cells = [
                goal.env,
                f"{goal.score:g}",
                f"{np.median(scores):.1f}",
                f"{min(scores):.1f}",
                ", ".join(f"{run.score.mean:.1f} ± {run.score.std:.1f}" for run in runs),
                ", ".join(str(n_numbers(tree)) for tree in trees),
                ", ".join(str(tree.n_leaves) for tree in trees),
                *(f"{np.median(values):,.0f}" for values in spent.values()),
            ]
            print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--method", default="sirl-lb", help="laws and linear have goals of their own")
    parser.add_argument("--out", type=Path, default=Path("runs/goals"))
    parser.add_argument("--env", help="only this task")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, help="runs at the same time; all usable cores if not given")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--address", help="of the Ray cluster")
    options = parser.parse_args()
    {"run": run, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
