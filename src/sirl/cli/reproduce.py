"""``sirl reproduce``: the paper's experiments, from training to tables and figures."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from sirl.cli.arguments import names
from sirl.cli.experiment import add_options, fill_cells, tell_left


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "reproduce",
        help="the paper's experiments: train, test, compare, draw",
        description="Train the paper's methods on its tasks, test every champion on unseen episodes, and write the "
        "paper's tables and figures with our numbers. Stopped at any point, the same command goes on. Machines share "
        "the work by taking different --runs; copy their directories together, and use --report.",
        allow_abbrev=False,
    )
    parser.add_argument("--tasks", type=names, metavar="A,B,…", help="some of the six tasks [all]")
    parser.add_argument(
        "--methods",
        type=names,
        metavar="A,B,…",
        help="of the paper's, sirl-lb-sequence, where collaborative episodes come one after another, and our own "
        "linear,laws [eldt,sirl-sb,sirl-lb]",
    )
    add_options(parser, 10)
    parser.add_argument("--out", default="runs/reproduce", metavar="DIR", help="where it all goes [runs/reproduce]")
    parser.add_argument("--envpool", action="store_true", help="train LunarLander on EnvPool; scores are Gymnasium's")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Train what is missing, then report."""
    from sirl.config import checked
    from sirl.experiments.cells import Plan, checked_scale, parse_runs
    from sirl.experiments.pages import draw_reproduction, reproduction, write_figures, write_tables
    from sirl.experiments.paper import ORDER, TASKS
    from sirl.experiments.reproduce import cells
    from sirl.experiments.supplement import fill_supplement
    from sirl.figures.drawing import style
    from sirl.options import Episodes

    chosen = cells(options.tasks or TASKS, options.methods or ORDER, options.envpool)
    episodes = checked("episodes", options.episodes, Episodes)
    plan = Plan(Path(options.out), checked_scale(options.scale), chosen, parse_runs(options.runs), episodes)
    with style():  # says at once if there is nothing to draw with
        failed = fill_cells(plan, options)
        if not options.report:
            print("then the paper's printed trees: what they score, and how that hangs on coefficients", flush=True)
            fill_supplement(plan, options.workers)
        report = reproduction(plan.out, episodes)
        pages = write_tables(plan.out, report, options.page, "reproduce")
        write_figures(plan.out, draw_reproduction(plan.out))
    print(f"{report.heading}\nsaved in {plan.out}/tables, {plan.out}/figures and {', '.join(map(str, pages))}")
    return 1 if tell_left(report, failed) or failed else 0
