"""A tree as rules that read as sentences: what is done, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sirl.model.condition import DIGITS, Condition, number
from sirl.model.task import Task
from sirl.model.text import condition, leaf_lines, wrap
from sirl.model.tree import Tree
from sirl.reading.region import MARGIN, Region, Row, branch_rows

_LONGEST_PATH = 40
"""Conditions on a path up to which it is looked for those that follow from the others."""


class Rule(NamedTuple):
    """When a leaf acts."""

    leaf: int
    action: str
    conditions: tuple[tuple[int, Condition], ...]
    """The split that each comes from, and what must hold; what follows from the others is left out."""


def find_rules(tree: Tree, task: Task) -> list[Rule]:
    """A rule for each leaf, in order."""
    rules = []
    pending: list[tuple[int, tuple[tuple[int, Condition, Row], ...]]] = [(tree.root, ())]
    while pending:
        node, path = pending.pop()
        if node < 0:
            needed = tuple((split, asked) for split, asked, _ in _needed(path, task))
            rules.append(Rule(~node, tree.leaves.label(~node, task), needed))
            continue
        asked = condition(tree, node, task)
        on_yes, on_no = branch_rows(tree.weights[node], float(tree.thresholds[node]))
        yes, no = tree.children[node].tolist()
        pending += [(no, (*path, (node, asked.negated(), on_no))), (yes, (*path, (node, asked, on_yes)))]
    return rules


def _needed(path: tuple[tuple[int, Condition, Row], ...], task: Task) -> tuple[tuple[int, Condition, Row], ...]:
    """The conditions of a path without those that follow from the others within the task's bounds."""
    if len(path) > _LONGEST_PATH:
        return path
    kept = list(path)
    for step in path:
        others = Region(task, tuple(row for split, _, row in kept if split != step[0]))
        row = step[2]
        if len(kept) > 1 and others.largest(row.weights) < row.bound - MARGIN * (1.0 + abs(row.bound)):
            kept.remove(step)
    return tuple(kept)


def tell_rules(rules: Sequence[Rule], task: Task, digits: Sequence[int] | None = None, width: int | None = None) -> str:
    """The rules as text: an action, and beneath it when it is taken."""
    lines = []
    for rule in rules:
        if not rule.conditions:
            lines.append(f"always {rule.action}")
            continue
        lines += leaf_lines(rule.action, width)
        told = _ranges(rule.conditions, task, digits)
        for place, terms in enumerate(told):
            lines += wrap(terms, "  when " if place == 0 else "   and ", "         ", width)
    return "\n".join(lines)


def _ranges(conditions: Sequence[tuple[int, Condition]], task: Task, digits: Sequence[int] | None) -> list[list[str]]:
    """The terms of each condition, two bounds of the same sum joined into a range such as ``0.3 ≤ v < 1``."""
    joined: dict[tuple[str, ...], dict[str, tuple[float, str, int]]] = {}
    for split, asked in conditions:
        precision = DIGITS if digits is None else digits[split]
        *terms, _ = asked.terms(task.features, precision)
        sides = joined.setdefault(tuple(terms), {})
        side = "above" if asked.sign in ">≥" else "below"
        tighter = max if side == "above" else min
        new = (asked.bound, asked.sign, precision)
        sides[side] = tighter(sides.get(side, new), new)
    told = []
    for pieces, sides in joined.items():
        if len(sides) == 2:
            low, sign, precision = sides["above"]
            told.append([f"{number(low, precision)} {'<' if sign == '>' else '≤'}", *pieces, _bound(sides["below"])])
        else:
            told.append([*pieces, _bound(*sides.values())])
    return told


def _bound(side: tuple[float, str, int]) -> str:
    value, sign, precision = side
    return f"{sign} {number(value, precision)}"
