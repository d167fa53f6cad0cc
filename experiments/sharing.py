"""What sharing buys: trees of laws with and without it, on the same budget and seeds; the table of docs/results.md.

python experiments/sharing.py run   --out runs/sharing       # skips what is finished
python experiments/sharing.py table --out runs/sharing
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from sirl.runs.campaign import Job, read_finished, train_all

TASKS = {
    "Pendulum-v1": {"simulator": "envpool", "max_laws": 4},
    "MountainCar-v0": {"simulator": "envpool", "max_laws": 2, "products": False, "generations": 150},
}
"""Where more than one law may pay."""


def run(out: Path, seeds: int, workers: int | None) -> None:
    """Train every task both ways with every seed; what is finished is not done again."""
    jobs = [
        Job(env, seed, str(out / f"{env}-{sharing}-{seed}"), settings | {"sharing": sharing})
        for env, settings in TASKS.items()
        for seed in range(seeds)
        for sharing in (True, False)
    ]
    train_all(jobs, workers=workers)
    table(out)


def table(out: Path) -> None:
    """Print the results, one line a task."""
    print("| task | with sharing, by seed | without | mean difference | p (paired t) | episodes with, without |")
    print("|---|---|---|---|---|---|")
    for env in TASKS:
        both = [[read_finished(p.parent) for p in sorted(out.glob(f"{env}-{s}-*/score.json"))] for s in (True, False)]
        if len(both[0]) != len(both[1]) or len(both[0]) < 2:
            continue
        scores = [np.array([run.score.mean for run in runs]) for runs in both]
        episodes = [np.mean([sum(r.episodes for r in run.history) for run in runs]) for runs in both]
        shown = [", ".join(f"{s:.1f}" for s in each) for each in scores]
        p = stats.ttest_rel(*scores).pvalue
        print(
            f"| {env} | {shown[0]} | {shown[1]} | {(scores[0] - scores[1]).mean():+.1f} | {p:.2f} "
            f"| {episodes[0]:,.0f}, {episodes[1]:,.0f} |"
        )


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
        table(options.out)


if __name__ == "__main__":
    main()
