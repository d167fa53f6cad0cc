"""Where the nodes of a drawn tree stand: root first, every subtree in a strip of its own, so that nothing overlaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sirl.model.tree import Tree


class Place(NamedTuple):
    """Where a node stands."""

    depth: int
    across: float
    """The middle of the node, across the direction in which the tree grows."""


def lay_out(tree: Tree, breadth: Callable[[int], float], gap: float) -> tuple[dict[int, Place], float]:
    """The place of every node (a split, or ~leaf), and the breadth of the whole.

    Args:
        tree: what is drawn.
        breadth: how much room a node takes across the direction in which the tree grows.
        gap: what is left free between neighbours.
    """
    order = list(tree.nodes())
    strip: dict[int, float] = {}
    for node, _ in reversed(order):  # children before their parent
        below = sum(strip[c] for c in tree.children[node].tolist()) if node >= 0 else 0.0
        strip[node] = max(breadth(node) + gap, below)
    start = {tree.root: 0.0}
    places: dict[int, Place] = {}
    for node, _ in order:
        if node >= 0:
            yes, no = tree.children[node].tolist()
            spare = strip[node] - strip[yes] - strip[no]
            start[yes] = start[node] + spare / 2
            start[no] = start[yes] + strip[yes]
    for node, depth in reversed(order):
        middle = start[node] + strip[node] / 2
        if node >= 0:  # between its children, as far as its strip allows
            ends = [places[c].across for c in tree.children[node].tolist()]
            room = (strip[node] - breadth(node) - gap) / 2
            middle = min(max(sum(ends) / 2, middle - room), middle + room)
        places[node] = Place(depth, middle)
    return places, strip[tree.root]
