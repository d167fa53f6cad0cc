"""The tables of a benchmark as text, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from sirl.benchmarking.measure import Table
from sirl.files import write_atomically
from sirl.runs.directory import writable


class Report(msgspec.Struct, frozen=True):
    """All that a benchmark found."""

    form: str
    """quick or full"""
    date: str
    machine: dict[str, str]
    tables: list[Table]


def print_table(table: Table) -> None:
    """A table on the console: with lines on a terminal, plain elsewhere."""
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        print("\n".join(markdown_table(table)), flush=True)
        return
    grid = Grid(title=escape(table.title), caption=escape(table.note), title_justify="left", caption_justify="left")
    names = list(table.rows[0]) if table.rows else ["not measured"]
    for name in names:
        text = all(isinstance(row[name], str) for row in table.rows)
        grid.add_column(escape(name), justify="left" if text else "right")
    for row in table.rows:
        style = {"no": "red", "yes": "green"}.get(row.get("met") or "", "")
        grid.add_row(*(escape(shown(value)) for value in row.values()), style=style)
    Console().print(grid)


def markdown(report: Report) -> str:
    """The whole report."""
    machine = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    lines = [f"Measured {report.date}, {report.form} form: {machine}.", ""]
    for table in report.tables:
        lines += markdown_table(table)
    return "\n".join(lines)


def markdown_table(table: Table) -> list[str]:
    """The lines of one table."""
    lines = [f"### {table.title}", "", table.note, ""]
    if table.rows:
        names = list(table.rows[0])
        lines += [_line(names), "|" + "---|" * len(names)]
        lines += [_line([shown(row[name]) for name in names]) for row in table.rows]
        lines.append("")
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def shown(value: Any) -> str:
    """A cell: three digits that count, or all of a whole number."""
    if value is None:
        return ""
    if isinstance(value, float):
        if abs(value) >= 100:
            return f"{value:,.0f}"
        digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 or value == 0 else 4
        return f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def save(report: Report, directory: Path) -> None:
    """Write bench.json and bench.md."""
    with writable(directory):
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(directory / "bench.json", msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
        write_atomically(directory / "bench.md", markdown(report).encode())
