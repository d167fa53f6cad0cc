"""The paper's experiments in a very small form: from nothing to every table and figure, and what can go wrong."""

import json
import os
import shutil
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import sirl
from sirl.cli import main as cli
from sirl.errors import SirlError
from sirl.experiments.cells import Cell, Plan, parse_runs, scaled, scales_in
from sirl.experiments.cost import remaining
from sirl.experiments.pages import page_text, reproduction
from sirl.experiments.paper import TASKS
from sirl.experiments.played import play, play_champions, read_unseen
from sirl.experiments.report import runs_rows, scores_table, significance_table, sizes_table
from sirl.experiments.reproduce import cells, claim_table, comparison_table, read_scales, summary_table
from sirl.experiments.results import failure, is_sound, largest, read_all, telling, together
from sirl.experiments.shown import largest_rows, telling_rows, with_scales
from sirl.experiments.supplement import COEFFICIENTS, printed_rows, printed_table, read_supplement
from sirl.experiments.tables import read_rows
from sirl.experiments.work import Place, fill, progress
from sirl.experiments.writing import spliced, table_files
from sirl.presets import preset_settings
from sirl.reading.complexity import decision_costs
from sirl.runs.campaign import Failed, Job
from sirl.runs.directory import RunDirectory

EPISODES = 3
COMMAND = ["reproduce", "--scale", "0.01", "--episodes", str(EPISODES), "--workers", "1"]
SMALL = [*COMMAND, "--tasks", "InvertedPendulum-v4,Reacher-v4"]
REPORT = ["reproduce", "--report", "--episodes", str(EPISODES)]
FIGURES = ("curves", "validated", "boxes", "budgets", "coefficients")
TABLES = ("summary", "comparison", "scores", "tests", "claim", "sizes", "printed")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Two runs of each method on two tasks, with all that is made of them."""
    out = tmp_path_factory.mktemp("reproduce") / "out"
    assert cli.main([*SMALL, "--runs", "2", "--out", str(out)]) == 0
    return out


@pytest.fixture
def copy(done, tmp_path):
    """The same to be changed."""
    return Path(shutil.copytree(done, tmp_path / "copy"))


def files(directory):
    """Every file's content."""
    return {path: path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


def plan(out, runs="2", tasks=("InvertedPendulum-v4", "Reacher-v4")):
    return Plan(out, 0.01, cells(tasks), parse_runs(runs), EPISODES)


def test_every_table_and_figure_is_there(done):
    for name in FIGURES:
        assert (done / "figures" / f"{name}.svg").read_text().startswith("<?xml")
        assert (done / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    report = (done / "report.md").read_text()
    for name in TABLES:
        for kind in ("csv", "md", "tex"):
            assert (done / "tables" / f"{name}.{kind}").stat().st_size > 100
        assert (done / "tables" / f"{name}.md").read_text() in report
    assert report.startswith("Runs of scale 0.01 of the paper's size.")
    assert all(f"](figures/{name}.svg)" in report for name in FIGURES)
    comparison = (done / "tables" / "comparison.csv").read_text()
    assert comparison.count("2 runs, scale 0.01") == 2 * 3 * 2  # tasks, methods, ways to crown
    assert r"$\pm$" in (done / "tables" / "comparison.tex").read_text()


def test_the_page_is_what_the_results_say(done):
    report = reproduction(done, EPISODES)
    assert (done / "report.md").read_text() == page_text(report, "figures")
    for name, content in table_files(report.tables, report.rows).items():
        assert (done / "tables" / name).read_text() == content


def test_the_comparison_has_numbers_for_programs(done):
    rows = read_rows(done / "tables" / "comparison.csv")
    assert list(rows[0])[-4:] == ["mean", "std", "training_episodes", "macs"]
    ours = [row for row in rows if row["from"] != "paper"]
    assert {row["against ELDT"] for row in ours} == {"", "–"}, "two runs earn no stars"
    both = {row["method"]: float(row["training_episodes"]) for row in ours if row["task"] == "Reacher-v4"}
    assert both["ELDT here, validated"] > both["ELDT here"], "validation is counted where it crowns"
    tex = (done / "tables" / "tests.tex").read_text()
    assert tex.startswith("% Are the differences real? One-way")
    assert (
        "over unseen episodes of the best agent of all runs, of which the paper has 100 and ours 3;"
        in (done / "report.md").read_text()
    )


def test_each_cell_is_shown_at_its_largest_scale_and_by_itself(done):
    filled = read_scales(done, EPISODES).filled
    small = [one._replace(scale=0.001) for one in filled]
    assert largest([*small, *filled]) == filled
    assert [one for group in together([*small, *filled]) for one in group] == filled
    assert [one for group in together([*small, filled[-1]]) for one in group] == small, "methods come before scale"
    many = filled[0]._replace(results=filled[0].results * 2)
    assert telling([many, *filled[1:]]) == [many]
    assert telling([filled[0]._replace(scale=1.0), *filled[1:]]) == [filled[0]._replace(scale=1.0)]
    assert telling(filled) == filled
    assert scores_table(filled).rows[-2:] == scores_table(filled[-1:]).rows, "no cell's interval depends on another"
    laws = [one._replace(cell=one.cell._replace(method="laws", label="laws")) for one in filled[:1]]
    assert [row[1] for row in comparison_table(laws).rows if row[-1] != "paper"] == ["LAWS here, validated"]
    assert len(scores_table(laws).rows) == len(sizes_table(laws).rows) == len(runs_rows(laws).rows) / 2 == 1
    rows = summary_table(filled).rows
    assert ["Hopper-v4", "ELDT", "939.55 ± 196.52", *["–"] * 6, "not run"] in rows
    assert len(rows) == 6 * 3

    cells = (("A", "x", "1"), ("A", "x", "0.1"), ("A", "y", "0.1"))
    rows = [{"task": task, "label": label, "scale": scale} for task, label, scale in cells]
    rows = [
        {"task": t, "label": la, "scale": s} for t, la, s in (("A", "x", "1"), ("A", "x", "0.1"), ("A", "y", "0.1"))
    ]
    rows += [{"task": "B", "label": "x", "scale": "0.1"}]
    shown = with_scales(largest_rows(rows))
    runs = [row | {"run": str(n)} for row in rows for n in range(3 if row["label"] == "y" else 2)]
    assert telling_rows(rows, runs) == [rows[0], rows[2]]
    assert telling_rows(rows[1:2], runs) == rows[1:2]
    assert [(row["task"], row["label"]) for row in shown] == [("A", "x"), ("A", "y at 0.1"), ("B, scale 0.1", "x")]


def test_a_further_method_changes_no_test_between_those_of_the_paper(done):
    paper = [one for one in read_scales(done, EPISODES).filled if one.cell.task == "Reacher-v4"]
    alone = significance_table(together(paper))
    further = [paper[0]._replace(cell=paper[0].cell._replace(label=label)) for label in ("one", "other")]
    both = significance_table(together([*further, *paper]))
    assert both.rows[: len(alone.rows)] == alone.rows
    pairs = [f"{one.cell.label} vs {other}" for one in paper for other in ("one", "other")]
    assert [row[2] for row in both.rows[len(alone.rows) :]] == [*pairs, "one vs other"]
    assert both.rows[-1][4] != alone.rows[-1][4], "which is tested among all"
    assert "among themselves" in both.note
    assert "among themselves" not in alone.note
    assert claim_table(together([*further, *paper])).rows == claim_table(together(paper)).rows


def test_further_methods_are_tested_at_the_largest_scale_that_they_share(done):
    paper = [one for one in read_scales(done, EPISODES).filled if one.cell.task == "Reacher-v4"]
    large = [paper[2]._replace(scale=scale) for scale in (1.0, 0.5)]
    further = [paper[0]._replace(cell=paper[0].cell._replace(label="other"), scale=scale) for scale in (1.0, 0.01)]
    groups = together([*large, *paper, *further])
    assert groups == [paper, [large[0], further[0]]]
    assert together([*paper, *further]) == [paper, [*paper, further[1]]]
    assert together(further) == [[further[0]]], "and at their largest if there is nobody else"


def test_champions_that_there_are_not_are_not_tested(done):
    paper = [one for one in read_scales(done, EPISODES).filled if one.cell.task == "Reacher-v4"][:2]
    laws = paper[1]._replace(cell=paper[1].cell._replace(method="laws", label="laws"))
    (row,) = significance_table([[paper[0], laws]]).rows
    assert row[2] == "eldt vs laws"
    assert row[3:6] == ["–"] * 3
    assert "–" not in row[6:]


def test_one_run_of_each_is_called_no_result(done):
    (group,) = together([one for one in read_scales(done, EPISODES).filled if one.cell.task == "Reacher-v4"])
    single = [one._replace(results=group[0].results[:1]) for one in group]
    assert {row[-1] for row in claim_table([single]).rows} == {"not testable with these runs"}


def test_episodes_in_sequence_are_as_many_as_in_copies():
    for task in TASKS:
        (copies,), (sequence,) = (cells([task], [method]) for method in ("sirl-lb", "sirl-lb-sequence"))
        for scale in (1, 0.1, 0.02, 0.01):
            one, other = copies.settings(scale), sequence.settings(scale)
            assert one.episodes_per_generation() == other.episodes_per_generation()
            assert (one.collaborative_copies, other.collaborative_copies) == (10, 1)
            iterations = other.collaborative_iterations // 10
            assert one == other.replace(collaborative_copies=10, collaborative_iterations=iterations)
        assert sequence.method == "sirl-lb"
        assert sequence.first_seed not in {cell.first_seed for cell in cells([task])}


def test_what_does_not_belong_is_named_and_counts_for_nothing(copy):
    place = copy / "scale-0.01" / "Reacher-v4" / "eldt"
    before = read_scales(copy, EPISODES)
    shutil.copytree(place / "1", place / "01")
    shutil.copytree(place, place.with_name("eldt-old"))
    (place / ".ipynb_checkpoints").mkdir()
    (copy / "scale-0.01.tar.gz").touch()
    after = read_scales(copy, EPISODES)
    assert [len(one.results) for one in after.filled] == [len(one.results) for one in before.filled]
    assert [one.directory for one in after.left] == [place / "01", place.with_name("eldt-old")]
    assert not before.left
    shutil.copytree(copy / "scale-0.01", copy / "scale-1e-2")
    with pytest.raises(SirlError, match="scale-1e-2 is not named after a scale"):
        read_scales(copy, EPISODES)


def test_one_episode_has_no_deviation_and_no_warning(recwarn):
    table = printed_table(printed_rows("InvertedPendulum-v4", 1, 1).as_saved())
    assert table.rows[0][:5] == ["`paper:InvertedPendulum`", "1", "1,000.00 ± 0.00", "1,000.00 ± 0.00", "–"]
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]


def test_both_champions_are_tested_and_all_returns_kept(done):
    path = done / "scale-0.01" / "Reacher-v4" / "sirl-lb" / "0"
    unseen = read_unseen(path)
    for name, crowning in (("champion.json", "validation"), ("champion-training.json", "training")):
        played = unseen.of(crowning).whole
        policy = sirl.load(path / name)
        np.testing.assert_array_equal(played.returns, sirl.evaluate(policy, episodes=EPISODES, workers=1).returns)
    history = [json.loads(line) for line in (path / "history.jsonl").read_text().splitlines()]
    assert sirl.load(path / "champion-training.json").origin.training_score == max(line["best"] for line in history)


def test_finished_runs_are_left_alone_even_without_their_checkpoints(copy, capsys):
    for path in copy.rglob("checkpoints"):
        shutil.rmtree(path)
    before = files(copy)
    assert cli.main([*SMALL, "--runs", "2", "--out", str(copy)]) == 0
    assert files(copy) == before
    assert "all of them are finished" in capsys.readouterr().out


def test_a_run_that_was_stopped_goes_on_to_the_same_end(copy):
    path = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    before = {name: (path / name).read_bytes() for name in ("champion.json", "champion-training.json", "unseen.json")}
    for name in ("unseen.json", "history.jsonl", "champion.json", "champion-training.json"):
        (path / name).unlink()
    (path / "checkpoints" / "00000002.ckpt").unlink()
    assert not is_sound(plan(copy), cells(["Reacher-v4"], ["eldt"])[0], 1)
    assert fill(plan(copy), Place(1), lambda _: None) == []
    assert {name: (path / name).read_bytes() for name in before} == before


def test_two_machines_share_the_work_by_taking_different_runs(done, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for out, runs in ((here, "0-0"), (there, "1-1")):
        assert fill(plan(out, runs, ["Reacher-v4"]), Place(1), lambda _: None) == []
    merged = Path(shutil.copytree(there, here, dirs_exist_ok=True))
    together = read_all(plan(merged, "2", ["Reacher-v4"])).filled
    one_machine = read_all(plan(done, "2", ["Reacher-v4"])).filled
    assert [one.scores("training").tolist() for one in together] == [
        one.scores("training").tolist() for one in one_machine
    ]


def test_a_run_that_fails_is_named_and_the_rest_goes_on(copy, capsys):
    lost = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    shutil.rmtree(lost)
    lost.mkdir()
    (lost / "history.jsonl").write_text("half a li")
    assert cli.main([*SMALL, "--runs", "2", "--out", str(copy)]) == 1
    said = capsys.readouterr()
    assert "sirl: failed: the run in" in said.err
    assert "Reacher-v4/eldt/1" in said.err
    assert "1 failed" in said.out
    report = (copy / "report.md").read_text()
    assert "1 run, scale 0.01" in report  # eldt on Reacher has one left, and says what that is too few for
    assert "tests need two scores or more of each, and eldt has one" in report
    assert "not testable with these runs" in report


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_pipes_among_the_runs_are_not_waited_for(tmp_path):
    lost = tmp_path / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    lost.mkdir(parents=True)
    for name in ("history.jsonl", "failed.txt"):
        os.mkfifo(lost / name)
    assert progress(plan(tmp_path)).failed == 1
    assert failure(lost) == "why can't be read (it is no plain file)"


def test_other_scales_and_versions_are_not_mixed(copy):
    root = copy / "scale-0.01" / "Reacher-v4" / "eldt"
    config = root / "1" / "config.toml"
    whole = config.read_text()
    for old, new, reason in (
        (
            "population = 5",
            "population = 50",
            r"eldt/1 was trained with population = 50, and eldt at scale 0.01.* has 5",
        ),
        ('sirl = "', 'sirl = "9.', r"eldt/1 was trained with sirl 9\..* which can't be mixed"),
        ('mujoco = "', 'mujoco = "9.', r"eldt/1 was trained with mujoco 9\."),
        ("seed = 1001", "seed = 7", r"eldt/1 holds a run of eldt on Reacher-v4 with seed 7"),
    ):
        assert old in whole
        config.write_text(whole.replace(old, new, 1))
        with pytest.raises(SirlError, match=reason):
            read_scales(copy, EPISODES)
    config.write_text(whole)
    shutil.copytree(
        copy / "scale-0.01", copy / "scale-0.5"
    )  # too short to count as finished there, and named all the same
    with pytest.raises(SirlError, match=r"scale-0.5/.*/0 was trained with population = 5, and eldt at scale 0.5"):
        read_scales(copy, EPISODES)
    shutil.rmtree(copy / "scale-0.5")
    (copy / "scale-large").mkdir()
    with pytest.raises(SirlError, match="scale-large is not named after a scale"):
        scales_in(copy)


def test_what_was_left_half_written_is_done_again(copy, capsys):
    run = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    whole = {name: (run / name).read_bytes() for name in ("history.jsonl", "unseen.json")}
    for name, content in whole.items():
        (run / name).write_bytes(content[: len(content) // 2])
        assert cli.main([*SMALL, "--runs", "2", "--out", str(copy)]) == 0
        assert "to do: 1 run" in capsys.readouterr().out
        assert {name: (run / name).read_bytes() for name in whole} == whole


def test_a_reason_is_told_once(capsys, tmp_path):
    asked = ["sweep", "voting", "--env", "Nope-v0", "--runs", "2", "--workers", "1", "--out", str(tmp_path)]
    assert cli.main(asked) == 1
    out, err = capsys.readouterr()
    assert " episodes, not counting Nope-v0" in out
    assert err.count("no environment is registered as 'Nope-v0'") == 1
    assert "And 7 other runs for the same reason." in err


def test_a_run_that_failed_is_named_in_a_report_too(copy, capsys):
    run = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    shutil.rmtree(run)
    run.parent.joinpath("1").write_text("no directory")
    assert cli.main([*SMALL, "--runs", "2", "--out", str(copy)]) == 1
    assert "Reacher-v4/eldt/1: " in capsys.readouterr().err
    run.unlink()
    run.mkdir()
    (run / "failed.txt").write_text("the pole broke")
    assert cli.main([*REPORT, "--out", str(copy)]) == 0
    assert "eldt/1: the pole broke" in capsys.readouterr().err


DAMAGE = {
    "unseen.json": (b"{", "unseen.json can't be read"),
    "champion.json": (b"{", "champion.json"),
    "config.toml": (b"=", "config.toml is damaged"),
    "history.jsonl": (b"{", "history.jsonl is damaged"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_run_is_named_and_the_others_are_reported(copy, capsys, name):
    run = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    content, reason = DAMAGE[name]
    (run / name).write_bytes(content)
    assert not is_sound(plan(copy), cells(["Reacher-v4"], ["eldt"])[0], 1)
    found = reproduction(copy, EPISODES)
    assert [(one.directory, one.damaged) for one in found.left] == [(run, True)]
    assert reason in found.left[0].why
    if name == "champion.json":
        assert cli.main([*REPORT, "--out", str(copy)]) == 1
        assert "sirl: left out: " in capsys.readouterr().err
        assert "- `scale-0.01/Reacher-v4/eldt/1`: " in (copy / "report.md").read_text()


def test_runs_that_are_in_no_table_are_named_at_every_scale(copy, capsys):
    lost = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    (lost / "config.toml").unlink()
    shorter = copy / "scale-0.01" / "Reacher-v4" / "sirl-lb" / "0"
    play_champions(shorter, 2)
    begun = copy / "scale-0.5" / "Reacher-v4" / "eldt" / "4"
    begun.mkdir(parents=True)
    (copy / "scale-0.01" / "Reacher-v4" / "eldt" / "0" / "failed.txt").write_text("of an earlier try")
    found = {one.directory: one for one in reproduction(copy, EPISODES).left}
    assert set(found) == {lost, shorter, begun}
    assert "no config.toml" in found[lost].why
    assert found[lost].damaged
    assert "have played 2 unseen episodes, and the others 3" in found[shorter].why
    assert found[begun].why == "it has not begun."


def test_what_has_been_played_is_not_lost_to_fewer_episodes(copy, capsys):
    before = files(copy / "scale-0.01")
    fewer = [text if text != str(EPISODES) else "2" for text in SMALL]
    assert cli.main([*fewer, "--runs", "2", "--out", str(copy)]) == 1
    assert "is less than the 3 unseen episodes" in capsys.readouterr().err
    assert files(copy / "scale-0.01") == before


def test_a_note_of_an_earlier_failure_does_not_outlive_it(copy):
    run = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    (run / "failed.txt").write_text("of an earlier try")
    assert progress(plan(copy)).failed == 0
    assert fill(plan(copy), Place(1), lambda _: None) == []
    assert not (run / "failed.txt").exists()


def test_a_run_that_another_process_is_at_has_not_failed(copy):
    run = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1"
    (run / "history.jsonl").unlink()
    other = RunDirectory(run)
    other.lock()
    (found,) = fill(plan(copy), Place(1), lambda _: None)
    other.unlock()
    assert found.in_use
    assert not (run / "failed.txt").exists()


def test_a_run_that_raises_is_noted_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    def broken(job):
        Path(job.out).mkdir(parents=True)
        raise ZeroDivisionError("no gear")

    monkeypatch.setattr("sirl.experiments.work.open_run", broken)
    failed = fill(plan(tmp_path, "1", ["Reacher-v4"]), Place(1), lambda _: None)
    assert len(failed) == 3
    assert all("it raised ZeroDivisionError: no gear" in one.reason for one in failed)
    assert failure(Path(failed[0].job.out)).startswith("it raised ZeroDivisionError: no gear")
    monkeypatch.setattr("sirl.experiments.work.fill", lambda *_: [])
    cli.main([*COMMAND, "--tasks", "Reacher-v4", "--methods", "laws", "--runs", "1", "--out", str(tmp_path)])
    assert "to do: 1 run, not counting laws, which can't be told beforehand; then" in capsys.readouterr().out


def test_runs_of_other_settings_or_simulators_are_not_pooled(copy):
    config = copy / "scale-0.01" / "Reacher-v4" / "eldt" / "1" / "config.toml"
    whole = config.read_text()
    for old, new, reason in (
        ("discount = 0.9", "discount = 0.5", r"eldt/1 was trained with discount = 0.5 and \S+eldt/0 with 0.9"),
        ('simulator = "mujoco"', 'simulator = "envpool"', "simulator = envpool .* can't be pooled"),
    ):
        assert old in whole
        config.write_text(whole.replace(old, new, 1))
        with pytest.raises(SirlError, match=reason):
            read_scales(copy, EPISODES)
    config.write_text(whole.replace("instruments_every = 25", "instruments_every = 0"))
    assert read_scales(copy, EPISODES).left == []
    for path in copy.glob("scale-0.01/Reacher-v4/eldt/*/config.toml"):
        path.write_text(path.read_text().replace('simulator = "mujoco"', 'simulator = "envpool"', 1))
    assert "eldt (EnvPool)" in page_text(reproduction(copy, EPISODES), "figures")


def test_cost_is_told_first(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("sirl.experiments.work.fill", lambda *_: [Failed(Job("x", 0, "x", {}), "nothing")])
    assert cli.main([*COMMAND, "--tasks", "Reacher-v4", "--runs", "3", "--out", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "9 runs in 3 cells at scale 0.01 of the paper's size" in out
    assert "to do: 9 runs, up to 1,170 episodes" in out
    full = remaining(Plan(tmp_path, 1.0, cells(["Swimmer-v4"], ["sirl-lb"]), range(10), 100))
    assert (full.episodes, full.steps) == (3_300_000, 3.3e9)
    assert full.hours == pytest.approx(3.3e9 / 13_300 / 3600)
    gymnasium, envpool = (
        remaining(Plan(tmp_path, 1.0, cells(["LunarLander-v3"], ["sirl-lb"], faster), range(2), 100))
        for faster in (False, True)
    )
    assert gymnasium.episodes == envpool.episodes
    assert gymnasium.hours > 3 * envpool.hours, "each simulator has a pace of its own"
    other = remaining(Plan(tmp_path, 1.0, [Cell("CartPole-v1", "x", "eldt")], range(1), 100))
    assert (other.hours, other.unknown) == (0, ["CartPole-v1"])


def test_scale_shrinks_three_things_together():
    for task in TASKS:
        for cell in cells([task]):
            full = preset_settings(task, cell.method)
            assert cell.settings(1.0) == full
            small = cell.settings(0.1)
            assert (small.population, small.generations) == (50, 10)
            assert small.collaborative_iterations == full.collaborative_iterations // 10
            assert small.individual_episodes == full.individual_episodes
    assert scaled(preset_settings("Reacher-v4", "sirl-lb"), 1e-6).population == 4


def test_methods_have_seeds_of_their_own():
    assert len({cell.first_seed for cell in cells(["Reacher-v4"])}) == 3
    assert cells(envpool=True)[3].simulator == "envpool"


def test_progress_is_read_from_the_directories(done):
    assert progress(plan(done, "3")) == (12, 18, 24, 36, 0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--tasks", "Hoper-v4"], "there is no task 'Hoper-v4' to reproduce; did you mean 'Hopper-v4'?"),
        (["--methods", "dqn"], "there is no method 'dqn' to reproduce; choose from"),
        (["--scale", "2"], "scale = 2 is not allowed: give a number above 0"),
        (["--runs", "none"], "runs = 'none' is not allowed: give a number such as 10, a part such as 5-9, or 0"),
        (["--runs", "9-5"], "runs = '9-5' is not allowed"),
        (["--episodes", "0"], "episodes = 0 is not allowed"),
        (["--workers", "0"], "workers = 0 is not allowed"),
        (
            ["--report", "--out", "nowhere"],
            "have played 100 unseen episodes: start some with `sirl reproduce --out nowhere`",
        ),
    ],
)
def test_bad_questions(refusal, arguments, reason):
    assert reason in refusal("reproduce", *arguments)


def test_a_page_needs_its_marks():
    assert spliced("a\n<!-- x -->\nold\n<!-- end of x -->\nb", "new\n", "x", "page") == (
        "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb"
    )
    with pytest.raises(SirlError, match="page has no <!-- x -->"):
        spliced("a", "new", "x", "page")


def test_complexity_of_the_printed_tree_is_the_papers():
    policy = sirl.load("paper:InvertedPendulum")
    played = play(policy, 2)
    assert played.macs == [5000, 5000]
    assert played.lengths == [1000, 1000]


def test_complexity_counts_the_splits_that_are_visited():
    """Against a walk, node by node, of what a plain loop observes."""
    policy = sirl.load("paper:LunarLander")
    starts, seen = [], []

    class Noting(gym.Wrapper):
        def reset(self, *, seed=None, options=None):
            starts.append(seed)
            return self.env.reset(seed=seed, options=options)

    sirl.evaluate(policy, lambda: Noting(gym.make("LunarLander-v3")), episodes=1, workers=1)
    with gym.make("LunarLander-v3") as env:
        observation, _ = env.reset(seed=starts[-1])
        over = False
        while not over:
            seen.append(observation)
            observation, _, terminated, truncated, _ = env.step(policy.predict(observation)[0])
            over = terminated or truncated
    tree, total = policy.tree, 0
    for observation in seen:
        node = tree.root
        while node >= 0:
            total += np.count_nonzero(tree.weights[node]) + 1
            node = tree.children[node, 0 if tree.weights[node] @ observation < tree.thresholds[node] else 1]
    assert play(policy, 1).macs == [total]
    assert decision_costs(tree, policy.task).max() <= 9 * tree.depth


def test_printed_trees_need_no_run_and_each_task_is_taken_from_its_largest_scale(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sirl.experiments.supplement._COARSE", 2)
    asked = ["reproduce", "--runs", "0", "--workers", "1", "--out", str(tmp_path), "--tasks"]
    assert cli.main([*asked, "Reacher-v4,InvertedPendulum-v4", "--scale", "0.1", "--episodes", "2"]) == 0
    assert cli.main([*asked, "Reacher-v4", "--scale", "0.5", "--episodes", "3"]) == 0
    assert "There are no runs yet." in capsys.readouterr().out
    assert [(row["task"], row["episodes"]) for row in read_supplement(tmp_path, "printed")] == [
        ("InvertedPendulum-v4", "2"),
        ("Reacher-v4", "3"),
    ]
    assert {row["task"] for row in read_supplement(tmp_path, "coefficients")} == {"InvertedPendulum-v4"}
    assert "Swimmer" not in (tmp_path / "report.md").read_text()
    file = tmp_path / "scale-0.5" / "supplement" / "Reacher-v4-printed.csv"
    before = file.read_bytes()
    assert cli.main([*asked, "Reacher-v4", "--scale", "0.5", "--episodes", "2"]) == 0
    assert file.read_bytes() == before, "fewer episodes replace nothing"
    assert cli.main([*asked, "Reacher-v4", "--scale", "0.5", "--episodes", "4"]) == 0
    assert read_supplement(tmp_path, "printed")[1]["episodes"] == "4"


def test_coefficients_of_the_printed_trees():
    printed = {one.name: one.printed(sirl.load(f"paper:{one.tree}")) for one in COEFFICIENTS}
    assert printed == pytest.approx({"k_v": 3.05, "k_ω": 0.334, "c_4": 0.811, "c_5": 1.387}, abs=0.005)
    for one in COEFFICIENTS:
        policy = sirl.load(f"paper:{one.tree}")
        same = one.changed(policy, printed[one.name])
        np.testing.assert_allclose(same.tree.weights, policy.tree.weights)
        assert one.printed(one.changed(policy, 0.5)) == pytest.approx(0.5)
