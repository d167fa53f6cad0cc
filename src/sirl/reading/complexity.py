"""How much a tree computes: the paper's complexity, multiply-accumulates per episode.

A visited split costs one multiply-accumulate for each weight that is not zero, and one for the constant that the sum is
compared with; an episode costs the sum over its steps of the splits on the way to a leaf. A leaf that does one thing
costs nothing. A law costs, for each of its outputs, one for each term (a product of k features k), and one for its
constant if it has one. A derived feature that is needed costs its operations at every step. The paper's
InvertedPendulum, 4 weights and a constant over 1000 steps, comes to its printed 5.0e3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.arrays import Ints
from sirl.model.formula import Sum
from sirl.model.task import Task
from sirl.model.tree import Tree, used_features
from sirl.reading.playing import Visits


class Complexity(NamedTuple):
    """The size of a tree, and what an episode with it costs."""

    leaves: int
    depth: int
    weights: int
    """That are not zero, in all splits and laws."""
    operations: float | None
    """Multiply-accumulates per episode, mean over episodes; None if nobody has played."""


def split_costs(tree: Tree) -> Ints:
    """Multiply-accumulates of each split, (n_splits,)."""
    return np.asarray(np.count_nonzero(tree.weights, axis=1) + 1)


def leaf_costs(tree: Tree) -> Ints:
    """Multiply-accumulates of each leaf, (n_leaves,): none where it does one thing."""
    formulas = [tree.leaves.formula(leaf) for leaf in range(tree.n_leaves)]
    return np.array([sum(map(_sum_cost, formula.sums)) for formula in formulas], dtype=np.int64)


def _sum_cost(total: Sum) -> int:
    """Of one output: a number alone takes no work."""
    products = sum(len(term.features) for term in total.terms)
    return products + (total.constant != 0) if products else 0


def decision_costs(tree: Tree, task: Task) -> Ints:
    """Multiply-accumulates of a decision that ends in each leaf, (n_leaves,)."""
    derived = sum(d.n_operations for d in task.needed(used_features(tree)).values()) if task.derived else 0
    own, costs = split_costs(tree), leaf_costs(tree)
    pending = [(tree.root, derived)]
    while pending:
        node, before = pending.pop()
        if node < 0:
            costs[~node] += before
        else:
            pending += [(int(child), before + int(own[node])) for child in tree.children[node]]
    return costs


def measure(tree: Tree, task: Task, visits: Visits | None = None) -> Complexity:
    """How complex a tree is, by the visits of some episodes."""
    operations = None
    if visits is not None:
        operations = float(visits.leaves @ decision_costs(tree, task) / visits.n_episodes)
    formulas = [tree.leaves.formula(leaf) for leaf in range(tree.n_leaves)]
    in_laws = sum(len(total.terms) for formula in formulas for total in formula.sums)
    return Complexity(tree.n_leaves, tree.depth, int(np.count_nonzero(tree.weights)) + in_laws, operations)
