"""What may happen to a run directory: the small form of faults/machine.py, faults/calls.py and faults/power.py."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import machine
import power

FAULTS = Path(__file__).parents[1] / "faults"

needs_shim = pytest.mark.skipif(sys.platform != "linux" or not shutil.which("gcc"), reason="needs Linux and gcc")


def test_no_life_of_a_run_directory_loses_what_it_has():
    machine.live(20)


def test_the_machine_notices_a_loss(monkeypatch):
    """Where nothing is set aside, as it once was, a run whose checkpoints are gone begins again over what it had."""
    monkeypatch.setattr("sirl.runs.directory.set_aside", lambda path, why: path)
    life = machine.Life()
    life.begin()
    life.finish()
    life.delete_all_checkpoints()
    with pytest.raises(AssertionError, match=r"Wealth\(history=6, champion=6, checkpoint=0\) became"):
        life.train(1, 0.0)
    life.teardown()


def test_an_edited_champion_that_can_not_be_read_is_kept_aside():
    """A life that the machine found: damage, then an edit; the run goes on, and what was written by hand is there."""
    life = machine.Life()
    life.begin()
    life.finish()
    life.damage(pattern="champion.json", which=0, at=0.0, cut=False)
    life.edit()
    life.train(0, 0.0, False)
    assert life.edited[0] in [file.read_bytes() for file in life.path.glob("champion-before*.json")]
    life.teardown()


def found_by(script, *arguments):
    command = [sys.executable, str(FAULTS / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@needs_shim
def test_a_system_call_that_fails_ends_in_a_sentence_and_costs_nothing():
    found = found_by("calls.py", "--step", "29")
    assert found["bad"] == []
    assert found["calls"] > 20


@needs_shim
def test_a_power_loss_costs_nothing_that_was_told():
    assert found_by("power.py", "--times", "15")["bad"] == []


def test_what_is_not_synced_may_be_lost_and_what_is_may_not():
    disk = power.Disk()
    for operation, path, content in [
        ("c", "/a", b""), ("w", "/a", b"old"), ("f", "/a", b""), ("f", "", b""),
        ("c", "/.b", b""), ("w", "/.b", b"new"), ("r", "/.b", b"/a"),
    ]:  # fmt: skip
        disk.do(power.Event(operation, path, content))
    left = [disk.after_power_loss(random.Random(seed)) for seed in range(200)]
    assert {names.get("/a") for names in left} >= {b"old", b"new", b"", b"\0\0\0"}
    disk.do(power.Event("f", "/a", b""))
    disk.do(power.Event("f", "", b""))
    assert all(disk.after_power_loss(random.Random(seed)) == {"/a": b"new"} for seed in range(200))
