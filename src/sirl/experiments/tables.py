"""A table as Markdown, CSV and LaTeX, and numbers as its cells show them."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sirl.errors import SirlError
from sirl.experiments.statistics import Interval

_LATEX = {
    **{"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "$": r"\$", "<": "$<$", ">": "$>$", "`": ""},
    **{"±": r"$\pm$", "−": "$-$", "–": "--", "≤": r"$\leq$", "‡": r"$\ddagger$"},
}


class Table(NamedTuple):
    """Rows of text under named columns."""

    name: str
    """Of its files."""
    title: str
    note: str
    """What is in it and how it came about, in a sentence or two."""
    columns: list[str]
    rows: list[list[str]]
    numbers: Mapping[str, list[Any]] = MappingProxyType({})
    """Further columns of the CSV, for programs: one value a row."""


def plain(table: Table) -> str:
    """A table for a terminal: its title, columns side by side, and its note."""
    lines = [table.columns, *table.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([table.title, "", *padded, "", *textwrap.wrap(table.note, 100), ""])


def markdown(table: Table) -> str:
    """A table under its title."""
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    grid = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"### {table.title}\n\n{table.note}\n\n{grid}\n".replace("*", "\\*")


def latex(table: Table) -> str:
    """A table for a paper that uses booktabs."""
    body = [" & ".join(_latex(cell) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(rf"\textbf{{{_latex(name)}}}" for name in table.columns) + r" \\"
    columns = "l" * len(table.columns)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    stop = "" if table.title.endswith("?") else "."
    return f"% {table.title}{stop} {table.note}\n" + "\n".join(lines) + "\n"


def table_csv(table: Table) -> str:
    """A table with its numbers as CSV."""
    more = zip(*table.numbers.values(), strict=True) if table.numbers else [()] * len(table.rows)
    rows = [[*row, *values] for row, values in zip(table.rows, more, strict=True)]
    return comma_separated([*table.columns, *table.numbers], rows)


def comma_separated(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; a float has the digits that count, six of them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    return text.getvalue()


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a saved table."""
    try:
        return parse_rows(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SirlError(f"{path} can't be read ({error.strerror}): compute the tables first.") from None


def parse_rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV."""
    return list(csv.DictReader(io.StringIO(text)))


def number(value: float | None, digits: int = 2) -> str:
    """A score, with as many digits as the paper prints."""
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")


def spread(mean: float, std: float | None) -> str:
    """A mean with its standard deviation."""
    return number(mean) if std is None else f"{number(mean)} ± {number(std)}"


def interval(found: Interval | None) -> str:
    """An interval; a dash where one run is too few for it."""
    return "–" if found is None else f"{number(found.low)} to {number(found.high)}"


def probability(p: float | None) -> str:
    """A p as the paper prints it."""
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def power(value: float | None) -> str:
    """A count such as 4.5e5."""
    return "–" if value is None else f"{value:.1e}".replace("e+0", "e").replace("e+", "e")


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
