"""``sirl prune``: a smaller tree, and what it costs."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from sirl.cli.arguments import add_model, add_playing, keep, stage
from sirl.errors import SirlError

if TYPE_CHECKING:
    from sirl.model.policy import Policy
    from sirl.reading.playing import Stage
    from sirl.reading.prune import Pruned


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "prune",
        help="make a tree smaller where that costs little",
        description="Leave out splits that hardly matter: by visits, as the paper does (a node with under 0.5 % of "
        "its parent's visits), by reward (while the score on the same starts falls by no more than a tolerance), or "
        "down to a number of leaves. What it costs is measured on other episodes, the same for both trees.",
        allow_abbrev=False,
    )
    add_model(parser)
    parser.add_argument("--by", choices=("visits", "reward"), default="visits", help="what tells [visits]")
    parser.add_argument("--least", type=float, metavar="PERCENT", help="of its parent's visits, to stay [0.5]")
    parser.add_argument("--tolerance", type=float, metavar="X", help="how far the score may fall, with reward [0]")
    parser.add_argument("--max-leaves", type=int, metavar="N", help="go on, by reward, until it has no more leaves")
    add_playing(parser, 100, "episodes to choose by, and others to measure on")
    parser.add_argument("--out", metavar="FILE", help="where to write it [beside the model]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Prune a policy."""
    from sirl.model.policy import load

    _check(options)
    policy = load(options.model)
    with stage(options, policy) as place:
        smaller = prune(options, policy, place)
    if smaller is not None:
        keep(smaller, options, "pruned")
    return 0


def prune(options: Namespace, policy: Policy, place: Stage) -> Policy | None:
    """A policy's smaller tree, after telling what went and what it costs; None if nothing went."""
    from sirl.cli.printing import fine, print_change, width
    from sirl.model.text import condition, draw_tree
    from sirl.reading.simplify import simplified

    start = simplified(policy)
    with redirect_stdout(sys.stderr):
        pruned = _prune(options, start, place)
    if pruned.tree.n_splits == policy.tree.n_splits:
        print("nothing to prune: every split is needed")
        return None
    on = ", then by reward" if options.max_leaves and options.by == "visits" else ""
    smaller = policy.changed(pruned.tree, f"pruned by {options.by}{on}")
    if dead := policy.tree.n_splits - start.tree.n_splits:
        print(f"{dead} of its splits can't be turned by any observation within the bounds")
    for split, side in pruned.bypassed.items():
        asked = condition(start.tree, split, policy.task)
        always = asked if side == 0 else asked.negated()
        print(fine(f"left out: as if always {always.text(policy.task.features)}"))
    print(fine(f"\n{draw_tree(smaller.tree, policy.task, width())}\n"))
    print_change(place, policy, smaller, options.episodes)
    return smaller


def _check(options: Namespace) -> None:
    if options.least is not None and (options.by != "visits" or not 0 <= options.least < 50):
        raise SirlError(f"--least {options.least:g} goes with --by visits, from 0 to below 50: correct it.")
    if options.tolerance is not None and options.by != "reward":
        raise SirlError("--tolerance goes with --by reward: add that.")
    if options.max_leaves is not None and options.max_leaves < 1:
        raise SirlError(f"--max-leaves {options.max_leaves} is too few: a tree has at least one leaf.")


def _prune(options: Namespace, policy: Policy, place: Stage) -> Pruned:
    from sirl.reading.playing import count_visits
    from sirl.reading.prune import LEAST_SHARE, limit_leaves, prune_by_reward, prune_by_visits

    def score(trees: Any) -> Any:
        return place.returns(trees, options.episodes)

    tree = policy.tree
    if options.by == "reward":
        pruned = prune_by_reward(tree, score, options.tolerance or 0.0)
    else:
        least = LEAST_SHARE if options.least is None else options.least / 100
        pruned = prune_by_visits(tree, count_visits(tree, place.trace(tree, options.episodes)), least)
    if options.max_leaves is not None and pruned.tree.n_leaves > options.max_leaves:
        return limit_leaves(tree, score, options.max_leaves, pruned.bypassed)
    return pruned
