"""Several runs side by side."""

import os
from pathlib import Path

import pytest

import sirl
from sirl.engine import make_engine
from sirl.runs.campaign import Job, do_each, nothing, read_finished, train_all

SMALL = {
    "method": "sirl-lb",
    "population": 8,
    "generations": 3,
    "individual_episodes": 1,
    "collaborative_copies": 2,
    "collaborative_iterations": 1,
    "candidates": 2,
    "validation_episodes": 2,
    "max_steps": 30,
}


def jobs(directory, n=3, **changes):
    return [Job("InvertedPendulum-v4", seed, str(directory / str(seed)), SMALL | changes) for seed in range(n)]


def test_runs_side_by_side_are_the_runs_one_by_one(tmp_path):
    found = train_all(jobs(tmp_path / "together"), episodes=5, workers=2)
    for seed, run in enumerate(found):
        alone = sirl.train("InvertedPendulum-v4", seed=seed, out=tmp_path / f"alone-{seed}", workers=1, **SMALL)
        assert run.champion.to_json() == alone.champion.to_json()
        assert [r.best for r in run.history] == [r.best for r in alone.history]
        score = sirl.evaluate(alone.champion, episodes=5, workers=1, max_steps=30)
        assert (run.score.episodes, run.score.mean, run.score.std) == (5, score.mean, score.std)


def test_what_was_stopped_goes_on_and_what_is_finished_is_not_trained_again(tmp_path):
    stopped, whole = jobs(tmp_path, 2)
    run = sirl.Training("InvertedPendulum-v4", seed=0, out=stopped.out, workers=1, **SMALL)
    next(iterator := run.generations())
    iterator.close()
    train_all([whole], episodes=2, workers=1)
    seconds = [record.seconds for record in read_finished(whole.out).history]
    first, second = train_all([stopped, whole], episodes=2, workers=1)
    assert first.history[0] == run.history[0]
    assert len(first.history) == 3
    assert [record.seconds for record in second.history] == seconds


def test_one_failure_stops_no_other_run_and_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = jobs(Path(), 2)
    train_all([first], episodes=2, workers=1)
    content = (tmp_path / "0" / "champion.json").read_bytes()
    other = first._replace(options=SMALL | {"population": 10})
    with pytest.raises(sirl.SirlError, match=r"the run in \S+/0: \S+/0 holds another run"):
        train_all([other, second], episodes=2, workers=1)
    assert (tmp_path / "0" / "champion.json").read_bytes() == content
    assert len(read_finished(tmp_path / "1").history) == 3


def test_one_crash_stops_no_other_run_and_is_named(tmp_path):
    def crash():
        os._exit(3)

    bad = Job(crash, 0, str(tmp_path / "bad"), SMALL)
    with pytest.raises(
        sirl.SirlError, match=r"^the run in \S+/bad: it ended its worker process 3 times, last with exit"
    ):
        train_all([bad, *jobs(tmp_path)], episodes=2, workers=2)
    assert [len(read_finished(tmp_path / str(seed)).history) for seed in range(3)] == [3, 3, 3]


def test_an_exception_of_any_kind_stops_no_other_run_and_is_kept(tmp_path):
    def broken():
        raise RecursionError("too deep")

    odd = Job("InvertedPendulum-v4", 7, str(tmp_path / "odd"), SMALL | {"features": 5})
    bad = Job(broken, 0, str(tmp_path / "bad"), SMALL)
    with pytest.raises(sirl.SirlError, match=r"the run in \S+/odd: "):
        train_all([odd, bad, *jobs(tmp_path, 1)], episodes=2, workers=1)
    assert len(read_finished(tmp_path / "0").history) == 3


def test_what_is_no_sentence_of_ours_leaves_its_traceback(tmp_path):
    def work(job):
        if job.seed == 0:
            raise ZeroDivisionError("no gear")

    asked = jobs(tmp_path, 2)
    Path(asked[0].out).mkdir()
    with make_engine("local", nothing, 1, None) as team:
        (failed,) = do_each(team, work, asked)
    assert str(failed).startswith(f"the run in {asked[0].out}: it raised ZeroDivisionError: no gear (where, is in ")
    assert "Traceback" in (Path(asked[0].out) / "log.txt").read_text()


def test_a_longer_run_is_not_finished_until_it_is_scored_again(tmp_path):
    (job,) = jobs(tmp_path, 1)
    train_all([job], episodes=2, workers=1)
    longer = job._replace(options=SMALL | {"generations": 4})
    (run,) = train_all([longer], episodes=3, workers=1)
    assert (len(run.history), run.score.episodes) == (4, 3)


def test_a_directory_is_for_one_run(tmp_path):
    (job,) = jobs(tmp_path, 1)
    with pytest.raises(sirl.SirlError, match="same directory"):
        train_all([job, job], episodes=2, workers=1)
    with pytest.raises(sirl.SirlError, match="give a model file, a run directory that has a champion"):
        read_finished(tmp_path / "nowhere")
