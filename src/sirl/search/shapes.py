"""Shapes of small trees whose constants are tuned: from one row of numbers to a tree, and how a shape changes.

A full row is written for features and terms that have been scaled to about one, and for outputs from -1 to 1; the tree
has it folded back, to a few digits, so that what is printed is what plays. A shape says which numbers of a full row
there are (the others are zero, or follow from these in the mirror): terms join in or are left out, and a leaf is split
in two, without a change of what the tree does.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from sirl.arrays import Flags, Floats, Ints, Nodes
from sirl.config import Settings
from sirl.model.laws import ONE, LawLeaves, ScoreLeaves
from sirl.model.leaves import FixedLeaves
from sirl.model.menu import make_menu
from sirl.model.mirror import Exchange
from sirl.model.task import Task
from sirl.model.tree import Tree
from sirl.search.reflection import extended, law_images, term_images

_Row = TypeVar("_Row", Floats, Ints, Flags)

DIGITS = 3
"""Of a printed constant."""


class Frame(NamedTuple):
    """What all shapes of a run share."""

    task: Task
    terms: Ints
    """(n_terms, 2): what laws may weigh (see `sirl.model.laws`), features alone before products."""
    scales: Floats
    """(n_terms,): of each term, about one over its size."""
    ignored: tuple[int, ...] = ()
    """Features that nothing weighs."""

    @property
    def n_outputs(self) -> int:
        """Sums in a leaf: one for each component of a Box action.

        Of a Discrete one, one for each choice but one, whose score is 0: only differences matter. A law between two
        choices is a condition, if it has no products: its leaves are a choice each, and add up nothing.
        """
        n = len(self.task.action_names)
        if self.task.action == "box":
            return n
        return 0 if n == 2 and len(self.terms) == self.task.n_features else n - 1

    @property
    def reference(self) -> int:
        """The choice of a Discrete action whose score is 0: the first that is the same in the mirror."""
        mirror = self.task.mirrored
        return 0 if mirror is None else int(np.argmax(mirror.actions.places == np.arange(len(mirror.actions.places))))

    def images(self, n_leaves: int) -> Exchange:
        """Where each number of a full row is in the mirror: as in a tree that does there what it does here."""
        n_splits, n_features = n_leaves - 1, self.task.n_features
        per_law = self.n_outputs * (len(self.terms) + 1)
        size = n_splits * (n_features + 1) + n_leaves * per_law
        mirror = self.task.mirrored
        if mirror is None:
            return Exchange(np.arange(size), np.ones(size))
        condition = extended(mirror.features)
        law = law_images(mirror, self.terms, None if self.task.action == "box" else self.reference)
        blocks, start = [], 0
        for block in [condition] * n_splits + [law] * n_leaves:
            blocks.append(Exchange(block.places + start, block.signs))
            start += len(block.places)
        return Exchange(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))

    def leads(self, n_leaves: int) -> Flags:
        """Which numbers of a full row may be tuned: of two that are one in the mirror, the first."""
        places, signs = self.images(n_leaves)
        here, weighed = np.arange(len(places)), self._weighed(n_leaves)
        return np.asarray(((here < places) | ((here == places) & (signs > 0))) & weighed & weighed[places])

    def _weighed(self, n_leaves: int) -> Flags:
        """Which numbers of a full row weigh nothing that is ignored."""
        condition = ~np.isin(np.arange(self.task.n_features), self.ignored)
        law = ~np.isin(self.terms, self.ignored).any(axis=1)
        blocks = [condition] * (n_leaves - 1) + [law] * (n_leaves * self.n_outputs)
        return np.concatenate([np.append(block, True) for block in blocks])

    def tied(self, scales: Floats) -> Floats:
        """Scales (n_terms,) that are the same for two terms that are one in the mirror."""
        mirror = self.task.mirrored
        return scales if mirror is None else (scales + scales[term_images(mirror, self.terms).places]) / 2


class Shape(NamedTuple):
    """What all trees of a contender share."""

    frame: Frame
    children: Nodes
    """(n_splits, 2): of its splits, in pre-order."""
    free: Flags
    """(n_constants,): which numbers of a full row there are: first those of the splits, then those of the leaves."""

    @property
    def n_leaves(self) -> int:
        """Leaves of its trees."""
        return len(self.children) + 1

    @property
    def size(self) -> int:
        """Numbers that are tuned."""
        return int(self.free.sum())

    def tree(self, row: Floats) -> Tree:
        """The tree that numbers (size,) stand for."""
        frame, full = self.frame, np.zeros(len(self.free))
        if frame.task.mirror:
            places, signs = frame.images(self.n_leaves)
            full[places[self.free]] = signs[self.free] * row
        full[self.free] = row
        splits, laws = _parts(full, frame, self.n_leaves)
        n_features = frame.task.n_features
        return Tree(
            few_digits(splits[:, :-1] * frame.scales[:n_features]),
            few_digits(-splits[:, -1]),
            self.children,
            _make_leaves(frame, self.children, laws),
        )

    @property
    def has_products(self) -> bool:
        """Whether products are among the numbers that are tuned."""
        _, laws = _parts(self.free, self.frame, self.n_leaves)
        return bool(laws[..., self.frame.task.n_features : -1].any())

    def widened(self) -> Shape:
        """The shape with all numbers that there can be."""
        return self._replace(free=self.frame.leads(self.n_leaves))

    def fits(self) -> bool:
        """Whether its arrays are of one size, and its splits a tree."""
        leads = self.frame.leads(self.n_leaves)
        nodes = sorted(self.children.ravel().tolist())
        all_but_root = [n for n in range(-self.n_leaves, self.n_leaves - 1) if n != 0] if nodes else []
        return self.free.shape == leads.shape and not (self.free & ~leads).any() and nodes == all_but_root

    def without(self, places: Ints) -> tuple[Shape, Ints]:
        """The shape that leaves out some of its numbers, and the places of those that stay, (size,)."""
        kept = np.delete(np.arange(self.size), places)
        free = np.zeros_like(self.free)
        free[np.flatnonzero(self.free)[kept]] = True
        return self._replace(free=free), kept

    def law(self, leaf: int, row: Floats) -> Floats:
        """The law of a leaf of the tree that numbers (size,) stand for, (n_outputs, n_terms + 1)."""
        full = np.zeros(len(self.free))
        full[self.free] = row
        _, laws = _parts(full, self.frame, self.n_leaves)
        return np.asarray(laws[leaf])

    def split(self, leaf: int, row: Floats, law: Floats | None = None) -> tuple[Shape, Floats, Ints]:
        """The shape with a leaf split in two, and the row that does there what ``row`` (size,) does here.

        Where the new condition holds, which is nowhere yet, ``law`` (n_outputs, n_terms + 1) is followed, if given.

        Returns:
            The shape, its row (size,), and for each number of it the place in ``row`` that it comes from, -1 if new.
        """
        frame, width = self.frame, self.frame.task.n_features + 1
        children, old_splits, old_leaves = _with_split(self.children, leaf)
        places = np.full(len(self.free), -1)
        places[self.free] = np.arange(self.size)
        splits, laws = _parts(places, frame, self.n_leaves)
        new = np.array(old_splits) == -1
        splits = np.vstack([splits, np.full((1, width), -1)])  # at place -1: what is new
        source = np.concatenate([splits[old_splits].ravel(), laws[old_leaves].ravel()])
        free = source >= 0
        free[: new.size * width] |= np.repeat(new, width)
        free &= frame.leads(self.n_leaves + 1)
        values = np.where(source >= 0, row[source], 0.0)
        if law is not None:
            _parts(values, frame, self.n_leaves + 1)[1][leaf] = law
        if frame.n_outputs == 0:  # the new condition must come to the choice that the leaf was
            holds = bool((self.children[:, 0] == ~leaf).any())
            values[np.flatnonzero(new)[0] * width + width - 1] = -1.0 if holds else 1.0
        return Shape(frame, children, free), values[free], source[free]


def first_shape(frame: Frame, n_leaves: int) -> Shape:
    """A tree as flat as can be, with the features alone in its laws."""
    children = _balanced(n_leaves)
    per_law = np.append(frame.terms[:, 1] == ONE, True)
    free = [np.ones(len(children) * (frame.task.n_features + 1), dtype=bool), *[per_law] * (n_leaves * frame.n_outputs)]
    return Shape(frame, children, np.concatenate(free) & frame.leads(n_leaves))


def few_digits(values: Floats, digits: int = DIGITS) -> Floats:
    """Values with so many digits that count."""
    size = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))))
    return np.array([round(v, digits - 1 - int(s)) for v, s in zip(values.ravel(), size.ravel(), strict=True)]).reshape(
        values.shape
    )


def _parts(full: _Row, frame: Frame, n_leaves: int) -> tuple[_Row, _Row]:
    """A full row as splits (n_splits, n_features + 1) and laws (n_leaves, n_outputs, n_terms + 1)."""
    n_features = frame.task.n_features
    n_splits = (n_leaves - 1) * (n_features + 1)
    laws = full[n_splits:].reshape(n_leaves, frame.n_outputs, len(frame.terms) + 1)
    return full[:n_splits].reshape(n_leaves - 1, n_features + 1), laws


def _make_leaves(frame: Frame, children: Nodes, laws: Floats) -> FixedLeaves | LawLeaves | ScoreLeaves:
    task = frame.task
    if frame.n_outputs == 0:  # a choice each: the first where the condition above holds, else the second
        choices = np.ones(len(children) + 1)
        choices[~children[(children < 0) & (np.arange(2) == 0)]] = 0.0
        return FixedLeaves(choices + task.action_low[0], make_menu(task, Settings()))
    weights, constants = laws[..., :-1] * frame.scales, laws[..., -1]
    if task.action == "discrete":
        weights, constants = (np.insert(a, frame.reference, 0.0, axis=1) for a in (weights, constants))
    else:  # from -1 to 1 becomes the range of each output
        low, high = np.array(task.action_low), np.array(task.action_high)
        weights, constants = weights * ((high - low) / 2)[:, None], (high + low) / 2 + (high - low) / 2 * constants
    used = weights.any(axis=(0, 1))
    kind = LawLeaves if task.action == "box" else ScoreLeaves
    terms = np.repeat(frame.terms[None, used], len(laws), axis=0)
    return kind(terms, few_digits(weights[..., used]), few_digits(constants), task)


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


def _with_split(children: Nodes, leaf: int) -> tuple[Nodes, list[int], list[int]]:
    """Splits (n, 2) with one more in place of a leaf, in pre-order; the old number of each split (-1: new) and leaf."""
    found: list[list[int]] = []
    old_splits: list[int] = []
    old_leaves: list[int] = []

    def copy(node: int) -> int:
        if node < 0 and node != ~leaf:
            old_leaves.append(~node)
            return ~(len(old_leaves) - 1)
        place = len(found)
        found.append([0, 0])
        old_splits.append(node if node >= 0 else -1)
        if node >= 0:
            found[place] = [copy(int(child)) for child in children[node]]
        else:
            old_leaves.extend([leaf, leaf])
            found[place] = [~(len(old_leaves) - 2), ~(len(old_leaves) - 1)]
        return place

    copy(0 if len(children) else ~0)
    return np.array(found, dtype=np.int32).reshape(-1, 2), old_splits, old_leaves
