"""A tree as text: drawn, and as rules in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sirl.arrays import Floats
from sirl.model.task import Task
from sirl.model.tree import Tree

_MOST_LINES = 5000
"""Of a tree, and of its rules: nobody reads on from there, and a deep tree has far more text than its file."""


def draw_tree(tree: Tree, task: Task) -> str:
    """The tree drawn with box characters, conditions before what they lead to."""
    if not tree.n_splits:
        return f"always {tree.leaves.label(0, task)}"
    lines = [f"if {condition(tree, 0, task.features)}"]
    pending = [(int(tree.children[0, 1]), "", "└─ no  "), (int(tree.children[0, 0]), "", "├─ yes ")]
    while pending:
        if len(lines) == _MOST_LINES:
            return "\n".join([*lines, f"… and more: {tree.n_leaves} leaves are too many to draw"])
        node, indent, branch = pending.pop()
        if node < 0:
            lines.append(f"{indent}{branch}→ {tree.leaves.label(~node, task)}")
            continue
        lines.append(f"{indent}{branch}if {condition(tree, node, task.features)}")
        deeper = indent + ("│      " if branch.startswith("├") else "       ")
        yes, no = tree.children[node].tolist()
        pending += [(no, deeper, "└─ no  "), (yes, deeper, "├─ yes ")]
    return "\n".join(lines)


def rules(tree: Tree, task: Task) -> str:
    """The conditions, a letter each, and a rule for each leaf in these letters."""
    names = [_letters(split) for split in range(tree.n_splits)]
    lines = [f"{name}:  {condition(tree, split, task.features)}" for split, name in enumerate(names[:_MOST_LINES])]
    lines += [""] if lines else []
    pending: list[tuple[int, list[str]]] = [(tree.root, [])]
    while pending:
        if len(lines) >= 2 * _MOST_LINES:
            return "\n".join([*lines, f"… and more: {tree.n_leaves} leaves are too many to put in words"])
        node, path = pending.pop()
        if node < 0:
            action = tree.leaves.label(~node, task)
            lines.append(f"if {' and '.join(path)}: {action}" if path else f"always {action}")
            continue
        yes, no = tree.children[node].tolist()
        pending += [(no, [*path, f"not {names[node]}"]), (yes, [*path, names[node]])]
    return "\n".join(lines)


def _letters(number: int) -> str:
    """The names A, B, to Z, then AA, AB and so on."""
    name = ""
    while number >= 0:
        number, rest = divmod(number, 26)
        name = chr(ord("A") + rest) + name
        number -= 1
    return name


def condition(tree: Tree, split: int, features: Sequence[str]) -> str:
    """A split's condition, such as ``2·theta - 0.5·v < 1``."""
    return f"{_terms(tree.weights[split], features)} < {_number(tree.thresholds[split])}"


def _terms(weights: Floats, features: Sequence[str]) -> str:
    text = ""
    for feature in np.flatnonzero(weights).tolist():
        weight = weights[feature]
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        factor = "" if abs(weight) == 1.0 else f"{_number(abs(weight))}·"
        text += f"{sign}{factor}{features[feature]}"
    return text or "0"


def _number(value: float) -> str:
    """A number as short as it reads well."""
    return f"{value + 0.0:.4g}"
