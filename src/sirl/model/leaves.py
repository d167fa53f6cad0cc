"""Leaf kinds: what acts at the end of a tree's path.

A leaf acts on an observation: nobody but its kind knows whether the observation matters. The paper's leaf is a row of
Q-values over a menu of actions; its printed trees have one action a leaf. A kind is one class here, a row format in
model files included; what it does inside compiled loops is one function in ``rollout/acting.py``, and how it learns
is a module of ``learning``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import msgspec
import numpy as np

from sirl.arrays import Actions, Floats, Ints
from sirl.model.formula import Formula, constant
from sirl.model.menu import Menu
from sirl.model.task import Task

WHOLE = tuple(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))
"""Types of whole numbers."""


class Broken(Exception):  # noqa: N818 - it is the file that is broken, and it never leaves this room
    """The content of a model file contradicts itself."""


class Leaves(Protocol):
    """The leaves of one tree, all of one kind."""

    row: ClassVar[type[msgspec.Struct]]
    """A leaf in a model file; its first field tells the kind."""

    @property
    def menu(self) -> Menu | None:
        """The actions by name, where the kind chooses from a menu or is read by one."""
        ...

    def __len__(self) -> int:
        """How many there are."""
        ...

    def act(self, leaves: Ints, observations: Floats) -> Actions:
        """The actions (n, *action_shape) of leaves (n,) on observations (n, n_features)."""
        ...

    def law(self) -> Any:
        """The same for compiled loops: a NamedTuple of arrays that ``rollout/acting.py`` knows."""
        ...

    def formula(self, leaf: int) -> Formula:
        """What a leaf computes, as data, with the bits of ``act`` before the action gets its dtype."""
        ...

    def same(self, one: int, other: int) -> bool:
        """Whether two leaves act alike on every observation."""
        ...

    def outside(self, task: Task) -> str:
        """Why actions of these leaves are none of a task with the same spaces; empty if all are."""
        ...

    def label(self, leaf: int, task: Task) -> str:
        """What a person reads at a leaf."""
        ...

    def take(self, leaves: Sequence[int]) -> Self:
        """Some of the leaves, in that order."""
        ...

    def rows(self, task: Task) -> list[msgspec.Struct]:
        """The leaves as they stand in a model file."""
        ...

    @classmethod
    def of_rows(cls, rows: list[Any], task: Task, menu: Menu | None) -> Self:
        """The leaves of a model file's rows; raises :class:`Broken` for what can't be played."""
        ...


class Constants(NamedTuple):
    """The law of leaves that do one thing each, whatever is observed."""

    values: Actions
    """(n_leaves, n_components) in the action's dtype; one component for a Discrete action."""


class _OneAction:
    """What kinds share whose leaves do one thing each."""

    actions: Actions
    """(n_leaves, *action_shape)"""

    def act(self, leaves: Ints, observations: Floats) -> Actions:  # noqa: ARG002
        """See `Leaves.act`."""
        return np.asarray(self.actions[leaves])

    def law(self) -> Constants:
        """See `Leaves.law`."""
        return Constants(self.actions.reshape(len(self.actions), -1))

    def formula(self, leaf: int) -> Formula:
        """See `Leaves.formula`."""
        return constant(np.atleast_1d(self.actions[leaf]))

    def same(self, one: int, other: int) -> bool:
        """See `Leaves.same`."""
        return np.array_equal(self.actions[one], self.actions[other])

    def outside(self, task: Task) -> str:
        """See `Leaves.outside`."""
        if ((self.actions < task.action_low) | (self.actions > task.action_high)).any():
            return f"its actions leave the bounds {task.action_low} to {task.action_high}"
        return ""


class _QRow(msgspec.Struct, forbid_unknown_fields=True):
    q_values: list[float]


@dataclass(frozen=True, eq=False)
class QLeaves(_OneAction):
    """Leaves that hold a Q-value for each action of a menu, and take the best: the paper's."""

    q_values: Floats
    """(n_leaves, n_actions)"""
    menu: Menu

    row: ClassVar[type[msgspec.Struct]] = _QRow

    @cached_property
    def actions(self) -> Actions:  # type: ignore[override]
        """What each leaf does, (n_leaves, *action_shape)."""
        return np.asarray(self.menu.values[self.choices])

    @cached_property
    def choices(self) -> Ints:
        """The menu's action that each leaf takes, (n_leaves,)."""
        return np.asarray(np.argmax(self.q_values, axis=1))

    def __len__(self) -> int:
        return len(self.q_values)

    def label(self, leaf: int, task: Task) -> str:  # noqa: ARG002
        """See `Leaves.label`."""
        return self.menu.names[int(self.choices[leaf])]

    def take(self, leaves: Sequence[int]) -> QLeaves:
        """See `Leaves.take`."""
        return QLeaves(self.q_values[list(leaves)], self.menu)

    def rows(self, task: Task) -> list[msgspec.Struct]:  # noqa: ARG002
        """See `Leaves.rows`."""
        return [_QRow(q_values) for q_values in self.q_values.tolist()]

    @classmethod
    def of_rows(cls, rows: list[_QRow], task: Task, menu: Menu | None) -> QLeaves:  # noqa: ARG003
        """See `Leaves.of_rows`."""
        menu = needed(menu)
        for row in rows:
            if len(row.q_values) != len(menu.values):
                raise Broken(f"a leaf has {len(row.q_values)} q_values for {len(menu.values)} actions")
            for value in row.q_values:
                finite(value)
        return QLeaves(np.array([row.q_values for row in rows], dtype=np.float64), menu)


class _FixedRow(msgspec.Struct, forbid_unknown_fields=True):
    action: float | list[float]


@dataclass(frozen=True, eq=False)
class FixedLeaves(_OneAction):
    """Leaves that hold one action each, as the paper's printed trees do."""

    values: Floats
    """(n_leaves, *action_shape)"""
    menu: Menu
    """What a person reads: an action that is on it has its name."""

    row: ClassVar[type[msgspec.Struct]] = _FixedRow

    @cached_property
    def actions(self) -> Actions:  # type: ignore[override]
        """What each leaf does, (n_leaves, *action_shape)."""
        return self.values.astype(self.menu.values.dtype)

    def __len__(self) -> int:
        return len(self.values)

    def label(self, leaf: int, task: Task) -> str:  # noqa: ARG002
        """See `Leaves.label`: the name of the menu's action that is the same to two digits, if there is one."""
        value = self.values[leaf]
        near = np.abs(self.menu.values - value).reshape(len(self.menu.values), -1).max(axis=1) < 0.005
        if near.any():
            return self.menu.names[int(near.argmax())]
        return f"[{', '.join(f'{v:.4g}' for v in np.atleast_1d(value))}]"

    def take(self, leaves: Sequence[int]) -> FixedLeaves:
        """See `Leaves.take`."""
        return FixedLeaves(self.values[list(leaves)], self.menu)

    def rows(self, task: Task) -> list[msgspec.Struct]:  # noqa: ARG002
        """See `Leaves.rows`."""
        return [_FixedRow(value) for value in self.values.tolist()]

    @classmethod
    def of_rows(cls, rows: list[Any], task: Task, menu: Menu | None) -> FixedLeaves:
        """See `Leaves.of_rows`; a leaf with Q-values among them, as after an edit by hand, does its best action."""
        menu = needed(menu)
        values = [
            checked_action(row.action, task)
            if isinstance(row, _FixedRow)
            else QLeaves.of_rows([row], task, menu).actions[0]
            for row in rows
        ]
        return FixedLeaves(np.array(values, dtype=np.float64), menu)


def checked_action(value: float | list[float], task: Task) -> Floats:
    """An action (*action_shape) that lies in the task's space."""
    action = np.array(value, dtype=np.float64)
    if action.shape != tuple(task.action_shape):
        raise Broken(f"its action {value} does not have the shape {task.action_shape}")
    if task.action != "box" and (action != np.rint(action)).any():
        raise Broken(f"its action {value} is no whole number")
    low, high = np.array(task.action_low), np.array(task.action_high)
    with np.errstate(over="ignore", invalid="ignore"):
        typed = action.astype(task.action_dtype)
    played = action if task.action_dtype in WHOLE else typed
    if not ((low <= played) & (played <= high)).all():
        raise Broken(f"its action {value} lies outside the bounds {task.action_low} to {task.action_high}")
    if played is action and (typed != action).any():
        raise Broken(f"its action {value} is none of type {task.action_dtype}")
    return action


def needed(menu: Menu | None) -> Menu:
    """The menu, for a kind that can't do without one."""
    if menu is None:
        raise Broken("it names no actions")
    return menu


def finite(value: float) -> float:
    """A number of a file, if it is one."""
    if not math.isfinite(value):
        raise Broken(f"{value} is no finite number")
    return value
