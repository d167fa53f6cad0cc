"""A policy as the first contender: a tree that was learned, printed, distilled or edited, whose constants are tuned on.

What is tuned is what the policy has: weights that are not zero, thresholds, and the actions of its leaves.
"""

from __future__ import annotations

import numpy as np

from sirl.arrays import Flags, Floats
from sirl.errors import SirlError
from sirl.model.formula import Formula, Sum
from sirl.model.laws import ONE
from sirl.model.policy import Policy
from sirl.model.tree import Tree, simplify
from sirl.search.shapes import Frame, Shape


def from_policy(policy: Policy, frame: Frame) -> tuple[Shape, Floats]:
    """The shape of a policy, and the row (size,) that does what the policy does."""
    tree = simplify(policy.tree)
    if frame.n_outputs == 0:
        tree = _by_sides(tree, frame)
    n_features = frame.task.n_features
    splits = np.column_stack([tree.weights / frame.scales[:n_features], -tree.thresholds])
    is_free = np.column_stack([tree.weights != 0, np.ones(len(tree.thresholds), dtype=bool)])
    laws = [_law(tree.leaves.formula(leaf), frame) for leaf in range(tree.n_leaves)] if frame.n_outputs else []
    full = np.concatenate([splits.ravel(), *(law.ravel() for law, _ in laws)])
    free = np.concatenate([is_free.ravel(), *(used.ravel() for _, used in laws)])
    if (free & ~frame.leads(tree.n_leaves)).any():
        raise SirlError('the policy to start from weighs features that this run ignores: ignore others, or none ("").')
    return Shape(frame, tree.children, free), full[free]


def _law(formula: Formula, frame: Frame) -> tuple[Floats, Flags]:
    """What a leaf adds up, as a full row has it, (n_outputs, n_terms + 1), and which of that is tuned."""
    task = frame.task
    if task.action == "discrete":
        rows = _scores(formula, frame)
        rows = np.delete(rows - rows[frame.reference], frame.reference, axis=0)
    else:
        low, high = np.array(task.action_low), np.array(task.action_high)
        rows = np.array([_row(total, frame) for total in formula.sums])
        rows[:, -1] -= (high + low) / 2
        rows /= ((high - low) / 2)[:, None]
    rows[:, :-1] /= frame.scales
    free = rows != 0
    free[:, -1] |= ~free.any(axis=1)
    return rows, free


def _scores(formula: Formula, frame: Frame) -> Floats:
    """The score of each choice, (n_choices, n_terms + 1); a leaf with one action scores that 1 and the others 0."""
    if formula.choices is not None:
        return np.array([_row(total, frame) for total in formula.sums])
    rows = np.zeros((len(frame.task.action_names), len(frame.terms) + 1))
    rows[int(formula.sums[0].constant - frame.task.action_low[0]), -1] = 1.0
    return rows


def _row(total: Sum, frame: Frame) -> Floats:
    """A sum (n_terms + 1,) by the terms of the frame, its constant last."""
    places = {(int(a), int(b)): place for place, (a, b) in enumerate(frame.terms)}
    row = np.zeros(len(frame.terms) + 1)
    row[-1] = total.constant
    for weight, features in total.terms:
        pair = (features[0], ONE) if len(features) == 1 else (min(features), max(features))
        if pair not in places:
            raise SirlError("the policy to start from multiplies features, and this run does not: add --products.")
        row[places[pair]] += weight
    return row


def _by_sides(tree: Tree, frame: Frame) -> Tree:
    """A tree between two choices with the first choice where a condition holds and the second where it does not."""
    choices = []
    for leaf in range(tree.n_leaves):
        formula = tree.leaves.formula(leaf)
        if not formula.is_constant:
            raise SirlError(
                "the policy to start from has laws between two choices: start from one with conditions, or add "
                "--products."
            )
        choices.append(int(formula.sums[0].constant - frame.task.action_low[0]))
    sides = np.array([[choices[~child] if child < 0 else side for side, child in enumerate(p)] for p in tree.children])
    turned = (sides != [0, 1]).any(axis=1) if len(sides) else np.zeros(0, dtype=bool)
    if not len(sides):
        raise SirlError("the policy to start from does one thing, whatever it sees: start from one with conditions.")
    sign = np.where(turned, -1.0, 1.0)
    children = np.where(turned[:, None], tree.children[:, ::-1], tree.children)
    return tree._replace(weights=tree.weights * sign[:, None], thresholds=tree.thresholds * sign, children=children)
