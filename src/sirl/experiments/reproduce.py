"""The paper's experiments: its tasks and methods as cells, its tables with our rows, and whether its claim holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sirl.errors import SirlError, did_you_mean
from sirl.experiments.cells import Cell, Plan, scales_in
from sirl.experiments.paper import (
    ORDER,
    OURS,
    TASKS,
    published_row,
    published_rows,
    published_stars,
    published_tukey,
    shown_method,
)
from sirl.experiments.played import CROWNINGS
from sirl.experiments.report import by_task, compare_cells, scores_table, significance_table, sizes_table
from sirl.experiments.results import Filled, Reading, read_all
from sirl.experiments.statistics import SIGNIFICANT, star_mark, welch
from sirl.experiments.tables import Table, number, power, probability, spread

EPISODES = 100
"""Unseen ones that the paper tests an agent on."""
_FIRST_SEED = {"eldt": 1000, "sirl-sb": 2000, "sirl-lb": 3000, "linear": 4000, "laws": 5000}


def cells(tasks: Sequence[str] = TASKS, methods: Sequence[str] = ORDER, envpool: bool = False) -> list[Cell]:
    """The cells of the paper's comparison; ``envpool`` trains LunarLander on EnvPool."""
    for kind, chosen, known in (("task", tasks, TASKS), ("method", methods, (*ORDER, *OURS))):
        for name in chosen:
            if name not in known:
                hint = did_you_mean(name, list(known)) or f"; choose from {', '.join(known)}."
                raise SirlError(f"there is no {kind} {name!r} to reproduce{hint}")
    found = [method for method in (*ORDER, *OURS) if method in methods]
    return [
        Cell(
            task,
            method,
            method,
            first_seed=_FIRST_SEED[method],
            simulator="envpool" if envpool and task == "LunarLander-v3" else "auto",
        )
        for task in TASKS
        if task in tasks
        for method in found
    ]


def read_scales(out: Path, episodes: int = EPISODES) -> Reading:
    """All that a directory holds, task by task, the largest scale first."""
    every = cells(TASKS, (*ORDER, *OURS))
    found = [read_all(Plan(out, scale, every, range(0), episodes)) for scale in scales_in(out)]
    filled = [one for reading in found for one in reading.filled]
    filled.sort(key=lambda one: TASKS.index(one.cell.task))  # stable: scales and methods keep their order
    return Reading(filled, [one for reading in found for one in reading.left])


def tables(filled: Sequence[Filled]) -> list[Table]:
    """Every table of the reproduction."""
    goals = {
        (one.cell.task, one.cell.label): spread(row.mean, row.std)
        for one in filled
        if (row := published_row(one.cell.task, one.cell.label))
    }
    return [
        comparison_table(filled),
        scores_table(filled, goals),
        significance_table(filled, published_tukey),
        claim_table(filled),
        sizes_table(filled, _published_macs),
    ]


def comparison_table(filled: Sequence[Filled]) -> Table:
    """The paper's table with our rows below its own."""
    rows = []
    for task in TASKS:
        for row in published_rows(task):
            stars = published_stars(task, row.method)
            episodes = power(row.episodes) + ("‡" if row.episodes_is_lower_bound else "")
            score = spread(row.mean, row.std)
            rows.append([task, row.method, row.type, score, stars, episodes, power(row.macs_per_episode), "paper"])
        for (_, scale), group in by_task(one for one in filled if one.cell.task == task):
            rows += [_our_row(one, crowning, scale, group) for one in group for crowning in CROWNINGS]
    return Table(
        "comparison",
        "The paper's comparison, with our rows",
        "As in the paper: mean ± standard deviation over 100 unseen episodes of the best agent of all runs; episodes "
        "of training (‡: at least); multiply-accumulates an episode; marks of Welch's t-test against ELDT's best agent "
        "over their episodes (* p ≤ 0.05, one more star for each of 0.01, 0.001 and 0.0001; ours are two-sided, the "
        "paper's fit its printed means if they are one-sided). Ours have two rows: the champion crowned the paper's "
        "way, and the validated one.",
        ["task", "method", "type", "score", "against ELDT", "episodes", "MACs an episode", "from"],
        rows,
    )


def _our_row(one: Filled, crowning: str, scale: float, group: Sequence[Filled]) -> list[str]:
    played = one.best(crowning).played(crowning)
    returns = np.array(played.returns)
    baseline = next((other for other in group if other.cell.label == "eldt"), None)
    stars = ""
    if baseline is not None and one is not baseline:
        stars = star_mark(welch(np.array(baseline.best(crowning).played(crowning).returns), returns))
    many = "1 run" if len(one.results) == 1 else f"{len(one.results)} runs"
    return [
        one.cell.task,
        f"{shown_method(one.cell.label)} here{', validated' if crowning == 'validation' else ''}",
        "interpretable",
        spread(float(returns.mean()), float(returns.std(ddof=1)) if len(returns) > 1 else None),
        stars,
        power(float(np.mean([result.episodes for result in one.results]))),
        power(float(np.mean(played.macs))),
        f"{many}, scale {scale:g}",
    ]


def claim_table(filled: Sequence[Filled]) -> Table:
    """Fewer episodes, and the same or a better score than ELDT? By task, with both ways to crown."""
    rows = []
    for (task, scale), group in by_task(filled):
        by_label = {one.cell.label: one for one in group}
        if not {"eldt", "sirl-lb"} <= set(by_label):
            continue
        spent = {label: float(np.mean([r.episodes for r in one.results])) for label, one in by_label.items()}
        fewer = f"{100 * (1 - spent['sirl-lb'] / spent['eldt']):.0f} %"
        for crowning in CROWNINGS:
            pair = next(p for p in compare_cells(group, crowning).pairs if (p.one, p.other) == ("eldt", "sirl-lb"))
            means = [number(float(by_label[label].scores(crowning).mean())) for label in ("eldt", "sirl-lb")]
            champion = "paper's" if crowning == "training" else "validated"
            verdict = _verdict(pair.difference, pair.tukey)
            rows.append([task, f"{scale:g}", champion, fewer, *means, probability(pair.tukey), verdict])
    return Table(
        "claim",
        "Does the claim hold?",
        "The paper: SIRL-LB needs 43 to 76 % fewer episodes than ELDT, for the same or a better score. Means over "
        "runs; p of Tukey's HSD over all methods of the task. That no difference is found does not prove "
        "that there is none: with few runs only large ones are found.",
        ["task", "scale", "champion", "fewer episodes", "ELDT", "SIRL-LB", "Tukey p", "SIRL-LB is"],
        rows,
    )


def _verdict(difference: float, p: float | None) -> str:
    if p is None:
        return "the same" if difference == 0 else "not testable with these runs"
    return "not significantly different" if p > SIGNIFICANT else "better" if difference > 0 else "worse"


def _published_macs(task: str, method: str) -> float | None:
    row = published_row(task, method)
    return row.macs_per_episode if row else None
