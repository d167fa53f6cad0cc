"""The tables that any experiment has: every run, curves by generation, scores by cell, and tests between cells.

Functions from results to rows; nothing is drawn or written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from sirl.experiments.cells import shown_scale
from sirl.experiments.paper import ORDER
from sirl.experiments.played import CROWNINGS
from sirl.experiments.results import Filled
from sirl.experiments.statistics import Comparison, compare, mean_interval, moments, summarize
from sirl.experiments.tables import Table, comma_separated, interval, number, parse_rows, power, probability, spread
from sirl.runs import history
from sirl.runs.history import CURVE_COLUMNS, Group

SEED = 0
"""Of the bootstrap."""
HOW = {"training": "by training score, the paper's way", "validation": "validated on fresh episodes"}
_SHORT = {"training": "paper's", "validation": "validated"}


class Rows(NamedTuple):
    """A table of plain numbers, for other programs and for figures."""

    name: str
    columns: list[str]
    rows: list[list[Any]]

    def as_saved(self) -> list[dict[str, str]]:
        """The rows as they are read from the saved table."""
        return parse_rows(comma_separated(self.columns, self.rows))


def runs_rows(filled: Sequence[Filled]) -> Rows:
    """Every champion of every run."""
    columns = ["task", "scale", "label", "run", "crowning", "mean", "std", "worst", "best", "episodes"]
    columns += [
        "validation_episodes",
        "steps",
        "seconds",
        "macs",
        "length",
        "splits",
        "leaves",
        "depth",
        "weights",
        "found_in_generation",
    ]
    rows = [
        _champion_row(one, index, crowning)
        for one in filled
        for index in range(len(one.results))
        for crowning in one.crownings
    ]
    return Rows("runs", columns, rows)


def _champion_row(one: Filled, index: int, crowning: str) -> list[Any]:
    result = one.results[index]
    played = result.played(crowning)
    mean, std = moments(played.returns)
    policy = result.champions[crowning]
    return [
        one.cell.task,
        float(one.scale),
        one.cell.label,
        result.run,
        crowning,
        mean,
        std or 0.0,
        min(played.returns),
        max(played.returns),
        result.episodes,
        result.validation_episodes,
        sum(record.steps for record in result.history),
        sum(record.seconds for record in result.history),
        float(np.mean(played.macs)),
        float(np.mean(played.lengths)),
        *result.size(crowning),
        (policy.origin.generation or 0) + 1,
    ]


def curves_rows(filled: Sequence[Filled]) -> Rows:
    """By generation: the best training score so far and the champion's validated score, means with 95 % intervals."""
    return curves(
        [(one.cell.task, one.scale, one.cell.label, [result.history for result in one.results]) for one in filled]
    )


def curves(groups: Sequence[Group]) -> Rows:
    """The same of any runs."""
    return Rows("curves", CURVE_COLUMNS, history.curves(groups, mean_interval))


def scores_table(filled: Sequence[Filled], goals: dict[tuple[str, str], str] | None = None) -> Table:
    """Scores of each cell over its runs, for both ways to crown; ``goals`` is the paper's best by task and label."""
    rows = []
    for one in filled:
        for crowning in one.crownings:
            found = summarize(one.scores(crowning), np.random.default_rng(SEED))
            row = [
                *(one.cell.task, one.name, f"{one.scale:g}", str(found.n), _SHORT[crowning], number(found.best)),
                *(number(found.median), spread(found.mean, found.std), interval(found.interval)),
                f"{number(found.iqm)} ({interval(found.iqm_interval)})",
            ]
            rows.append(row + ([goals.get((one.cell.task, one.cell.label), "–")] if goals is not None else []))
    columns = [
        "task",
        "method",
        "scale",
        "runs",
        "champion",
        "best",
        "median",
        "mean ± std",
        "95 % CI",
        "IQM (95 % CI)",
    ]
    return Table(
        "scores",
        "Scores over independent runs",
        "The score of a run is the mean return of its champion on unseen episodes of Gymnasium. The paper's champion "
        f"is crowned {HOW['training']}; the other is {HOW['validation']}, of the same run. The interval of the mean is "
        "Student's, that of the interquartile mean a percentile bootstrap. A dash: one run is too few.",
        columns + (["paper's best of ten"] if goals is not None else []),
        rows,
    )


def by_task(filled: Iterable[Filled]) -> list[tuple[tuple[str, float], list[Filled]]]:
    """Cells that may be compared: of one task and one scale."""
    groups = groupby(filled, key=lambda one: (one.cell.task, one.scale))
    return [(key, list(cells)) for key, cells in groups]


def compare_cells(cells: Sequence[Filled], crowning: str) -> Comparison:
    """Tests between cells over the scores of their runs."""
    return compare({one.cell.label: one.scores(crowning) for one in cells})


def significance_table(groups: Sequence[Sequence[Filled]], published: Any = None) -> Table:
    """ANOVA and Tukey's HSD between the cells of each group, which are of one task and one scale.

    Pairs of the paper's methods are tested where these are among themselves. ``published(task, one, other)`` is the
    paper's p.
    """
    rows: list[list[str]] = []
    missing: list[str] = []
    others = False
    for cells in groups:
        (task, scale), mixed = (cells[0].cell.task, cells[0].scale), not {one.cell.label for one in cells} <= {*ORDER}
        found = {how: compare_cells([one for one in cells if how in one.crownings], how) for how in CROWNINGS}
        missing += [f"{task}, scale {scale:g}: {tests.missing}" for tests in found.values() if tests.missing]
        by_score = {(pair.one, pair.other): pair for pair in found["training"].pairs}
        for pair in found["validation"].pairs:
            if mixed and {pair.one, pair.other} <= {*ORDER}:
                others = True
                continue
            ours = by_score.get((pair.one, pair.other))  # not there for our own methods, which know no such champion
            row = [task, f"{scale:g}", f"{pair.one} vs {pair.other}"]
            row += [number(ours.difference), probability(found["training"].p)] if ours else ["–", "–"]
            row += [probability(ours.tukey if ours else None), number(pair.difference)]
            row += [probability(found["validation"].p), probability(pair.tukey)]
            rows.append(row + ([probability(published(task, pair.one, pair.other))] if published else []))
    columns = ["task", "scale", "pair", "difference", "ANOVA p", "Tukey p"]
    columns += ["difference, validated", "ANOVA p, validated", "Tukey p, validated"]
    said = f" {'. '.join(dict.fromkeys(missing))}." if missing else ""
    if others:
        said = f" The paper's methods are tested among themselves, pairs with another one among all.{said}"
    return Table(
        "tests",
        "Are the differences real?",
        "One-way ANOVA over the scores of the runs, and Tukey's HSD for each pair (below 0.05 is significant); the "
        f"difference is that of the means, second minus first.{said}",
        columns + (["paper's Tukey p"] if published else []),
        rows,
    )


def sizes_table(filled: Sequence[Filled], published: Any = None) -> Table:
    """How large champions are and what they cost to run; ``published(task, label)`` is the paper's complexity."""
    rows = []
    for one in filled:
        for crowning in one.crownings:
            sizes = np.median([result.size(crowning) for result in one.results], axis=0)
            macs = [float(np.mean(result.played(crowning).macs)) for result in one.results]
            best = one.best(crowning).unseen.of(crowning)
            row = [one.cell.task, one.name, f"{one.scale:g}", _SHORT[crowning]]
            row += [*(number(float(value), 1) for value in sizes), power(float(np.median(macs)))]
            for played in (best.whole, best.pruned):
                score = spread(*moments(played.returns))
                row += [str(played.leaves), power(float(np.mean(played.macs))), score]
            rows.append(row + ([power(published(one.cell.task, one.cell.label))] if published else []))
    columns = ["task", "method", "scale", "champion", "splits", "leaves", "depth", "weights", "MACs an episode"]
    for which in ("best run", "best run, pruned"):
        columns += [f"{which}: leaves", "MACs", "score"]
    return Table(
        "sizes",
        "Complexity",
        "Medians over runs, then the run that scores best, as it is and pruned: a node with less than 0.5 % of its "
        "parent's visits is left out, by episodes that do not count in the score. A visited split costs one "
        "multiply-accumulate (MAC) for each weight that is not zero and one for its bias, summed over the decisions "
        "of an episode. The paper's InvertedPendulum 5.0e3 follows from this and its printed tree; its other figures "
        "can't be derived, since it prints one tree a task and does not say how it counts.",
        columns + (["paper's MACs"] if published else []),
        rows,
    )


def scale_sentence(filled: Sequence[Filled]) -> str:
    """Which sizes the runs have, to stand above everything."""
    scales = dict.fromkeys(one.scale for one in filled)
    return (
        f"Runs of {', and of '.join(shown_scale(scale) for scale in scales)}." if scales else "There are no runs yet."
    )
