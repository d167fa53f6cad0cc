"""Properties of a policy, proved or refuted: "when theta > 0.2, never push -1".

Each leaf is a region of states, and what it does there is a linear question: so linear programming decides it exactly,
over all observations within the bounds and not over some that were tried. Where a law multiplies features, or derived
features are not linear, the region is cut into boxes until each is decided (``products.py``). A counterexample is
played before it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError, did_you_mean
from sirl.model.formula import Formula, Sum
from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.reading.language import Comparison, read_conditions
from sirl.reading.products import MOST_BOXES, Pair, ProductRow, curved_features, find_state
from sirl.reading.region import Region, Row, branch_rows


class Property(NamedTuple):
    """What a policy must never do, and in which states."""

    when: list[Comparison]
    """Of features; empty: always."""
    never: list[Comparison] | str
    """Of the action's components, or an action's name."""


class Verdict(NamedTuple):
    """What was found at one leaf."""

    leaf: int
    action: str
    answer: Literal["holds", "fails", "open"]
    why: str
    state: Floats | None = None
    """Where it fails, (n_features,)."""


def read_property(policy: Policy, when: str, never: str) -> Property:
    """A property as a person types it."""
    task, menu = policy.task, policy.tree.leaves.menu
    names = [*(menu.names if menu is not None else []), *(task.action_names if task.action == "discrete" else [])]
    conditions = read_conditions(when, task.features) if when.strip() else []
    if never.strip() in names:
        return Property(conditions, never.strip())
    if task.action != "discrete" and any(sign in never for sign in "<>≤≥"):
        return Property(conditions, read_conditions(never, task.action_names))
    compare = "" if task.action == "discrete" else f", or compare {', '.join(task.action_names)} with a number"
    hint = did_you_mean(never, names).removesuffix("?") or (f"; there are {', '.join(names)}" if names else "")
    raise SirlError(f"there is no action {never!r}{hint}: name one{compare}.")


def check(policy: Policy, asked: Property) -> list[Verdict]:
    """The verdict at each leaf, in order; the property holds if it does at all of them."""
    when = tuple(comparison.row() for comparison in asked.when)
    if when and Region(policy.task, when).inner_state() is None:
        raise SirlError("no observation within the task's bounds is like that, so any property would hold: correct it.")
    return [_verdict(policy, leaf, Region(policy.task, (*when, *path)), asked) for leaf, path in _paths(policy)]


def _paths(policy: Policy) -> Iterator[tuple[int, tuple[Row, ...]]]:
    """Each leaf with the rows that lead to it."""
    tree = policy.tree
    pending: list[tuple[int, tuple[Row, ...]]] = [(tree.root, ())]
    while pending:
        node, path = pending.pop()
        if node < 0:
            yield ~node, path
            continue
        on_yes, on_no = branch_rows(tree.weights[node], float(tree.thresholds[node]))
        yes, no = tree.children[node].tolist()
        pending += [(no, (*path, on_no)), (yes, (*path, on_yes))]


def _verdict(policy: Policy, leaf: int, region: Region, asked: Property) -> Verdict:
    action = policy.tree.leaves.label(leaf, policy.task)
    ways = _ways(policy, leaf, asked)
    if ways == []:
        return Verdict(leaf, action, "holds", "its action is another one")
    if region.inner_state() is None:
        return Verdict(leaf, action, "holds", "no such state comes to it")
    if any(len(term.features) > 2 for total in policy.tree.leaves.formula(leaf).sums for term in total.terms):
        return Verdict(leaf, action, "open", "it multiplies more than two features")
    undecided = ""
    for rows in ways:
        state, problem = _where(policy, leaf, region, rows, asked)
        if state is not None:
            return Verdict(leaf, action, "fails", "such a state comes to it", state)
        undecided = undecided or problem
    if undecided:
        return Verdict(leaf, action, "open", undecided)
    return Verdict(leaf, action, "holds", "its law does not reach that far in such states")


def _where(
    policy: Policy, leaf: int, region: Region, rows: tuple[ProductRow, ...], asked: Property
) -> tuple[Floats | None, str]:
    """A state of a leaf's region in which rows hold and the property fails, or else what is undecided about that."""
    does = partial(_shortest, policy, leaf, asked)
    if policy.task.observation == "one-hot":
        return next((shown for state in region.listed() if (shown := does(state)) is not None), None), ""
    region = region.where(*(row.row for row in rows if not row.products))
    mixed = [row for row in rows if row.products]
    if mixed or curved_features(region, mixed):
        found = find_state(region, mixed, does)
        if found.state is not None or found.is_proof:
            return found.state, ""
        what = "it multiplies" if mixed else "it derives from"
        free = ", ".join(policy.task.features[feature] for feature in found.free)
        if free:
            return None, f"{what} features of which {free} has no bounds; give some with --when"
        return None, f"{what} features, and {MOST_BOXES:,} boxes did not decide; narrow --when"
    state = region.inner_state()
    if state is None:
        return None, ""
    shown = does(state)
    return shown, "" if shown is not None else f"only rounding decides it, near {_tell(state)}"


def _ways(policy: Policy, leaf: int, asked: Property) -> list[tuple[ProductRow, ...]]:
    """In which parts of a leaf's region it does what it must not: rows for each."""
    formula = policy.tree.leaves.formula(leaf)
    if isinstance(asked.never, str) and policy.tree.leaves.label(leaf, policy.task) == asked.never:
        return [()]
    forbidden = _comparisons(policy, asked.never)
    if formula.is_constant:
        values = [total.constant for total in formula.sums]
        return [()] if all(comparison.holds(values) for comparison in forbidden) else []
    n_features = policy.task.n_features
    if formula.choices is not None:
        bad = [n for n, choice in enumerate(formula.choices) if all(c.holds(choice) for c in forbidden)]
        return [_best_rows(formula, n, n_features) for n in bad]
    rows = [_component_rows(formula, comparison, n_features) for comparison in forbidden]
    return [] if None in rows else [tuple(row for found in rows if found is not None for row in found)]


def _comparisons(policy: Policy, never: list[Comparison] | str) -> list[Comparison]:
    """What must never happen as comparisons of the action's components."""
    if not isinstance(never, str):
        return never
    task, menu = policy.task, policy.tree.leaves.menu
    if menu is not None and never in menu.names:
        values = np.atleast_1d(menu.values[menu.names.index(never)])
    else:
        values = np.array([task.action_low[0] + task.action_names.index(never)])
    ones = np.eye(len(values))
    return [Comparison(ones[i], sign, float(v)) for i, v in enumerate(values.tolist()) for sign in "≤≥"]


def _component_rows(formula: Formula, comparison: Comparison, n_features: int) -> tuple[ProductRow, ...] | None:
    """Where a comparison of one component holds, rows on features; None: nowhere."""
    used = np.flatnonzero(comparison.weights)
    if len(used) != 1:
        raise SirlError("a law's components can be compared one by one only: write `--never` with one of them.")
    component = int(used[0])
    low = -np.inf if formula.low is None else formula.low[component]
    high = np.inf if formula.high is None else formula.high[component]
    at_ends = [comparison.holds((np.arange(len(formula.sums)) == component) * end) for end in (low, high)]
    if all(at_ends) or not any(at_ends):  # a component only grows with its sum, so that what is between is the same
        return () if all(at_ends) else None
    row = comparison.row()
    return (_below(formula.sums[component], float(row.weights[component]), row.bound, row.strict, n_features),)


def _best_rows(formula: Formula, choice: int, n_features: int) -> tuple[ProductRow, ...]:
    """Where a choice has the largest score, the first of equal ones."""
    rows = []
    best = formula.sums[choice]
    for other, total in enumerate(formula.sums):
        if other != choice:
            less = Sum(
                total.constant - best.constant, (*total.terms, *(t._replace(weight=-t.weight) for t in best.terms))
            )
            rows.append(_below(less, 1.0, 0.0, other < choice, n_features))
    return tuple(rows)


def _below(total: Sum, turn: float, bound: float, strict: bool, n_features: int) -> ProductRow:
    """A sum, times a factor, below a bound, as a row."""
    weights, products = np.zeros(n_features), dict[Pair, float]()
    for weight, features in total.terms:
        if len(features) == 1:
            weights[features[0]] += turn * weight
        else:
            one, other = sorted(features)
            products[one, other] = products.get((one, other), 0.0) + turn * weight
    left = {pair: weight for pair, weight in products.items() if weight}
    return ProductRow(Row(weights, bound - turn * total.constant, strict), left)


def _shortest(policy: Policy, leaf: int, asked: Property, state: Floats) -> Floats | None:
    """The state with as few digits as still refute the property when it is played; None if none does."""
    for digits in (2, 3, 4, 6, 9, 17):
        observed = state[: policy.task.n_observed]
        rounded = np.array([float(f"{value:.{digits}g}") for value in observed]) + 0.0
        if not _within(policy.task, rounded):
            continue
        whole = policy.task.extended(rounded[None])[0]
        if _refutes(policy, leaf, asked, whole):
            return np.asarray(whole)
    return None


def _refutes(policy: Policy, leaf: int, asked: Property, state: Floats) -> bool:
    """Whether the policy, played on a state, does what it must not."""
    rows = state[None]
    if policy.tree.walk(rows)[0] != leaf:
        return False
    if not all(comparison.holds(state.tolist()) for comparison in asked.when):
        return False
    if isinstance(asked.never, str) and policy.tree.leaves.label(leaf, policy.task) == asked.never:
        return True
    action = np.atleast_1d(policy.tree.act(rows)[0]).astype(np.float64).tolist()
    return all(comparison.holds(action) for comparison in _comparisons(policy, asked.never))


def _within(task: Task, observed: Floats) -> bool:
    bounds = zip(observed.tolist(), task.feature_low, task.feature_high, strict=False)
    return all((low is None or low <= v) and (high is None or v <= high) for v, low, high in bounds)


def _tell(state: Sequence[float] | Floats) -> str:
    return f"[{', '.join(f'{value:.4g}' for value in state)}]"
