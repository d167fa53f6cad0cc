"""Shapes of small trees whose constants are tuned: from one row of numbers to a tree, and the room that it takes.

A row of numbers is written for features and terms that have been scaled to about one, and for outputs from -1 to 1; the
tree has it folded back, to a few digits, so that what is printed is what plays.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints, Nodes
from sirl.config import Settings
from sirl.errors import SirlError
from sirl.model.laws import ONE, LawLeaves, ScoreLeaves
from sirl.model.leaves import FixedLeaves
from sirl.model.menu import make_menu
from sirl.model.task import Task
from sirl.model.tree import Tree

DIGITS = 4
"""Of a printed constant."""


class Shape(NamedTuple):
    """What all trees of a contender share."""

    task: Task
    n_leaves: int
    terms: Ints
    """(n_terms, 2): what laws weigh (see `sirl.model.laws`)."""
    scales: Floats
    """(n_terms,): of each term, about one over its size; the first are those of the features."""

    @property
    def is_split(self) -> bool:
        """A law between two choices is a condition: its leaves are a choice each."""
        return self.task.action == "discrete" and len(self.task.action_names) == 2 and not self.has_products

    @property
    def has_products(self) -> bool:
        """Whether laws weigh more than features, which conditions can't."""
        return len(self.terms) > self.task.n_features

    @property
    def n_constants(self) -> int:
        """Numbers in a row: a split weighs all features, a law all terms, and each has a constant."""
        n_outputs = 1 if self.is_split else len(self.task.action_names)
        return (self.n_leaves - 1) * (self.task.n_features + 1) + self.n_leaves * n_outputs * (len(self.terms) + 1)

    def tree(self, row: Floats) -> Tree:
        """The tree that a row of numbers (n_constants,) stands for."""
        task, n_features = self.task, self.task.n_features
        n_splits = 2 * self.n_leaves - 1 if self.is_split else self.n_leaves - 1
        splits = row[: n_splits * (n_features + 1)].reshape(n_splits, n_features + 1)
        if self.is_split:
            return self._tree_of_choices(splits)
        laws = row[splits.size :].reshape(self.n_leaves, len(task.action_names), len(self.terms) + 1)
        half, middle = _outputs(task)
        weights, constants = laws[..., :-1] * self.scales * half[:, None], middle + half * laws[..., -1]
        kind = LawLeaves if task.action == "box" else ScoreLeaves
        terms = np.repeat(self.terms[None], self.n_leaves, axis=0)
        return Tree(
            few_digits(splits[:, :-1] * self.scales[:n_features]),
            few_digits(-splits[:, -1]),
            _balanced(self.n_leaves),
            kind(terms, few_digits(weights), few_digits(constants), task),
        )

    def _tree_of_choices(self, splits: Floats) -> Tree:
        """Conditions (n_splits, n_features + 1) with a choice in each of their leaves."""
        menu = make_menu(self.task, Settings())
        children = _balanced(len(splits) + 1)
        first = (children < 0) & (np.arange(2) == 0)
        choices = np.ones(len(splits) + 1)
        choices[~children[first]] = 0.0
        return Tree(
            few_digits(splits[:, :-1] * self.scales[: self.task.n_features]),
            few_digits(-splits[:, -1]),
            children,
            FixedLeaves(choices + self.task.action_low[0], menu),
        )


def make_terms(task: Task, products: bool) -> Ints:
    """What laws may weigh, (n_terms, 2): every feature, and every product of two if asked for."""
    if task.action not in ("box", "discrete"):
        raise SirlError(
            f"laws are for Box and Discrete actions, but {task.env} has {task.action} ones: use --method sirl-lb."
        )
    alone = [(feature, ONE) for feature in range(task.n_features)]
    pairs = list(combinations_with_replacement(range(task.n_features), 2)) if products else []
    return np.array(alone + pairs, dtype=np.int64)


def term_values(observations: Floats, terms: Ints) -> Floats:
    """The terms of observations (n, n_features), (n, n_terms)."""
    second = np.where(terms[:, 1] == ONE, 1.0, observations[:, terms[:, 1]])
    return np.asarray(observations[:, terms[:, 0]] * second)


def few_digits(values: Floats, digits: int = DIGITS) -> Floats:
    """Values with so many digits that count."""
    size = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))))
    return np.array([round(v, digits - 1 - int(s)) for v, s in zip(values.ravel(), size.ravel(), strict=True)]).reshape(
        values.shape
    )


def _outputs(task: Task) -> tuple[Floats, Floats]:
    """Half the range of each output, and its middle; scores have neither."""
    if task.action == "discrete":
        n = len(task.action_names)
        return np.ones(n), np.zeros(n)
    low, high = np.array(task.action_low), np.array(task.action_high)
    return (high - low) / 2, (high + low) / 2


def _balanced(n_leaves: int) -> Nodes:
    """The splits of a tree as flat as can be, in pre-order, (n_leaves - 1, 2)."""
    children: list[list[int]] = []

    def grow(first: int, n: int) -> int:
        if n == 1:
            return ~first
        split = len(children)
        children.append([0, 0])
        children[split] = [grow(first, (n + 1) // 2), grow(first + (n + 1) // 2, n // 2)]
        return split

    grow(0, n_leaves)
    return np.array(children, dtype=np.int32).reshape(-1, 2)
