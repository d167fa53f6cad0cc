"""``sirl check``: a property of a policy, proved or refuted."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from sirl.cli.arguments import add_model


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "check",
        help="prove that a policy never does something, or find a state where it does",
        description="Decide a property over all observations within the task's bounds, by linear programming. Exit "
        "code 0: it holds; 3: it fails, and a state is told; 4: it could not be decided.",
        epilog='example:  sirl check paper:InvertedPendulum --when "theta > 0.2 and omega >= 0" --never "push -1"',
        allow_abbrev=False,
    )
    add_model(parser)
    parser.add_argument("--when", default="", metavar="CONDITION", help="in which states, such as 'theta > 0.2' [all]")
    parser.add_argument(
        "--never", required=True, metavar="ACTION", help="an action by name, or a condition such as 'push < 0'"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Check a property."""
    from sirl.cli.printing import fine
    from sirl.model.policy import load
    from sirl.reading.check import check, read_property

    policy = load(options.model)
    verdicts = check(policy, read_property(policy, options.when, options.never))
    answers = {verdict.answer for verdict in verdicts}
    answer = "fails" if "fails" in answers else "open" if "open" in answers else "holds"
    if options.json:
        leaves = [v._replace(state=None if v.state is None else v.state.tolist())._asdict() for v in verdicts]
        print(json.dumps({"answer": answer, "leaves": leaves}))
        return {"holds": 0, "fails": 3, "open": 4}[answer]
    asked = f"when {options.when}, never {options.never}" if options.when else f"never {options.never}"
    lines = [f"{ {'holds': 'holds', 'fails': 'FAILS', 'open': 'UNDECIDED'}[answer] }: {asked}", ""]
    for verdict in verdicts:
        lines.append(f"leaf {verdict.leaf}, {verdict.action}: {verdict.answer}, since {verdict.why}")
        if verdict.state is not None:
            named = zip(policy.task.features, verdict.state.tolist(), strict=True)
            lines.append(f"    {', '.join(f'{name} = {value:g}' for name, value in named)}")
    print(fine("\n".join(lines)))
    return {"holds": 0, "fails": 3, "open": 4}[answer]
