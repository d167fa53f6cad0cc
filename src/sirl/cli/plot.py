"""``sirl plot``: curves and box plots of runs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "plot",
        help="draw curves and box plots of runs",
        description="Draw the scores of runs by generation, and their champions on unseen episodes where they have "
        "played. A directory of runs is drawn as one mean with its 95 %% band.",
        allow_abbrev=False,
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directories, or directories of runs")
    parser.add_argument("--out", default="runs/figures", metavar="DIR", help="for the SVG and PNG files [runs/figures]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Draw runs."""
    from sirl.experiments.gallery import draw_runs

    for name, drawing in draw_runs(options.runs).items():
        for path in drawing.save(Path(options.out) / name):
            print(path)
    return 0
