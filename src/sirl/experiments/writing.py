"""An experiment's files: tables first, then figures that are drawn from them, then a page that shows both.

``OUT/tables`` has every table as CSV, the readable ones as Markdown and LaTeX too; ``OUT/figures`` has SVG and PNG.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sirl.errors import SirlError
from sirl.experiments.report import Rows
from sirl.experiments.tables import Table, comma_separated, latex, markdown, table_csv
from sirl.figures.drawing import Drawing
from sirl.files import make_directory, write_atomically
from sirl.runs.directory import writable


def table_files(tables: Sequence[Table], rows: Sequence[Rows]) -> dict[str, str]:
    """The content of every file of ``OUT/tables`` by its name."""
    files = {f"{one.name}.csv": comma_separated(one.columns, one.rows) for one in rows}
    for table in tables:
        files |= {
            f"{table.name}.csv": table_csv(table),
            f"{table.name}.md": markdown(table),
            f"{table.name}.tex": latex(table),
        }
    return files


def write_files(directory: Path, files: dict[str, str]) -> None:
    """Write files of text into a directory."""
    with writable(directory):
        make_directory(directory)
        for name, content in files.items():
            write_atomically(directory / name, content.encode())


def save_figures(directory: Path, drawings: dict[str, Drawing]) -> None:
    """Write every figure, as SVG and as PNG."""
    for name, drawing in drawings.items():
        drawing.save(directory / name)


def page(heading: str, tables: Sequence[Table], figures: dict[str, str], figures_at: str) -> str:
    """Everything in one text: a sentence, the first table, figures (name and caption), the other tables."""
    shown = [f"![{name}]({figures_at}/{name}.svg)\n\n{caption}\n" for name, caption in figures.items()]
    first, *others = [markdown(table) for table in tables] or [""]
    return "\n".join([f"{heading}\n", first, *shown, *others])


def put(text: str, path: Path, mark: str) -> None:
    """Replace what stands between ``<!-- mark -->`` and ``<!-- end of mark -->`` of a page."""
    whole = spliced(_read_page(path), text, mark, str(path))
    with writable(path):
        write_atomically(path, whole.encode())


def check_page(path: Path, mark: str) -> None:
    """Refuse a page that nothing can be put into."""
    spliced(_read_page(path), "", mark, str(path))


def _read_page(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SirlError(f"{path} does not exist: create it, or give another page.") from None
    except OSError as error:
        raise SirlError(f"{path} can't be read ({error.strerror}): give another page.") from None
    except UnicodeDecodeError:
        raise SirlError(f"{path} is not UTF-8 text: save it as such, or give another page.") from None


def spliced(whole: str, text: str, mark: str, name: str) -> str:
    """A page with other text between its two marks."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, found, rest = whole.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SirlError(f"{name} has no {begin} … {end}: add the two marks where the tables belong.")
    return f"{before}{begin}\n\n{text.rstrip()}\n\n{end}{after}"


def relative(target: Path, page: Path) -> str:
    """How a page links to a path."""
    return Path(os.path.relpath(target, page.parent)).as_posix()
