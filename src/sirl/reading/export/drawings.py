"""A tree as a drawing: one picture of boxes and lines, written as SVG or as DOT for Graphviz."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from sirl.model.policy import Policy
from sirl.model.text import condition, derivations, leaf_lines, wrap
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


def picture(policy: Policy) -> Picture:
    """The picture of a policy, which grows to the right."""
    tree, task = policy.tree, policy.task
    texts = {~leaf: leaf_lines(tree.leaves.label(leaf, task), _WIDEST) for leaf in range(tree.n_leaves)}
    for split in range(tree.n_splits):
        texts[split] = wrap(condition(tree, split, task).terms(task.features), "", "", _WIDEST)
    places, total = lay_out(tree, lambda node: height(texts[node]), _GAP)
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
