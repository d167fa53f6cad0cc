"""What the runs of an experiment have found, read from their directories; what does not belong together is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import asdict

from sirl.arrays import Floats
from sirl.errors import SirlError, printable
from sirl.experiments.cells import FULL, SCALED, SUPPLEMENT, Cell, Plan, of_largest_scale, shown_scale
from sirl.experiments.paper import ORDER, OURS
from sirl.experiments.played import CROWNINGS, Played, Unseen, champion, read_unseen
from sirl.experiments.statistics import ENOUGH
from sirl.files import read_plain
from sirl.model.policy import Policy
from sirl.reading.complexity import measure
from sirl.runs.directory import Config, read_config, read_history
from sirl.search.records import Record

FAILED = "failed.txt"
"""Of a run directory: why the run failed when it was last tried."""
_NEUTRAL = ("instruments_every",)
"""Settings that no result depends on."""
_VERSIONS = ("gymnasium", "mujoco", "box2d")
"""What defines a task; with the version of sirl, which defines a method."""


class Result(NamedTuple):
    """A run that has ended and whose champions have played."""

    run: int
    directory: Path
    config: Config
    history: list[Record]
    unseen: Unseen
    champions: dict[str, Policy]
    """By how they were crowned."""

    def played(self, crowning: str) -> Played:
        """Unseen episodes of its champion."""
        return self.unseen.of(crowning).whole

    def size(self, crowning: str) -> tuple[int, int, int, int]:
        """Splits, leaves, depth and weights of its champion."""
        policy = self.champions[crowning]
        size = measure(policy.tree, policy.task)
        return policy.tree.n_splits, size.leaves, size.depth, size.weights

    @property
    def episodes(self) -> int:
        """Of training: the paper's budget."""
        return sum(record.episodes for record in self.history)

    @property
    def validation_episodes(self) -> int:
        """Played to crown the validated champion, beyond the budget."""
        return sum(record.validation.episodes for record in self.history)


class Left(NamedTuple):
    """A run that is in no table, and why."""

    directory: Path
    why: str
    damaged: bool = False
    """It can't be read; others have only not come so far."""

    def __str__(self) -> str:
        return f"{self.directory}: {self.why}"


class Reading(NamedTuple):
    """What there is of an experiment."""

    filled: list[Filled]
    left: list[Left]


class Filled(NamedTuple):
    """A cell with its results, in the order of their runs."""

    cell: Cell
    scale: float
    results: list[Result]

    @property
    def name(self) -> str:
        """Of its way to train, and where that was on EnvPool."""
        return f"{self.cell.label} (EnvPool)" if on_envpool(self.results[0].config) else self.cell.label

    @property
    def crownings(self) -> Sequence[str]:
        """The ways in which its champions are crowned; our own methods know no training scores."""
        return ("validation",) if self.cell.method in OURS else CROWNINGS

    def episodes(self, crowning: str) -> float:
        """What a run takes to have this champion, on average: the budget, and validation where that crowns."""
        more = [result.validation_episodes if crowning == "validation" else 0 for result in self.results]
        return float(np.mean([result.episodes for result in self.results]) + np.mean(more))

    def scores(self, crowning: str) -> Floats:
        """Mean return of each run's champion, (n_runs,)."""
        return np.array([np.mean(result.played(crowning).returns) for result in self.results])

    def best(self, crowning: str) -> Result:
        """The run whose champion scores best; the paper's table has this one."""
        return self.results[int(self.scores(crowning).argmax())]


def largest(filled: Sequence[Filled]) -> list[Filled]:
    """Of each task and way to train the largest scale that is there."""
    return of_largest_scale(filled, lambda one: (one.cell.task, one.cell.label, one.scale))


def together(filled: Sequence[Filled]) -> list[list[Filled]]:
    """Cells to be tested together, group by group, each of one task and one scale.

    The paper's methods are tested among themselves, as in the paper, at the scale that most of them have, and of such
    the largest. Each further method joins those of the largest scale that it shares with one of them.
    """
    groups: list[list[Filled]] = []
    for task in dict.fromkeys(one.cell.task for one in filled):
        own = [one for one in filled if one.cell.task == task]
        paper = [one for one in own if one.cell.label in ORDER]
        scales = Counter(one.scale for one in paper)
        if scales:
            most = max(scales, key=lambda scale: (scales[scale], scale))
            groups.append([one for one in paper if one.scale == most])
        others = [one for one in own if one.cell.label not in ORDER]
        shared = largest([one for one in others if one.scale in scales] if scales else others)
        for scale in dict.fromkeys(one.scale for one in shared):
            groups.append([one for one in (*paper, *shared) if one.scale == scale])
    return groups


def telling(filled: Sequence[Filled]) -> list[Filled]:
    """Without a run or two at a small scale, which say nothing; all of them if there are no others."""
    return [one for one in filled if one.scale == FULL or len(one.results) >= ENOUGH] or list(filled)


def is_sound(plan: Plan, cell: Cell, run: int) -> bool:
    """Whether a run is finished and can be read: what was left half-written, or was damaged, is to be done again."""
    try:
        return isinstance(_read(plan, cell, run), Result)
    except SirlError:
        return False


def has_ended(directory: Path, generations: int) -> bool:
    """Whether a run has all its generations behind it."""
    return (directory / "history.jsonl").exists() and len(read_history(directory)) >= generations


def read_all(plan: Plan) -> Reading:
    """Every cell of a plan that has a finished run, whichever machine it is from, and what had to be left out.

    Raises for what can't be mixed.
    """
    filled, left = [], _strangers(plan)
    for cell in plan.cells:
        place = plan.root / cell.task / cell.label
        numbers = sorted(int(path.name) for path in place.glob("*") if _is_number(path.name))
        found = [_read(plan, cell, run) for run in numbers]
        left += [one for one in found if isinstance(one, Left)]
        if results := [one for one in found if isinstance(one, Result)]:
            _check_alike(results)
            filled.append(Filled(cell, plan.scale, results))
    for task in dict.fromkeys(one.cell.task for one in filled):
        _check_versions(result for one in filled if one.cell.task == task for result in one.results)
    return Reading(filled, left)


def _is_number(name: str) -> bool:
    """Whether a directory is named as that of a run is; 01 would be a second run 1."""
    return name.isdecimal() and name == str(int(name))


def _strangers(plan: Plan) -> list[Left]:
    """Directories among the runs that are none of the plan's."""
    labels: dict[str, set[str]] = {}
    for cell in plan.cells:
        labels.setdefault(cell.task, set()).add(cell.label)
    found = [path for path in plan.root.glob("*") if path.name not in {*labels, SUPPLEMENT}]
    for task, known in labels.items():
        found += [path for path in (plan.root / task).glob("*") if path.name not in known]
        found += [path for label in known for path in (plan.root / task / label).glob("*") if not _is_number(path.name)]
    why = "it is not named after a task, a method or a run of this experiment: rename or remove it."
    return [Left(path, why) for path in sorted(found) if path.is_dir() and not path.name.startswith(".")]


def _read(plan: Plan, cell: Cell, run: int) -> Result | Left:
    """A run, if it is finished and whole; raises for one that does not belong where it is."""
    directory = plan.directory(cell, run)
    if not (directory / "config.toml").exists():
        if any((directory / name).exists() for name in ("champion.json", "unseen.json")):
            return Left(directory, "it has no config.toml: restore it, or remove the run.", damaged=True)
        return Left(directory, failure(directory) or "it has not begun.")
    try:
        config = read_config(directory)
    except SirlError as error:
        return Left(directory, str(error), damaged=True)
    _check_place(plan, cell, run, config)
    try:
        ended = has_ended(directory, cell.settings(plan.scale).generations)
        unseen = read_unseen(directory) if ended else None
        if unseen is None:
            return Left(directory, failure(directory) or "it has not ended yet.")
        if unseen.episodes != plan.episodes:
            why = f"its champions have played {unseen.episodes} unseen episodes, and the others {plan.episodes}."
            return Left(directory, why)
        champions = {crowning: champion(directory, crowning) for crowning in CROWNINGS}
        return Result(run, directory, config, read_history(directory), unseen, champions)
    except SirlError as error:
        return Left(directory, str(error), damaged=True)


def failure(directory: Path) -> str:
    """Why a run failed when it was last tried; empty if it did not."""
    file = directory / FAILED
    try:
        return printable(read_plain(file, 10**6).decode(errors="replace").strip())
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return f"why can't be read ({error.strerror})"


def _check_place(plan: Plan, cell: Cell, run: int, config: Config) -> None:
    """Refuse a run, finished or not, that is of another scale, method or seed than its directory says."""
    directory, expected = plan.directory(cell, run), cell.settings(plan.scale)
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


def _check_alike(results: Sequence[Result]) -> None:
    """Refuse to pool runs that differ in more than their seed."""
    first = results[0]
    there = _asked(first.config)
    for result in results[1:]:
        for name, here in _asked(result.config).items():
            if here != there[name]:
                raise SirlError(
                    f"{result.directory} was trained with {name} = {here} and {first.directory} with {there[name]}, "
                    "which can't be pooled: train one of them again, or move it elsewhere."
                )


def _asked(config: Config) -> dict[str, Any]:
    """All that a run's result depends on but its seed."""
    settings = {name: value for name, value in asdict(config.settings).items() if name not in _NEUTRAL}
    others = {name: getattr(config, name) for name in ("start", "env_options", "derive", "mirror")}
    return settings | others | {"simulator": "envpool" if on_envpool(config) else "gymnasium or mujoco"}


def on_envpool(config: Config) -> bool:
    """Whether a run was trained on EnvPool; the other two simulators give the same bits."""
    return config.simulator == "envpool"


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
