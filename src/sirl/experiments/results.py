"""What the runs of an experiment have found, read from their directories; what does not belong together is refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError
from sirl.experiments.cells import SCALED, Cell, Plan, shown_scale
from sirl.experiments.played import Played, Unseen, champion, read_unseen
from sirl.model.policy import Policy
from sirl.reading.complexity import measure
from sirl.runs.directory import Config, read_config, read_history
from sirl.search.records import Record

_VERSIONS = ("gymnasium", "mujoco", "box2d")
"""What defines a task; with the version of sirl, which defines a method."""


class Result(NamedTuple):
    """A run that has ended and whose champions have played."""

    run: int
    directory: Path
    config: Config
    history: list[Record]
    unseen: Unseen

    def played(self, crowning: str) -> Played:
        """Unseen episodes of its champion."""
        return self.unseen.of(crowning).whole

    def champion(self, crowning: str) -> Policy:
        """Its champion."""
        return champion(self.directory, crowning)

    def size(self, crowning: str) -> tuple[int, int, int, int]:
        """Splits, leaves, depth and weights of its champion."""
        policy = self.champion(crowning)
        size = measure(policy.tree, policy.task)
        return policy.tree.n_splits, size.leaves, size.depth, size.weights

    @property
    def episodes(self) -> int:
        """Of training: the paper's budget."""
        return sum(record.episodes for record in self.history)


class Filled(NamedTuple):
    """A cell with its results, in the order of their runs."""

    cell: Cell
    scale: float
    results: list[Result]

    def scores(self, crowning: str) -> Floats:
        """Mean return of each run's champion, (n_runs,)."""
        return np.array([np.mean(result.played(crowning).returns) for result in self.results])

    def best(self, crowning: str) -> Result:
        """The run whose champion scores best; the paper's table has this one."""
        return self.results[int(self.scores(crowning).argmax())]


def is_finished(plan: Plan, cell: Cell, run: int) -> bool:
    """Whether a run has ended and its champions have played; its checkpoints may be gone by then."""
    directory = plan.directory(cell, run)
    if not (directory / "config.toml").exists():
        return False
    unseen = read_unseen(directory)
    return (
        unseen is not None
        and unseen.episodes == plan.episodes
        and has_ended(directory, cell.settings(plan.scale).generations)
    )


def is_sound(plan: Plan, cell: Cell, run: int) -> bool:
    """Whether a run is finished and can be read: what was left half-written, or was damaged, is to be done again."""
    try:
        return is_finished(plan, cell, run)
    except SirlError:
        return False


def has_ended(directory: Path, generations: int) -> bool:
    """Whether a run has all its generations behind it."""
    return (directory / "history.jsonl").exists() and len(read_history(directory)) >= generations


def read_all(plan: Plan) -> list[Filled]:
    """Every cell of a plan that has a finished run, whichever machine it is from; raises for what can't be mixed."""
    filled = []
    for cell in plan.cells:
        place = plan.root / cell.task / cell.label
        numbers = sorted(int(path.name) for path in place.glob("*") if path.name.isdecimal())
        for run in numbers:
            if (plan.directory(cell, run) / "config.toml").exists():
                _check_place(plan, cell, run)
        results = [_read(plan, cell, run) for run in numbers if is_finished(plan, cell, run)]
        if results:
            filled.append(Filled(cell, plan.scale, results))
    for task in dict.fromkeys(one.cell.task for one in filled):
        _check_versions(result for one in filled if one.cell.task == task for result in one.results)
    return filled


def _read(plan: Plan, cell: Cell, run: int) -> Result:
    directory = plan.directory(cell, run)
    config, unseen = read_config(directory), read_unseen(directory)
    assert unseen is not None
    return Result(run, directory, config, read_history(directory), unseen)


def _check_place(plan: Plan, cell: Cell, run: int) -> None:
    """Refuse a run, finished or not, that is of another scale, method or seed than its directory says."""
    directory = plan.directory(cell, run)
    config, expected = read_config(directory), cell.settings(plan.scale)
    for name in (*SCALED, *cell.changes):
        here, there = getattr(config.settings, name), getattr(expected, name)
        if here != there:
            raise SirlError(
                f"{directory} was trained with {name} = {here}, and {cell.label} at {shown_scale(plan.scale)} has "
                f"{there}: move it to where it belongs, or remove it."
            )
    if config.env != cell.task or config.method != cell.method or config.seed != cell.first_seed + run:
        raise SirlError(
            f"{directory} holds a run of {config.method} on {config.env} with seed {config.seed}: move it to where it "
            "belongs, or remove it."
        )


def _check_versions(results: Iterable[Result]) -> None:
    """Refuse to mix runs that were computed with other versions."""
    first: Result | None = None
    for result in results:
        first = first or result
        for name in ("sirl", *_VERSIONS):
            here, there = (_version(one.config, name) for one in (result, first))
            if here != there:
                raise SirlError(
                    f"{result.directory} was trained with {name} {here} and {first.directory} with {there}, which "
                    "can't be mixed: train one of them again, or move it elsewhere."
                )


def _version(config: Config, name: str) -> str:
    return config.sirl if name == "sirl" else config.versions.get(name, "unknown")
