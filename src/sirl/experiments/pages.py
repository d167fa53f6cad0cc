"""From results to files: the tables, figures and page of the reproduction, and of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sirl.errors import SirlError
from sirl.experiments import reproduce
from sirl.experiments.cells import FULL, Plan, shown_scale
from sirl.experiments.paper import ORDER, published_row
from sirl.experiments.played import CROWNINGS
from sirl.experiments.report import (
    HOW,
    Rows,
    compare_cells,
    curves_rows,
    runs_rows,
    scale_sentence,
    scores_table,
    significance_table,
    sizes_table,
)
from sirl.experiments.results import Filled, Left, largest, read_all, telling
from sirl.experiments.shown import largest_rows, telling_rows, with_scales
from sirl.experiments.statistics import SIGNIFICANT
from sirl.experiments.supplement import printed_table, read_supplement
from sirl.experiments.sweep import Study
from sirl.experiments.tables import Table, number, probability, read_rows
from sirl.experiments.writing import page, put, relative, save_figures, table_files, write_files
from sirl.figures.drawing import Drawing
from sirl.figures.plots import draw_boxes, draw_budgets, draw_coefficients, draw_curves

_FIGURES = {
    "curves": "Best training score so far, mean, and 95 % interval from three runs on.",
    "validated": "The champion's score on fresh episodes, in the same way.",
    "boxes": "Scores of the champions of all runs on unseen episodes; boxes from three runs on.",
    "budgets": "Episodes of training at the largest scale that was run, validation left out.",
}


class Report(NamedTuple):
    """What an experiment has to show, before anything is drawn."""

    heading: str
    tables: list[Table]
    rows: list[Rows]
    figures: dict[str, str]
    """Captions by name."""
    left: list[Left]
    """Runs that are in no table."""


def reproduction(out: Path, episodes: int) -> Report:
    """The paper's experiments as far as a directory has them, at every scale that is there."""
    filled, left = reproduce.read_scales(out, episodes)
    printed = read_supplement(out, "printed")
    if not filled and not printed:
        raise SirlError(
            f"{out} has no finished run yet whose champions have played {episodes} unseen episodes: start some with "
            f"`sirl reproduce --out {out}`, or give the --episodes that they have.{_first(left)}"
        )
    figures = dict(_FIGURES) if filled else {}
    if read_supplement(out, "coefficients"):
        figures["coefficients"] = "Return of the printed trees as one coefficient varies; dashed: the printed value."
    tables = [*(reproduce.tables(filled) if filled else []), *([printed_table(printed)] if printed else [])]
    heading = scale_sentence(filled)
    if len(telling(largest(filled))) < len(largest(filled)):
        heading += " One or two runs at a small scale are in the first two tables only."
    return Report(heading, tables, [runs_rows(filled), curves_rows(filled)], figures, left)


def _first(left: Sequence[Left]) -> str:
    return f" The first of {len(left)} that are there: {left[0]}" if left else ""


def draw_reproduction(out: Path) -> dict[str, Drawing]:
    """Every figure of the reproduction, from the saved tables: of each cell the largest scale, if that tells."""
    every, lines = (largest_rows(read_rows(out / "tables" / f"{name}.csv")) for name in ("runs", "curves"))
    runs, curves = (telling_rows(rows, every) for rows in (every, lines))
    found: dict[str, Drawing] = {}
    if runs:
        named = with_scales(runs)
        goals = {
            (row["task"], row["label"]): paper.mean
            for row in named
            if (paper := published_row(row["task"].partition(",")[0], row["way"]))
        }
        found = {
            "curves": draw_curves(with_scales(curves), ["best"]),
            "validated": draw_curves(with_scales(curves), ["validated"]),
            "boxes": draw_boxes(named, targets=goals),
            "budgets": _budgets(runs),
        }
    if rows := read_supplement(out, "coefficients"):
        found["coefficients"] = draw_coefficients(rows)
    return found


def _budgets(runs: Sequence[dict[str, str]]) -> Drawing:
    """What runs of the largest scale spent; the paper's numbers beside those of its size."""
    scale = max(float(row["scale"]) for row in runs)
    own = [row for row in runs if float(row["scale"]) == scale]
    tasks = dict.fromkeys(row["task"] for row in own)
    pairs: list[tuple[str, str]] = [(task, method) for task in tasks for method in ORDER]
    rows = {pair: published_row(*pair) for pair in pairs if scale == FULL}
    paper = {pair: row.episodes for pair, row in rows.items() if row and row.episodes}
    return draw_budgets(own, pairs, paper, shown_scale(scale))


def study_report(study: Study, plan: Plan) -> Report:
    """What a study has found."""
    filled, left = read_all(plan)
    if not filled:
        raise SirlError(
            f"{plan.root} has no finished run of this study with {plan.episodes} unseen episodes yet: train some, or "
            f"give the --scale and --episodes that they have.{_first(left)}"
        )
    at = shown_scale(plan.scale)
    figures = {"boxes": f"{study.title}: scores of the champions of all runs, at {at}."}
    figures["curves"] = f"{study.title}: by generation, mean, and 95 % interval from three runs on, at {at}."
    tables = [scores_table(filled), significance_table([filled]), sizes_table(filled)]
    heading = f"## {study.title}\n\n{study.question} {scale_sentence(filled)}\n\n{_answer(filled)}"
    return Report(heading, tables, [runs_rows(filled), curves_rows(filled)], figures, left)


def _answer(filled: Sequence[Filled]) -> str:
    """Whether the cells of a study differ, in a sentence for each way to crown."""
    said = []
    for crowning in CROWNINGS:
        tests = compare_cells(filled, crowning)
        who = f"Champions {HOW[crowning]}"
        if tests.p is None:
            said.append(f"{who}: {tests.missing}.")
            continue
        found = [
            f"{pair.other} {'above' if pair.difference > 0 else 'below'} {pair.one} by "
            f"{number(abs(pair.difference), 1)} (p {probability(pair.tukey)})"
            for pair in tests.pairs
            if pair.tukey is not None and pair.tukey <= SIGNIFICANT
        ]
        differ = "; ".join(found) if found else "no pair"
        said.append(f"{who}: ANOVA p {probability(tests.p)}; significant by Tukey's HSD: {differ}.")
    return " ".join(said)


def draw_study(out: Path, scale: float) -> dict[str, Drawing]:
    """The figures of a study, from the saved tables."""
    runs, curves = (read_rows(out / "tables" / f"{name}.csv") for name in ("runs", "curves"))
    at = shown_scale(scale)
    return {"boxes": draw_boxes(runs, at), "curves": draw_curves(curves, title=at)}


def write_tables(out: Path, report: Report) -> None:
    """Write the tables of an experiment."""
    write_files(out / "tables", table_files(report.tables, report.rows))


def write_figures(out: Path, drawings: dict[str, Drawing]) -> None:
    """Write the figures of an experiment."""
    save_figures(out / "figures", drawings)


def write_pages(out: Path, report: Report, show_in: Path | None, mark: str) -> list[Path]:
    """Write the page of an experiment; also into a page of docs. Which pages were written."""
    write_files(out, {"report.md": f"{page_text(report, 'figures')}{_left_out(out, report.left)}"})
    if show_in is None:
        return [out / "report.md"]
    put(page_text(report, relative(out / "figures", show_in)), show_in, mark)
    return [out / "report.md", show_in]


def _left_out(out: Path, left: Sequence[Left]) -> str:
    """The runs that are in no table, with the reason of each; empty if there are none."""
    lines = [f"- `{one.directory.relative_to(out)}`: {one.why}\n" for one in left]
    return "".join(["\n### Runs that are in no table\n\n", *lines]) if lines else ""


def page_text(report: Report, figures_at: str) -> str:
    """The page of an experiment, with its figures in some directory."""
    return page(report.heading, report.tables, report.figures, figures_at)
