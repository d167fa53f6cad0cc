"""What the paper's supplement shows of its printed trees: their scores, and what happens to one coefficient at a time.

Needs no run. A task has files of its own, so that the shares of several machines are merged by copying:
``OUT/scale-F/supplement/TASK-printed.csv`` and ``TASK-coefficients.csv``.

InvertedPendulum's condition is α(x + k_v·v) + β(θ + k_ω·ω) < t. Hopper's second is ω_f > c_3 - c_4·v_z and its third
ω_t < c_5·ω_l - c_6, with further terms that stay as they are printed.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sirl.engine import local_engine
from sirl.errors import SirlError
from sirl.experiments.cells import FULL, SUPPLEMENT, Plan, scales_in
from sirl.experiments.paper import TASKS
from sirl.experiments.played import play
from sirl.experiments.report import Rows
from sirl.experiments.statistics import moments, welch_of_moments
from sirl.experiments.tables import Table, number, parse_rows, power, probability, spread
from sirl.experiments.writing import table_files, write_files
from sirl.files import read_plain
from sirl.model.policy import Policy, load
from sirl.simulators.environments import usable_cores

PRINTED = ("InvertedPendulum", "LunarLander", "Swimmer", "Reacher", "Hopper", "Walker2d")
_FINE, _COARSE = 41, 9
"""Values of a coefficient, at the paper's size and at any smaller one."""
_COLUMNS = {
    "printed": ["tree", "task", "episodes", "mean", "std", "paper_mean", "paper_std", "macs", "leaves"],
    "coefficients": ["coefficient", "task", "printed", "value", "episodes", "mean", "std"],
}
"""Of each file: what a row is about, its task, and numbers."""
_LARGEST = 10**6


class Coefficient(NamedTuple):
    """A ratio of two weights at one split of a printed tree: the first weight is ``sign · ratio · the second``."""

    name: str
    tree: str
    split: int
    varied: str
    """The feature whose weight is varied."""
    unit: str
    """The feature whose weight stays, and that the ratio is to."""
    sign: int
    low: float
    high: float

    def printed(self, policy: Policy) -> float:
        """The ratio in print."""
        weights = policy.tree.weights[self.split]
        at = policy.task.features.index
        return float(self.sign * weights[at(self.varied)] / weights[at(self.unit)])

    def changed(self, policy: Policy, ratio: float) -> Policy:
        """The tree with another ratio."""
        weights = policy.tree.weights.copy()
        at = policy.task.features.index
        weights[self.split, at(self.varied)] = self.sign * ratio * weights[self.split, at(self.unit)]
        return Policy(policy.task, policy.tree._replace(weights=weights), policy.origin)


COEFFICIENTS = (
    Coefficient("k_v", "InvertedPendulum", 0, "v", "x", 1, 0.0, 4.7),
    Coefficient("k_ω", "InvertedPendulum", 0, "omega", "theta", 1, 0.0, 1.0),
    Coefficient("c_4", "Hopper", 1, "v_z", "omega_f", 1, -4.0, 4.0),
    Coefficient("c_5", "Hopper", 2, "omega_l", "omega_t", -1, -4.0, 4.0),
)
"""With the ranges of the paper's figures."""


def fill_supplement(plan: Plan, workers: int | None) -> None:
    """Play the printed trees of the plan's tasks and vary their coefficients, where that is not done already."""
    fewer = max(3, round(plan.episodes * plan.scale))
    for task in dict.fromkeys(cell.task for cell in plan.cells):
        if _played(plan, task, "printed") < plan.episodes:
            _write(plan, task, printed_rows(task, plan.episodes, workers))
        if _played(plan, task, "coefficients") < fewer:
            _write(plan, task, coefficient_rows(task, _points(plan.scale), fewer, workers))


def read_supplement(out: Path, name: str) -> list[dict[str, str]]:
    """The rows of ``printed`` or ``coefficients``: each task's from the largest scale that has them."""
    scales = scales_in(out)
    found = []
    for task in TASKS:
        saved = (_saved(out, scale, task, name) for scale in scales)
        found += next((rows for rows in saved if rows), [])
    return found


def _points(scale: float) -> int:
    """Values of a coefficient at a scale."""
    return _FINE if scale == FULL else _COARSE


def _saved(out: Path, scale: float, task: str, name: str) -> list[dict[str, str]]:
    """The rows of a saved file; none if there is no such file."""
    file = out / f"scale-{scale:g}" / SUPPLEMENT / f"{task}-{name}.csv"
    about = _trees(task) if name == "printed" else [one.name for one, _ in _ratios(task, _points(scale))]
    try:
        return _whole(read_plain(file, _LARGEST).decode(), _COLUMNS[name], about)
    except FileNotFoundError:
        return []
    except OSError as error:
        why = f"can't be read ({error.strerror})"
    except (ValueError, csv.Error):
        why = "is damaged"
    again = f"sirl reproduce --tasks {task} --scale {scale:g} --runs 0 --out {out}"
    raise SirlError(f"{file} {why}: remove it, and `{again}` computes it anew.")


def _whole(text: str, columns: list[str], about: list[str]) -> list[dict[str, str]]:
    """The rows of a file, one about each of these; raises ValueError if something is missing."""
    rows = parse_rows(text)
    named = all(list(row) == columns for row in rows) and [row[columns[0]] for row in rows] == about
    if not named or not text.endswith("\n"):
        raise ValueError("it is cut short")
    numbers = [float(row[column] or "") for row in rows for column in columns[2:]]  # None ends a line that is cut short
    if not all(map(math.isfinite, numbers)) or any(int(row["episodes"]) < 1 for row in rows):
        raise ValueError("it has numbers that can't be")
    return rows


def _played(plan: Plan, task: str, name: str) -> int:
    """Episodes that each tree of a saved file has played; 0 if there is none, or it is to be computed anew."""
    with suppress(SirlError):
        return min((int(row["episodes"]) for row in _saved(plan.out, plan.scale, task, name)), default=0)
    return 0


def _write(plan: Plan, task: str, found: Rows) -> None:
    if found.rows:
        named = found._replace(name=f"{task}-{found.name}")
        write_files(plan.root / SUPPLEMENT, table_files([], [named]))


def coefficient_rows(task: str, points: int, episodes: int, workers: int | None = None) -> Rows:
    """Mean and standard deviation of the return at so many values of each coefficient of a task's tree."""
    items = _ratios(task, points)
    return Rows("coefficients", _COLUMNS["coefficients"], _each(partial(_coefficient_row, episodes), items, workers))


def _ratios(task: str, points: int) -> list[tuple[Coefficient, float]]:
    """So many values of each coefficient of a task's tree."""
    return [
        (coefficient, float(ratio))
        for coefficient in COEFFICIENTS
        if load(f"paper:{coefficient.tree}").task.env == task
        for ratio in np.linspace(coefficient.low, coefficient.high, points)
    ]


def _coefficient_row(episodes: int, context: None, item: tuple[Coefficient, float]) -> list[object]:  # noqa: ARG001
    coefficient, ratio = item
    policy = load(f"paper:{coefficient.tree}")
    mean, std = moments(play(coefficient.changed(policy, ratio), episodes).returns)
    return [coefficient.name, policy.task.env, coefficient.printed(policy), ratio, episodes, mean, std or 0.0]


def printed_rows(task: str, episodes: int, workers: int | None = None) -> Rows:
    """What the printed tree of a task scores, and what its decisions cost."""
    return Rows("printed", _COLUMNS["printed"], _each(partial(_printed_row, episodes), _trees(task), workers))


def _trees(task: str) -> list[str]:
    """The printed trees of a task."""
    return [name for name in PRINTED if load(f"paper:{name}").task.env == task]


def _printed_row(episodes: int, context: None, name: str) -> list[object]:  # noqa: ARG001
    policy = load(f"paper:{name}")
    played = play(policy, episodes)
    mean, std = moments(played.returns)
    scores = [mean, std or 0.0, *(policy.origin.published_score or ())]
    return [name, policy.task.env, episodes, *scores, float(np.mean(played.macs)), policy.tree.n_leaves]


def printed_table(rows: Sequence[dict[str, str]]) -> Table:
    """The printed trees against what the paper says of them."""
    lines = []
    for row in rows:
        here, paper = ((float(row[f"{who}mean"]), float(row[f"{who}std"])) for who in ("", "paper_"))
        p = welch_of_moments((*here, int(row["episodes"])), (*paper, 100))
        cells = [f"`paper:{row['tree']}`", row["episodes"], spread(*here), spread(*paper), probability(p)]
        lines.append([*cells, power(float(row["macs"])), number(float(row["leaves"]), 0)])
    swimmer = " Why Swimmer's falls short is not known." if any(row["tree"] == "Swimmer" for row in rows) else ""
    return Table(
        "printed",
        "The paper's printed trees",
        "They were written by nobody here, so they check simulator, action mapping, tree semantics and scoring end to "
        "end. p is that of Welch's t-test between our episodes and the paper's mean and standard deviation over 100."
        f"{swimmer}",
        ["tree", "episodes", "score", "paper", "p", "MACs an episode", "leaves"],
        lines,
    )


def _each(function: object, items: Sequence[object], workers: int | None) -> list[list[object]]:
    """``function`` over items on worker processes."""
    if not items:
        return []
    with local_engine(_nothing, min(workers or usable_cores(), len(items))) as engine:
        return engine.map(function, items)  # type: ignore[arg-type]


def _nothing() -> None:
    """What a worker needs beforehand."""
