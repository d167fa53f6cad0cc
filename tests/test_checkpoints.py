"""A run that was stopped, however hard, goes on to the same end."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import msgspec
import pytest

import sirl
from sirl.cli.main import main
from sirl.runs.checkpoints import Checkpoints
from sirl.runs.directory import read_config, read_history
from sirl.search import evolution

SMALL = {
    "method": "sirl-lb",
    "population": 20,
    "generations": 5,
    "individual_episodes": 1,
    "collaborative_copies": 2,
    "collaborative_iterations": 2,
    "candidates": 2,
    "validation_episodes": 2,
    "workers": 1,
}


def outcome(path):
    """What must not depend on how often a run was stopped: everything but wall time."""
    history = [msgspec.structs.replace(record, seconds=0.0) for record in read_history(path)]
    champions = [(Path(path) / name).read_bytes() for name in ("champion.json", "champion-training.json")]
    return champions, history


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing stopped."""
    path = tmp_path_factory.mktemp("whole") / "run"
    sirl.train("CartPole-v1", out=path, **SMALL)
    return path


def stopped(path, after):
    """A run in ``path`` that ended without a word after so many generations."""
    run = sirl.Training("CartPole-v1", out=path, **SMALL)
    generations = run.generations()
    for _ in range(after):
        next(generations)
    generations.close()
    return path


def resumed(path):
    """The run of a directory again, and what is said about it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = sirl.Training.resume(path, workers=1)
    return run, [str(warning.message) for warning in told]


@pytest.mark.parametrize("after", [0, 1, 4, 5])
def test_a_resumed_run_ends_as_if_it_had_never_stopped(tmp_path, whole, after):
    path = stopped(tmp_path / "run", after)
    run = sirl.Training.resume(path, workers=1)
    assert len(list(run.generations())) == 5 - after
    assert outcome(path) == outcome(whole)
    assert run.champion.to_json() == (whole / "champion.json").read_bytes()


def test_three_checkpoints_are_kept(whole):
    assert [p.name for p in sorted((whole / "checkpoints").iterdir())] == [
        "00000003.ckpt",
        "00000004.ckpt",
        "00000005.ckpt",
    ]


def test_a_run_can_go_on_for_longer_than_first_asked(tmp_path, whole):
    path = tmp_path / "run"
    sirl.train("CartPole-v1", out=path, **SMALL | {"generations": 3})
    run = sirl.Training.resume(path, workers=1, generations=5)
    assert [r.generation for r in run.generations()] == [3, 4]
    assert outcome(path) == outcome(whole)


def names(path):
    return sorted(p.name for p in (path / "checkpoints").iterdir())


def test_checkpoints_by_the_minute_still_keep_the_beginning_and_the_end(tmp_path, whole):
    path = tmp_path / "run"
    sirl.train("CartPole-v1", out=path, checkpoint_minutes=60, **SMALL)
    assert names(path) == ["00000001.ckpt", "00000005.ckpt"]


def stop_between_checkpoints(path):
    """A run that was killed in its fourth generation, and its last checkpoint is of the first."""
    run = sirl.Training("CartPole-v1", out=path, checkpoint_minutes=60, **SMALL)
    generations = run.generations()
    for _ in range(4):
        next(generations)
    generations.close()
    return {name: (path / name).read_bytes() for name in ("history.jsonl", "champion.json", "champion-training.json")}


@pytest.mark.parametrize("delete", [False, True], ids=["killed before the next", "all deleted"])
def test_history_and_champion_are_never_replaced_by_less(tmp_path, whole, delete):
    path = tmp_path / "run"
    earned = stop_between_checkpoints(path)
    if delete:
        shutil.rmtree(path / "checkpoints")
    run, told = resumed(path)
    kept = {name: name.replace(".", "-before.") for name in earned}
    assert told == [f"{path / name} is not what the run goes on from, and is kept as {kept[name]}." for name in earned]
    assert all((path / kept[name]).read_bytes() == content for name, content in earned.items())
    assert len(list(run.generations())) == (5 if delete else 4)
    assert outcome(path) == outcome(whole)


def test_a_champion_that_was_edited_is_kept(tmp_path, whole):
    path = stopped(tmp_path / "run", 3)
    lines = (path / "champion.json").read_text().splitlines()
    mine = "\n".join(line for line in lines if '"checksum"' not in line)
    (path / "champion.json").write_text(mine)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(
        sirl.SirlError, match=r"champion\.json was edited, .*: copy it elsewhere, or add --replace-edited"
    ):
        sirl.Training.resume(path, workers=1)
    assert before == {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.warns(UserWarning, match=r"champion\.json is not what the run goes on from"):
        list(sirl.Training.resume(path, workers=1, replace_edited=True).generations())
    assert (path / "champion-before.json").read_text() == mine
    assert outcome(path) == outcome(whole)


def test_new_checkpoints_last_where_damaged_ones_had_later_names(tmp_path, whole):
    """As after the advice of the message: the newest three are damaged, and an older one was restored by hand."""
    first = (stopped(tmp_path / "first", 1) / "checkpoints" / "00000001.ckpt").read_bytes()
    path = shutil.copytree(whole, tmp_path / "run")
    for file in (path / "checkpoints").iterdir():
        file.write_bytes(b"damaged")
    (path / "checkpoints" / "00000001.ckpt").write_bytes(first)
    run, told = resumed(path)
    assert sum("is damaged" in text for text in told) == 3
    generations = run.generations()
    next(generations)
    generations.close()
    assert names(path) == [
        "00000001.ckpt", "00000002.ckpt", "00000003-damaged.ckpt", "00000004-damaged.ckpt", "00000005-damaged.ckpt"
    ]  # fmt: skip
    run = sirl.Training.resume(path, workers=1)
    assert run.state.generation == 2
    list(run.generations())
    assert outcome(path) == outcome(whole)
    assert names(path) == sorted(f"{number:08d}{damaged}.ckpt" for number in (3, 4, 5) for damaged in ("", "-damaged"))


def test_a_checkpoint_under_another_name_is_not_taken_for_a_later_one(tmp_path, whole):
    path = stopped(tmp_path / "run", 3)
    shutil.copy(path / "checkpoints" / "00000001.ckpt", path / "checkpoints" / "00000009.ckpt")
    with pytest.warns(UserWarning, match=r"00000009\.ckpt is damaged \(it holds generation 1\)"):
        run = sirl.Training.resume(path, workers=1)
    assert run.state.generation == 3


def test_what_a_new_run_is_in_is_synced(tmp_path, monkeypatch):
    synced = []
    sync = os.fsync

    def note(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    monkeypatch.setattr("sirl.files.os.fsync", note)
    stopped(tmp_path / "new" / "run", 1)
    run = tmp_path / "new" / "run"
    assert {str(place) for place in (tmp_path, tmp_path / "new", run, run / "checkpoints")} <= set(synced)
    assert str(run / "history.jsonl") in synced


@pytest.mark.parametrize("name", [".lock", "history.jsonl", "log.txt", ".config.toml.part", ".champion.json.part"])
def test_a_pipe_in_a_run_directory_is_not_waited_for(tmp_path, whole, name):
    path = stopped(tmp_path / "run", 1)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    code = "import sys; from sirl.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "train", "--resume", str(path), "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    if name == ".lock":
        assert done.returncode == 1
        assert f"{path}/.lock can't be written (it is no plain file)" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert outcome(path) == outcome(whole)


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "foreign"])
def test_a_damaged_checkpoint_is_left_out_with_a_warning_and_the_one_before_is_used(tmp_path, whole, damage):
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    newest = path / "checkpoints" / "00000005.ckpt"
    content = bytearray(newest.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 4
    newest.write_bytes({"truncate": content[:-7], "flip": content, "empty": b"", "foreign": b"PK\x03\x04"}[damage])
    run, told = resumed(path)
    assert "00000005.ckpt is damaged" in told[0]
    assert all("is not what the run goes on from, and is kept as" in text for text in told[1:])
    assert [r.generation for r in run.generations()] == [4]
    assert outcome(path) == outcome(whole)


def test_any_flipped_bit_or_lost_byte_is_noticed(whole, tmp_path):
    content = sorted((whole / "checkpoints").iterdir())[-1].read_bytes()
    run = sirl.Training.resume(shutil.copytree(whole, tmp_path / "copy"), workers=1)
    for place in range(0, len(content), len(content) // 60):
        for broken in (content[:place], content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]):
            directory = tmp_path / "checkpoints"
            directory.mkdir(exist_ok=True)
            (directory / "00000001.ckpt").write_bytes(broken)
            found, told = Checkpoints(directory, run.config.digest()).load_latest(run.search, run.task)
            assert found is None
            assert len(told) == 1


def test_a_checkpoint_of_another_run_is_refused(tmp_path, whole):
    path = stopped(tmp_path / "run", 1)
    shutil.copy(whole / "checkpoints" / "00000005.ckpt", path / "checkpoints")
    text = (path / "config.toml").read_text().replace("seed = 0", "seed = 1")
    (path / "config.toml").write_text(text)
    with pytest.raises(sirl.SirlError, match="belongs to a run with other settings"):
        sirl.Training.resume(path, workers=1)


def test_other_versions_are_told(tmp_path, whole):
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    text = (path / "config.toml").read_text().replace('mujoco = "', 'mujoco = "0.').replace('sirl = "', 'sirl = "9.')
    (path / "config.toml").write_text(text)
    _, told = resumed(path)
    assert told[0].startswith(f"the run was started with sirl 9.{sirl.__version__} and goes on with {sirl.__version__}")
    assert told[1].startswith("the run was started with mujoco 0.")
    assert (path / "config.toml").read_text() == text, "it was over, so nothing was computed by another version"


def test_a_run_that_went_on_by_another_version_says_so_for_good(tmp_path):
    path = stopped(tmp_path / "run", 1)
    config = path / "config.toml"
    now = read_config(path).versions["mujoco"]
    config.write_text(config.read_text().replace('mujoco = "', 'mujoco = "0.'))
    for warned in (1, 0):
        run, told = resumed(path)
        run.directory.unlock()
        assert len(told) == warned
        assert read_config(path).versions["mujoco"] == f"0.{now}, then {now}"


def test_a_second_process_is_refused(tmp_path, capsys):
    path = stopped(tmp_path / "run", 1)
    with (path / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["train", "--resume", str(path)]) == 1
    assert "another process is at work" in capsys.readouterr().err


def test_the_command_line_says_how_to_go_on_and_does(tmp_path, whole, capsys, monkeypatch):
    path = tmp_path / "run"
    flags = [word for k, v in SMALL.items() for word in (f"--{k.replace('_', '-')}", str(v))]
    step, calls = evolution.next_generation, []

    def stops_in_the_third(*order):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return step(*order)

    monkeypatch.setattr(evolution, "next_generation", stops_in_the_third)
    assert main(["train", "CartPole-v1", "--out", str(path), *flags]) == 130
    assert f"to go on: sirl train --resume {path}" in capsys.readouterr().err
    assert main(["train", "--resume", str(path), "--workers", "1"]) == 0
    assert "generation 3/5" in capsys.readouterr().out
    assert outcome(path) == outcome(whole)


def test_resume_takes_no_other_settings(tmp_path, whole, capsys):
    assert main(["train", "--resume", str(whole), "--population", "7", "--seed", "3"]) == 1
    assert "can't be given population, seed" in capsys.readouterr().err
    assert main(["train"]) == 1
    assert "name the task" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_killed_run_goes_on_to_the_same_end(tmp_path, whole, number):
    path = tmp_path / "run"
    flags = [word for k, v in SMALL.items() for word in (f"--{k.replace('_', '-')}", str(v))]
    command = [sys.executable, "-m", "sirl", "train", "CartPole-v1", "--out", str(path), *flags, "--workers", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "generation 2/" in line:
            break
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 143), err
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _workers_of(path):
        time.sleep(0.05)
    assert not _workers_of(path)
    run = sirl.Training.resume(path, workers=2)
    list(run.generations())
    assert outcome(path) == outcome(whole)


def _workers_of(path):
    """Processes that still mention the run, or whose parent was killed, would show up here."""
    found = subprocess.run(["pgrep", "-f", str(path)], capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_a_champion_edited_by_the_command_is_kept(tmp_path, whole):
    """Whatever generation it was of: an edit is never taken for an earlier champion."""
    path = stopped(tmp_path / "run", 3)
    champion = sirl.load(path)
    edited = champion.changed(champion.tree, "edited by hand")
    early = sirl.Policy(edited.task, edited.tree, msgspec.structs.replace(edited.origin, generation=-1))
    early.save(path / "champion.json")
    with pytest.raises(sirl.SirlError, match=r"champion\.json was edited"):
        sirl.Training.resume(path, workers=1)
    with pytest.warns(UserWarning, match=r"champion\.json is not what the run goes on from"):
        list(sirl.Training.resume(path, workers=1, replace_edited=True).generations())
    assert (path / "champion-before.json").read_bytes() == early.to_json()
    assert outcome(path) == outcome(whole)
