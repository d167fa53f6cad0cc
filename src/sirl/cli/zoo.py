"""``sirl zoo``: the policies that come with sirl."""

from __future__ import annotations

from argparse import Namespace
from typing import Any


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "zoo",
        help="list the policies that come with sirl",
        description="List the best small policy of each task that was trained here, with its score on unseen "
        "episodes, its size, and the command that made it. Every command that takes a MODEL takes zoo:NAME.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:  # noqa: ARG001
    """List the zoo."""
    from sirl.cli.printing import count, fine
    from sirl.zoo import cards

    for name, card in cards().items():
        leaves = f"{card.leaves} {'leaf' if card.leaves == 1 else 'leaves'}"
        scored = f"{card.score:.2f} ± {card.std:.2f} on {count(card.episodes, 'unseen episode')} of {card.env}"
        print(fine(f"zoo:{name:<17} {scored}, {count(card.size, 'number')} in {leaves}"))
        print(f"{'':22}{count(card.trained_episodes, 'episode')} of training: {card.command}")
    return 0
