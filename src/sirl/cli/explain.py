"""``sirl explain``: which terms of a policy's conditions and laws matter, and how simple they can be."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from sirl.cli.arguments import add_model, add_playing, keep, stage
from sirl.errors import SirlError

if TYPE_CHECKING:
    from sirl.model.policy import Policy
    from sirl.reading.explain import Explanation
    from sirl.reading.sensitivity import Sweep


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "explain",
        help="tell which terms of the conditions and laws matter, and simplify them",
        description="Leave out each term in turn and measure what the score loses on the same starts; then leave out "
        "and round as much as a stated loss allows. With --sweep, change one constant instead.",
        epilog="example:  sirl explain paper:InvertedPendulum --sweep 1.omega --from 0 --to 1",
        allow_abbrev=False,
    )
    add_model(parser)
    parser.add_argument("--loss", type=float, metavar="X", help="how far the score may fall in all [5 %% of it]")
    parser.add_argument("--sweep", metavar="N.NAME", help="a constant, such as 1.omega, 2.bound or leaf0.push.theta")
    parser.add_argument("--from", dest="low", type=float, metavar="X", help="first value of a sweep")
    parser.add_argument("--to", dest="high", type=float, metavar="X", help="last value of a sweep")
    parser.add_argument("--points", type=int, default=17, metavar="N", help="values of a sweep [17]")
    add_playing(parser, 30, "episodes of each variant")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--out", metavar="FILE", help="write the simplified policy here")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Explain a policy, or sweep one of its constants."""
    from sirl.cli.printing import print_change
    from sirl.model.policy import load
    from sirl.model.tree import simplify
    from sirl.reading.explain import explain
    from sirl.reading.simplify import simplified
    from sirl.reading.weights import places

    if options.points < 2 or (options.loss is not None and options.loss < 0):
        raise SirlError("a sweep needs 2 --points or more, and a --loss is 0 or more: correct them.")
    policy = simplified(load(options.model))
    if not places(policy.tree):
        raise SirlError("this policy has nothing to explain: it always does the same.")
    with stage(options, policy) as place:

        def score(trees: Any) -> Any:
            return place.returns(trees, options.episodes)

        if options.sweep:
            with redirect_stdout(sys.stderr):
                swept = _sweep(options, policy, score)
            return _tell_sweep(swept, options.json)
        with redirect_stdout(sys.stderr):
            found = explain(policy.tree, policy.task, score, options.loss)
        simple = policy.changed(simplify(found.simple), "simplified by explain")
        _tell(policy, found, options.json)
        if not options.json:
            print_change(place, policy, simple, options.episodes)
    if options.out:
        keep(simple, options, "simple")
    return 0


def _sweep(options: Namespace, policy: Policy, score: Any) -> Sweep:
    import numpy as np

    from sirl.reading.sensitivity import find_constant, sweep, usual_range

    constant = find_constant(policy.tree, policy.task, options.sweep)
    usual = usual_range(constant, 2)
    low = usual[0] if options.low is None else options.low
    high = usual[1] if options.high is None else options.high
    return sweep(policy.tree, policy.task, constant, np.linspace(low, high, options.points), score)


def _tell_sweep(found: Sweep, as_json: bool) -> int:
    from sirl.cli.printing import fine

    if as_json:
        columns = {"values": found.values, "means": found.means, "stds": found.stds}
        lists = {name: column.tolist() for name, column in columns.items()}
        print(json.dumps({"constant": found.constant.label, "own": found.constant.value, **lists}))
        return 0
    span = max(float(found.means.max() - found.means.min()), 1e-12)
    lines = [f"{found.constant.label} is {found.constant.value:.4g} in the policy", ""]
    for value, mean, std in zip(found.values, found.means, found.stds, strict=True):
        bar = "#" * round(30 * float(mean - found.means.min()) / span)
        lines.append(f"{value:>10.4g}  {mean:>10.2f} ± {std:<9.2f} {bar}")
    print(fine("\n".join(lines)))
    return 0


def _tell(policy: Policy, found: Explanation, as_json: bool) -> None:
    from sirl.cli.printing import fine
    from sirl.reading.explain import told_node
    from sirl.reading.weights import term_name, weight

    tree, task = policy.tree, policy.task
    nodes = list(dict.fromkeys(term.place.node for term in found.losses))
    names = {term.place: term_name(tree, task, term.place) for term in found.losses}
    if as_json:
        terms = [
            {
                **({"split": p.node} if p.node >= 0 else {"leaf": ~p.node, "output": task.action_names[p.output]}),
                "term": names[p],
                "loss": loss,
                "error": error,
            }
            for p, loss, error in found.losses
        ]
        simple = [told_node(found.simple, task, node) for node in nodes]
        print(json.dumps({"score": found.score, "terms": terms, "simple": simple, "simple_score": found.simple_score}))
        return
    for node in nodes:
        print(fine(f"{f'split {node + 1}' if node >= 0 else f'leaf {~node}'}: {told_node(tree, task, node)}"))
        for term in sorted((t for t in found.losses if t.place.node == node), key=lambda t: -t.loss):
            several = node < 0 and len(task.action_names) > 1
            where = f" in {task.action_names[term.place.output]}" if several else ""
            kept = "" if weight(found.simple, term.place) else "  can go"
            print(fine(f"    without {names[term.place]}{where}: {0.0 - term.loss:+.2f} ± {term.error:.2f}{kept}"))
        print(fine(f"  simply: {told_node(found.simple, task, node)}\n"))
    print(f"chosen on {found.score:.2f}, with at most {found.tolerance:.4g} to lose; measured on other episodes:")
