"""Put the tables of ``sirl bench`` into a page: python benchmarks/into_docs.py runs/bench/bench.md docs/performance.md.

They replace what stands between the page's two marks.
"""

from __future__ import annotations

import sys
from pathlib import Path

BEGIN, END = "<!-- bench -->", "<!-- end of bench -->"


def put(tables: Path, page: Path) -> None:
    """Replace the tables of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{page} has no {BEGIN} … {END}: add the two marks where the tables belong.")
    text = f"{before}{BEGIN}\n\n{tables.read_text(encoding='utf-8').rstrip()}\n\n{END}{after}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    put(Path(sys.argv[1]), Path(sys.argv[2]))
