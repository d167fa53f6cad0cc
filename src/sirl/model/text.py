"""A tree as text, drawn with box characters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sirl.model.condition import DIGITS, Condition, read_condition
from sirl.model.laws import WeighingLeaves
from sirl.model.task import Task
from sirl.model.tree import Tree, used_features

_MOST_LINES = 5000
"""Of a tree: nobody reads on from there, and a deep tree has far more text than its file."""
_PLAIN = {"├─": "|-", "└─": "`-", "│": "|", "→": "->", "·": "*", "≤": "<=", "≥": ">=", "±": "+-", "–": "-", "×": "x"}


def condition(tree: Tree, split: int, task: Task) -> Condition:
    """What a split asks."""
    return read_condition(tree.weights[split], float(tree.thresholds[split]), task.features)


def draw_tree(
    tree: Tree,
    task: Task,
    width: int | None = None,
    notes: Mapping[int, str] | None = None,
    digits: Sequence[int] | None = None,
) -> str:
    """The tree drawn, conditions before what they lead to, and below it what its derived features are.

    Args:
        tree: what to draw.
        task: has the names.
        width: conditions break between terms where a line would be longer; None: they do not.
        notes: what else to say at a node (a split's number, or ~leaf).
        digits: how many significant digits the numbers of each split have.
    """
    notes = notes or {}
    where = [
        line for text in derivations(tree, task) for line in wrap(f"where {text}".split(", "), "", "      ", width, ",")
    ]

    def leaf_text(leaf: int, first: str, rest: str) -> list[str]:
        label = tree.leaves.label(leaf, task)
        note = f"  {notes[~leaf]}" if ~leaf in notes else ""
        if tree.leaves.menu is not None:
            return [f"{first}{label}{note}"]
        room = None if width is None else max(30, width - len(first))
        *most, last = leaf_lines(label, room)
        return [f"{rest if line else first}{text}" for line, text in enumerate([*most, last + note])]

    if not tree.n_splits:
        return "\n".join([*leaf_text(0, "always ", "       "), *where])
    lines: list[str] = []
    pending = [(tree.root, "", "")]
    while pending:
        if len(lines) >= _MOST_LINES:
            return "\n".join([*lines, f"… and more: {tree.n_leaves} leaves are too many to draw", *where])
        node, indent, branch = pending.pop()
        if node < 0:
            below = indent + {"├": "│        ", "└": "         ", "": ""}[branch[:1]]
            lines += leaf_text(~node, f"{indent}{branch}→ ", below)
            continue
        deeper = indent + {"├": "│      ", "└": "       ", "": ""}[branch[:1]]
        terms = condition(tree, node, task).terms(task.features, DIGITS if digits is None else digits[node])
        terms += [notes[node]] if node in notes else []
        lines += wrap(terms, f"{indent}{branch}if ", f"{deeper}│    ", width)
        yes, no = tree.children[node].tolist()
        pending += [(no, deeper, "└─ no  "), (yes, deeper, "├─ yes ")]
    return "\n".join([*lines, *where])


def derivations(tree: Tree, task: Task) -> list[str]:
    """Name and formula of each derived feature that a tree needs, in order; and what its mirror does, if it has one."""
    lines = [d.line for d in task.needed(used_features(tree)).values()] if task.derived else []
    if isinstance(tree.leaves, WeighingLeaves) and any(map(tree.leaves.reflected, range(tree.n_leaves))):
        lines.append(f"mirrored: {', '.join(task.mirror or ())}")
    return lines


def wrap(terms: Sequence[str], first: str, rest: str, width: int | None, comma: str = "") -> list[str]:
    """Terms in lines that begin with ``first``, then ``rest``, no longer than ``width`` where a break can help."""
    lines, line = [], first + terms[0]
    for term in terms[1:]:
        line += comma
        if width is not None and len(line) + 1 + len(term) + len(comma) > width:
            lines.append(line)
            line = rest + term
        else:
            line += f" {term}"
    return [*lines, line]


def leaf_lines(label: str, width: int | None) -> list[str]:
    """What a person reads at a leaf, in lines: an output of a law each, broken between terms."""
    head, several, laws = label.partition("largest of: ")
    lines = ["largest of"] if several and not head else []
    for part in (laws if lines else label).split("; "):
        lines += wrap(re.split(r" (?=[+-] )", part), "", "  ", width)
    return lines


def plain(text: str) -> str:
    """The same for a terminal that has nothing but ASCII."""
    for fine, coarse in _PLAIN.items():
        text = text.replace(fine, coarse)
    return text
