"""What a policy scores as one of its constants changes: the paper's figures of k_v, k_omega, c_4 and c_5."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError, did_you_mean
from sirl.model.task import Task
from sirl.model.text import condition
from sirl.model.tree import Tree
from sirl.reading.explain import with_split
from sirl.reading.prune import Scorer
from sirl.reading.weights import Place, places, term_name, weight, with_weights


class Constant(NamedTuple):
    """A number of a condition, as it is shown, or of a law."""

    node: int
    """A split, or ~leaf."""
    name: str
    """The feature that it stands before, or ``bound``; of a law, the output and what it multiplies."""
    value: float
    place: Place | None = None
    """Where it stands, if it is a law's."""

    @property
    def label(self) -> str:
        """How a person names it: the split's number, from 1 on, or the leaf, and the name."""
        return f"{self.node + 1}.{self.name}" if self.node >= 0 else f"leaf{~self.node}.{self.name}"


class Sweep(NamedTuple):
    """What a policy scores as one of its constants changes."""

    constant: Constant
    values: Floats
    """(n_values,)"""
    means: Floats
    """(n_values,)"""
    stds: Floats
    """(n_values,): over episodes."""


def constants(tree: Tree, task: Task) -> list[Constant]:
    """The numbers of all conditions as they are shown, but the one that is 1 by its scale; then those of the laws."""
    found: list[Constant] = []
    for split in range(tree.n_splits):
        shown = condition(tree, split, task)
        largest = max((abs(part.factor) for part in shown.parts), default=0.0)
        for factor, members in shown.parts:
            if abs(factor) != largest:
                found.append(Constant(split, task.features[members[0][0]], factor))
            found += [Constant(split, task.features[feature], k) for feature, k in members[1:]]
        found.append(Constant(split, "bound", shown.bound))
    for place in places(tree):
        if place.node < 0:
            name = f"{task.action_names[place.output]}.{term_name(tree, task, place)}"
            found.append(Constant(place.node, name, weight(tree, place), place))
    return found


def find_constant(tree: Tree, task: Task, label: str) -> Constant:
    """A constant by its label, such as ``1.omega``, ``2.bound`` or ``leaf0.push.x*theta``."""
    label = label.replace("*", "·")
    known = {constant.label: constant for constant in constants(tree, task)}
    if label not in known:
        hint = did_you_mean(label, list(known)) or f"; there are {', '.join(known)}."
        raise SirlError(f"there is no constant {label!r}{hint}")
    return known[label]


def with_constant(tree: Tree, task: Task, constant: Constant, value: float) -> Tree:
    """The tree with another value of a constant; a factor takes along what stands beside its feature."""
    if constant.place is not None:
        return with_weights(tree, {constant.place: value})
    split = constant.node
    shown = condition(tree, split, task)
    if constant.name == "bound":
        return with_split(tree, split, *shown._replace(bound=value).split(task.n_features))
    place = task.features.index(constant.name)
    parts = [
        part._replace(factor=value)
        if part.members[0][0] == place
        else part._replace(members=tuple((f, value if f == place else k) for f, k in part.members))
        for part in shown.parts
    ]
    return with_split(tree, split, *shown._replace(parts=tuple(parts)).split(task.n_features))


def sweep(tree: Tree, task: Task, constant: Constant, values: Floats, score: Scorer) -> Sweep:
    """What the policy scores with other values (n_values,) of a constant, each from the same starts."""
    returns = score([with_constant(tree, task, constant, float(value)) for value in values])
    spread = returns.std(axis=1, ddof=1) if returns.shape[1] > 1 else np.zeros(len(values))
    return Sweep(constant, values, returns.mean(axis=1), spread)


def usual_range(constant: Constant, points: int) -> Floats:
    """Values around a constant that show what it does: from its opposite to three times itself."""
    size = abs(constant.value) or 1.0
    return np.linspace(constant.value - 2 * size, constant.value + 2 * size, points)
