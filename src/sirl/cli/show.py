"""``sirl show``: a policy as text."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import redirect_stdout
from typing import Any

from sirl.cli.arguments import add_model, add_playing, stage


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "show",
        help="print a policy: the tree, its rules in words, and how much each leaf does",
        description="Print a policy. It plays some episodes first: to tell each leaf's share of the steps, and to "
        "write numbers with as few digits as change no decision in them.",
        allow_abbrev=False,
    )
    add_model(parser)
    add_playing(parser, 20, "episodes to count visits in; 0: none")
    parser.add_argument("--json", action="store_true", help="print JSON: the tree, visits and complexity")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print a policy."""
    from sirl.cli.printing import fine, provenance, width
    from sirl.errors import SirlError
    from sirl.model.policy import load
    from sirl.reading.describing import describe_tree, look, tell
    from sirl.reading.simplify import simplified

    policy = load(options.model)
    shown, problem, seen = simplified(policy), "", None
    if options.episodes:
        try:
            with redirect_stdout(sys.stderr), stage(options, shown) as place:
                seen = place.trace(shown.tree, options.episodes)
        except SirlError as error:  # a policy can be read where its environment is not
            problem = str(error)
    view = look(shown, seen)
    if options.json:
        print(json.dumps(describe_tree(view)))
        return 0
    removed = policy.tree.n_splits - shown.tree.n_splits
    print(fine(tell(view, provenance(policy), removed, width())))
    if problem:
        print(f"sirl: warning: visits are not counted, since {problem}", file=sys.stderr)
    return 0
