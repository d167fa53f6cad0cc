"""SIRL against ELDT with equal budgets: run the seeds, then print a table and draw the curves.

    python benchmarks/curves.py run  --out runs/curves --generations 50 --seeds 5
    python benchmarks/curves.py draw --out runs/curves --figure docs/figures/curves.svg

``run`` skips what is finished, so it can be stopped and started again. ``draw`` needs ``pip install sirl[plot]``.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np

import sirl
from sirl.runs import read_history

METHODS = {"sirl-sb": "SIRL-SB", "eldt": "ELDT"}


def run(options: argparse.Namespace) -> None:
    """Train every method with every seed; a finished run has a score.json."""
    for seed in range(options.seeds):
        for method in METHODS:
            out = options.out / f"{method}-{seed}"
            if (out / "score.json").exists():
                continue
            shutil.rmtree(out, ignore_errors=True)
            print(f"{method}, seed {seed}", flush=True)
            training = sirl.train(
                options.env,
                method=method,
                seed=seed,
                out=out,
                workers=options.workers,
                generations=options.generations,
                on_generation=lambda r: print(r.generation, round(r.best, 1), round(r.seconds, 1), flush=True),
            )
            score = sirl.evaluate(training.champion, episodes=100, workers=options.workers)
            (out / "score.json").write_text(json.dumps({"mean": score.mean, "std": score.std}))


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
        runs = sorted(p.parent for p in options.out.glob(f"{method}-*/score.json"))
        histories = [read_history(path) for path in runs]
        scores = [json.loads((path / "score.json").read_text())["mean"] for path in runs]
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
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    {"run": run, "draw": draw}[options.what](options)


if __name__ == "__main__":
    main()
