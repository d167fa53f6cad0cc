"""Figures, drawn from rows of saved tables: curves, box plots, budgets, coefficients. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sirl.figures.drawing import COLOURS, Drawing, panels, style

Row = dict[str, str]
_ENOUGH = 3
"""Runs that have a band: the interval of two is twelve times as wide as what they differ by."""
_NARROW = 4
"""Boxes that fit into a third of a page."""
_LONG = 16
"""Letters of a name that fit into a panel, or under a box."""
_FEW = 12
"""Points that are marked: fewer do not make a curve by themselves."""
INSTRUMENTS = {
    "repeat": "correlation of scores,\nevaluated twice",
    "heritage": "correlation of offspring\nwith their parents",
    "survivors": "mean of the survivors\n(dotted: as selection saw it)",
}
CURVES = {"best": "best training score so far", "validated": "champion, validated on fresh episodes"}


def draw_curves(rows: Sequence[Row], which: Sequence[str] = tuple(CURVES), title: str = "") -> Drawing:
    """Means by generation, with 95 % bands from three runs on: a panel for each task and each of ``which``.

    ``which`` are keys of :data:`CURVES`.
    """
    with style():
        what = [(task, curve) for task in _distinct(rows, "task") for curve in which]
        figure, axes = panels(len(what), columns=3 if len(which) == 1 else 2)
        colours = _colours(rows)
        for axis, (task, curve) in zip(axes, what, strict=True):
            for label, own in _by_label(rows, task):
                generation = _numbers(own, "generation")
                name = f"{label} ({own[0]['n']})"
                axis.plot(generation, _numbers(own, curve), color=colours[label], label=name, linewidth=1.4)
                if int(own[0]["n"]) >= _ENOUGH:
                    low, high = _numbers(own, f"{curve}_low"), _numbers(own, f"{curve}_high")
                    axis.fill_between(generation, low, high, color=colours[label], alpha=0.18, linewidth=0)
            axis.set(title=task, xlabel="generation")
            if len(which) > 1:
                axis.set_ylabel(CURVES[curve], fontsize=8)
            axis.xaxis.get_major_locator().set_params(integer=True)
            _look_at(axis, [value for row in rows if row["task"] == task for value in _numbers([row], curve)])
        _legend(figure, [axis for axis, (_, curve) in zip(axes, what, strict=True) if curve == which[0]])
        if len(which) == 1:
            figure.supylabel(CURVES[which[0]], fontsize=9)
        if title:
            figure.suptitle(title, fontsize=10)
        return Drawing(figure)


def draw_boxes(
    rows: Sequence[Row],
    title: str = "",
    targets: dict[tuple[str, str], float] | None = None,
    what: str = "mean return on unseen episodes",
) -> Drawing:
    """Scores by label, a panel a task: every run (or episode) a dot, with a box from three on.

    The paper's best is a diamond.

    Pale boxes are champions by training score, the paper's way; strong ones were validated.
    """
    with style():
        tasks = _distinct(rows, "task")
        most = max(len(_by_label(rows, task)) for task in tasks)
        figure, axes = panels(len(tasks), columns=3 if most <= _NARROW else 2, width=max(3.3, 0.9 * most))
        colours, both = _colours(rows), len(_distinct(rows, "crowning")) > 1
        for axis, task in zip(axes, tasks, strict=True):
            labels = [label for label, _ in _by_label(rows, task)]
            for place, (label, own) in enumerate(_by_label(rows, task)):
                for crowning, shift, alpha in (("training", -0.19, 0.25), ("validation", 0.19, 0.75)):
                    scores = _numbers([row for row in own if row["crowning"] == crowning], "mean")
                    if scores:
                        _box(axis, scores, place + (shift if both else 0), colours[label], alpha)
                if targets and (task, label) in targets:
                    axis.plot(place, targets[task, label], "D", color="black", markersize=4.5, zorder=4)
            axis.set_title(task)
            axis.set_xticks(range(len(labels)), labels, fontsize=8 if most <= _NARROW else 7)
            if max(map(len, labels)) > _LONG:
                axis.tick_params(axis="x", rotation=20)
                for text in axis.get_xticklabels():
                    text.set_horizontalalignment("right")
            axis.grid(visible=False, axis="x")
        figure.supylabel(what, fontsize=9)
        marks = ["pale: champion by training score   strong: validated"] if both else []
        figure.supxlabel("   ".join([*marks, *(["◆ the paper's best"] if targets else [])]), fontsize=8)
        if title:
            figure.suptitle(title, fontsize=10)
        return Drawing(figure)


def draw_budgets(
    rows: Sequence[Row], expected: Sequence[tuple[str, str]], published: dict[tuple[str, str], float], title: str = ""
) -> Drawing:
    """Mean episodes of training by label, a panel a task, with the paper's numbers as outlines.

    ``expected`` are the task and label of all bars that there may be: those without rows are marked as not run.
    """
    with style():
        tasks = _distinct(rows, "task")
        figure, axes = panels(len(tasks), height=2.4)
        colours = _colours([*({"label": label} for _, label in expected), *rows])
        for axis, task in zip(axes, tasks, strict=True):
            own = dict(_by_label(rows, task))
            labels = list(dict.fromkeys([*(label for where, label in expected if where == task), *own]))
            for place, label in enumerate(labels):
                outline = published.get((task, label), 0)
                if outline:
                    axis.bar(place, outline, 0.7, fill=False, edgecolor="black", linewidth=0.8)
                if label in own:
                    episodes = _numbers(own[label], "episodes")
                    axis.bar(place, sum(episodes) / len(episodes), 0.62, color=colours[label])
                else:
                    axis.text(place, outline / 2, "not run", ha="center", va="center", rotation=90, fontsize=8)
            axis.set_xticks(range(len(labels)), labels, fontsize=8)
            axis.set(title=task, ylim=(0, None))
            axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
            axis.grid(visible=False, axis="x")
        figure.supylabel("episodes of training", fontsize=9)
        figure.supxlabel("outlines: the paper" if published else "", fontsize=8)
        figure.suptitle(title, fontsize=10)
        return Drawing(figure)


def draw_coefficients(rows: Sequence[Row]) -> Drawing:
    """Mean return against the value of each coefficient, with one standard deviation; the printed value dashed."""
    with style():
        names = _distinct(rows, "coefficient")
        figure, axes = panels(len(names), columns=2, width=3.8)
        for axis, name, colour in zip(axes, names, COLOURS[2::-1] + COLOURS[3:], strict=False):
            own = [row for row in rows if row["coefficient"] == name]
            value, mean, std = (_numbers(own, column) for column in ("value", "mean", "std"))
            axis.plot(value, mean, color=colour, linewidth=1.4)
            low = [m - s for m, s in zip(mean, std, strict=True)]
            high = [m + s for m, s in zip(mean, std, strict=True)]
            axis.fill_between(value, low, high, color=colour, alpha=0.2, linewidth=0)
            axis.axvline(float(own[0]["printed"]), color="black", linestyle="--", linewidth=1)
            axis.set(
                title=f"{own[0]['task']}, {own[0]['episodes']} episodes a value",
                xlabel=f"${name.replace('ω', chr(92) + 'omega')}$",
                xlim=(value[0], value[-1]),
            )
            axis.set_ylim(min(0, *low), 1.07 * max(high))
        figure.supylabel("return", fontsize=9)
        return Drawing(figure)


def draw_instruments(rows: Sequence[Row]) -> Drawing:
    """How repeatable scores are, what offspring owe their parents, and what survivors are worth: a row a task."""
    with style():
        tasks, colours = _distinct(rows, "task"), _colours(rows)
        curves = (("repeat",), ("heritage",), ("survivors", "claimed"))
        measured = [names for names in curves if any(not math.isnan(value) for value in _numbers(rows, names[0]))]
        what = [(task, names) for task in tasks for names in measured]
        figure, axes = panels(len(what), columns=len(measured))
        for axis, (task, names) in zip(axes, what, strict=True):
            for label, own in _by_label(rows, task):
                for name, line in zip(names, ("-", ":"), strict=False):
                    both = zip(_numbers(own, "generation"), _numbers(own, name), strict=True)
                    points = [(generation, value) for generation, value in both if not math.isnan(value)]
                    marks = "o" if len(points) < _FEW else ""
                    shown = {"color": colours[label], "linestyle": line, "marker": marks, "markersize": 3}
                    if points:
                        named = label if line == "-" else None
                        axis.plot(*zip(*points, strict=True), label=named, linewidth=1.2, **shown)
            axis.set(title=task, xlabel="generation")
            axis.set_ylabel(INSTRUMENTS[names[0]], fontsize=8)
            axis.xaxis.get_major_locator().set_params(integer=True)
            if len(names) == 1:
                axis.axhline(0, color="black", linewidth=0.6)
                axis.set_ylim(min(-0.25, axis.get_ylim()[0]), 1.02)
        _legend(figure, axes[:1], "")
        return Drawing(figure)


def draw_fronts(rows: Sequence[Row]) -> Drawing:
    """Score against size with a standard error, a panel a task and a line a run."""
    with style():
        tasks = _distinct(rows, "task")
        figure, axes = panels(len(tasks))
        colours = _colours(rows)
        for axis, task in zip(axes, tasks, strict=True):
            for label, own in _by_label(rows, task):
                for run in _distinct(own, "run"):
                    points = [row for row in own if row["run"] == run]
                    size, score, error = (_numbers(points, column) for column in ("size", "score", "error"))
                    axis.errorbar(size, score, error, color=colours[label], marker="o", markersize=3, linewidth=1.2)
                axis.plot([], [], color=colours[label], marker="o", markersize=3, label=label)
            axis.set(title=task, xlabel="numbers in the policy")
            axis.xaxis.get_major_locator().set_params(integer=True)
        _legend(figure, axes, "")
        figure.supylabel("mean return on the run's own starts", fontsize=9)
        return Drawing(figure)


def _legend(figure: Any, axes: Sequence[Any], title: str = "runs in brackets") -> None:
    """In each panel; below all of them where a name is too long for that."""
    named = {text: line for axis in axes for line, text in zip(*axis.get_legend_handles_labels(), strict=True)}
    longest = max(map(len, named), default=0)
    if longest > _LONG + len(" (10)"):
        room = int(15 * figure.get_figwidth())
        columns = max(1, min(len(named), room // (longest + 6)))
        below: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "title": title or None}
        figure.legend(list(named.values()), list(named), fontsize=7, title_fontsize=7, **below)
        return
    for axis in axes if named else []:
        axis.legend(title=title if title and axis is axes[0] else None, fontsize=7, title_fontsize=7)


def _look_at(axis: Any, means: list[float]) -> None:
    """Let the means fill a third of the axis or more: the band of two or three runs may be many times as wide."""
    finite = [mean for mean in means if math.isfinite(mean)]
    if finite:
        low, high = min(finite), max(finite)
        room = max(high - low, 0.1 * abs(high), 1e-9)
        bottom, top = axis.get_ylim()
        axis.set_ylim(max(bottom, low - room), min(top, high + room))


def _box(axis: Any, scores: list[float], at: float, colour: str, alpha: float) -> None:
    lines: dict[str, Any] = {"color": colour, "linewidth": 1}
    if len(scores) >= _ENOUGH:
        axis.boxplot(
            [scores],
            positions=[at],
            widths=0.3,
            patch_artist=True,
            showfliers=False,
            manage_ticks=False,
            boxprops={"facecolor": colour, "edgecolor": colour, "alpha": alpha},
            medianprops={"color": "black", "linewidth": 1.2},
            whiskerprops=lines,
            capprops=lines,
        )
    spots = [at + 0.04 * ((i % 5) - 2) for i in range(len(scores))]
    axis.plot(spots, scores, "o", color=colour, markersize=2.6, markeredgecolor="white", markeredgewidth=0.4, zorder=3)


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def _distinct(rows: Sequence[Row], column: str) -> list[str]:
    return list(dict.fromkeys(row[column] for row in rows))


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    """A colour for each label; labels of the same ``way`` share it."""
    ways = {row["label"]: row.get("way", row["label"]) for row in rows}
    places = {way: place for place, way in enumerate(dict.fromkeys(ways.values()))}
    return {label: COLOURS[places[way] % len(COLOURS)] for label, way in ways.items()}


def _by_label(rows: Sequence[Row], task: str) -> list[tuple[str, list[Row]]]:
    own = [row for row in rows if row["task"] == task]
    return [(label, [row for row in own if row["label"] == label]) for label in _distinct(own, "label")]
