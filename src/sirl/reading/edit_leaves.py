"""Leaves in the text form of a policy: actions by name or by numbers, and laws.

    push = 9.027*x + 34.26*theta - 0.5*x*theta

A law gives each component of a continuous action a line of its own; ``largest of`` and, further in, a line for each
choice is a law that scores the choices of a discrete one. A line further in than the law's goes on with its sum.
``leaf 2`` is the third leaf of the policy that is edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError, did_you_mean
from sirl.model.formula import Sum
from sirl.model.laws import LawLeaves, ScoreLeaves, WeighingLeaves
from sirl.model.leaves import Broken, FixedLeaves, Leaves, checked_action
from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.model.text import wrap
from sirl.model.tokens import Token, Unreadable, unquoted, write_name
from sirl.reading.language import read_law

_INDENT = "    "
_WIDEST = 100
_SCORES = "largest of"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_LAW = re.compile(rf'({_QUOTED}|[^"=<>]+?)\s*=\s*((?:{_QUOTED}|[^"=<>])*)')

Leaf = Floats | tuple[Sum, ...] | int
"""An action (*action_shape), a law's sums, or a leaf of the policy that is edited."""


class Line(NamedTuple):
    """A line of the text, without its remark."""

    number: int
    indent: int
    text: str


def wrong(line: Line, what: str) -> SirlError:
    """The sentence about a line that can't be read."""
    return SirlError(f"line {line.number}: {what.removesuffix('.')}.")


def tell_actions(policy: Policy) -> list[str]:
    """What a leaf may do, for a person who edits."""
    task, names = policy.task, _names(policy)
    told = [f"actions: {', '.join(names)}"] if names else []
    if task.action == "box":
        bounds = zip(task.action_names, task.action_low, task.action_high, strict=True)
        told.append(f"a law: {', '.join(f'{write_name(n)} = … from {low:g} to {high:g}' for n, low, high in bounds)}")
    return told


def _names(policy: Policy) -> list[str]:
    """Actions that a leaf can name."""
    menu, task = policy.tree.leaves.menu, policy.task
    return menu.names if menu is not None else task.action_names if task.action == "discrete" else []


def write_leaf(policy: Policy, leaf: int) -> list[str]:
    """A leaf's lines."""
    leaves, task = policy.tree.leaves, policy.task
    if isinstance(leaves, WeighingLeaves):
        lines = [
            line for name, s in zip(task.action_names, leaves.totals(leaf), strict=True) for line in _law(name, s, task)
        ]
        return lines if task.action == "box" else [_SCORES, *(_INDENT + line for line in lines)]
    label = leaves.label(leaf, task)
    if not _is_plain(leaves):
        return [f"leaf {leaf}  # {label}"]
    values = [total.constant for total in leaves.formula(leaf).sums]
    menu = leaves.menu
    if menu is not None and label in menu.names and "#" not in label:
        named = np.atleast_1d(menu.values[menu.names.index(label)]).tolist()
        if named == values:
            return [label]
    return [f"[{', '.join(map(repr, _own_values(policy, leaf)))}]  # {label}"]


def _law(name: str, total: Sum, task: Task) -> list[str]:
    terms = list(total.terms) + ([(total.constant, ())] if total.constant or not total.terms else [])
    return wrap(write_sum(terms, task), f"{write_name(name)} = ", 2 * _INDENT, _WIDEST)


def write_sum(terms: Iterable[tuple[float, tuple[int, ...]]], task: Task) -> list[str]:
    """Weights with the features that they multiply, term by term, with all their digits."""
    pieces: list[str] = []
    for weight, features in terms:
        sign = ("-" if weight < 0 else "") if not pieces else ("- " if weight < 0 else "+ ")
        pieces.append(sign + "*".join([repr(abs(weight)), *(write_name(task.features[f]) for f in features)]))
    return pieces


def _own_values(policy: Policy, leaf: int) -> list[float]:
    """What a leaf does, with the digits that it was given."""
    leaves = policy.tree.leaves
    if isinstance(leaves, FixedLeaves):
        return [float(value) for value in np.atleast_1d(leaves.values[leaf])]
    return [total.constant for total in leaves.formula(leaf).sums]


def _is_plain(leaves: Leaves) -> bool:
    """Whether every leaf does one thing, so that a person can name another."""
    return leaves.menu is not None and all(leaves.formula(leaf).is_constant for leaf in range(len(leaves)))


def read_leaf(lines: Sequence[Line], at: int, policy: Policy) -> tuple[Leaf, int]:
    """The leaf that begins at a line, and the line after it."""
    line, task, names = lines[at], policy.task, _names(policy)
    n_leaves = len(policy.tree.leaves)
    if found := re.fullmatch(r"leaf (\d+)", line.text):
        if int(found[1]) >= n_leaves:
            raise wrong(line, f"there is no {line.text}; the policy has leaf 0 to leaf {n_leaves - 1}")
        return int(found[1]), at + 1
    if line.text in names:
        return _named(line.text, policy), at + 1
    if re.fullmatch(rf"{_SCORES}\s*:?", line.text):
        return _read_scores(lines, at, task)
    if found := re.fullmatch(r"\[(.*)\]", line.text):
        return _read_values(line, found[1], task), at + 1
    if _LAW.fullmatch(line.text):
        if task.action != "box":
            raise wrong(
                line, f"a law with `=` steers a continuous action; write `{_SCORES}` above it, and it further in"
            )
        return _read_laws(lines, at, line.indent, task)
    if names:
        hint = did_you_mean(line.text, names).removesuffix("?") or f"; there are {', '.join(names)}"
        raise wrong(line, f"there is no action {line.text!r}{hint}, or write its numbers in brackets for {task.env}")
    law = (
        f", a law such as `{write_name(task.action_names[0])} = 0.5*{write_name(task.features[0])}`,"
        if task.action == "box"
        else ""
    )
    raise wrong(
        line, f"{line.text!r} is no leaf; write its numbers in brackets{law} or `leaf 0` to `leaf {n_leaves - 1}`"
    )


def _named(name: str, policy: Policy) -> Floats:
    menu, task = policy.tree.leaves.menu, policy.task
    if menu is not None:
        return np.asarray(menu.values[menu.names.index(name)], dtype=np.float64)
    return np.asarray(task.action_low[0] + task.action_names.index(name))


def _read_values(line: Line, text: str, task: Task) -> Floats:
    try:
        values = [float(value) for value in text.split(",")]
        return checked_action(values if task.action_shape else values[0], task)
    except ValueError:
        raise wrong(line, f"[{text}] is no list of numbers; separate them by commas") from None
    except Broken as error:
        raise wrong(line, f"{str(error).removeprefix('its ')}; correct it") from None


def _read_scores(lines: Sequence[Line], at: int, task: Task) -> tuple[tuple[Sum, ...], int]:
    if task.action != "discrete":
        raise wrong(lines[at], f"`{_SCORES}` chooses among discrete actions, and those of {task.env} are {task.action}")
    if at + 1 == len(lines) or lines[at + 1].indent <= lines[at].indent:
        raise wrong(lines[at], f"`{_SCORES}` has no laws; write below it, further in, one for each choice")
    return _read_laws(lines, at + 1, lines[at + 1].indent, task)


def _read_laws(lines: Sequence[Line], at: int, indent: int, task: Task) -> tuple[tuple[Sum, ...], int]:
    """Laws, a line each and what goes on further in, until a line is none or stands less far in."""
    first, found = lines[at], dict[str, Sum]()
    while at < len(lines) and lines[at].indent == indent and (law := _LAW.fullmatch(lines[at].text)):
        line, text = lines[at], law[2]
        name = _read_name(line, law[1], task.action_names)
        if name in found:
            raise wrong(line, f"there is a law for {name} already; delete one")
        at += 1
        while at < len(lines) and lines[at].indent > indent:
            text += f" {lines[at].text}"
            at += 1
        try:
            found[name] = read_law(text, task.features)
        except SirlError as error:
            raise wrong(line, str(error)) from None
    if missing := [name for name in task.action_names if name not in found]:
        raise wrong(
            first, f"there is no law for {missing[0]}; write `{write_name(missing[0])} = …` as far in as this line"
        )
    return tuple(found[name] for name in task.action_names), at


def _read_name(line: Line, text: str, names: list[str]) -> str:
    try:
        name = unquoted(Token(text, 0))
    except Unreadable as error:
        raise wrong(line, str(error)) from None
    if name not in names:
        hint = did_you_mean(name, names).removesuffix("?") or f"; there are {', '.join(names)}"
        raise wrong(line, f"there is no {name!r} to give a law{hint}")
    return name


def join_leaves(read: Sequence[Leaf], policy: Policy) -> Leaves:
    """The leaves of a text: those that were there, where all are; laws, if one is a law; else an action each."""
    leaves, task = policy.tree.leaves, policy.task
    kept = [leaf for leaf in read if isinstance(leaf, int)]
    if len(kept) == len(read):
        return leaves.take(kept)
    steers = isinstance(leaves, WeighingLeaves)
    if kept and not steers and not _is_plain(leaves):
        raise SirlError(f"leaf {kept[0]} computes in a way of its own and can't stand beside leaves that were written.")
    if steers or leaves.menu is None or any(isinstance(leaf, tuple) for leaf in read):
        kind = LawLeaves if task.action == "box" else ScoreLeaves
        return kind.of_sums([_sums(leaf, policy) for leaf in read], task)
    actions = [_action(policy, leaf) if isinstance(leaf, int) else leaf for leaf in read]
    return FixedLeaves(np.array(actions).reshape(len(actions), *task.action_shape), leaves.menu)


def _sums(leaf: Leaf, policy: Policy) -> tuple[Sum, ...]:
    """A leaf as a law."""
    task, leaves = policy.task, policy.tree.leaves
    if isinstance(leaf, tuple):
        return leaf
    if isinstance(leaf, int) and isinstance(leaves, WeighingLeaves):
        return leaves.totals(leaf)
    values = np.atleast_1d(_action(policy, leaf) if isinstance(leaf, int) else leaf).tolist()
    if task.action == "box":
        return tuple(Sum(value) for value in values)
    return tuple(Sum(float(task.action_low[0] + k == values[0])) for k in range(len(task.action_names)))


def _action(policy: Policy, leaf: int) -> Floats:
    values = np.array(_own_values(policy, leaf))
    return values if policy.task.action_shape else np.asarray(values[0])
