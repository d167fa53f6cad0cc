"""What sharing buys: trees of laws with and without it, on the same budget and seeds; the table of docs/results.md.

python experiments/sharing.py run      # skips what is finished; keeps results/goals/sharing.csv, then as `table`
python experiments/sharing.py table    # results/goals/sharing.csv → docs/results.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from sirl.experiments.tables import comma_separated, number, read_rows
from sirl.experiments.writing import put
from sirl.runs.campaign import Job, train_all
from sirl.search.front import n_numbers

TASKS = {
    "Pendulum-v1": {"simulator": "envpool", "max_laws": 4},
    "MountainCar-v0": {"simulator": "envpool"},
}
"""Where more than one law may pay."""


HOME = Path(__file__).parents[1]
KEPT, PAGE = HOME / "results" / "goals" / "sharing.csv", HOME / "docs" / "results.md"
COLUMNS = ["task", "sharing", "seed", "score", "numbers", "leaves", "episodes"]


def run(out: Path, seeds: int, workers: int | None) -> None:
    """Train every task both ways with every seed, and keep what came of it; what is finished is not done again."""
    jobs = [
        Job(env, seed, str(out / f"{env}-{sharing}-{seed}"), settings | {"sharing": sharing})
        for env, settings in TASKS.items()
        for seed in range(seeds)
        for sharing in (True, False)
    ]
    finished = train_all(jobs, workers=workers)
    rows = [
        [
            *(job.env, "yes" if job.options["sharing"] else "no", job.seed, f"{run.score.mean:.2f}"),
            *(n_numbers(run.champion.tree), run.champion.tree.n_leaves),
            sum(record.episodes + record.validation.episodes for record in run.history),
        ]
        for job, run in zip(jobs, finished, strict=True)
    ]
    KEPT.write_text(comma_separated(COLUMNS, rows))
    table()


def table() -> None:
    """Put what is kept into docs/results.md, one line a task."""
    put(sharing_text(), PAGE, "sharing")


def sharing_text() -> str:
    """A table of what is kept, one line a task; p is that of a paired t-test."""
    lines = ["| task | with sharing, by seed | without | difference of the means | p | episodes with, without |"]
    lines.append("|---|---|---|---|---|---|")
    rows = read_rows(KEPT)
    for env in TASKS:
        both = [[row for row in rows if (row["task"], row["sharing"]) == (env, way)] for way in ("yes", "no")]
        scores = [[float(row["score"]) for row in runs] for runs in both]
        episodes = [f"{np.mean([float(row['episodes']) for row in runs]):,.0f}" for runs in both]
        shown = [", ".join(number(score, 1) for score in some) for some in scores]
        difference = number(float(np.mean(scores[0]) - np.mean(scores[1])), 1)
        p = stats.ttest_rel(*scores).pvalue
        lines.append(f"| {env} | {shown[0]} | {shown[1]} | {difference} | {p:.2f} | {', '.join(episodes)} |")
    return "\n".join(lines)


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--out", type=Path, default=Path("runs/sharing"))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    if options.what == "run":
        run(options.out, options.seeds, options.workers)
    else:
        table()


if __name__ == "__main__":
    main()
