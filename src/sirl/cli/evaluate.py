"""``sirl evaluate``: a policy's score on unseen episodes."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from sirl.cli.arguments import add_env_option, add_model


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "evaluate",
        help="score a policy on unseen episodes",
        description="Score a policy on episodes it has never seen, on Gymnasium.",
        allow_abbrev=False,
    )
    add_model(parser)
    parser.add_argument("--env", metavar="ENV", help="another task with the same spaces [the policy's own]")
    parser.add_argument("--episodes", type=int, default=100, metavar="N", help="how many [100]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which ones [0]")
    parser.add_argument("--workers", type=int, metavar="N", help="processes to use [all cores]")
    parser.add_argument("--max-steps", type=int, metavar="N", help="cut episodes here")
    add_env_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, every episode included")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Score a policy."""
    from sirl.cli.printing import print_score
    from sirl.model.policy import load
    from sirl.runs.evaluation import evaluate

    policy = load(options.model)
    env_options, max_steps = _as_trained(options) if options.env in (None, policy.task.env) else ({}, None)
    with redirect_stdout(sys.stderr):  # an environment may print; what is printed here may be read by a program
        score = evaluate(
            policy,
            options.env,
            episodes=options.episodes,
            seed=options.seed,
            workers=options.workers,
            max_steps=options.max_steps if options.max_steps is not None else max_steps,
            env_options=env_options | dict(options.env_option),
        )
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


def _as_trained(options: Namespace) -> tuple[dict[str, Any], int | None]:
    """The environment's options and the limit of steps that a run directory was trained with."""
    from sirl.runs.directory import read_config

    if not (Path(options.model) / "config.toml").exists():
        return {}, None
    config = read_config(options.model)
    return config.env_options, config.settings.max_steps
