"""``sirl sweep``: a study of one setting, from training to statistics."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from sirl.cli.experiment import add_options, fill_cells, plan_of, tell_left


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "sweep",
        help="a study of one setting: episodes alone or together, voting rules",
        description="Train a task in several ways that differ in one thing, and compare them. budget: how one budget "
        "is shared between episodes alone (e_i) and together (e_c). voting: random, majority, leader, weighted.",
        allow_abbrev=False,
    )
    parser.add_argument("study", metavar="STUDY", help="budget or voting")
    parser.add_argument("--env", default="InvertedPendulum-v4", metavar="ENV", help="the task [InvertedPendulum-v4]")
    add_options(parser)
    parser.add_argument("--out", metavar="DIR", help="where it all goes [runs/sweep-STUDY-ENV]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Train what is missing, then report."""
    from sirl.experiments.pages import draw_study, study_report, write_figures, write_pages, write_tables
    from sirl.experiments.sweep import study
    from sirl.experiments.tables import plain
    from sirl.experiments.writing import check_page
    from sirl.figures.drawing import style

    asked = study(options.study, options.env)
    out, mark = Path(options.out or f"runs/sweep-{options.study}-{options.env}"), f"sweep {options.study}"
    plan = plan_of(options, out, asked.cells)
    if options.page:
        check_page(options.page, mark)
    with style():  # says at once if there is nothing to draw with
        failed = fill_cells(plan, options)
        report = study_report(asked, plan)
        write_tables(out, report)
        write_figures(out, draw_study(out, plan.scale))
        pages = write_pages(out, report, options.page, mark)
    for table in report.tables[:2]:
        print(f"\n{plain(table)}", end="")
    print(f"\nsaved in {out}/tables, {out}/figures and {', '.join(map(str, pages))}")
    return 1 if tell_left(report, failed) or failed else 0
