"""From results to files: the tables, figures and page of the reproduction, and of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sirl.errors import SirlError
from sirl.experiments import reproduce
from sirl.experiments.cells import Plan, shown_scale
from sirl.experiments.paper import published_row
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
from sirl.experiments.results import Filled, Left, read_all
from sirl.experiments.statistics import SIGNIFICANT
from sirl.experiments.supplement import printed_table, read_supplement
from sirl.experiments.sweep import Study
from sirl.experiments.tables import Table, number, probability, read_rows
from sirl.experiments.writing import page, put, relative, save_figures, table_files, write_files
from sirl.figures.drawing import Drawing
from sirl.figures.plots import draw_boxes, draw_budgets, draw_coefficients, draw_curves


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
    figures: dict[str, str] = {}
    for scale in dict.fromkeys(sorted((one.scale for one in filled), reverse=True)):
        at = shown_scale(scale)
        figures |= {
            f"curves-{scale:g}": f"Best training score so far, mean, and 95 % interval from three runs on, at {at}.",
            f"validated-{scale:g}": f"The champion's score on fresh episodes, in the same way, at {at}.",
            f"boxes-{scale:g}": f"Scores of the champions of all runs on unseen episodes, at {at}.",
            f"budgets-{scale:g}": f"Episodes of training, at {at}.",
        }
    if read_supplement(out, "coefficients"):
        figures["coefficients"] = "Return of the printed trees as one coefficient varies; dashed: the printed value."
    tables = [*(reproduce.tables(filled) if filled else []), *([printed_table(printed)] if printed else [])]
    return Report(scale_sentence(filled), tables, [runs_rows(filled), curves_rows(filled)], figures, left)


def _first(left: Sequence[Left]) -> str:
    return f" The first of {len(left)} that are there: {left[0]}" if left else ""


def draw_reproduction(out: Path) -> dict[str, Drawing]:
    """Every figure of the reproduction, from the saved tables."""
    runs, curves = (read_rows(out / "tables" / f"{name}.csv") for name in ("runs", "curves"))
    found: dict[str, Drawing] = {}
    for scale in dict.fromkeys(row["scale"] for row in runs):
        own, lines = ([row for row in rows if row["scale"] == scale] for rows in (runs, curves))
        at = shown_scale(float(scale))
        paper = {
            (task, label): row
            for task, label in dict.fromkeys((row["task"], row["label"]) for row in own)
            if (row := published_row(task, label))
        }
        found |= {
            f"curves-{scale}": draw_curves(lines, ["best"], at),
            f"validated-{scale}": draw_curves(lines, ["validated"], at),
            f"boxes-{scale}": draw_boxes(own, at, {key: row.mean for key, row in paper.items()}),
            f"budgets-{scale}": draw_budgets(own, {key: row.episodes or 0 for key, row in paper.items()}, at),
        }
    if rows := read_supplement(out, "coefficients"):
        found["coefficients"] = draw_coefficients(rows)
    return found


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
    tables = [scores_table(filled), significance_table(filled), sizes_table(filled)]
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


def write_tables(out: Path, report: Report, show_in: Path | None, mark: str) -> list[Path]:
    """Write the tables and the page of an experiment; also into a page of docs. Which pages were written."""
    write_files(out / "tables", table_files(report.tables, report.rows))
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


def write_figures(out: Path, drawings: dict[str, Drawing]) -> None:
    """Write the figures of an experiment."""
    save_figures(out / "figures", drawings)
