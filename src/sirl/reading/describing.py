"""All that is told of a policy, computed once: as text for ``sirl show``, as data for programs and for the page."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from sirl.model.condition import DIGITS, Condition, fewest_digits
from sirl.model.derived import FEATURE, NUMBER, POWER, WORDS, Definition
from sirl.model.policy import Policy
from sirl.model.text import condition, derivations, draw_tree, leaf_lines
from sirl.reading.complexity import Complexity, measure
from sirl.reading.playing import Trace, Visits, count_visits, reaches
from sirl.reading.rules import Rule, find_rules, tell_rules

_WIDEST = 34
"""Letters of a line in a box."""


class View(NamedTuple):
    """A policy as a person sees it."""

    policy: Policy
    conditions: list[Condition]
    """Of each split."""
    digits: list[int]
    """Significant digits with which each split's condition decides as it does on all that was seen."""
    rules: list[Rule]
    visits: Visits | None
    n_steps: int
    complexity: Complexity


def look(policy: Policy, seen: Trace | None = None) -> View:
    """All that is told of a policy, by what it saw in some episodes, if it played any."""
    tree, task = policy.tree, policy.task
    conditions = [condition(tree, split, task) for split in range(tree.n_splits)]
    digits, visits = [DIGITS] * tree.n_splits, None
    if seen is not None:
        visits = count_visits(tree, seen)
        rows = reaches(tree, seen.observations)
        digits = [fewest_digits(c, seen.observations[here]) for c, here in zip(conditions, rows, strict=True)]
    n_steps = 0 if seen is None else len(seen.rewards)
    return View(policy, conditions, digits, find_rules(tree, task), visits, n_steps, measure(tree, task, visits))


def tell(view: View, provenance: str, removed: int, width: int | None) -> str:
    """A view as text for a terminal of some width."""
    policy, visits, size = view.policy, view.visits, view.complexity
    notes = {~leaf: note for leaf in range(policy.tree.n_leaves) if (note := _note(view, leaf))}
    parts = [f"{policy.task.env}: {tell_size(size)}"]
    parts += [provenance] if provenance else []
    if removed:
        parts.append(f"{removed} of its splits can't be turned by any observation within the bounds, and are left out")
    parts += ["", draw_tree(policy.tree, policy.task, width, notes, view.digits)]
    if policy.tree.n_splits:
        parts += ["", tell_rules(view.rules, policy.task, view.digits, width)]
    if visits is not None:
        same = "; with the digits shown, every condition decides the same in them" if policy.tree.n_splits else ""
        episodes = "1 episode" if visits.n_episodes == 1 else f"{visits.n_episodes} episodes"
        parts += ["", f"Shares are of {view.n_steps:,} steps in {episodes}{same}."]
    return "\n".join(parts)


def _note(view: View, leaf: int) -> str:
    """How much a leaf does, and by which values it chose."""
    share = [] if view.visits is None else [percent(view.visits.share(leaf))]
    leaves = view.policy.tree.leaves
    values = msgspec.to_builtins(leaves.rows(view.policy.task)[leaf]).get("q_values", [])
    if leaves.menu is not None and len(values) > 1:
        best, second = sorted(range(len(values)), key=lambda choice: -values[choice])[:2]
        share.append(f"Q {values[best]:.3g}, next {leaves.menu.names[second]} {values[second]:.3g}")
    return f"({', '.join(share)})" if share else ""


def tell_size(size: Complexity) -> str:
    """How large a tree is, and what it costs, in words."""
    leaves = f"{size.leaves} {'leaf' if size.leaves == 1 else 'leaves'}"
    text = f"{leaves}, depth {size.depth}, {size.weights} weights"
    return text if size.operations is None else f"{text}, {size.operations:,.0f} multiply-accumulates per episode"


def percent(share: float) -> str:
    """A share of steps."""
    return "never" if share == 0 else "under 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def describe_tree(view: View) -> dict[str, Any]:
    """A view as data: nodes in pre-order, splits by number, leaves as negative numbers (~leaf)."""
    policy, visits = view.policy, view.visits
    tree, task = policy.tree, policy.task
    splits = [
        {
            "weights": {task.features[f]: w for f, w in enumerate(tree.weights[split].tolist()) if w},
            "threshold": float(tree.thresholds[split]),
            "children": tree.children[split].tolist(),
            "condition": view.conditions[split].text(task.features, view.digits[split]),
            "pieces": view.conditions[split].terms(task.features, view.digits[split]),
            "otherwise": view.conditions[split].negated().text(task.features, view.digits[split]),
            "visits": None if visits is None else int(visits.splits[split]),
        }
        for split in range(tree.n_splits)
    ]
    menu, rows = tree.leaves.menu, tree.leaves.rows(task)
    leaves = [
        {
            "action": tree.leaves.label(leaf, task),
            "lines": leaf_lines(tree.leaves.label(leaf, task), _WIDEST),
            "formula": tree.leaves.formula(leaf)._asdict(),
            "values": msgspec.to_builtins(rows[leaf]),
            "visits": None if visits is None else int(visits.leaves[leaf]),
            "share": None if visits is None else visits.share(leaf),
        }
        for leaf in range(tree.n_leaves)
    ]
    return {
        "task": msgspec.to_builtins(task),
        "derived": [_describe_derived(definition) for definition in task.definitions],
        "where": derivations(tree, task),
        "origin": msgspec.to_builtins(policy.origin),
        "actions": None if menu is None else menu.names,
        "root": tree.root,
        "splits": splits,
        "leaves": leaves,
        "rules": [
            {
                "leaf": rule.leaf,
                "action": rule.action,
                "when": [c.text(task.features, view.digits[split]) for split, c in rule.conditions],
            }
            for rule in view.rules
        ],
        "complexity": view.complexity._asdict(),
        "episodes": None if visits is None else visits.n_episodes,
    }


def _describe_derived(definition: Definition) -> dict[str, Any]:
    """A derived feature as data: its formula, and the steps that compute it on a stack."""
    steps = [
        [WORDS[code], int(value) if code in (FEATURE, POWER) else value]
        if code in (FEATURE, NUMBER, POWER)
        else [WORDS[code]]
        for code, value in definition.program
    ]
    return {"name": definition.name, "formula": definition.text, "program": steps}
