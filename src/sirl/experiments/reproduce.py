"""The paper's experiments: its tasks and methods as cells, its tables with our rows, and whether its claim holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sirl.config import Method
from sirl.errors import SirlError, did_you_mean
from sirl.experiments.cells import Cell, Plan, scales_in
from sirl.experiments.paper import (
    IN_SEQUENCE,
    ORDER,
    TASKS,
    published_row,
    published_rows,
    published_stars,
    published_tukey,
    shown_method,
)
from sirl.experiments.played import CROWNINGS
from sirl.experiments.report import by_task, compare_cells, scores_table, significance_table, sizes_table
from sirl.experiments.results import Filled, Reading, largest, read_all, telling, together
from sirl.experiments.statistics import ENOUGH, SIGNIFICANT, moments, star_mark, welch
from sirl.experiments.tables import Table, number, power, probability, spread
from sirl.options import SimulatorName

EPISODES = 100
"""Unseen ones that the paper tests an agent on."""
_WAYS: dict[str, tuple[Method, int]] = {
    "eldt": ("eldt", 1000),
    "sirl-sb": ("sirl-sb", 2000),
    "sirl-lb": ("sirl-lb", 3000),
    IN_SEQUENCE: ("sirl-lb", 6000),
    "linear": ("linear", 4000),
    "laws": ("laws", 5000),
}
"""The method of each way to train, and the seed of its first run."""
METHODS = tuple(_WAYS)
"""Ways to train, in the order of all tables."""


def cells(tasks: Sequence[str] = TASKS, methods: Sequence[str] = ORDER, envpool: bool = False) -> list[Cell]:
    """The cells of the paper's comparison; ``envpool`` trains LunarLander on EnvPool."""
    for kind, chosen, known in (("task", tasks, TASKS), ("method", methods, METHODS)):
        for name in chosen:
            if name not in known:
                hint = did_you_mean(name, list(known)) or f"; choose from {', '.join(known)}."
                raise SirlError(f"there is no {kind} {name!r} to reproduce{hint}")
    found = [label for label in METHODS if label in methods]
    return [_cell(task, label, envpool) for task in TASKS if task in tasks for label in found]


def _cell(task: str, label: str, envpool: bool) -> Cell:
    method, seed = _WAYS[label]
    simulator: SimulatorName = "envpool" if envpool and task == "LunarLander-v3" else "auto"
    return Cell(task, label, method, {}, seed, simulator, in_sequence=label == IN_SEQUENCE)


def read_scales(out: Path, episodes: int = EPISODES) -> Reading:
    """All that a directory holds, task by task, the largest scale first."""
    every = cells(TASKS, METHODS)
    found = [read_all(Plan(out, scale, every, range(0), episodes)) for scale in scales_in(out)]
    filled = [one for reading in found for one in reading.filled]
    filled.sort(key=lambda one: TASKS.index(one.cell.task))  # stable: scales and methods keep their order
    return Reading(filled, [one for reading in found for one in reading.left])


def tables(filled: Sequence[Filled]) -> list[Table]:
    """Every table of the reproduction, of the largest scale of each cell; tests are between cells of one scale."""
    groups, filled = together(telling(filled)), largest(filled)
    told = telling(filled)
    goals = {
        (one.cell.task, one.cell.label): spread(row.mean, row.std)
        for one in filled
        if (row := published_row(one.cell.task, one.cell.label))
    }
    return [
        summary_table(filled),
        comparison_table(filled),
        scores_table(told, goals),
        significance_table(groups, published_tukey),
        claim_table(groups),
        sizes_table(told, _published_macs),
    ]


def summary_table(filled: Sequence[Filled]) -> Table:
    """Where every method stands on every task, in a line each."""
    rows = []
    for task in TASKS:
        here = {one.cell.label: one for one in filled if one.cell.task == task}
        for method in dict.fromkeys([*ORDER, *here]):
            row = published_row(task, method)
            line = [task, shown_method(method), "–" if row is None else spread(row.mean, row.std)]
            rows.append(line + (_standing(here[method]) if method in here else [*["–"] * 6, "not run"]))
    return Table(
        "summary",
        "Where it stands",
        "The paper's best of ten runs against the best and the median run here, by mean return on unseen episodes: of "
        "champions crowned by training score, the paper's way, and of those validated on fresh episodes. Episodes of "
        "training, and in brackets with those of validation; steps and minutes of a run, all in all. "
        "Only runs of the paper's size (scale 1) can be held against the paper's.",
        ["task", "method", "paper", "best / median here", "validated", "episodes", "steps", "minutes", "scale", "runs"],
        rows,
    )


def _standing(one: Filled) -> list[str]:
    scores = {crowning: one.scores(crowning) for crowning in one.crownings}
    shown = {how: f"{number(float(own.max()))} / {number(float(np.median(own)))}" for how, own in scores.items()}
    spent = f"{power(one.episodes('training'))} ({power(one.episodes('validation'))})"
    where = f"{one.scale:g}{', EnvPool' if one.name != one.cell.label else ''}"
    records = [record for result in one.results for record in result.history]
    steps, seconds = sum(r.steps for r in records), sum(r.seconds for r in records)
    took = [power(steps / len(one.results)), number(seconds / 60 / len(one.results), 1)]
    return [shown.get("training", "–"), shown["validation"], spent, *took, where, str(len(one.results))]


def comparison_table(filled: Sequence[Filled]) -> Table:
    """The paper's table with our rows below its own."""
    rows: list[list[str]] = []
    numbers: list[tuple[float | None, ...]] = []
    for task in TASKS:
        for row in published_rows(task):
            stars = published_stars(task, row.method)
            episodes = power(row.episodes) + ("‡" if row.episodes_is_lower_bound else "")
            score = spread(row.mean, row.std)
            rows.append([task, row.method, row.type, score, stars, episodes, power(row.macs_per_episode), "paper"])
            numbers.append((row.mean, row.std, row.episodes, row.macs_per_episode))
        for _, group in by_task(one for one in filled if one.cell.task == task):
            for cell, crowning in [(one, crowning) for one in group for crowning in one.crownings]:
                numbers.append(_our_numbers(cell, crowning))
                rows.append(_our_row(cell, crowning, group))
    unseen = filled[0].results[0].unseen.episodes
    names = ("mean", "std", "training_episodes", "macs")
    return Table(
        "comparison",
        "The paper's comparison, with our rows",
        "As in the paper: mean ± standard deviation over unseen episodes of the best agent of all runs, of which the "
        f"paper has 100 and ours {unseen}; which agent is best is told by the same episodes, so luck helps it; "
        "episodes of training (‡: at least), to which rows of validated champions "
        "add those of validation; multiply-accumulates an episode; marks of Welch's t-test against ELDT's best agent "
        "over their episodes (* p ≤ 0.05, one more star for each of 0.01, 0.001 and 0.0001; –: no test, or fewer than "
        "three runs; ours are two-sided, the paper's fit its printed means if they are one-sided). Ours have two rows: "
        "the champion crowned the paper's way, and the validated one; our own methods have only the latter.",
        ["task", "method", "type", "score", "against ELDT", "episodes", "MACs an episode", "from"],
        rows,
        {name: list(column) for name, column in zip(names, zip(*numbers, strict=True), strict=True)},
    )


def _our_numbers(one: Filled, crowning: str) -> tuple[float, float | None, float, float]:
    """Mean, standard deviation, episodes of training and multiply-accumulates of the best agent."""
    played = one.best(crowning).played(crowning)
    return (*moments(played.returns), one.episodes(crowning), float(np.mean(played.macs)))


def _our_row(one: Filled, crowning: str, group: Sequence[Filled]) -> list[str]:
    mean, std, episodes, macs = _our_numbers(one, crowning)
    many = "1 run" if len(one.results) == 1 else f"{len(one.results)} runs"
    return [
        one.cell.task,
        f"{shown_method(one.cell.label)} here{', validated' if crowning == 'validation' else ''}",
        "interpretable",
        spread(mean, std),
        _stars(one, crowning, group),
        power(episodes),
        power(macs),
        f"{many}, scale {one.scale:g}{', EnvPool' if one.name != one.cell.label else ''}",
    ]


def _stars(one: Filled, crowning: str, group: Sequence[Filled]) -> str:
    """The mark of a cell's best agent against that of ELDT; none for ELDT itself."""
    if one.cell.label == "eldt":
        return ""
    baseline = next((other for other in group if other.cell.label == "eldt"), None)
    if baseline is None or min(len(one.results), len(baseline.results)) < ENOUGH:
        return "–"
    there, here = (np.array(cell.best(crowning).played(crowning).returns) for cell in (baseline, one))
    return star_mark(welch(there, here))


def claim_table(groups: Sequence[Sequence[Filled]]) -> Table:
    """Fewer episodes, and the same or a better score than ELDT? By task, with both ways to crown."""
    rows = []
    for group in groups:
        by_label = {one.cell.label: one for one in group}
        if not {"eldt", "sirl-lb"} <= set(by_label) <= set(ORDER):
            continue
        task, scale = group[0].cell.task, group[0].scale
        several = min(len(by_label[label].results) for label in ("eldt", "sirl-lb")) > 1
        for crowning in CROWNINGS:
            spent = {label: one.episodes(crowning) for label, one in by_label.items()}
            fewer = f"{100 * (1 - spent['sirl-lb'] / spent['eldt']):.0f} %"
            pair = next(p for p in compare_cells(group, crowning).pairs if (p.one, p.other) == ("eldt", "sirl-lb"))
            means = [number(float(by_label[label].scores(crowning).mean())) for label in ("eldt", "sirl-lb")]
            champion = "paper's" if crowning == "training" else "validated"
            verdict = _verdict(pair.difference, pair.tukey) if several else "not testable with these runs"
            rows.append([task, f"{scale:g}", champion, fewer, *means, probability(pair.tukey), verdict])
    return Table(
        "claim",
        "Does the claim hold?",
        "The paper: SIRL-LB needs 43 to 76 % fewer episodes than ELDT, for the same or a better score. How many fewer "
        "follows from the settings (rows of validated champions add validation); the score is what is measured. Means "
        "over runs; p of Tukey's HSD over the paper's methods at one scale. That no difference is found does not "
        "prove that there is none: with few runs only large ones are found.",
        ["task", "scale", "champion", "fewer episodes", "ELDT", "SIRL-LB", "Tukey p", "SIRL-LB is"],
        rows,
    )


def _verdict(difference: float, p: float | None) -> str:
    if p is None:
        return "the same" if abs(difference) < 1e-9 else "not testable with these runs"
    return "not significantly different" if p > SIGNIFICANT else "better" if difference > 0 else "worse"


def _published_macs(task: str, method: str) -> float | None:
    row = published_row(task, method)
    return row.macs_per_episode if row else None
