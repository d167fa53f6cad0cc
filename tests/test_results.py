"""What docs/results.md and the README show of runs is what is committed of them."""

import runpy
from pathlib import Path

import pytest

from sirl.experiments.cells import Plan, scales_in
from sirl.experiments.pages import page_text, reproduction, study_report
from sirl.experiments.reproduce import EPISODES
from sirl.experiments.sweep import STUDIES, study
from sirl.experiments.writing import spliced, table_files

HOME = Path(__file__).parents[1]
RESULTS, PAGE, README = HOME / "results", HOME / "docs" / "results.md", HOME / "README.md"
STALE = "run `make results`"


@pytest.fixture(scope="module", params=["reproduce", *(f"sweep {name}" for name in STUDIES)])
def experiment(request):
    """The mark of an experiment on the page, its directory, and its report from the committed runs."""
    sweep, _, name = request.param.partition(" ")
    out = RESULTS / f"{sweep}-{name}" if name else RESULTS
    if not out.is_dir() or not scales_in(out):
        pytest.skip("no runs are committed")
    if not name:
        return request.param, out, reproduction(out, EPISODES)
    (scale,) = scales_in(out)
    (task,) = [path.name for path in (out / f"scale-{scale:g}").iterdir()]
    asked = study(name, task)
    return request.param, out, study_report(asked, Plan(out, scale, asked.cells, range(1), EPISODES))


def test_the_page_agrees_with_the_runs(experiment):
    mark, out, report = experiment
    text = PAGE.read_text(encoding="utf-8")
    figures = f"../{out.relative_to(HOME)}/figures"
    assert spliced(text, page_text(report, figures), mark, "results.md") == text, STALE


def test_the_tables_agree_with_the_runs(experiment):
    _, out, report = experiment
    for name, content in table_files(report.tables, report.rows).items():
        assert (out / "tables" / name).read_text(encoding="utf-8") == content, STALE


def test_every_figure_is_there(experiment):
    _, out, report = experiment
    for name in report.figures:
        assert (out / "figures" / f"{name}.svg").exists(), STALE


def test_the_tables_of_goals_and_of_the_zoo_agree_with_what_is_kept():
    names = ("goals", "zoo", "sharing", "relearned")
    goals, zoo, sharing, relearned = (runpy.run_path(str(HOME / "experiments" / f"{name}.py")) for name in names)
    methods = ("laws", "linear", "derived", "sirl-lb")
    shown = [(PAGE, f"goals {method}", goals["full_table"](method)) for method in methods]
    shown += [(README, "goals laws", goals["short_table"]("laws")), (PAGE, "zoo", zoo["cards_text"]())]
    shown += [(PAGE, "sharing", sharing["sharing_text"]()), (PAGE, "relearned", relearned["relearned_text"]())]
    for page, mark, table in shown:
        text = page.read_text(encoding="utf-8")
        assert spliced(text, table, mark, page.name) == text, f"run `python experiments/{mark.split()[0]}.py table`"
