"""What an experiment consists of: cells, each a task and a way to train, with several independent runs.

A run lives in ``OUT/scale-F/TASK/LABEL/NUMBER``, so experiments of several scales, and the shares of several machines,
are merged by copying directories together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from sirl.config import Method, Settings
from sirl.errors import SirlError
from sirl.options import SimulatorName
from sirl.presets import preset_settings
from sirl.runs.campaign import Job

FULL = 1.0
SCALED = ("population", "generations", "collaborative_copies", "collaborative_iterations", "individual_episodes")
"""Settings that say how large a run is."""
SUPPLEMENT = "supplement"
"""The directory among those of the tasks that has what the printed trees come to."""
_MOST_RUNS = 1000
_T = TypeVar("_T")


class Cell(NamedTuple):
    """A task, and a way to train on it."""

    task: str
    label: str
    """Of this way among the others; a directory's name."""
    method: Method
    changes: Mapping[str, Any] = MappingProxyType({})
    """Settings over the method's on this task."""
    first_seed: int = 0
    """Of run 0. Cells that are compared have seeds of their own: they would otherwise share first populations."""
    simulator: SimulatorName = "auto"
    in_sequence: bool = False
    """Collaborative episodes come one after another in one environment, not side by side in copies."""

    def settings(self, scale: float) -> Settings:
        """What a run of this cell does at a scale."""
        found = scaled(preset_settings(self.task, self.method).replace(**self.changes), scale)
        if not self.in_sequence:
            return found
        episodes = found.collaborative_copies * found.collaborative_iterations
        return found.replace(collaborative_copies=1, collaborative_iterations=episodes)


class Plan(NamedTuple):
    """Cells to fill, with which runs, at which scale, and where."""

    out: Path
    scale: float
    cells: list[Cell]
    runs: Sequence[int]
    episodes: int
    """Unseen ones for each champion."""

    @property
    def root(self) -> Path:
        """Where the cells of this scale are."""
        return self.out / f"scale-{self.scale:g}"

    def directory(self, cell: Cell, run: int) -> Path:
        """Of one run."""
        return self.root / cell.task / cell.label / str(run)

    def job(self, cell: Cell, run: int) -> Job:
        """What trains one run."""
        settings = cell.settings(self.scale)
        options = {name: getattr(settings, name) for name in (*SCALED, "candidates", *cell.changes)}
        how = {"method": cell.method, "simulator": cell.simulator}
        return Job(cell.task, cell.first_seed + run, str(self.directory(cell, run)), how | options)


def scaled(settings: Settings, scale: float) -> Settings:
    """Population, generations and collaborative episodes, all at once by one factor; at least what a run needs."""
    if scale == FULL:
        return settings
    population = max(4, round(settings.population * scale))
    iterations = settings.collaborative_iterations
    return settings.replace(
        population=population,
        generations=max(2, round(settings.generations * scale)),
        collaborative_iterations=max(1, round(iterations * scale)) if iterations else 0,
        candidates=min(settings.candidates, population),
    )


def checked_scale(scale: float) -> float:
    """A scale, if it is one."""
    if not 0 < scale <= FULL:
        raise SirlError(f"scale = {scale:g} is not allowed: give a number above 0, up to 1 for the paper's size.")
    return scale


def shown_scale(scale: float) -> str:
    """A scale in words, for every output."""
    return "the paper's size" if scale == FULL else f"scale {scale:g} of the paper's size"


def parse_runs(text: str) -> range:
    """``10`` is runs 0 to 9, ``5-9`` is runs 5 to 9, and ``0`` is none."""
    first, dash, last = text.partition("-")
    try:
        runs = range(int(first), int(last) + 1) if dash else range(int(first))
    except ValueError:
        runs = range(-1, 0)
    if (not runs and text != "0") or (runs and not 0 <= runs[0] <= runs[-1] < _MOST_RUNS):
        raise SirlError(f"runs = {text!r} is not allowed: give a number such as 10, a part such as 5-9, or 0 for none.")
    return runs


def scales_in(out: Path) -> list[float]:
    """Which scales a directory holds runs of, the largest first."""
    found = []
    for path in filter(Path.is_dir, out.glob("scale-*")):
        try:
            scale = checked_scale(float(path.name.removeprefix("scale-")))
        except (ValueError, SirlError):
            scale = 0.0
        if path.name != f"scale-{scale:g}":
            raise SirlError(f"{path} is not named after a scale, such as scale-0.1: rename or remove it.")
        found.append(scale)
    return sorted(found, reverse=True)


def of_largest_scale(items: Sequence[_T], place: Callable[[_T], tuple[str, str, float]]) -> list[_T]:
    """Of each task and way to train what is of its largest scale; ``place`` tells an item's task, label and scale."""
    best: dict[tuple[str, str], float] = {}
    for task, label, scale in map(place, items):
        best[task, label] = max(scale, best.get((task, label), 0.0))
    return [item for item in items if (at := place(item))[2] == best[at[:2]]]
