"""The paper's printed trees on unseen episodes, against what the paper says; the first table of docs/results.md."""

from __future__ import annotations

import math

import sirl

NAMES = ("InvertedPendulum", "LunarLander", "Swimmer", "Reacher", "Hopper", "Walker2d")


def main() -> None:
    """Score every tree on 100 episodes and print the table."""
    print("| tree | score on 100 unseen episodes | paper | difference in standard errors | leaves |")
    print("|---|---|---|---|---|")
    for name in NAMES:
        policy = sirl.load(f"paper:{name}")
        score = sirl.evaluate(policy, episodes=100)
        assert policy.origin.published_score is not None
        mean, std = policy.origin.published_score
        error = math.sqrt((score.std**2 + std**2) / 100)
        off = f"{(score.mean - mean) / error:+.1f}" if error else "0"
        print(
            f"| `paper:{name}` | {score.mean:.2f} ± {score.std:.2f} | {mean:.2f} ± {std:.2f} | {off} "
            f"| {policy.tree.n_leaves} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
