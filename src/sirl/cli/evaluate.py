"""``sirl evaluate``: a policy's score on unseen episodes."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import redirect_stdout
from typing import Any

from sirl.cli.arguments import add_model, add_playing, playing


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "evaluate",
        help="score a policy on unseen episodes",
        description="Score a policy on episodes it has never seen, on Gymnasium.",
        allow_abbrev=False,
    )
    add_model(parser)
    add_playing(parser, 100, "how many")
    parser.add_argument("--json", action="store_true", help="print JSON, every episode included")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Score a policy."""
    from sirl.cli.printing import print_score
    from sirl.model.policy import load
    from sirl.runs.evaluation import evaluate

    policy = load(options.model)
    with redirect_stdout(sys.stderr):  # an environment may print; what is printed here may be read by a program
        score = evaluate(policy, episodes=options.episodes, **playing(options, policy))
    env = options.env or policy.task.env
    if options.json:
        found = {
            "model": options.model,
            "env": env,
            "seed": options.seed,
            "mean": score.mean,
            "std": score.std,
            "leaves": policy.tree.n_leaves,
            "depth": policy.tree.depth,
            "returns": score.returns.tolist(),
            "lengths": score.lengths.tolist(),
        }
        print(json.dumps(found))
        return 0
    print_score(policy, score, env)
    if policy.origin.published_score is not None:
        mean, std = policy.origin.published_score
        print(f"paper  {mean:.2f} ± {std:.2f}")
    return 0
