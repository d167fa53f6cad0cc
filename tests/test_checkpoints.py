"""A run that was stopped, however hard, goes on to the same end."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import sirl
from sirl.cli.main import main
from sirl.runs.checkpoints import load_latest
from sirl.runs.directory import read_history
from sirl.search import evolution

SMALL = {
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
    return (Path(path) / "champion.json").read_bytes(), history


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


def test_checkpoints_by_the_minute_still_keep_the_end(tmp_path, whole):
    path = tmp_path / "run"
    sirl.train("CartPole-v1", out=path, checkpoint_minutes=60, **SMALL)
    assert [p.name for p in (path / "checkpoints").iterdir()] == ["00000005.ckpt"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "foreign"])
def test_a_damaged_checkpoint_is_left_out_with_a_warning_and_the_one_before_is_used(tmp_path, whole, damage):
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    newest = path / "checkpoints" / "00000005.ckpt"
    content = bytearray(newest.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 4
    newest.write_bytes({"truncate": content[:-7], "flip": content, "empty": b"", "foreign": b"PK\x03\x04"}[damage])
    with pytest.warns(UserWarning, match=r"00000005\.ckpt is damaged"):
        run = sirl.Training.resume(path, workers=1)
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
            found, warnings = load_latest(directory, run.config.digest(), run.search, run.task)
            assert found is None
            assert len(warnings) == 1


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
    text = (path / "config.toml").read_text().replace('mujoco = "', 'mujoco = "0.')
    (path / "config.toml").write_text(text)
    with pytest.warns(UserWarning, match="started with mujoco 0"):
        sirl.Training.resume(path, workers=1)


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
