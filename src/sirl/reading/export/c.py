"""A policy as C99 for a small device: no allocation, no library, no recursion; and how much room it takes there."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

from sirl import __version__
from sirl.errors import SirlError
from sirl.model.formula import Formula
from sirl.model.policy import Policy
from sirl.reading.export.source import Source, inert, whole

_LARGEST_FLOAT = 3.4e38


def write_c(policy: Policy, real: Literal["double", "float"] = "double") -> str:
    """A C file with one function, ``policy_act``.

    With ``double`` it decides as ``predict`` does, bit for bit, where the compiler does not fuse multiplication and
    addition (``-std=c99`` does not). With ``float`` it may differ where a sum is within rounding of its threshold.
    """
    writer = _C(policy, real)
    task, n = policy.task, policy.task.n_observed
    lines = [
        f"/* The policy of a tree for {inert(task.env)}, written by sirl {__version__}. C99, nothing is allocated.",
        "   Compile with -std=c99, or with -ffp-contract=off, so that sums are rounded as they were in training.",
        "   x:" + ",".join(f" {inert(name)}" for name in task.features[:n]),
        f"   {'returns one of' if task.action == 'discrete' else 'action'}:"
        + ",".join(f" {inert(name)}" for name in task.action_names),
        "*/",
        "",
    ]
    made = writer.functions()
    for node, body in made:
        name = "policy_act" if node == policy.tree.root else f"from_{node}"
        is_top = node == policy.tree.root
        head = writer.head(name, is_top)
        if is_top:
            lines += [f"{head};", ""]  # a prototype, for compilers that ask for one
            body = [*writer.derivations(), *body]
        else:
            head = f"static {head}"
        lines += [head, "{", *writer.unused(body, is_top), *body, "}", ""]
    return "\n".join(lines).replace("[N]", f"[{n}]")


class _C(Source):
    def __init__(self, policy: Policy, real: Literal["double", "float"]):
        super().__init__(policy)
        self.real = real
        self.out = real if policy.task.action == "box" else "int"
        self.returns = policy.task.action == "discrete"

    def head(self, name: str, is_top: bool) -> str:
        """The first line of a function; one below the top is given derived features too, if there are some."""
        seen = f"const {self.real} x[N]"
        if self.needed and not is_top:
            seen += f", const {self.real} y[{len(self.needed)}]"
        if self.returns:
            return f"int {name}({seen})"
        n = len(self.task.action_names)
        return f"void {name}({seen}, {self.out} action[{n}])"

    def derivations(self) -> list[str]:
        """The statements that compute derived features."""
        found = [f"    y[{n}] = {text}; /* {remark} */" for n, (text, remark) in enumerate(self.formulas())]
        return [f"    {self.real} y[{len(found)}];"] * bool(found) + found

    def unused(self, body: list[str], is_top: bool) -> list[str]:
        """What tells a compiler that a function does without an argument on purpose."""
        given = "xy" if self.needed and not is_top else "x"
        return [f"    (void){name};" for name in given if not any(re.search(rf"\b{name}\b[\[,)]", b) for b in body)]

    def number(self, value: float) -> str:
        value += 0.0
        if self.real == "double":
            return repr(value)
        if abs(value) > _LARGEST_FLOAT:
            raise SirlError(
                f"the number {value:g} of this policy does not fit into a float: export it with --format c."
            )
        short = next(f"{value:.{d}g}" for d in range(1, 18) if _single(float(f"{value:.{d}g}")) == _single(value))
        return (short if "." in short or "e" in short else f"{short}.0") + "f"

    def branch(self, test: str, split: int) -> tuple[str, str, str]:
        return f"if ({test}) {{ /* {self.remark(split)} */", "} else {", "}"

    def go_on(self, split: int) -> str:
        seen = "x, y" if self.needed else "x"
        return f"return from_{split}({seen});" if self.returns else f"from_{split}({seen}, action);"

    def act(self, formula: Formula, leaf: int) -> list[str]:
        if formula.choices is not None:
            return self._choose(formula, leaf)
        if formula.is_constant:
            values = [self._value(total.constant) for total in formula.sums]
            return [f"return {values[0]};"] if self.returns else self._assign(values)
        lines = self._assign([self.sum(total) for total in formula.sums])
        for place, (low, high) in enumerate(zip(formula.low or (), formula.high or (), strict=True)):
            lower, upper = self.number(low), self.number(high)
            lines.append(f"if (action[{place}] < {lower}) action[{place}] = {lower};")
            lines.append(f"if (action[{place}] > {upper}) action[{place}] = {upper};")
        return lines

    def _choose(self, formula: Formula, leaf: int) -> list[str]:
        assert formula.choices is not None
        scores, best = f"scores_{leaf}", f"best_{leaf}"
        lines = [
            f"const {self.real} {scores}[{len(formula.sums)}] = {{{', '.join(self.sum(t) for t in formula.sums)}}};",
            f"int {best} = 0, i_{leaf};",
            f"for (i_{leaf} = 1; i_{leaf} < {len(formula.sums)}; i_{leaf}++)",
            f"    if ({scores}[i_{leaf}] > {scores}[{best}]) {best} = i_{leaf};",
        ]
        if self.returns:
            values = ", ".join(self._value(choice[0]) for choice in formula.choices)
            return [f"static const int choices_{leaf}[] = {{{values}}};", *lines, f"return choices_{leaf}[{best}];"]
        rows = ", ".join("{" + ", ".join(self._value(v) for v in choice) + "}" for choice in formula.choices)
        n = formula.n_components
        table = f"static const {self.out} choices_{leaf}[][{n}] = {{{rows}}};"
        return [table, *lines, *self._assign([f"choices_{leaf}[{best}][{place}]" for place in range(n)])]

    def _value(self, value: float) -> str:
        return self.number(value) if self.task.action == "box" else str(whole(self.task.action, value))

    def _assign(self, values: list[str]) -> list[str]:
        return [f"action[{place}] = {value};" for place, value in enumerate(values)]


def _single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


class Room(NamedTuple):
    """What compiled C takes on a device."""

    flash: int
    """Bytes of code and constants."""
    stack: int
    """Bytes on the longest way down."""
    compiler: str


def measure_c(source: str) -> Room | None:
    """How much room a C file takes, compiled for size by this machine's compiler; None if there is none."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler or not shutil.which("size"):
        return None
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "policy.c").write_text(source)
        command = [compiler, "-std=c99", "-Os", "-fno-asynchronous-unwind-tables", "-fstack-usage", "-c", "policy.c"]
        if subprocess.run(command, cwd=place, capture_output=True, check=False).returncode:
            return None
        told = subprocess.run(["size", "policy.o"], cwd=place, capture_output=True, text=True, check=True).stdout
        machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True).stdout.strip()
        stack = [int(line.split("\t")[1]) for line in (Path(place) / "policy.su").read_text().splitlines()]
    text, data = (int(number) for number in re.findall(r"\d+", told)[:2])
    return Room(text + data, sum(stack), f"{Path(compiler).name} -Os, {machine}")
