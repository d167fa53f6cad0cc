"""``sirl bench``: how fast it is on this machine."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from sirl.cli.arguments import names


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "bench",
        help="measure how fast it is on this machine",
        description="Measure raw physics on this machine, and the speed of both phases against it, in turns on the "
        "same work. The full form takes a quarter of an hour; close what else runs.",
        allow_abbrev=False,
    )
    parser.add_argument("--only", type=names, metavar="A,B,…", help="sections: raw, phases [all]")
    parser.add_argument("--quick", action="store_true", help="a few minutes instead, and rougher")
    parser.add_argument("--out", default="runs/bench", metavar="DIR", help="for bench.json and bench.md [runs/bench]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Measure speed."""
    from sirl.benchmarking import sections

    sections.run(sections.chosen(sections.SECTIONS, options.only), options.quick, Path(options.out))
    print(f"saved in {options.out}/bench.json and bench.md")
    return 0
