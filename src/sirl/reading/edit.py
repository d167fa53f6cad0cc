"""A tree as text that a person changes by hand and loads back.

    if theta + 0.33*omega > -0.06
        push +0.67
    else
        push -1

What stands further in belongs to the ``if`` or ``else`` above it. A leaf is an action by its name, or its numbers in
brackets; in a tree whose leaves compute, ``leaf 2`` is the third leaf of the policy that is edited. Weights and
thresholds are written with all their digits, so that what nobody touches stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError, did_you_mean
from sirl.model.leaves import Broken, FixedLeaves, Leaves, checked_action
from sirl.model.policy import Policy
from sirl.model.policy_file import DEEPEST
from sirl.model.tokens import write_name
from sirl.model.tree import Tree
from sirl.reading.language import read_conditions

EDITED = "edited by hand"
_INDENT = "    "
_CONTENT = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^"#]|"|(?<=\S)#)*')
"""A line up to its remark: a # after a space, and not in a quoted name."""


def write_text(policy: Policy) -> str:
    """The text form of a policy."""
    tree, task = policy.tree, policy.task
    menu = tree.leaves.menu
    lines = [
        f"# {task.env}: what stands behind a # is not read.",
        f"# features: {', '.join(write_name(name) for name in task.features)}",
        *[f"# where {line}" for line in task.derived or ()],
        *([f"# actions: {', '.join(menu.names)}"] if menu is not None else []),
        "",
    ]
    pending: list[tuple[int | str, int]] = [(tree.root, 0)]
    while pending:
        item, depth = pending.pop()
        indent = _INDENT * depth
        if isinstance(item, str):
            lines.append(indent + item)
        elif item < 0:
            lines.append(indent + _write_leaf(policy, ~item))
        else:
            lines.append(f"{indent}if {_write_condition(policy, item)}")
            yes, no = tree.children[item].tolist()
            pending += [(no, depth + 1), ("else", depth), (yes, depth + 1)]
    return "\n".join(lines) + "\n"


def _write_condition(policy: Policy, split: int) -> str:
    weights = policy.tree.weights[split]
    text = ""
    for feature in np.flatnonzero(weights).tolist():
        weight = float(weights[feature])
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        text += f"{sign}{abs(weight)!r}*{write_name(policy.task.features[feature])}"
    return f"{text or '0'} < {float(policy.tree.thresholds[split])!r}"


def _write_leaf(policy: Policy, leaf: int) -> str:
    leaves = policy.tree.leaves
    label = leaves.label(leaf, policy.task)
    if not _is_plain(leaves):
        return f"leaf {leaf}  # {label}"
    values = [total.constant for total in leaves.formula(leaf).sums]
    menu = leaves.menu
    if menu is not None and label in menu.names and "#" not in label:
        named = np.atleast_1d(menu.values[menu.names.index(label)]).tolist()
        if named == values:
            return label
    return f"[{', '.join(map(repr, _own_values(policy, leaf)))}]  # {label}"


def _own_values(policy: Policy, leaf: int) -> list[float]:
    """What a leaf does, with the digits that it was given."""
    leaves = policy.tree.leaves
    if isinstance(leaves, FixedLeaves):
        return [float(value) for value in np.atleast_1d(leaves.values[leaf])]
    return [total.constant for total in leaves.formula(leaf).sums]


def _is_plain(leaves: Leaves) -> bool:
    """Whether every leaf does one thing, so that a person can name another."""
    return leaves.menu is not None and all(leaves.formula(leaf).is_constant for leaf in range(len(leaves)))


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def read_text(text: str, policy: Policy) -> Policy:
    """The policy that a text makes of the one that was edited: the very same if nothing was changed."""
    lines = list(_lines(text))
    if not lines:
        raise SirlError("the text has no tree: write an action, or a condition with two branches.")
    reader = _Reader(lines, policy)
    root = reader.node(0)
    if reader.at < len(lines):
        extra = lines[reader.at]
        raise _wrong(extra, f"{extra.text!r} comes after the end of the tree; put it into a branch, or delete it")
    assert root in (0, ~0)
    tree = reader.tree()
    if _is_same(tree, policy.tree):
        return policy
    return policy.changed(tree, EDITED)


def _lines(text: str) -> Iterator[_Line]:
    for number, line in enumerate(text.splitlines(), start=1):
        found = _CONTENT.match(line.expandtabs(4))
        if found is not None and (content := found[0].rstrip()):
            bare = content.lstrip()
            yield _Line(number, len(content) - len(bare), bare)


def _wrong(line: _Line, what: str) -> SirlError:
    return SirlError(f"line {line.number}: {what.removesuffix('.')}.")


class _Reader:
    """Reads lines into the arrays of a tree."""

    def __init__(self, lines: list[_Line], policy: Policy):
        self.lines, self.policy, self.at = lines, policy, 0
        self.weights: list[Floats] = []
        self.thresholds: list[float] = []
        self.children: list[list[int]] = []
        self.leaves: list[Floats | int] = []

    def node(self, depth: int) -> int:
        """The node that begins at this line: a split's number, or ~leaf."""
        line = self.lines[self.at]
        self.at += 1
        if depth > DEEPEST:
            raise _wrong(line, f"a tree is at most {DEEPEST} conditions deep; make it flatter")
        if re.match(r"else\b", line.text):
            raise _wrong(line, "this `else` has no `if`; indent it as the `if` that it belongs to")
        if not re.match(r"if\b", line.text):
            self.leaves.append(self._leaf(line))
            return ~(len(self.leaves) - 1)
        split = len(self.thresholds)
        weights, threshold = self._condition(line)
        self.weights.append(weights)
        self.thresholds.append(threshold)
        self.children.append([0, 0])
        self.children[split][0] = self._branch(line, "if", depth)
        self._else(line)
        self.children[split][1] = self._branch(line, "else", depth)
        return split

    def _condition(self, line: _Line) -> tuple[Floats, float]:
        try:
            found = read_conditions(line.text[2:].removesuffix(":"), self.policy.task.features)
        except SirlError as error:
            raise _wrong(line, str(error)) from None
        if len(found) != 1:
            raise _wrong(line, "an `if` has one comparison; put the second into an `if` of its own")
        return found[0].split()

    def _branch(self, parent: _Line, word: str, depth: int) -> int:
        if self.at == len(self.lines) or self.lines[self.at].indent <= parent.indent:
            raise _wrong(
                self.lines[self.at - 1], f"its `{word}` has no branch; write below it, further in, what to do there"
            )
        return self.node(depth + 1)

    def _else(self, parent: _Line) -> None:
        line = self.lines[self.at] if self.at < len(self.lines) else None
        if line is not None and line.indent > parent.indent:
            raise _wrong(line, "a branch is one action or one `if`; put this into a branch of its own, or delete it")
        if line is None or line.indent != parent.indent or not re.fullmatch(r"else\s*:?", line.text):
            raise _wrong(parent, "this `if` has no `else`; add one, as far in as the `if`, and what to do there")
        self.at += 1

    def _leaf(self, line: _Line) -> Floats | int:
        leaves, task = self.policy.tree.leaves, self.policy.task
        if found := re.fullmatch(r"leaf (\d+)", line.text):
            if int(found[1]) >= len(leaves):
                raise _wrong(line, f"there is no {line.text}; the policy has leaf 0 to leaf {len(leaves) - 1}")
            return int(found[1])
        if not _is_plain(leaves):
            raise _wrong(line, f"{line.text!r} is no leaf; write `leaf 0` to `leaf {len(leaves) - 1}`")
        menu = leaves.menu
        assert menu is not None  # as leaves are plain
        if line.text in menu.names:
            return np.asarray(menu.values[menu.names.index(line.text)], dtype=np.float64)
        if found := re.fullmatch(r"\[(.*)\]", line.text):
            return self._values(line, found[1])
        hint = did_you_mean(line.text, menu.names).removesuffix("?") or f"; there are {', '.join(menu.names)}"
        raise _wrong(line, f"there is no action {line.text!r}{hint}, or write its numbers in brackets for {task.env}")

    def _values(self, line: _Line, text: str) -> Floats:
        task = self.policy.task
        try:
            values = [float(value) for value in text.split(",")]
            return checked_action(values if task.action_shape else values[0], task)
        except ValueError:
            raise _wrong(line, f"[{text}] is no list of numbers; separate them by commas") from None
        except Broken as error:
            raise _wrong(line, f"{str(error).removeprefix('its ')}; correct it") from None

    def tree(self) -> Tree:
        """All that was read."""
        n_features = self.policy.task.n_features
        return Tree(
            np.array(self.weights).reshape(-1, n_features),
            np.array(self.thresholds),
            np.array(self.children, dtype=np.int32).reshape(-1, 2),
            self._kind(),
        )

    def _kind(self) -> Leaves:
        """The leaves: those that were there, where all are; else an action each."""
        leaves = self.policy.tree.leaves
        kept = [leaf for leaf in self.leaves if isinstance(leaf, int)]
        if len(kept) == len(self.leaves):
            return leaves.take(kept)
        assert leaves.menu is not None  # as leaves are plain
        actions = np.array([leaf if not isinstance(leaf, int) else self._action(leaf) for leaf in self.leaves])
        return FixedLeaves(actions.reshape(len(actions), *self.policy.task.action_shape), leaves.menu)

    def _action(self, leaf: int) -> Floats:
        values = np.array(_own_values(self.policy, leaf))
        return values if self.policy.task.action_shape else values[0]


def _is_same(one: Tree, other: Tree) -> bool:
    """Whether two trees have the same splits and do the same."""
    pairs = ((one.weights, other.weights), (one.thresholds, other.thresholds), (one.children, other.children))
    if not all(np.array_equal(mine, theirs) for mine, theirs in pairs):
        return False
    return all(one.leaves.formula(leaf) == other.leaves.formula(leaf) for leaf in range(one.n_leaves))
