"""Figures of any runs: curves by generation, score against size, and box plots of champions on unseen episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sirl.errors import SirlError
from sirl.experiments.cells import FULL
from sirl.experiments.compare import gather
from sirl.experiments.instruments import instruments
from sirl.experiments.played import CROWNINGS, read_unseen
from sirl.experiments.report import curves
from sirl.figures.drawing import Drawing
from sirl.figures.plots import draw_boxes, draw_curves, draw_fronts, draw_instruments
from sirl.runs.directory import read_config, read_history, read_score
from sirl.runs.fronts import read_front


def draw_runs(models: Sequence[str]) -> dict[str, Drawing]:
    """The figures by name: curves; instruments and fronts where there are any; boxes if all runs have a score."""
    contenders = gather(models)
    groups, boxes, fronts = [], [], []
    for one in contenders:
        if not one.directories:
            raise SirlError(f"{one.label} is no run and has no history to draw: give run directories.")
        task = read_config(one.directories[0]).env
        histories = [read_history(path) for path in one.directories]
        if empty := [path for path, history in zip(one.directories, histories, strict=True) if not history]:
            raise SirlError(f"{empty[0]} has no generation in its history yet: train it first.")
        groups.append((task, FULL, one.label, histories))
        fronts += [row for path in one.directories for row in _front_rows(path, task, one.label)]
        boxes += [row for path in one.directories for row in _box_rows(path, task, one.label, one.is_group)]
    found = {"curves": draw_curves(curves(groups).as_saved())}
    if measured := instruments(groups).as_saved():
        found["instruments"] = draw_instruments(measured)
    if fronts:
        found["fronts"] = draw_fronts(fronts)
    scored = {row["label"] for row in boxes}
    if scored == {one.label for one in contenders}:
        what = "mean return on unseen episodes" if contenders[0].is_group else "return of unseen episodes"
        found["boxes"] = draw_boxes(boxes, what=what)
    return found


def _front_rows(directory: Path, task: str, label: str) -> list[dict[str, str]]:
    """Score against size of a run, where there is more than one size."""
    rows = read_front(directory)
    return [
        {"task": task, "label": label, "run": directory.name}
        | {"size": str(row.size), "score": str(row.score), "error": str(row.error)}
        for row in (rows if len(rows) > 1 else [])
    ]


def _box_rows(directory: Path, task: str, label: str, is_group: bool) -> list[dict[str, str]]:
    """What a run's champions score, as far as they have played; of a single run every episode."""
    unseen = read_unseen(directory)
    if unseen is not None:
        found = {crowning: unseen.of(crowning).whole.returns for crowning in CROWNINGS}
    elif (directory / "score.json").exists():
        found = {"validation": read_score(directory).returns}
    else:
        found = {}
    return [
        {"task": task, "label": label, "crowning": how, "mean": str(value)}
        for how, returns in found.items()
        for value in ([float(np.mean(returns))] if is_group else returns)
    ]
