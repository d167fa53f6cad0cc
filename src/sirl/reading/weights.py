"""The weights of a policy one by one, in conditions and in laws: where each stands, and the tree with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.model.laws import ONE, LawLeaves, ScoreLeaves
from sirl.model.task import Task
from sirl.model.tree import Tree

CONSTANT = -1
"""In place of a term: what a law adds whatever is observed."""


class Place(NamedTuple):
    """Where a weight stands."""

    node: int
    """A split, or ~leaf."""
    output: int
    """Of a law: the component of the action, or the choice; 0 in a split."""
    term: int
    """A split's feature, a law's term, or CONSTANT."""


def places(tree: Tree) -> list[Place]:
    """Every weight that is not zero: of the splits, then of the laws, whose constants count too."""
    found = [Place(int(split), 0, int(feature)) for split, feature in np.argwhere(tree.weights)]
    leaves = tree.leaves
    if isinstance(leaves, LawLeaves | ScoreLeaves):
        for leaf, output in np.ndindex(leaves.constants.shape):
            terms = np.flatnonzero(leaves.weights[leaf, output]).tolist()
            found += [Place(~leaf, output, term) for term in terms]
            found += [Place(~leaf, output, CONSTANT)] if leaves.constants[leaf, output] else []
    return found


def weight(tree: Tree, place: Place) -> float:
    """The weight that stands at a place."""
    node, output, term = place
    if node >= 0:
        return float(tree.weights[node, term])
    leaves = _laws(tree)
    return float(leaves.constants[~node, output] if term == CONSTANT else leaves.weights[~node, output, term])


def with_weights(tree: Tree, values: Mapping[Place, float]) -> Tree:
    """The tree with other weights at some places."""
    if splits := {place: value for place, value in values.items() if place.node >= 0}:
        tree = tree._replace(weights=tree.weights.copy())
        for place, value in splits.items():
            tree.weights[place.node, place.term] = value
    if laws := {place: value for place, value in values.items() if place.node < 0}:
        leaves = _laws(tree)
        weights, constants = leaves.weights.copy(), leaves.constants.copy()
        for (node, output, term), value in laws.items():
            row: Floats = constants[~node] if term == CONSTANT else weights[~node, :, term]
            row[output] = value
        tree = tree._replace(leaves=replace(leaves, weights=weights, constants=constants))
    return tree


def term_name(tree: Tree, task: Task, place: Place) -> str:
    """What a weight multiplies: a feature, a product such as ``x·theta``, or ``constant``."""
    if place.node >= 0:
        return task.features[place.term]
    if place.term == CONSTANT:
        return "constant"
    pair = _laws(tree).terms[~place.node, place.term].tolist()
    return "·".join(task.features[feature] for feature in pair if feature != ONE)


def _laws(tree: Tree) -> LawLeaves | ScoreLeaves:
    assert isinstance(tree.leaves, LawLeaves | ScoreLeaves)  # only their leaves have places
    return tree.leaves
