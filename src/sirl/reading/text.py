"""A tree as text: drawn, and as rules in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sirl.spaces import Menu
from sirl.tree import Tree


def draw_tree(tree: Tree, features: Sequence[str], menu: Menu) -> str:
    """The tree drawn with box characters, conditions before what they lead to."""
    if not tree.n_splits:
        return f"always {tree.leaves.label(0, menu)}"
    lines = [f"if {condition(tree, 0, features)}"]
    pending = [(int(tree.children[0, 1]), "", "└─ no  "), (int(tree.children[0, 0]), "", "├─ yes ")]
    while pending:
        node, indent, branch = pending.pop()
        if node < 0:
            lines.append(f"{indent}{branch}→ {tree.leaves.label(~node, menu)}")
            continue
        lines.append(f"{indent}{branch}if {condition(tree, node, features)}")
        deeper = indent + ("│      " if branch.startswith("├") else "       ")
        yes, no = tree.children[node].tolist()
        pending += [(no, deeper, "└─ no  "), (yes, deeper, "├─ yes ")]
    return "\n".join(lines)


def rules(tree: Tree, features: Sequence[str], menu: Menu) -> list[str]:
    """One sentence a leaf: all conditions on the way to it, then what it does."""
    found = []
    pending: list[tuple[int, list[str]]] = [(tree.root, [])]
    while pending:
        node, path = pending.pop()
        if node < 0:
            when = " and ".join(path)
            found.append(f"{f'if {when}, then' if when else 'always'} {tree.leaves.label(~node, menu)}")
            continue
        yes, no = tree.children[node].tolist()
        pending += [
            (no, [*path, condition(tree, node, features, holds=False)]),
            (yes, [*path, condition(tree, node, features)]),
        ]
    return found


def condition(tree: Tree, split: int, features: Sequence[str], holds: bool = True) -> str:
    """A split's condition, or its opposite, such as ``2·theta - 0.5·v < 1``."""
    relation = "<" if holds else "≥"
    return f"{_terms(tree.weights[split], features)} {relation} {number(tree.thresholds[split])}"


def _terms(weights: NDArray[np.float64], features: Sequence[str]) -> str:
    text = ""
    for feature in np.flatnonzero(weights):
        weight = weights[feature]
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        factor = "" if abs(weight) == 1.0 else f"{number(abs(weight))}·"
        text += f"{sign}{factor}{features[feature]}"
    return text or "0"


def number(value: float) -> str:
    """A number as short as it reads well."""
    return f"{value + 0.0:.4g}"
