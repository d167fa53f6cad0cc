"""Where the nodes of a drawn tree stand: root first, subtrees as close as they fit side by side, nothing overlaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sirl.model.tree import Tree


class Place(NamedTuple):
    """Where a node stands."""

    depth: int
    across: float
    """The middle of the node, across the direction in which the tree grows."""


Outline = list[tuple[float, float]]
"""From where to where a subtree reaches at each depth below its top, seen from the top's middle."""


def lay_out(tree: Tree, breadth: Callable[[int], float], gap: float) -> tuple[dict[int, Place], float]:
    """The place of every node (a split, or ~leaf), and the breadth of the whole.

    Args:
        tree: what is drawn.
        breadth: how much room a node takes across the direction in which the tree grows.
        gap: what is left free between neighbours.
    """
    order = list(tree.nodes())
    outlines: dict[int, Outline] = {}
    shift: dict[int, float] = {}
    for node, _ in reversed(order):  # children before their parent
        half = (breadth(node) + gap) / 2
        below: Outline = []
        if node >= 0:
            yes, no = tree.children[node].tolist()
            one, other = outlines.pop(yes), outlines.pop(no)
            apart = max(end - start for (_, end), (start, _) in zip(one, other, strict=False)) / 2
            shift[yes], shift[no] = -apart, apart
            below = _joined(one, other, apart)
        outlines[node] = [(-half, half), *below]
    left = min(start for start, _ in outlines[tree.root])
    right = max(end for _, end in outlines[tree.root])
    across = {tree.root: -left}
    for node, _ in order:
        if node >= 0:
            for child in tree.children[node].tolist():
                across[child] = across[node] + shift[child]
    return {node: Place(depth, across[node]) for node, depth in order}, right - left


def _joined(one: Outline, other: Outline, apart: float) -> Outline:
    """The outline of two subtrees, so far apart from the middle between them."""
    here = [(start - apart, end - apart) for start, end in one]
    there = [(start + apart, end + apart) for start, end in other]
    both = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(here, there, strict=False)]
    return both + (here if len(here) > len(there) else there)[len(both) :]
