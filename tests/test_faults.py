"""What a run survives: the small form of faults/faults.py, faults/hostile.py and faults/fuzz.py."""

import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import tracemalloc
import warnings
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faults
import hostile
import sirl
from conftest import TINY, Tiny
from sirl.engine import local_engine, processes
from sirl.engine.child import Child, DiedError
from sirl.engine.processes import Processes
from sirl.errors import EnvironmentFailure, SirlError
from sirl.runs.checkpoints import Checkpoints
from sirl.runs.directory import read_config, read_history
from sirl.runs.training import Training
from watched import flags, outcome

SMALL = TINY | {"generations": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run that nothing happened to."""
    return sirl.train("CartPole-v1", out=tmp_path_factory.mktemp("whole") / "run", **SMALL)


def test_a_full_disk_at_any_moment_costs_nothing_that_was_earned(tmp_path, run):
    whole, room = outcome(run.directory.path), 0
    while True:
        path = tmp_path / str(room)
        code, err = faults.run_on_full_disk(room, path, SMALL)
        if code == 0:
            break
        assert code == 1
        assert err.startswith(f"sirl: error: {path}")
        assert "can't be written (No space left on device)" in err
        assert "Traceback" not in err
        begun = (path / "config.toml").exists()
        again = Training.resume(path, workers=1) if begun else Training("CartPole-v1", out=path, **SMALL)
        list(again.generations())
        assert outcome(path) == whole
        assert not list(path.rglob("*.part"))
        room += 1
    assert room > 10


def test_output_that_goes_to_a_full_disk():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "sirl", "show", "paper:LunarLander"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "sirl: error: the system refuses (No space left on device): give it what it lacks.\n"


def test_the_order_of_the_work_does_not_matter(run):
    def engine(arena):
        return faults.Shuffled(local_engine(arena, 3), random.Random(1))

    again = sirl.train("CartPole-v1", **SMALL | {"engine": engine})
    assert again.champion.to_json() == run.champion.to_json()


def test_the_hash_seed_does_not_matter(run, tmp_path):
    command = [sys.executable, "-m", "sirl", "train", "CartPole-v1", "--out", str(tmp_path / "run"), *flags(SMALL)]
    subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "4242"}, check=True, capture_output=True)
    assert outcome(tmp_path / "run") == outcome(run.directory.path)


class Stillborn(Child):
    """A worker process of which the first few end before they have started."""

    left = 0

    def ask(self, call, timeout):
        if type(self).left:
            type(self).left -= 1
            raise DiedError
        return super().ask(call, timeout)


def test_a_worker_that_dies_before_it_has_started_costs_its_item_no_attempt(monkeypatch):
    monkeypatch.setattr(processes, "Child", Stillborn)
    monkeypatch.setattr("sirl.engine.child.GRACE", 0.0)
    monkeypatch.setattr(processes, "PATIENCE", 4)
    monkeypatch.setattr(Stillborn, "left", 3)
    with Processes(lambda: None, workers=1, attempts=2) as engine:
        assert engine.map(lambda _, item: item, [7]) == [7]
    monkeypatch.setattr(Stillborn, "left", 99)
    monkeypatch.setattr(processes, "LONG_ENOUGH", 0.0)
    refused = pytest.raises(EnvironmentFailure, match=r"^worker processes end before they have started: ")
    with Processes(lambda: None, workers=1, attempts=2) as engine, refused:
        engine.map(lambda _, item: item, [7])


def test_a_worker_that_others_kill_costs_its_item_no_attempt(tmp_path):
    def die_four_times(_, item):
        deaths = len(list(tmp_path.iterdir()))
        if deaths < 4:
            (tmp_path / str(deaths)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with Processes(lambda: None, workers=1, attempts=2) as engine:
        assert engine.map(die_four_times, [7]) == [7]


def test_workers_that_are_killed_faster_than_they_start_stop_a_run_only_after_a_while(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(processes, "PATIENCE", 3)

    def die_five_times(_, item):
        deaths = len(list(tmp_path.iterdir()))
        if deaths < 5:
            (tmp_path / str(deaths)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with Processes(lambda: None, workers=1) as engine:
        assert engine.map(die_five_times, [7]) == [7]
    assert [record.message for record in caplog.records] == [
        "item 0 has lost 3 worker processes and goes on: see if memory runs out"
    ]

    monkeypatch.setattr(processes, "LONG_ENOUGH", 0.0)
    refused = pytest.raises(EnvironmentFailure, match=r"^item 0 ended its worker process 3 times, last with SIGKILL: ")
    with Processes(lambda: None, workers=1) as engine, refused:
        engine.map(lambda _, item: os.kill(os.getpid(), signal.SIGKILL), [7])


@pytest.mark.parametrize("workers", [1, 2])
def test_an_environment_that_exits_is_named(workers):
    def leave(_):
        sys.exit(0)

    with pytest.raises(EnvironmentFailure, match=r"raised SystemExit: 0 in step; fix the environment\.$"):
        sirl.train(lambda: Tiny(behave=leave), **SMALL | {"workers": workers})


def test_rewards_that_do_not_add_up_are_refused(tmp_path):
    step = (np.zeros(2, np.float32), -1e308, False, True, {})
    with pytest.raises(
        EnvironmentFailure, match=r"returned -1e\+308 as reward, too large to add up; fix the environment"
    ):
        sirl.train(lambda: Tiny(behave=lambda _: step), out=tmp_path / "run", **SMALL)


def test_an_environment_that_fails_to_close_costs_nothing(sirl_command, register):
    class Stubborn(Tiny):
        made = 0

        def __init__(self):
            super().__init__()
            Stubborn.made += 1

        def close(self):
            if Stubborn.made > 1:
                raise RuntimeError("the motor is on fire")

    code, out, err = sirl_command("train", register(Stubborn), "--out", "run", *flags(SMALL))
    assert code == 0
    assert "score  " in out
    assert "Traceback" not in err


def test_a_run_that_was_killed_before_it_had_begun_can_begin_again(tmp_path, run):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").touch()
    (tmp_path / "run" / ".config.toml.part").write_text("env = ")
    sirl.train("CartPole-v1", out=tmp_path / "run", **SMALL)
    assert outcome(tmp_path / "run") == outcome(run.directory.path)


def test_without_a_good_checkpoint_a_run_is_left_as_it_is(tmp_path, run):
    path = shutil.copytree(run.directory.path, tmp_path / "run")
    (path / "checkpoints" / "00000001.ckpt").write_bytes(b"PK")
    with pytest.raises(
        SirlError, match=r"is damaged .*There is none: restore one, or train again in another directory"
    ):
        Training.resume(path, workers=1)
    assert outcome(path) == outcome(run.directory.path)


def test_memory_does_not_pile_up():
    training = Training(Tiny, **TINY | {"population": 6, "generations": 18})
    sizes = {}
    for record in training.generations():
        if record.generation == 3:  # it is slow, so not for what is made once
            tracemalloc.start()
        gc.collect()
        sizes[record.generation] = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    # 1 MB per 100 generations. What is loaded once makes one stretch larger, what piles up makes most of them. For some
    # generations what is traced takes the place of what was there before, and the more of it the earlier.
    assert median(sizes[later] - sizes[later - 2] for later in (13, 15, 17)) < 2 * 10_000


def test_a_checkpoint_of_the_papers_size_is_mostly_codons(tmp_path, run):
    state = run.state._replace(codons=np.zeros((500, 1000), np.int32), fitness=np.zeros(500))
    Checkpoints(tmp_path, run.config.digest()).save(run.search, state, run.history * 1000)
    assert next(tmp_path.iterdir()).stat().st_size < 1.2 * state.codons.nbytes


# Hostile files


def test_hostile_files_are_refused_or_inert(tmp_path, monkeypatch):
    outside = tmp_path / "outside"
    (outside / "elsewhere").mkdir(parents=True)
    (outside / "secret").write_text("secret")
    (outside / "elsewhere" / "00000001.ckpt").write_text("not yours")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.syspath_prepend(work)
    (work / "sirl_hostile_module.py").touch()
    counts = {"refused": 0, "inert": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in list(hostile.make_cases(work, outside))[::3]:
            try:
                if case.use is hostile.resume:
                    Training.resume(case.path, workers=1).directory.unlock()
                else:
                    case.use(case.path)
                counts["inert"] += 1
            except SirlError:
                counts["refused"] += 1
    assert min(counts.values()) > 20
    assert "sirl_hostile_module" not in sys.modules
    assert (outside / "secret").read_text() == "secret"
    assert [path.name for path in (outside / "elsewhere").iterdir()] == ["00000001.ckpt"]


def test_checkpoints_are_not_written_through_a_link(tmp_path, run):
    elsewhere = shutil.copytree(run.directory.path / "checkpoints", tmp_path / "elsewhere")
    path = shutil.copytree(run.directory.path, tmp_path / "run")
    shutil.rmtree(path / "checkpoints")
    (path / "checkpoints").symlink_to(elsewhere)
    again = Training.resume(path, workers=1, generations=2)
    with pytest.raises(SirlError, match=r"checkpoints can't be written \(it is a link to another directory\)"):
        list(again.generations())
    assert [file.name for file in elsewhere.iterdir()] == ["00000001.ckpt"]


# Loaders under hypothesis; those of models are in test_policy.py


def patches(content):
    """A few bytes anywhere, in place of a few others."""
    return st.tuples(st.integers(0, len(content)), st.binary(max_size=4) | st.just(b"[" * 5000), st.integers(0, 9)).map(
        lambda p: content[: p[0]] + p[1] + content[p[0] + p[2] :]
    )


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_mangled_config_or_history_loads_or_is_refused(run, tmp_path_factory, data):
    place = tmp_path_factory.getbasetemp()
    for name, read in {"config.toml": read_config, "history.jsonl": read_history}.items():
        (place / name).write_bytes(data.draw(patches((run.directory.path / name).read_bytes())))
        try:
            read(place)
        except SirlError as error:
            assert str(error).isprintable()  # noqa: PT017 - either way is fine


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_mangled_checkpoint_whose_checksum_fits_loads_or_is_left_out(run, tmp_path_factory, data):
    place = tmp_path_factory.getbasetemp()
    payload = (run.directory.path / "checkpoints" / "00000001.ckpt").read_bytes()[81:]
    ends = payload[:400], payload[400:-3000], payload[-3000:]  # in between are codons
    head, tail = data.draw(patches(ends[0])), data.draw(patches(ends[2]))
    (place / "00000001.ckpt").write_bytes(hostile.signed(head + ends[1] + tail))
    try:
        found, warned = Checkpoints(place, run.config.digest()).load_latest(run.search, run.task)
    except SirlError as error:
        assert str(error).isprintable()  # noqa: PT017 - either way is fine
    else:
        assert (found is None) == bool(warned)
