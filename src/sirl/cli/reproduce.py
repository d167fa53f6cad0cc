"""``sirl reproduce``: the paper's experiments, from training to tables and figures."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from sirl.cli.arguments import names
from sirl.cli.experiment import add_options, fill_cells, plan_of, tell_left
from sirl.errors import SirlError

_MARK = "reproduce"
"""Of the place for the report on a page."""


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
    add_options(parser)
    parser.add_argument("--out", default="runs/reproduce", metavar="DIR", help="where it all goes [runs/reproduce]")
    parser.add_argument("--envpool", action="store_true", help="train LunarLander on EnvPool; scores are Gymnasium's")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Train what is missing, then report."""
    from sirl.experiments.pages import draw_reproduction, reproduction, write_figures, write_pages, write_tables
    from sirl.experiments.paper import ORDER, TASKS
    from sirl.experiments.reproduce import cells
    from sirl.experiments.supplement import fill_supplement
    from sirl.experiments.writing import check_page
    from sirl.figures.drawing import style

    _check_report(options)
    chosen = cells(options.tasks or TASKS, options.methods or ORDER, options.envpool)
    plan = plan_of(options, Path(options.out), chosen)
    if options.page:
        check_page(options.page, _MARK)
    with style():  # says at once if there is nothing to draw with
        failed = fill_cells(plan, options)
        if not options.report:
            print("then the paper's printed trees: what they score, and how that hangs on coefficients", flush=True)
            fill_supplement(plan, options.workers)
        report = reproduction(plan.out, plan.episodes)
        write_tables(plan.out, report)
        write_figures(plan.out, draw_reproduction(plan.out))
        pages = write_pages(plan.out, report, options.page, _MARK)
    print(f"{report.heading}\nsaved in {plan.out}/tables, {plan.out}/figures and {', '.join(map(str, pages))}")
    return 1 if tell_left(report, failed) or failed else 0


def _check_report(options: Namespace) -> None:
    """Refuse to report a part: it is all that a directory holds."""
    parts = ("tasks", "methods", "runs", "scale")
    if options.report and (given := [f"--{name}" for name in parts if getattr(options, name) is not None]):
        raise SirlError(f"--report shows all that is in {options.out}: leave out {', '.join(given)}.")
