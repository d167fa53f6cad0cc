"""A tree with some of its splits bypassed: what simplification, pruning and edits have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sirl.model.tree import Tree

_Known = TypeVar("_Known")


def rebuild(tree: Tree, known: _Known, keep: Callable[[int, _Known], int | tuple[_Known, _Known]]) -> Tree:
    """The tree without the splits that ``keep`` bypasses.

    Args:
        tree: what to rebuild.
        known: what is known at the root.
        keep: called for a split with what is known there: returns the child that takes the split's place, or what
            is known at its two children.
    """
    splits: list[int] = []
    children: list[list[int]] = []
    leaves: list[int] = []
    pending: list[tuple[int, _Known, int, int]] = [(tree.root, known, -1, 0)]
    while pending:
        node, known, parent, side = pending.pop()
        while node >= 0 and isinstance(found := keep(node, known), int):
            node = found
        if parent >= 0:
            children[parent][side] = len(splits) if node >= 0 else ~len(leaves)
        if node < 0:
            leaves.append(~node)
            continue
        assert isinstance(found, tuple)
        place = len(splits)
        splits.append(node)
        children.append([0, 0])
        yes, no = tree.children[node].tolist()
        pending += [(no, found[1], place, 1), (yes, found[0], place, 0)]
    kept = np.array(splits, dtype=np.int64)
    return Tree(
        tree.weights[kept],
        tree.thresholds[kept],
        np.array(children, dtype=np.int32).reshape(-1, 2),
        tree.leaves.take(leaves),
    )
