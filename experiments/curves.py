"""SIRL against ELDT with equal budgets: run the seeds, then print a table and draw the curves.

    python experiments/curves.py run  --out runs/curves --generations 50 --seeds 5
    python experiments/curves.py draw --out runs/curves --figure docs/figures/curves.svg

``run`` skips what is finished, so it can be stopped and started again. ``draw`` needs ``pip install sirl[plot]``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sirl.runs.campaign import Job, read_finished, train_all

METHODS = {"sirl-sb": "SIRL-SB", "eldt": "ELDT"}


def run(options: argparse.Namespace) -> None:
    """Train every method with every seed, one run on each worker; what is finished is not done again."""
    jobs = [
        Job(
            options.env,
            seed,
            str(options.out / f"{method}-{seed}"),
            {"method": method, "generations": options.generations},
        )
        for seed in range(options.seeds)
        for method in METHODS
    ]
    train_all(jobs, workers=options.workers, engine=options.engine, address=options.address)


def draw(options: argparse.Namespace) -> None:
    """A table of final scores, and the curves of the best training score so far with 95 % intervals."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sirl"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
    print("| method | episodes | champion on 100 unseen episodes, by seed | median | first generation of 1000 |")
    print("|---|---|---|---|---|")
    for method, label in METHODS.items():
        runs = [read_finished(path.parent) for path in sorted(options.out.glob(f"{method}-*/score.json"))]
        histories = [run.history for run in runs]
        scores = [run.score.mean for run in runs]
        best = np.maximum.accumulate([[r.best for r in history] for history in histories], axis=1)
        validated = np.array([[r.champion.validation_score for r in history] for history in histories])
        episodes = np.cumsum([r.episodes for r in histories[0]])
        firsts = [next((str(r.generation + 1) for r in h if r.best >= 1000), "–") for h in histories]
        print(
            f"| {label} | {episodes[-1]:,} | {', '.join(f'{s:.0f}' for s in scores)} | {np.median(scores):.0f} "
            f"| {', '.join(firsts)} |"
        )
        for axis, curves in zip(axes, (best, validated), strict=True):
            mean = curves.mean(axis=0)
            half = 1.96 * curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
            axis.plot(episodes, mean, label=f"{label} ({len(curves)} seeds)")
            axis.fill_between(episodes, mean - half, mean + half, alpha=0.2)
    axes[0].set_title("best training score so far")
    axes[1].set_title("champion, validated on fresh episodes")
    for axis in axes:
        axis.set_xlabel("episodes of both phases")
        axis.set_ylim(0, 1050)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(options.env)
    axes[1].legend()
    figure.tight_layout()
    options.figure.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.figure, metadata={"Date": None})
    print(f"\n{options.figure}")


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "draw"))
    parser.add_argument("--out", type=Path, default=Path("runs/curves"))
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/curves.svg"))
    parser.add_argument("--env", default="InvertedPendulum-v4")
    parser.add_argument("--generations", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, help="runs at the same time; all usable cores if not given")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--address", help="of the Ray cluster")
    options = parser.parse_args()
    {"run": run, "draw": draw}[options.what](options)


if __name__ == "__main__":
    main()
