"""A tree as text that a person changes by hand and loads back.

    if theta + 0.33*omega > -0.06
        push +0.67
    else
        push -1

What stands further in belongs to the ``if`` or ``else`` above it. A leaf is an action or a law (``edit_leaves.py``).
Weights and thresholds are written with all their digits, so that what nobody touches stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError
from sirl.model.policy import Policy
from sirl.model.policy_file import DEEPEST
from sirl.model.tokens import write_name
from sirl.model.tree import Tree
from sirl.reading.edit_leaves import Leaf, Line, join_leaves, read_leaf, tell_actions, write_leaf, write_sum, wrong
from sirl.reading.language import read_conditions

EDITED = "edited by hand"
_INDENT = "    "
_CONTENT = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^"#]|"|(?<=\S)#)*')
"""A line up to its remark: a # after a space, and not in a quoted name."""


def write_text(policy: Policy) -> str:
    """The text form of a policy."""
    tree, task = policy.tree, policy.task
    lines = [
        f"# {task.env}: what stands behind a # is not read.",
        f"# features: {', '.join(write_name(name) for name in task.features)}",
        *(f"# where {line}" for line in task.derived or ()),
        *(f"# {line}" for line in tell_actions(policy)),
        "",
    ]
    pending: list[tuple[int | str, int]] = [(tree.root, 0)]
    while pending:
        item, depth = pending.pop()
        indent = _INDENT * depth
        if isinstance(item, str):
            lines.append(indent + item)
        elif item < 0:
            lines += [indent + line for line in write_leaf(policy, ~item)]
        else:
            lines.append(f"{indent}if {_write_condition(policy, item)}")
            yes, no = tree.children[item].tolist()
            pending += [(no, depth + 1), ("else", depth), (yes, depth + 1)]
    return "\n".join(lines) + "\n"


def _write_condition(policy: Policy, split: int) -> str:
    weights = policy.tree.weights[split]
    terms = [(float(weights[feature]), (feature,)) for feature in np.flatnonzero(weights).tolist()]
    return f"{' '.join(write_sum(terms, policy.task) or ['0'])} < {float(policy.tree.thresholds[split])!r}"


def read_text(text: str, policy: Policy) -> Policy:
    """The policy that a text makes of the one that was edited: the very same if nothing was changed."""
    lines = list(_lines(text))
    if not lines:
        raise SirlError("the text has no tree: write an action, or a condition with two branches.")
    reader = _Reader(lines, policy)
    root = reader.node(0)
    if reader.at < len(lines):
        extra = lines[reader.at]
        raise wrong(extra, f"{extra.text!r} comes after the end of the tree; put it into a branch, or delete it")
    assert root in (0, ~0)
    tree = reader.tree()
    if _is_same(tree, policy.tree):
        return policy
    return policy.changed(tree, EDITED)


def _lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), start=1):
        found = _CONTENT.match(line.expandtabs(4))
        if found is not None and (content := found[0].rstrip()):
            bare = content.lstrip()
            yield Line(number, len(content) - len(bare), bare)


class _Reader:
    """Reads lines into the arrays of a tree."""

    def __init__(self, lines: list[Line], policy: Policy):
        self.lines, self.policy, self.at = lines, policy, 0
        self.weights: list[Floats] = []
        self.thresholds: list[float] = []
        self.children: list[list[int]] = []
        self.leaves: list[Leaf] = []

    def node(self, depth: int) -> int:
        """The node that begins at this line: a split's number, or ~leaf."""
        line = self.lines[self.at]
        self.at += 1
        if depth > DEEPEST:
            raise wrong(line, f"a tree is at most {DEEPEST} conditions deep; make it flatter")
        if re.match(r"else\b", line.text):
            raise wrong(line, "this `else` has no `if`; indent it as the `if` that it belongs to")
        if not re.match(r"if\b", line.text):
            leaf, self.at = read_leaf(self.lines, self.at - 1, self.policy)
            self.leaves.append(leaf)
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

    def _condition(self, line: Line) -> tuple[Floats, float]:
        try:
            found = read_conditions(line.text[2:].removesuffix(":"), self.policy.task.features)
        except SirlError as error:
            raise wrong(line, str(error)) from None
        if len(found) != 1:
            raise wrong(line, "an `if` has one comparison; put the second into an `if` of its own")
        return found[0].split()

    def _branch(self, parent: Line, word: str, depth: int) -> int:
        if self.at == len(self.lines) or self.lines[self.at].indent <= parent.indent:
            raise wrong(
                self.lines[self.at - 1], f"its `{word}` has no branch; write below it, further in, what to do there"
            )
        return self.node(depth + 1)

    def _else(self, parent: Line) -> None:
        line = self.lines[self.at] if self.at < len(self.lines) else None
        if line is not None and line.indent > parent.indent:
            raise wrong(line, "a branch is one action or one `if`; put this into a branch of its own, or delete it")
        if line is None or line.indent != parent.indent or not re.fullmatch(r"else\s*:?", line.text):
            raise wrong(parent, "this `if` has no `else`; add one, as far in as the `if`, and what to do there")
        self.at += 1

    def tree(self) -> Tree:
        """All that was read."""
        n_features = self.policy.task.n_features
        return Tree(
            np.array(self.weights).reshape(-1, n_features),
            np.array(self.thresholds),
            np.array(self.children, dtype=np.int32).reshape(-1, 2),
            join_leaves(self.leaves, self.policy),
        )


def _is_same(one: Tree, other: Tree) -> bool:
    """Whether two trees have the same splits and do the same."""
    pairs = ((one.weights, other.weights), (one.thresholds, other.thresholds), (one.children, other.children))
    if not all(np.array_equal(mine, theirs) for mine, theirs in pairs):
        return False
    return all(one.leaves.formula(leaf) == other.leaves.formula(leaf) for leaf in range(one.n_leaves))
