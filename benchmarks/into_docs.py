"""Put measured tables into a page: python benchmarks/into_docs.py runs/bench/bench.md docs/performance.md [mark].

They replace what stands between the page's ``<!-- mark -->`` and ``<!-- end of mark -->``; without one the mark is
``bench``.
"""

from __future__ import annotations

import sys
from pathlib import Path


def put(tables: Path, page: Path, mark: str = "bench") -> None:
    """Replace the tables of a page."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        sys.exit(f"{page} has no {begin} … {end}: add the two marks where the tables belong.")
    text = f"{before}{begin}\n\n{tables.read_text(encoding='utf-8').rstrip()}\n\n{end}{after}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    put(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
