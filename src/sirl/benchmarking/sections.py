"""The sections of a benchmark by name, and the run through them."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from sirl.benchmarking import growth, physics, profile, python_loops, startup, whole
from sirl.benchmarking.measure import FULL, QUICK, Effort, Table, machine
from sirl.benchmarking.report import Report, print_table, save
from sirl.benchmarking.work import compile_all
from sirl.errors import SirlError, did_you_mean

Section = Callable[[Effort], Iterator[Table]]

SECTIONS: dict[str, Section] = {
    "raw": physics.raw_physics,
    "phases": physics.phases,
    "profile": profile.profile,
    "gymnasium": python_loops.gymnasium_loop,
    "plain": partial(python_loops.plain_python, path=None),
    "generations": whole.generations,
    "runs": whole.runs,
    "growth": growth.growth,
    "startup": startup.startup,
}


def chosen(only: Sequence[str] | None, plain: str | None) -> dict[str, Section]:
    """The sections to run; all of them unless some are named."""
    for name in only or ():
        if name not in SECTIONS:
            hint = did_you_mean(name, list(SECTIONS)) or f"; choose from {', '.join(SECTIONS)}."
            raise SirlError(f"there is no section {name!r} to measure{hint}")
    if plain is not None:
        python_loops.load_plain(plain)  # a wrong path should not come up after half an hour
    sections = SECTIONS | {"plain": partial(python_loops.plain_python, path=plain)}
    return {name: section for name, section in sections.items() if only is None or name in only}


def run(only: Sequence[str] | None, quick: bool, out: Path, plain: str | None) -> Report:
    """Measure, print and save each section; what is measured is saved at once."""
    sections = chosen(only, plain)
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
