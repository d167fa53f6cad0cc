"""A tree as a drawing: one picture of boxes and lines, written as SVG, as DOT for Graphviz, or as TikZ for LaTeX."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from sirl.model.policy import Policy
from sirl.model.text import condition, derivations, wrap
from sirl.reading.layout import Place, lay_out

_LINE, _LETTER, _WIDEST, _PAD = 17, 7.3, 34, 10
"""Pixels of a line, of a letter, letters of a line, pixels around text."""
_COLUMN, _GAP = 310, 14

_STYLE = """
  svg { color-scheme: light dark; font: 12px ui-monospace, Menlo, Consolas, monospace; }
  .box { fill: light-dark(#fff, #1d2126); stroke: light-dark(#3b4754, #9aa7b5); stroke-width: 1.3; }
  .leaf .box { fill: light-dark(#e8f1fb, #16324f); stroke-width: 2; }
  text { fill: light-dark(#16202b, #e8edf3); } .edge { fill: none; stroke: light-dark(#7a8794, #8d99a6); }
"""


class Box(NamedTuple):
    """A node of the picture."""

    node: int
    lines: list[str]
    place: Place


class Picture(NamedTuple):
    """A tree as boxes; lines lead from a split's box to those of its children."""

    boxes: list[Box]
    breadth: float
    children: dict[int, tuple[int, int]]
    where: list[str]
    """What its derived features are, a line each."""


def picture(policy: Policy, across: str = "lines") -> Picture:
    """The picture of a policy; ``across`` tells whether boxes need room for their lines or for their width."""
    tree, task = policy.tree, policy.task
    texts = {~leaf: [tree.leaves.label(leaf, task)] for leaf in range(tree.n_leaves)}
    for split in range(tree.n_splits):
        texts[split] = wrap(condition(tree, split, task).terms(task.features), "", "", _WIDEST)

    def breadth(node: int) -> float:
        return height(texts[node]) if across == "lines" else width(texts[node])

    places, total = lay_out(tree, breadth, _GAP)
    children = {split: (int(yes), int(no)) for split, (yes, no) in enumerate(tree.children.tolist())}
    where = [f"where {line}" for line in derivations(tree, task)]
    return Picture([Box(node, texts[node], places[node]) for node, _ in tree.nodes()], total, children, where)


def height(lines: list[str]) -> float:
    """Pixels of a box of text from top to bottom."""
    return _LINE * len(lines) + _PAD


def width(lines: list[str]) -> float:
    """Pixels of a box of text from left to right."""
    return _LETTER * max(len(line) for line in lines) + 2 * _PAD


def write_svg(policy: Policy) -> str:
    """An SVG that needs nothing else, root at the left; light or dark as its reader is."""
    drawn = picture(policy)
    by_node = {box.node: box for box in drawn.boxes}
    right = max(box.place.depth * _COLUMN + width(box.lines) for box in drawn.boxes)
    right = max([right, *(width([line]) for line in drawn.where)])
    size = f'width="{right + 20:.0f}" height="{drawn.breadth + 20 + _LINE * len(drawn.where):.0f}"'
    title = escape(f"Decision tree for {policy.task.env}")
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">']
    parts += [f"<title>{title}</title>", f"<style>{_STYLE}</style>"]
    for split, ends in drawn.children.items():
        for child, word in zip(ends, ("yes", "no"), strict=True):
            parts.append(_edge(by_node[split], by_node[child], word))
    for box in drawn.boxes:
        x, y = 10 + box.place.depth * _COLUMN, 10 + box.place.across - height(box.lines) / 2
        w, h = width(box.lines), height(box.lines)
        kind, round_ = ("split", 3) if box.node >= 0 else ("leaf", 11)
        parts.append(
            f'<g class="{kind}"><rect class="box" x="{x}" y="{y:.1f}" width="{w:.1f}" height="{h}" rx="{round_}"/>'
        )
        for number, line in enumerate(box.lines):
            parts.append(f'<text x="{x + _PAD}" y="{y + _LINE * (number + 1):.1f}">{escape(line)}</text>')
        parts.append("</g>")
    for number, line in enumerate(drawn.where):
        parts.append(f'<text x="10" y="{drawn.breadth + 10 + _LINE * (number + 1):.1f}">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _edge(parent: Box, child: Box, word: str) -> str:
    x, y = 10 + parent.place.depth * _COLUMN + width(parent.lines), 10 + parent.place.across
    to_x, to_y = 10 + child.place.depth * _COLUMN, 10 + child.place.across
    bend = to_x - 26
    path = f"M{x:.1f} {y:.1f} H{bend - 14:.1f} L{bend:.1f} {to_y:.1f} H{to_x}"
    return f'<path class="edge" d="{path}"/><text x="{bend:.1f}" y="{to_y - 4:.1f}">{word}</text>'


def write_dot(policy: Policy) -> str:
    """A graph for Graphviz."""
    drawn = picture(policy)
    lines = ["digraph policy {", '  node [fontname="monospace", fontsize=10];']
    if drawn.where:
        text = "\\n".join(map(_quoted, drawn.where))
        lines.append(f'  fontname="monospace"; fontsize=10; label="{text}";')
    for box in drawn.boxes:
        text = "\\n".join(_quoted(line) for line in box.lines)
        lines.append(f'  {_dot_name(box.node)} [label="{text}", shape={"box" if box.node >= 0 else "ellipse"}];')
    for split, (yes, no) in drawn.children.items():
        lines.append(f'  {_dot_name(split)} -> {_dot_name(yes)} [label="yes"];')
        lines.append(f'  {_dot_name(split)} -> {_dot_name(no)} [label="no"];')
    return "\n".join([*lines, "}", ""])


def _dot_name(node: int) -> str:
    return f"split{node}" if node >= 0 else f"leaf{~node}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_SPECIAL = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "·": r"$\cdot$"}
_SPECIAL |= {"<": "$<$", ">": "$>$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\to$", '"': "''"}
_SPECIAL |= {char: f"\\{char}" for char in "{}$&#_%"}
_HEAD = r"""\documentclass[tikz]{standalone}
% written by sirl; also to be \input without its first lines and its last one
\tikzset{
  condition/.style={draw, align=center, inner sep=4pt, font=\small},
  leaf/.style={draw, rounded corners, align=center, inner sep=4pt, font=\small},
}
\begin{document}
\begin{tikzpicture}
"""


def write_latex(policy: Policy) -> str:
    """TikZ as in the paper: root on top, T where a condition holds and F where not."""
    drawn = picture(policy, across="width")
    levels: dict[int, float] = {}
    for box in drawn.boxes:
        levels[box.place.depth] = max(levels.get(box.place.depth, 0.0), 0.45 * len(box.lines) + 1.1)
    lines = []
    for box in drawn.boxes:
        down = sum(levels[depth] for depth in range(box.place.depth))
        kind = "condition" if box.node >= 0 else "leaf"
        text = r" \\ ".join(_latex(line) for line in box.lines)
        lines.append(
            rf"\node[{kind}] ({_dot_name(box.node)}) at ({box.place.across / 38:.2f}, {-down:.2f}) {{{text}}};"
        )
    for split, ends in drawn.children.items():
        for child, word in zip(ends, "TF", strict=True):
            lines.append(rf"\draw ({_dot_name(split)}) -| node[near start, above] {{{word}}} ({_dot_name(child)});")
    if drawn.where:
        text = r" \\ ".join(_latex(line) for line in drawn.where)
        middle, down = drawn.breadth / 76, sum(levels.values())
        lines.append(rf"\node[align=center, font=\small] at ({middle:.2f}, {-down:.2f}) {{{text}}};")
    return _HEAD + "\n".join(lines) + "\n\\end{tikzpicture}\n\\end{document}\n"


def _latex(text: str) -> str:
    safe = "".join(_SPECIAL.get(char, char if char.isascii() else "?") for char in text)
    return f"{{}}{safe}"  # so that a line which begins with [ is no option of the line break
