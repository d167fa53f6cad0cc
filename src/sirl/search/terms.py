"""What laws may weigh: features, products of two of them, and what is to be ignored."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import combinations_with_replacement

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.errors import SirlError, did_you_mean
from sirl.model.laws import ONE
from sirl.model.task import Task


def make_terms(task: Task, products: bool) -> Ints:
    """What laws may weigh, (n_terms, 2): every feature, and every product of two if asked for."""
    if task.action not in ("box", "discrete"):
        raise SirlError(
            f"laws are for Box and Discrete actions, but {task.env} has {task.action} ones: use --method sirl-lb."
        )
    if task.action == "discrete" and len(task.action_names) == 1:
        raise SirlError(f"{task.env} has a single action, so that there is nothing to choose: give it one more.")
    mirror = task.mirrored
    if (
        mirror is not None
        and task.action == "discrete"
        and not (mirror.actions.places == np.arange(len(task.action_names))).any()
    ):
        raise SirlError(
            f"laws need a choice that stays the same in the mirror, and all of {', '.join(task.action_names)} change: "
            "leave out the mirror."
        )
    alone = [(feature, ONE) for feature in range(task.n_features)]
    pairs = list(combinations_with_replacement(range(task.n_features), 2)) if products else []
    return np.array(alone + pairs, dtype=np.int64)


def ignored_features(task: Task, ignore: str | None) -> tuple[int, ...]:
    """The features that ``ignore`` names, by place."""
    found: set[int] = set()
    for pattern in filter(None, map(str.strip, (ignore or "").split(","))):
        named = {place for place, name in enumerate(task.features) if name == pattern or fnmatchcase(name, pattern)}
        if not named:
            hint = did_you_mean(pattern, task.features) or f": name some of {', '.join(task.features)}, or none."
            raise SirlError(f"{task.env} has no feature {pattern!r} to ignore{hint}")
        found |= named
    if len(found) == task.n_features:
        raise SirlError(f"ignore = {ignore!r} leaves no feature of {task.env} to weigh: ignore fewer.")
    return tuple(sorted(found))


def term_values(observations: Floats, terms: Ints) -> Floats:
    """The terms of observations (n, n_features), (n, n_terms)."""
    second = np.where(terms[:, 1] == ONE, 1.0, observations[:, terms[:, 1]])
    return np.asarray(observations[:, terms[:, 0]] * second)
