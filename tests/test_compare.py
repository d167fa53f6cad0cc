"""Runs and policies against each other, their figures, and studies of one setting."""

import builtins
import json
import math
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

import sirl
from conftest import TINY
from sirl.errors import SirlError
from sirl.experiments import pages
from sirl.experiments.compare import compare_models, gather
from sirl.experiments.statistics import compare
from sirl.experiments.sweep import STUDIES, study
from sirl.experiments.tables import Table, latex
from sirl.figures.plots import draw_boxes, draw_budgets, draw_curves
from sirl.presets import preset_settings
from sirl.runs.history import History

SHORT = TINY | {"max_steps": 30}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two seeds of two methods on CartPole."""
    out = tmp_path_factory.mktemp("runs")
    for method in ("eldt", "sirl-lb"):
        settings = SHORT | {"method": method} | ({"collaborative_iterations": 0} if method == "eldt" else {})
        for seed in range(2):
            sirl.train("CartPole-v1", seed=seed, out=out / method / str(seed), **settings)
    return out


def test_policies_play_the_same_episodes_and_are_compared_over_them(runs):
    models = [str(runs / "eldt" / "0"), str(runs / "sirl-lb" / "1")]
    found = compare_models(models, episodes=12, workers=1)
    assert (found.task, found.unit, list(found.samples)) == ("CartPole-v1", "episodes", ["eldt/0", "sirl-lb/1"])
    for model, sample in zip(models, found.samples.values(), strict=True):
        expected = sirl.evaluate(sirl.load(model), episodes=12, workers=1, max_steps=30)
        np.testing.assert_array_equal(sample, expected.returns)


def test_directories_of_runs_are_compared_over_runs(runs, sirl_command):
    code, out, _ = sirl_command("compare", runs / "eldt", runs / "sirl-lb", "--episodes", 4, "--workers", 1, "--json")
    found = json.loads(out)
    assert (code, found["unit"], found["episodes"]) == (0, "runs", 4)
    means = [sirl.evaluate(sirl.load(runs / "eldt" / str(s)), episodes=4, workers=1, max_steps=30).mean for s in (0, 1)]
    assert found["samples"]["eldt"] == means
    assert (found["seed"], found["crowning"]) == (0, "validation")
    assert found["tests"]["pairs"][0]["stars"] in ("–", "ns", "*", "**", "***", "****")
    assert [len(sample) for sample in found["samples"].values()] == [2, 2]
    paper = compare_models([str(runs / "eldt")], episodes=4, workers=1, crowning="training")
    trained = [sirl.load(runs / "eldt" / str(seed) / "champion-training.json") for seed in range(2)]
    expected = [sirl.evaluate(policy, episodes=4, workers=1, max_steps=30).mean for policy in trained]
    assert paper.samples["eldt"].tolist() == expected


def test_what_is_printed(sirl_command):
    code, out, err = sirl_command("compare", "paper:Reacher", "--episodes", 5, "--workers", 1)
    assert (code, err) == (0, "")
    assert out.startswith("Reacher-v4\n\n")
    assert "Differences" not in out
    printed = sirl_command("compare", "paper:InvertedPendulum", "--episodes", 1, "--workers", 1).out
    row = next(line for line in printed.splitlines() if line.startswith("paper:InvertedPendulum"))
    assert row.split() == ["paper:InvertedPendulum", "1", "1,000.00", "–", "1,000.00", "1,000.00", "(–)", "1,000.00"]


def test_pairs_are_printed_with_marks(runs, sirl_command):
    out = sirl_command("compare", runs / "eldt" / "0", runs / "eldt" / "1", "--episodes", 20, "--workers", 1).out
    assert "One-way ANOVA: F = " in out or "no sample varies" in out.lower()
    assert "\neldt/1 − eldt/0  " in out
    one = sirl_command("compare", runs / "eldt" / "0", runs / "eldt" / "1", "--episodes", 1, "--workers", 1).out
    assert "Tests need two scores or more of each, and eldt/0, eldt/1 have one." in " ".join(one.split())


def test_what_can_not_be_compared(runs, tmp_path, refusal):
    assert "task CartPole-v1 and task Reacher-v4 can't be compared" in refusal(
        "compare", runs / "eldt" / "0", "paper:Reacher"
    )
    assert "eldt holds several runs and the others are single policies" in refusal(
        "compare", runs / "eldt", runs / "eldt" / "0"
    )
    assert "holds no run with a champion" in refusal("compare", tmp_path)
    assert "the same run is given twice" in refusal("compare", "paper:Reacher", "paper:Reacher")
    assert "can't be read" in refusal("compare", runs / "nowhere")


def test_only_labels_that_coincide_say_where_they_are(runs, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(runs / "eldt")
    for again in (f"{runs}/eldt/", str(tmp_path / "link")):
        with pytest.raises(SirlError, match="the same run is given twice"):
            gather([str(runs / "eldt"), again])
    other = Path(shutil.copytree(runs, tmp_path / "other"))
    found = gather([str(runs / "eldt"), str(other / "eldt"), str(runs / "sirl-lb")])
    assert [one.label for one in found] == [f"{runs.name}/eldt", "other/eldt", "sirl-lb"]
    monkeypatch.chdir(other / "eldt")
    assert [one.label for one in gather(["."])] == ["eldt"]


def test_long_names_stand_below_a_figure_and_two_runs_have_no_box():
    rows = [
        {"task": "T", "label": "a-name-that-is-far-too-long-for-a-panel", "crowning": "validation", "mean": str(score)}
        for score in (1.0, 2.0, 3.0)
    ]
    (axis,) = draw_boxes(rows).figure.axes
    assert len(axis.patches) == 1
    (axis,) = draw_boxes(rows[:2]).figure.axes
    assert len(axis.patches) == 0
    curve = [row | {"generation": "1", "n": "1", "best": "1", "validated": "2"} for row in rows[:1]]
    assert len(draw_curves(curve).figure.legends) == 1
    short = [row | {"label": "short"} for row in curve]
    assert len(draw_curves(short).figure.legends) == 0


def test_budgets_are_bars_from_zero_and_say_what_was_not_run():
    rows = [{"task": "T", "label": "eldt", "episodes": "100"}, {"task": "T", "label": "eldt", "episodes": "200"}]
    figure = draw_budgets(rows, [("T", "eldt"), ("T", "sirl-lb")], {("T", "eldt"): 180.0}).figure
    (axis,) = figure.axes
    assert (axis.get_yscale(), axis.get_ylim()[0]) == ("linear", 0)
    assert sorted(bar.get_height() for bar in axis.patches) == [150, 180]
    assert [text.get_text() for text in axis.texts] == ["not run"]


def test_tables_for_latex_are_escaped():
    told = latex(Table("x", "Is it so?", "Yes.", ["`a`", "p"], [["`b`", "<0.001"], ["5 > 4", "3 %"]]))
    assert told.startswith("% Is it so? Yes.\n")
    assert "b & $<$0.001 \\\\" in told
    assert "5 $>$ 4 & 3 \\% \\\\" in told
    assert "`" not in told


def test_figures_of_runs(runs, sirl_command):
    code, out, _ = sirl_command("plot", runs / "eldt", runs / "sirl-lb", "--out", "figures")
    drawn = [f"figures/{name}.{kind}" for name in ("curves", "instruments") for kind in ("svg", "png")]
    assert (code, out.split()) == (0, drawn)  # nobody has scored them
    sirl.Training.resume(runs / "eldt" / "0", workers=1).score(2)
    out = sirl_command("plot", runs / "eldt" / "0", "--out", "figures").out
    assert out.split()[4:] == ["figures/boxes.svg", "figures/boxes.png"]


def test_what_has_no_curve(runs, refusal, tmp_path):
    assert "paper:Reacher is no run and has no history to draw" in refusal("plot", "paper:Reacher")
    sirl.Training("CartPole-v1", out=tmp_path / "new", **SHORT)
    assert "give a model file, a run directory that has a champion" in refusal("plot", tmp_path / "new")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch, runs, refusal):
    usual = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "figures need matplotlib, which is not installed: pip install 'sirl[plot]'." in refusal(
        "plot", runs / "eldt"
    )


def test_a_run_in_a_notebook(tmp_path):
    run = sirl.Training("CartPole-v1", **SHORT | {"generations": 3})
    with pytest.raises(SirlError, match="nothing to draw yet"):
        run.plot()
    list(run.generations())
    drawing = run.plot()
    assert "<svg" in drawing._repr_svg_()
    assert drawing._repr_svg_() == run.plot()._repr_svg_()
    assert [path.name for path in drawing.save(tmp_path / "curves.png")] == ["curves.svg", "curves.png"]
    columns = run.history.columns()
    assert columns["generation"] == [1, 2, 3]
    assert columns["best"] == [record.best for record in run.history]
    assert columns["validation_score"][-1] == run.champion.origin.validation_score
    assert {len(column) for column in columns.values()} == {3}
    assert run.history._repr_html_().count("<tr>") == 4
    assert "the last 20 of 30 generations" in History(list(run.history) * 10)._repr_html_()


def test_a_generation_without_a_champion_has_no_score():
    run = sirl.Training("CartPole-v1", **SHORT | {"generations": 1})
    (record,) = run.generations()
    nobody = History([msgspec.structs.replace(record, champion=None)])
    assert math.isnan(nobody.columns()["leaves"][0])


def test_the_study_of_budgets_has_one_budget():
    for task in ("InvertedPendulum-v4", "Reacher-v4", "Swimmer-v4"):
        cells = study("budget", task).cells
        budget = preset_settings(task, "eldt").episodes_per_generation()
        assert {cell.settings(1.0).episodes_per_generation() for cell in cells} == {budget}
        assert {cell.settings(0.1).episodes_per_generation() for cell in cells} == {budget // 10}
        assert cells[-1].settings(1.0).collaborative_iterations == 0
        assert len({cell.first_seed for cell in cells}) == len(cells) == 5


def test_the_study_of_votes_has_every_rule():
    rules = [cell.settings(1.0).voting for cell in study("voting", "Reacher-v4").cells]
    assert rules == ["random", "majority", "leader", "weighted"]
    assert STUDIES == ("budget", "voting")


def test_a_study_from_training_to_statistics(sirl_command):
    code, out, err = sirl_command(
        "sweep", "voting", "--env", "Reacher-v4", "--scale", 0.01, "--runs", 2, "--episodes", 2, "--workers", 1
    )
    assert (code, err) == (0, "")
    assert "8 runs in 4 cells at scale 0.01 of the paper's size" in out
    assert " random vs majority " in out
    place = Path("runs/sweep-voting-Reacher-v4")
    report = (place / "report.md").read_text()
    assert report.startswith("## Voting rules on Reacher-v4")
    assert "Champions validated on fresh episodes: ANOVA p " in report
    assert {path.name for path in (place / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("boxes", "curves") for kind in ("svg", "png")
    }

    page = Path("page.md")
    page.write_text("Before.\n<!-- sweep voting -->\n<!-- end of sweep voting -->\nAfter.\n")
    again = ("sweep", "voting", "--env", "Reacher-v4", "--scale", 0.01, "--episodes", 2, "--report")
    code, out, err = sirl_command(*again, "--page", page)
    assert (code, err) == (0, "")
    assert "saved in runs/sweep-voting-Reacher-v4/tables" in out, "nothing is trained, so nothing is announced"
    shown = page.read_text()
    assert "(runs/sweep-voting-Reacher-v4/figures/boxes.svg)" in shown
    assert shown.startswith("Before.\n")
    assert shown.endswith("\nAfter.\n")


def test_a_study_that_is_not_there(refusal):
    reason = refusal("sweep", "voting", "--scale", 0.5, "--report")
    assert "has no finished run of this study with 100 unseen episodes yet" in reason


def test_the_answer_of_a_study_names_the_pairs_that_differ(monkeypatch):
    scores = {"calm": [1.0, 2.0, 3.0], "like": [2.0, 1.0, 3.0], "far": [11.0, 12.0, 13.0]}
    monkeypatch.setattr(pages, "compare_cells", lambda *_: compare(scores))
    answer = pages._answer([])
    assert "ANOVA p <0.001; significant by Tukey's HSD: far above calm by 10.0 (p <0.001); far above like by" in answer
    monkeypatch.setattr(pages, "compare_cells", lambda *_: compare({"one": [1.0, 2.0], "other": [1.0, 2.5]}))
    assert pages._answer([]).count("significant by Tukey's HSD: no pair.") == 2
    monkeypatch.setattr(pages, "compare_cells", lambda *_: compare({"one": [1.0]}))
    assert "tests need two samples or more" in pages._answer([])


def test_there_are_two_studies(refusal):
    assert "there is no study 'luck': choose from budget, voting." in refusal("sweep", "luck")
