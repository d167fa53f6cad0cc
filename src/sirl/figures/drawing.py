"""Where figures are made and kept: matplotlib on demand, one style, SVG and PNG, and shown in a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sirl.errors import SirlError, WriteFailure
from sirl.files import make_directory, write_atomically

COLOURS = ("#d55e00", "#009e73", "#0072b2", "#cc79a7", "#e69f00", "#56b4e9", "#999999")
"""Okabe and Ito's, which people with colour blindness tell apart."""
_STYLE: Any = {
    "svg.hashsalt": "sirl",  # the same figure has the same bytes
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
    "axes.titlesize": 10,
    "legend.frameon": False,
}


class Drawing:
    """A figure: a notebook shows it, ``save`` keeps it, ``figure`` is matplotlib's."""

    def __init__(self, figure: Any):
        self.figure = figure
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # each further drawing would move things by a hair

    def save(self, path: str | Path) -> list[Path]:
        """Write the figure as SVG and as PNG, whatever the path's ending; both paths."""
        stem = Path(path).with_suffix("") if Path(path).suffix in (".svg", ".png") else Path(path)
        paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png")]
        for target in paths:
            try:
                make_directory(target.parent)
                write_atomically(target, self._bytes(target.suffix[1:]))
            except OSError as error:
                raise WriteFailure(
                    f"{target} can't be written ({error.strerror or error}): give a directory where you may write."
                ) from None
        return paths

    def _repr_svg_(self) -> str:
        return self._bytes("svg").decode()

    def _bytes(self, kind: str) -> bytes:
        content = io.BytesIO()
        with style():
            when = {"Date": None} if kind == "svg" else {"Software": None}
            self.figure.savefig(content, format=kind, dpi=130, metadata=when)
        return content.getvalue()


def panels(n: int, columns: int = 3, width: float = 3.3, height: float = 2.6) -> tuple[Any, list[Any]]:
    """A figure with ``n`` axes in rows; without a display, and without anything that a later figure inherits."""
    from matplotlib.figure import Figure

    columns = min(columns, n)
    rows = -(-n // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in axes[n:]:
        spare.set_axis_off()
    return figure, axes[:n]


@contextmanager
def style() -> Iterator[None]:
    """The style of all figures; says what is missing where matplotlib is."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise SirlError("figures need matplotlib, which is not installed: pip install 'sirl[plot]'.") from None
    with mpl.rc_context(_STYLE):
        yield
