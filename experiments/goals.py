"""From scratch to the goals of docs/results.md: train each task with several seeds, score on unseen episodes.

python experiments/goals.py run --method laws --seeds 5      # skips what is finished; then as `keep`
python experiments/goals.py keep --method laws               # runs/goals/laws → results/goals/laws.csv, then as `table`
python experiments/goals.py table --method laws              # results/goals/laws.csv → docs/results.md
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sirl.experiments.tables import comma_separated, number, read_rows
from sirl.experiments.writing import put
from sirl.runs.campaign import Job, read_finished, train_all
from sirl.runs.directory import read_config
from sirl.search.front import n_numbers


class Goal(NamedTuple):
    """A score to reach, and how to train for it."""

    env: str
    score: float
    settings: dict[str, Any]
    paper: str = ""
    """What the paper reports as the best readable and the best opaque policy."""


LAWS = [
    Goal("InvertedPendulum-v4", 1000, {"stop_at": 1000}, "1000, 1000"),
    Goal("CartPole-v1", 500, {"stop_at": 500}),
    Goal("Pendulum-v1", -170, {"simulator": "envpool"}),
    Goal("MountainCar-v0", -105, {"simulator": "envpool"}),
    Goal("Acrobot-v1", -80, {"simulator": "envpool"}),
    Goal("LunarLander-v3", 265, {}, "272, 248"),
    Goal("Swimmer-v4", 350, {}, "223, 274"),
    Goal("Reacher-v4", -5.5, {}, "−8.71, −4.09"),
    Goal("Hopper-v4", 2500, {}, "1026, 3636"),
    Goal("HalfCheetah-v4", 3000, {}),
    Goal("Walker2d-v4", 1500, {}, "982, 5566"),
    Goal("BipedalWalker-v3", 250, {"simulator": "envpool"}),
]
"""For our own method, by the presets."""

DERIVED = [
    Goal(
        "Reacher-v4",
        -5.5,
        {
            "method": "linear",
            "derive": [
                "tip_x_miss = p_x*d_y - p_y*d_x",
                "elbow_x_miss = tip_x_miss - 0.1*(cos(theta_0)*d_y - sin(theta_0)*d_x)",
            ],
        },
    )
]
"""With features that a person gives."""

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


HOME = Path(__file__).parents[1]
PAGE, README = HOME / "docs" / "results.md", HOME / "README.md"
COLUMNS = ["task", "seed", "score", "std", "numbers", "leaves", "episodes", "steps", "seconds"]


def run(options: argparse.Namespace) -> None:
    """Train every goal with every seed, one run on each worker; what is finished is not done again."""
    jobs = [
        Job(goal.env, seed, str(options.out / f"{goal.env}-{seed}"), {"method": options.method} | goal.settings)
        for goal in goals_of(options.method)
        if options.env in (None, goal.env)
        for seed in range(options.seeds)
    ]
    train_all(jobs, workers=options.workers, engine=options.engine, address=options.address)
    keep(options)


def goals_of(method: str) -> list[Goal]:
    """What a method is to reach."""
    return DERIVED if method == "derived" else LAWS if method in ("laws", "linear") else GOALS


def keep(options: argparse.Namespace) -> None:
    """Add what finished runs came to to the results that are committed."""
    kept = {(row["task"], int(row["seed"])): row for row in rows_of(options.method)}
    for path in sorted(options.out.glob("*/score.json")):
        row = _row(path.parent)
        kept[row["task"], int(row["seed"])] = row
    order = [goal.env for goal in goals_of(options.method)]
    rows = [kept[key] for key in sorted(kept, key=lambda key: (order.index(key[0]), key[1]))]
    path = _results(options.method)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(comma_separated(COLUMNS, [[row[name] for name in COLUMNS] for row in rows]))
    table(options)


def _row(directory: Path) -> dict[str, str]:
    """What a finished run came to and cost, races for the crown included."""
    config, run = read_config(directory), read_finished(directory)
    return {
        "task": config.env,
        "seed": str(config.seed),
        "score": f"{run.score.mean:.2f}",
        "std": f"{run.score.std:.2f}",
        "numbers": str(n_numbers(run.champion.tree)),
        "leaves": str(run.champion.tree.n_leaves),
        "episodes": str(sum(r.episodes + r.validation.episodes for r in run.history)),
        "steps": str(sum(r.steps for r in run.history)),
        "seconds": f"{sum(r.seconds for r in run.history):.0f}",
    }


def _results(method: str) -> Path:
    return HOME / "results" / "goals" / f"{method}.csv"


def rows_of(method: str) -> list[dict[str, str]]:
    """What is kept of a method's runs; of some that were run long ago not everything is known."""
    return read_rows(_results(method)) if _results(method).exists() else []


def table(options: argparse.Namespace) -> None:
    """Put the results into docs/results.md, one line a task, and of laws what matters most into the README."""
    mark = f"goals {options.method}"
    put(full_table(options.method), PAGE, mark)
    if options.method == "laws":
        put(short_table(options.method), README, mark)


def full_table(method: str) -> str:
    """All that is kept of a method's runs, one line a task."""
    known = [name for name in COLUMNS if any(row[name] for row in rows_of(method))]
    listed = [name for name in ("numbers", "leaves") if name in known]
    costs = [name for name in ("episodes", "steps", "seconds") if name in known]
    lines = [["task", "goal", "median", "worst", "by seed", *listed, *costs]]
    for goal, runs in _by_goal(method):
        digits = 0 if goal.score == int(goal.score) else 1
        by_seed = [" ± ".join(number(float(run[name]), 1) for name in ("score", "std") if run[name]) for run in runs]
        sizes = [", ".join(run[name] or "–" for run in runs) for name in listed]
        spent = [_cost(runs, name) for name in costs]
        lines.append([goal.env, number(goal.score, digits), *_scores(runs), ", ".join(by_seed), *sizes, *spent])
    return _grid(lines)


def short_table(method: str) -> str:
    """What matters most of a method's runs, one line a task."""
    columns = ["task", "median", "worst", "numbers in the policy", "episodes", "the paper's readable, opaque"]
    lines = []
    for goal, runs in _by_goal(method):
        sizes = sorted({int(run["numbers"]) for run in runs if run["numbers"]}) or ["–"]
        size = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        lines.append([goal.env, *_scores(runs), size, _cost(runs, "episodes"), goal.paper])
    return _grid([columns, *lines])


def _by_goal(method: str) -> list[tuple[Goal, list[dict[str, str]]]]:
    """Every goal with the runs for it, where there are any."""
    rows = rows_of(method)
    found = [(goal, [row for row in rows if row["task"] == goal.env]) for goal in goals_of(method)]
    return [(goal, runs) for goal, runs in found if runs]


def _cost(runs: list[dict[str, str]], column: str) -> str:
    """The median of what is known."""
    known = [float(run[column]) for run in runs if run[column]]
    return f"{np.median(known):,.0f}" if known else "–"


def _scores(runs: list[dict[str, str]]) -> list[str]:
    """Of the seeds the median and the worst."""
    scores = [float(run["score"]) for run in runs]
    return [number(float(np.median(scores)), 1), number(min(scores), 1)]


def _grid(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "keep", "table"))
    parser.add_argument("--method", default="sirl-lb", help="laws, linear and derived have goals of their own")
    parser.add_argument("--out", type=Path, help="of the runs [runs/goals/METHOD]")
    parser.add_argument("--env", help="only this task")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, help="runs at the same time; all usable cores if not given")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--address", help="of the Ray cluster")
    options = parser.parse_args()
    options.out = options.out or Path("runs/goals") / options.method
    {"run": run, "keep": keep, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
