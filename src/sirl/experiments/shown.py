"""What figures show of the saved tables: of each task and way to train the largest scale, and which it is."""

from __future__ import annotations

from collections.abc import Sequence

from sirl.experiments.cells import FULL, of_largest_scale
from sirl.experiments.paper import ORDER
from sirl.experiments.statistics import ENOUGH

Row = dict[str, str]


def largest_rows(rows: Sequence[Row]) -> list[Row]:
    """Of each task and label the rows of the largest scale."""
    return of_largest_scale(rows, lambda row: (row["task"], row["label"], float(row["scale"])))


def telling_rows(rows: Sequence[Row], runs: Sequence[Row]) -> list[Row]:
    """Without those of a run or two at a small scale, by the table of runs; all of them if there are no others."""
    keys = {(row["task"], row["label"], row["scale"]): set[str]() for row in runs}
    for row in runs:
        keys[row["task"], row["label"], row["scale"]].add(row["run"])
    told = {key for key, own in keys.items() if float(key[2]) == FULL or len(own) >= ENOUGH}
    return [row for row in rows if (row["task"], row["label"], row["scale"]) in told] or list(rows)


def with_scales(rows: Sequence[Row]) -> list[Row]:
    """The same rows, the paper's methods in its order; a task that is not of the paper's size says so.

    Where a task has several scales, the labels of the smaller ones do, and ``way`` tells which belong together.
    """
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    ways = list(dict.fromkeys([*ORDER, *(row["label"] for row in rows)]))
    scales = {task: {row["scale"] for row in rows if row["task"] == task} for task in tasks}
    found = []
    for row in sorted(rows, key=lambda one: (tasks.index(one["task"]), ways.index(one["label"]))):
        shown = row | {"way": row["label"]}
        if float(row["scale"]) != FULL:
            several = len(scales[row["task"]]) > 1
            key, end = ("label", f" at {row['scale']}") if several else ("task", f", scale {row['scale']}")
            shown[key] += end
        found.append(shown)
    return found
