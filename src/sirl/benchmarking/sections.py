"""The run through the sections of a benchmark: what is measured is printed and saved at once."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from sirl.benchmarking import physics
from sirl.benchmarking.measure import FULL, QUICK, Effort, Table, machine
from sirl.benchmarking.report import Report, print_table, save
from sirl.benchmarking.work import compile_all
from sirl.errors import SirlError, did_you_mean

Section = Callable[[Effort], Iterator[Table]]

SECTIONS: dict[str, Section] = {"raw": physics.raw_physics, "phases": physics.phases}
"""What a user may want to know of a machine; a checkout has more in ``benchmarks/``."""


def chosen(sections: Mapping[str, Section], only: Sequence[str] | None) -> dict[str, Section]:
    """The sections to run; all of them unless some are named."""
    for name in only or ():
        if name not in sections:
            hint = did_you_mean(name, list(sections)) or f"; choose from {', '.join(sections)}."
            raise SirlError(f"there is no section {name!r} to measure{hint}")
    return {name: section for name, section in sections.items() if only is None or name in only}


def run(sections: Mapping[str, Section], quick: bool, out: Path) -> Report:
    """Measure, print and save each section."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    report = Report("quick" if quick else "full", now, machine(), [])
    save(report, out)
    compile_all()
    for name, section in sections.items():
        print(f"sirl: measuring {name} …", file=sys.stderr, flush=True)
        found: dict[str, Table] = {}
        for table in section(QUICK if quick else FULL):
            found[table.title] = table  # a longer form of it takes its place
            save(msgspec.structs.replace(report, tables=[*report.tables, *found.values()]), out)
        for table in found.values():
            print_table(table)
        report.tables.extend(found.values())
    return report
