"""What docs/results.md shows of the paper's experiments is what the committed runs say."""

from pathlib import Path

import pytest

from sirl.experiments.pages import page_text, reproduction
from sirl.experiments.reproduce import EPISODES
from sirl.experiments.writing import spliced, table_files

HOME = Path(__file__).parents[1]
RESULTS, PAGE = HOME / "results", HOME / "docs" / "results.md"


@pytest.fixture(scope="module")
def report():
    if not list(RESULTS.glob("scale-*")):
        pytest.skip("no runs are committed")
    return reproduction(RESULTS, EPISODES)


def test_the_page_agrees_with_the_runs(report):
    text = PAGE.read_text(encoding="utf-8")
    assert spliced(text, page_text(report, "../results/figures"), "reproduce", "results.md") == text, (
        "run `make results`"
    )


def test_the_tables_agree_with_the_runs(report):
    for name, content in table_files(report.tables, report.rows).items():
        assert (RESULTS / "tables" / name).read_text(encoding="utf-8") == content, "run `make results`"


def test_every_figure_is_there(report):
    for name in report.figures:
        assert (RESULTS / "figures" / f"{name}.svg").exists(), "run `make results`"
