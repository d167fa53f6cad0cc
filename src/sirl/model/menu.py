"""The menu that the paper's leaves choose from: finitely many actions, with names.

A Discrete space is its own menu. A Box is cut into bins: by default, and in the paper, an action moves one joint and
leaves the others at rest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Actions, Floats
from sirl.config import Settings
from sirl.errors import SirlError
from sirl.model.task import Task

_LARGEST_MENU = 4096


class Menu(NamedTuple):
    """The actions that a leaf chooses among."""

    values: Actions
    """(n_actions, *action_shape) in the space's dtype: what the environment is given."""
    names: list[str]
    """What a person reads."""


def make_menu(task: Task, settings: Settings) -> Menu:
    """The menu of a task under the settings ``bins``, ``menu`` and ``action_scale``."""
    if task.action == "discrete":
        _check_size(task, len(task.action_names))
        start = int(task.action_low[0])
        return Menu(np.arange(start, start + len(task.action_names), dtype=np.int64), task.action_names)
    if task.action == "multi-discrete":
        ranges = [range(int(a), int(b) + 1) for a, b in zip(task.action_low, task.action_high, strict=True)]
        return _product_menu(task, ranges)
    levels = _levels(task, settings)
    if settings.menu == "joint":
        return _product_menu(task, list(levels))
    return _one_joint_menu(task, settings, levels)


def _levels(task: Task, settings: Settings) -> Floats:
    """The values of each joint, (n_joints, bins): 2·k/(bins-1) - 1, as in the paper, and where asked rescaled."""
    unit = 2.0 * np.arange(settings.bins) / (settings.bins - 1) - 1.0
    low, high = np.array(task.action_low)[:, None], np.array(task.action_high)[:, None]
    if settings.action_scale == "bounds":
        levels = np.clip(low + (unit + 1.0) / 2.0 * (high - low), low, high)  # rounding may lead an ulp too far
        return np.asarray(np.rint(levels) if np.dtype(task.action_dtype).kind in "iu" else levels)
    outside = np.flatnonzero((low > -1.0) | (high < 1.0))
    if outside.size:
        joint = outside[0]
        raise SirlError(
            f"action_scale = 'raw' gives values in [-1, 1], outside the bounds [{low[joint, 0]:g}, "
            f"{high[joint, 0]:g}] of action {task.action_names[joint]!r}: use action_scale = 'bounds'."
        )
    return np.tile(unit, (len(task.action_low), 1))


def _one_joint_menu(task: Task, settings: Settings, levels: Floats) -> Menu:
    n_joints, bins = levels.shape
    rest = np.zeros(n_joints)
    if settings.action_scale == "bounds":
        rest = (np.array(task.action_low) + np.array(task.action_high)) / 2.0
    values = np.tile(rest, (n_joints * bins, 1))
    for action in range(n_joints * bins):
        joint = action // bins  # the paper prints a / n_a here, which runs out of range (docs/fidelity.md)
        values[action, joint] = levels[joint, action % bins]
    values = values.astype(task.action_dtype)
    labels = [_labels(levels[joint]) for joint in range(n_joints)]
    return Menu(values, [f"{task.action_names[joint]} {label}" for joint in range(n_joints) for label in labels[joint]])


def _product_menu(task: Task, levels: Sequence[Sequence[float] | Floats]) -> Menu:
    _check_size(task, math.prod(len(level) for level in levels))
    rows = list(itertools.product(*levels))
    labels = itertools.product(*(_labels(level) for level in levels))
    names = [", ".join(f"{n} {text}" for n, text in zip(task.action_names, row, strict=True)) for row in labels]
    return Menu(np.array(rows).astype(task.action_dtype), names)


def _check_size(task: Task, size: int) -> None:
    if size > _LARGEST_MENU:
        fix = "use fewer bins or menu = 'one-joint'" if task.action == "box" else "wrap the environment to offer fewer"
        raise SirlError(f"{task.env} has a menu of {size} actions, more than {_LARGEST_MENU}: {fix}.")


def _labels(levels: Sequence[float] | Floats) -> list[str]:
    """A joint's values as text: two decimals, or as many as it takes to tell them apart."""
    values = [float(level) for level in levels]
    for decimals in range(2, 12):
        labels = [_number(value, decimals) for value in values]
        if len(set(labels)) == len(set(values)):
            break
    return labels


def _number(value: float, decimals: int) -> str:
    value = round(value, decimals)
    return f"{value:+.{decimals}f}" if value != int(value) else f"{int(value):+d}" if value else "0"
