"""A leaf kind that is nothing but formulas: whatever a kind of the future computes, the reading tools meet it here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
from gymnasium import spaces

from conftest import Tiny
from sirl.model.formula import Formula, Sum, Term, compute
from sirl.model.policy import Policy
from sirl.model.tree import Tree
from sirl.simulators.recipes import inspect, make_recipe
from sirl.simulators.spaces import describe


class FormulaRow(msgspec.Struct, forbid_unknown_fields=True):
    sums: list


@dataclass(frozen=True, eq=False)
class FormulaLeaves:
    formulas: tuple[Formula, ...]
    dtype: str
    shape: tuple[int, ...]
    menu: ClassVar[None] = None
    row: ClassVar[type[msgspec.Struct]] = FormulaRow

    def __len__(self):
        return len(self.formulas)

    def formula(self, leaf):
        return self.formulas[leaf]

    def act(self, leaves, observations):
        rows = [compute(self.formulas[leaf], x) for leaf, x in zip(leaves, observations, strict=True)]
        return np.array(rows).astype(self.dtype).reshape(-1, *self.shape)

    def same(self, one, other):
        return self.formulas[one] == self.formulas[other]

    def outside(self, task):
        return ""

    def label(self, leaf, task):
        return f"law {leaf}"

    def take(self, leaves):
        return FormulaLeaves(tuple(self.formulas[leaf] for leaf in leaves), self.dtype, self.shape)

    def rows(self, task):
        return [FormulaRow(list(formula.sums)) for formula in self.formulas]


DERIVED = [
    "area = x*v - w**2*x",
    '"odd \\" name" = -(area - 0.1*(x + v))/(1 + w^2*v^2)',
    "cube = (x - -v)**3 / 3 - 2e-1",
    "unused = 4",
    "linear = 2*(x - v)/4 + cube",
]
"""Every operation, and what stands in parentheses only sometimes."""


def derived_policy():
    """A policy whose conditions weigh derived features, and whose leaves give their very bits as the action."""
    env = Tiny(spaces.Box(-5, 5, (3,)), spaces.Box(-1e9, 1e9, (3,), np.float64))
    task = describe(env, "Tiny-v0", features=["x", "v", "w"]).deriving(DERIVED)
    area, odd, cube, _, linear = range(3, 8)
    formulas = [
        Formula(tuple(Sum(0.0, (Term(1.0, (f,)),)) for f in which))
        for which in ([area, odd, cube], [linear, area, odd], [cube, linear, 0])
    ]
    weights = np.zeros((2, task.n_features))
    weights[0, 0], weights[1, [1, area, cube]] = 1.0, [0.3, 1.0, -0.7]
    leaves = FormulaLeaves(tuple(formulas), "float64", (3,))
    return Policy(task, Tree(weights, np.array([0.5, 0.1]), np.array([[1, ~2], [~0, ~1]], dtype=np.int32), leaves))


def policy_of(kind, rng=None):
    """A policy of three leaves whose formulas are ``linear`` and clipped, have ``products``, or are ``scores``.

    In a ``derived`` one the features are formulas too.
    """
    if kind == "derived":
        return derived_policy()
    rng = rng or np.random.default_rng(0)
    task = inspect(make_recipe("LunarLander-v3" if kind == "scores" else "Hopper-v4")).task

    def total():
        features = [
            tuple(rng.choice(task.n_features, size).tolist()) for size in ([1, 2] if kind == "products" else [1, 1])
        ]
        return Sum(round(rng.normal(), 3), tuple(Term(round(rng.normal(), 3), f) for f in features))

    if kind == "scores":
        formulas = [
            Formula(tuple(total() for _ in range(4)), choices=((0.0,), (1.0,), (2.0,), (3.0,))) for _ in range(3)
        ]
        leaves = FormulaLeaves(tuple(formulas), "int64", ())
    else:
        formulas = [Formula(tuple(total() for _ in range(3)), (-1.0,) * 3, (1.0,) * 3) for _ in range(3)]
        leaves = FormulaLeaves(tuple(formulas), "float32", (3,))
    weights = np.round(rng.normal(size=(2, task.n_features)), 1)
    tree = Tree(weights, np.round(rng.normal(size=2), 2), np.array([[1, ~2], [~0, ~1]], dtype=np.int32), leaves)
    return Policy(task, tree)
