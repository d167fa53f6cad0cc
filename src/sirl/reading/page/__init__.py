"""The report as one HTML file: style, modules and data are put into the page, which then needs nothing else.

The modules beside this file are plain JavaScript; ``write_page`` joins them in the order in which they need each other.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

_MODULES = ("dom", "policy", "tree", "charts", "law", "sections", "whatif", "replay", "main")
_INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def write_page(data: dict[str, Any]) -> str:
    """The page that shows the data of a report."""
    parts = {
        "style": _read("style.css"),
        "data": "".join(_INERT.get(char, char) for char in json.dumps(data, allow_nan=False)),
        "script": "\n".join(_inlined(_read(f"{name}.js")) for name in _MODULES),
    }
    return re.sub(r"/\*(style|data|script)\*/", lambda found: parts[found[1]], _read("page.html"))


def _inlined(module: str) -> str:
    """A module without what only files need: its imports and exports."""
    return re.sub(r"^export ", "", re.sub(r"^import .*\n", "", module, flags=re.MULTILINE), flags=re.MULTILINE)


def _read(name: str) -> str:
    return (resources.files("sirl.reading.page") / name).read_text(encoding="utf-8")
