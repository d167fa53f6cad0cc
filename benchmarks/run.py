"""All that is measured of speed, for docs/performance.md.

    python benchmarks/run.py --only phases,growth --out runs/bench     # or all of it: make bench

The better part of an hour in the full form; close what else runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import growth
import profile_phases
import python_loops
import startup
import whole
from sirl.benchmarking import sections
from sirl.benchmarking.sections import Section

SECTIONS: dict[str, Section] = sections.SECTIONS | {
    "profile": profile_phases.profile,
    "gymnasium": python_loops.gymnasium_loop,
    "plain": python_loops.plain_python,
    "generations": whole.generations,
    "runs": whole.runs,
    "growth": growth.growth,
    "startup": startup.startup,
}


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="A,B,…", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="a few minutes instead, and rougher")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    options = parser.parse_args()
    sections.run(sections.chosen(SECTIONS, options.only), options.quick, options.out)


if __name__ == "__main__":
    main()
