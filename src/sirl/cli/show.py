"""``sirl show``: a policy as text."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from sirl.cli.arguments import add_model


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser("show", help="print a policy: the tree, and its rules in words", allow_abbrev=False)
    add_model(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print a policy."""
    from sirl.cli.printing import size
    from sirl.model.policy import load
    from sirl.model.text import rules

    policy = load(options.model)
    origin = policy.origin
    print(f"{policy.task.env}: {size(policy)}")
    facts = [
        origin.method,
        origin.note,
        f"seed {origin.seed}" if origin.seed is not None else "",
        f"generation {origin.generation + 1}" if origin.generation is not None else "",
        f"validated at {origin.validation_score:.2f}" if origin.validation_score is not None else "",
        "paper's score {:.2f} ± {:.2f}".format(*origin.published_score) if origin.published_score else "",
    ]
    if any(facts):
        print(", ".join(fact for fact in facts if fact))
    print(f"\n{policy}\n\n{rules(policy.tree, policy.task)}")
    return 0
