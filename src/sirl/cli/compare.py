"""``sirl compare``: runs or policies on the same unseen episodes, with statistics."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import redirect_stdout
from typing import Any


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "compare",
        help="statistics between runs or policies on the same unseen episodes",
        description="Let policies play the same unseen episodes and compare them: over episodes where single policies "
        "are given, over runs where directories of runs are given.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="model files, run directories, paper:TASK and zoo:TASK; or directories of runs",
    )
    parser.add_argument("--env", metavar="ENV", help="another task with the same spaces [their own]")
    parser.add_argument("--episodes", type=int, default=100, metavar="N", help="for each policy [100]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which ones [0]")
    parser.add_argument("--workers", type=int, metavar="N", help="processes to use [all cores]")
    parser.add_argument(
        "--crowning",
        choices=("validation", "training"),
        default="validation",
        help="which champion of a run: validated, or with the best training score, as in the paper [validation]",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, every sample included")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Compare policies."""
    from sirl.experiments.compare import compare_models, tables
    from sirl.experiments.tables import plain

    with redirect_stdout(sys.stderr):  # an environment may print; what is printed here may be read by a program
        found = compare_models(
            options.runs,
            env=options.env,
            episodes=options.episodes,
            seed=options.seed,
            workers=options.workers,
            crowning=options.crowning,
        )
    if options.json:
        content = found._asdict() | {
            "samples": {label: sample.tolist() for label, sample in found.samples.items()},
            "summaries": {label: one._asdict() for label, one in found.summaries.items()},
            "tests": found.tests._asdict()
            | {"pairs": [pair._asdict() | {"stars": pair.stars} for pair in found.tests.pairs]},
        }
        print(json.dumps(content))
        return 0
    print("\n".join(plain(table) for table in tables(found)), end="")
    return 0
