"""What source code in every language has in common: a tree as nested conditions, and leaves as arithmetic.

Sums are written from the first feature to the last, as ``predict`` adds them, so that a language with the same
floating-point numbers takes the same decisions, on the border too.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sirl.model.derived import run
from sirl.model.formula import Formula, Sum, Term
from sirl.model.policy import Policy
from sirl.model.text import condition, plain
from sirl.model.tree import used_features

DEEPEST = 40
"""Conditions inside each other; what lies deeper is a function of its own, since languages limit their nesting."""


@dataclass(frozen=True)
class _Code:
    """An operand in source code; what binds less than its place asks for stands in parentheses."""

    text: str
    binds: int = 3
    """1: a sum, 2: a product, 3: a single thing."""

    def _in(self, place: int) -> str:
        return self.text if self.binds >= place else f"({self.text})"

    def __add__(self, other: _Code) -> _Code:
        return _Code(f"{self._in(1)} + {other._in(2)}", 1)

    def __sub__(self, other: _Code) -> _Code:
        return _Code(f"{self._in(1)} - {other._in(2)}", 1)

    def __mul__(self, other: _Code) -> _Code:
        return _Code(f"{self._in(2)} * {other._in(3)}", 2)

    def __truediv__(self, other: _Code) -> _Code:
        return _Code(f"{self._in(2)} / {other._in(3)}", 2)

    def __neg__(self) -> _Code:
        return _Code(f"-{self._in(3)}", 2)


class Source(ABC):
    """Writes the functions of one policy in one language.

    What is observed is ``x``; derived features that the tree needs are ``y``.
    """

    indent: ClassVar[str] = "    "
    product: ClassVar[str] = " * "

    def __init__(self, policy: Policy):
        self.policy, self.tree, self.task = policy, policy.tree, policy.task
        self.needed = self.task.needed(used_features(self.tree)) if self.task.derived else {}
        self._place = {feature: place for place, feature in enumerate(self.needed)}

    @abstractmethod
    def number(self, value: float) -> str:
        """A literal with the bits of ``value``."""

    @abstractmethod
    def branch(self, test: str, split: int) -> tuple[str, str, str]:
        """What stands before the branch where a test holds, before the other one, and after both."""

    @abstractmethod
    def act(self, formula: Formula, leaf: int) -> list[str]:
        """The statements of a leaf."""

    @abstractmethod
    def go_on(self, split: int) -> str:
        """The statement that goes on in the function of a split."""

    def feature(self, number: int) -> str:
        """A feature by its number."""
        return f"x[{number}]" if number < self.task.n_observed else f"y[{self._place[number]}]"

    def formulas(self) -> list[tuple[str, str]]:
        """The derived features that are needed, in order: what each computes, and a remark."""
        found = [
            (run(definition.program, self._operand, lambda value: _Code(self.number(value))).text, definition.line)
            for definition in self.needed.values()
        ]
        return [(text, inert(line)) for text, line in found]

    def _operand(self, number: int) -> _Code:
        return _Code(self.feature(number))

    def functions(self) -> list[tuple[int, list[str]]]:
        """The root (a split, or ~leaf) and what has a function of its own, each with its statements; deepest first."""
        found, pending = [], [self.tree.root]
        while pending:
            top = pending.pop()
            found.append((top, self._body(top, pending)))
        return found[::-1]

    def _body(self, top: int, pending: list[int]) -> list[str]:
        lines: list[str] = []
        work: list[tuple[int, int] | str] = [(top, 1)]
        while work:
            item = work.pop()
            if isinstance(item, str):
                lines.append(item)
                continue
            node, depth = item
            space = self.indent * depth
            if node < 0:
                lines += [space + line for line in self.act(self.tree.leaves.formula(~node), ~node)]
            elif depth > DEEPEST:
                pending.append(node)
                lines.append(space + self.go_on(node))
            else:
                before, between, after = self.branch(self.test(node), node)
                yes, no = self.tree.children[node].tolist()
                work += [space + after] if after else []
                work += [(no, depth + 1), space + between, (yes, depth + 1), space + before]
        return lines

    def test(self, split: int) -> str:
        """A split's condition, with the bits of its weights."""
        terms = [Term(w, (f,)) for f, w in enumerate(self.tree.weights[split].tolist()) if w]
        return f"{self._add(terms) or self.number(0.0)} < {self.number(float(self.tree.thresholds[split]))}"

    def sum(self, total: Sum) -> str:
        """A sum of a leaf's formula."""
        terms = self._add(total.terms, first=False)
        return f"{self.number(total.constant)}{terms}"

    def _add(self, terms: Sequence[Term], first: bool = True) -> str:
        text = ""
        for weight, features in terms:
            sign = " - " if weight < 0 else " + "
            if first and not text:
                sign = "-" if weight < 0 else ""
            text += sign + self.product.join([self.number(abs(weight)), *(self.feature(f) for f in features)])
        return text

    def remark(self, split: int) -> str:
        """A split as a person reads it, safe in a comment of any language."""
        return inert(condition(self.tree, split, self.task).text(self.task.features))


def inert(text: str) -> str:
    """Text without a character that could end a comment or begin anything; an asterisk alone can do neither."""
    return re.sub(r"[^A-Za-z0-9 _+*.,()<>=-]", "?", plain(text))


def whole(task_action: str, value: float) -> float | int:
    """An action's number as its space has it."""
    return value if task_action == "box" else int(value)
