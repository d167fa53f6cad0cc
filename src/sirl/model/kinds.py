"""All leaf kinds, and which one a model file holds."""

from __future__ import annotations

from typing import Any

import msgspec

from sirl.model.laws import LawLeaves, ScoreLeaves
from sirl.model.leaves import Broken, FixedLeaves, Leaves, QLeaves
from sirl.model.menu import Menu
from sirl.model.task import Task

KINDS: list[type[Leaves]] = [QLeaves, FixedLeaves, LawLeaves, ScoreLeaves]
"""All kinds. A file may mix Q-values with actions, as after an edit by hand: the later kind reads both."""


_CONSTANT: set[type[Leaves]] = {QLeaves, FixedLeaves}


def read_leaves(nodes: list[dict[str, Any]], task: Task, menu: Menu | None) -> Leaves:
    """The leaves that stand in a model file."""
    kinds = {kind.row.__struct_fields__[0]: kind for kind in KINDS}
    rows: list[Any] = []
    found: set[type[Leaves]] = set()
    for node in nodes:
        if "if_true" in node or "if_false" in node:
            raise Broken("a condition lacks weights")
        kind = next((kind for field, kind in kinds.items() if field in node), None)
        if kind is None:
            raise Broken(f"a leaf needs one of {', '.join(kinds)}, but one has {', '.join(node) or 'nothing'}")
        rows.append(msgspec.convert(node, kind.row))
        found.add(kind)
    if len(found) > 1 and not found <= _CONSTANT:
        raise Broken("its leaves are of several kinds")
    return max(found, key=KINDS.index).of_rows(rows, task, menu)
