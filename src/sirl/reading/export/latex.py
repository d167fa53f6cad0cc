"""A tree as TikZ, for a paper: conditions and laws as formulas, T where a condition holds and F where not."""

from __future__ import annotations

import re

import msgspec

from sirl.model.policy import Policy
from sirl.model.text import condition, derivations, leaf_lines, wrap
from sirl.reading.layout import lay_out

_WIDEST = 30
"""Letters of a line."""
_LETTER, _LINE = 0.165, 0.42
"""Centimetres of a letter and of a line."""
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
_FUNCTIONS = ("sin", "cos", "tan", "exp", "log")
_FIRST = 0xF0000
"""Of characters that stand for names while lines are broken; nobody else may use them."""
_FILL = "\ue000"
"""Follows such a character, so that a line is as long as its name will be."""
_SPECIAL = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", '"': "''"}
_SPECIAL |= {char: f"\\{char}" for char in "{}$&#_%"} | {"<": r"\textless{}", ">": r"\textgreater{}", "-": "{-}"}
_HEAD = r"""\documentclass[tikz, border=3pt]{standalone}
% written by sirl; also to be \input without its first lines and its last one
\tikzset{
  condition/.style={draw, align=center, inner sep=4pt, font=\small},
  leaf/.style={draw, rounded corners=5pt, fill=black!6, align=center, inner sep=4pt, font=\small},
  answer/.style={font=\scriptsize, inner sep=2pt},
}
\begin{document}
\begin{tikzpicture}
"""


def write_latex(policy: Policy) -> str:
    """TikZ as in the paper: root on top, T where a condition holds and F where not."""
    tree, names = policy.tree, _Names(policy)
    texts = {~leaf: names.leaf(leaf) for leaf in range(tree.n_leaves)}
    texts |= {split: names.condition(split) for split in range(tree.n_splits)}
    places, total = lay_out(tree, lambda node: _LETTER * max(map(len, texts[node])) + 0.35, 0.3)
    tall: dict[int, float] = {}
    for node, (depth, _) in places.items():
        tall[depth] = max(tall.get(depth, 0.0), _LINE * len(texts[node]) + 0.3)
    lines = []
    for node, (depth, across) in places.items():
        down = sum(tall[above] for above in range(depth)) + 0.85 * depth
        kind = "condition" if node >= 0 else "leaf" if len(texts[node]) == 1 else "leaf, align=left"
        text = r" \\ ".join(map(names.told, texts[node]))
        lines.append(rf"\node[{kind}, anchor=north] ({_name(node)}) at ({across:.2f}, {-down:.2f}) {{{text}}};")
    for split, ends in enumerate(tree.children.tolist()):
        for child, word, side in zip(ends, "TF", ("left", "right"), strict=True):
            way = rf"-- ++(0, -0.3) -| node[answer, near end, {side}] {{{word}}} ({_name(child)}.north)"
            lines.append(rf"\draw ({_name(split)}.south) {way};")
    if where := derivations(tree, policy.task):
        down = sum(tall.values()) + 0.85 * (len(tall) - 1) + 0.3
        text = r" \\ ".join(f"{{}}where {_escaped(line)}" for line in where)
        lines.append(rf"\node[align=left, anchor=north, font=\small] at ({total / 2:.2f}, {-down:.2f}) {{{text}}};")
    return _HEAD + "\n".join(lines) + "\n\\end{tikzpicture}\n\\end{document}\n"


def _name(node: int) -> str:
    return f"split{node}" if node >= 0 else f"leaf{~node}"


class _Names:
    """Breaks conditions and laws into lines with stand-ins for the names, and then tells them in TeX."""

    def __init__(self, policy: Policy):
        self.tree, self._task, task = policy.tree, policy.task, policy.task
        known = [*task.features, *task.action_names]
        self._told = {chr(_FIRST + place): _symbol(name) for place, name in enumerate(known)}
        short = [chr(_FIRST + place) + _FILL * (_length(name) - 1) for place, name in enumerate(known)]
        self.task = msgspec.structs.replace(
            task, features=short[: task.n_features], action_names=short[task.n_features :]
        )
        self._plain = dict(zip(short, known, strict=True))

    def condition(self, split: int) -> list[str]:
        """A split's condition; what belongs together is known by the true names."""
        terms = condition(self.tree, split, self._task).terms(self.task.features)
        return wrap(terms, "", "", _WIDEST)

    def leaf(self, leaf: int) -> list[str]:
        """What a leaf does."""
        label = self.tree.leaves.label(leaf, self.task)
        if self.tree.leaves.menu is not None:  # a menu's own names, in which nothing stands for anything
            return ["".join("?" if char == _FILL or ord(char) >= _FIRST else char for char in label)]
        return leaf_lines(label, _WIDEST)

    def told(self, line: str) -> str:
        """A line in TeX: a formula if a name stands in it, else words."""
        if line in self._plain or not (re.match(r" *[-+<>≤≥] ", line) or any(char in self._told for char in line)):
            words = _escaped(self._plain.get(line, line))
            return "{}" + re.sub(r"(?<= )(\+|\{-\})(\d[\d.]*)", lambda n: f"${n[1].strip('{}')}{n[2]}$", words)
        line = re.sub(r"(\d)e([+-]?)0*(\d+)", r"\1\\cdot10^{\2\3}", line.replace(_FILL, ""))
        for plain, math in (("·", r"\,"), ("≤", r"\leq"), ("≥", r"\geq"), (", mirrored", r"\mbox{, mirrored}")):
            line = line.replace(plain, math)
        space = r"\quad{}" if line.startswith(" ") else "{}"  # with {} before it, a sign stands between two terms
        return f"${space}" + "".join(self._told.get(char, char) for char in line.strip()) + "$"


def _symbol(name: str) -> str:
    """A name in a formula: ``theta_1`` is a letter with an index, a word is upright, anything else is text."""
    if found := re.fullmatch(rf"({'|'.join(_FUNCTIONS)})\((\w+)\)", name):
        return rf"\{found[1]}{_symbol(found[2])}"
    head, _, index = name.partition("_")
    if re.fullmatch(r"[A-Za-z]+", head) and re.fullmatch(r"[A-Za-z0-9]*", index):
        letter = rf"\{head}" if head in _GREEK.split() else head if len(head) == 1 else rf"\mathrm{{{head}}}"
        index = index if len(index) == 1 else rf"\mathrm{{{index}}}"
        return f"{{{letter}}}_{{{index}}}" if name != head else f"{{{letter}}}"
    return rf"\mbox{{{_escaped(name)}}}"


def _length(name: str) -> int:
    """Letters that a name takes in a formula."""
    symbol = re.sub(r"\\mathrm|\\mbox|[{}_]", "", re.sub(rf"\\({_GREEK.replace(' ', '|')})\b", "o", _symbol(name)))
    return max(1, len(symbol.replace("\\", "")))


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(char, char if char.isascii() and char.isprintable() else "?") for char in text)
