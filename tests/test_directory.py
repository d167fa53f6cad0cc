"""The run directory: nothing in it is overwritten, and what was earned can be read again."""

import json

import numpy as np
import pytest

import sirl
from conftest import TINY, Tiny
from sirl.errors import SirlError
from sirl.runs.directory import Config, RunDirectory, fresh_path, read_config, read_history

CONFIG = Config(
    features=["x"],
    actions=["push"],
    env="Tiny-v0",
    method="eldt",
    seed=3,
    simulator="gymnasium",
    sirl="0",
    settings=sirl.Settings(stop_at=5),
)


def test_a_run_can_be_read_again(tmp_path):
    run = sirl.train(Tiny, out=tmp_path / "a" / "run", **TINY)
    assert read_history(tmp_path / "a" / "run") == run.history
    assert read_config(tmp_path / "a" / "run") == run.config
    assert sirl.load(tmp_path / "a" / "run").to_json() == run.champion.to_json()


def test_a_line_of_the_history(tmp_path):
    sirl.train(Tiny, out=tmp_path / "run", **TINY)
    lines = (tmp_path / "run" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["generation"] for line in lines] == [0, 1]
    first = json.loads(lines[0])
    assert set(first) == {
        "generation", "best", "mean", "median", "invalid", "collaborative", "individual", "validation", "champion",
        "seconds", "broke", "silent", "instruments",
    }  # fmt: skip
    assert first["collaborative"] == {"episodes": 2, "steps": 20}
    assert first["individual"]["episodes"] == 20 - first["invalid"]
    assert first["validation"] == {"episodes": 4, "steps": 40}
    assert set(first["champion"]) == {"generation", "training_score", "validation_score", "leaves", "depth"}


def test_an_empty_directory_is_taken(tmp_path):
    RunDirectory.create(tmp_path, CONFIG)
    assert read_config(tmp_path) == CONFIG


def test_a_directory_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()
    for path in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(SirlError, match=r"already exists and is not empty: go on with .*, or remove it\.$"):
            RunDirectory.create(path, CONFIG)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_place_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SirlError, match=r"file/run can't be written \(Not a directory\): give a directory where .*\.$"):
        RunDirectory.create(tmp_path / "file" / "run", CONFIG)


@pytest.mark.parametrize("options", [{"a": None}, {"a": [1, None]}, {"a": np.arange(2), "b": {"c": object}}])
def test_options_of_an_environment_may_be_anything(options, tmp_path):
    config = Config(**{name: getattr(CONFIG, name) for name in Config.__struct_fields__} | {"env_options": options})
    RunDirectory.create(tmp_path / "run", config)
    assert read_config(tmp_path / "run").settings == CONFIG.settings


@pytest.mark.parametrize("damage", [b"\xff", b"{", b'{"generation": 1}\n'])
def test_damaged_files(damage, tmp_path):
    for name, read in {"history.jsonl": read_history, "config.toml": read_config}.items():
        with pytest.raises(SirlError, match=rf"has no readable {name} \(No such file or directory\)"):
            read(tmp_path)
        (tmp_path / name).write_bytes(damage)
        with pytest.raises(SirlError, match=rf"{name} is damaged \(.*\): restore it, or train again\.$"):
            read(tmp_path)


def test_fresh_paths_do_not_exist(tmp_path):
    for name in ("run", "run-2", "run-3"):
        path = fresh_path(tmp_path / "run")
        assert path == tmp_path / name
        path.mkdir()


def test_a_lock_that_can_not_be_closed_is_let_go_of_all_the_same(tmp_path, monkeypatch):
    """Found by failing every system call in turn."""

    class Stubborn:
        def __init__(self, file):
            self.file = file

        def fileno(self):
            return self.file.fileno()

        def close(self):
            self.file.close()
            raise OSError("it complains")

    monkeypatch.setattr("sirl.runs.directory.open_to_append", lambda path: Stubborn(path.open("ab")))
    run = RunDirectory.create(tmp_path / "run", CONFIG)
    run.unlock()
    RunDirectory(tmp_path / "run").lock()
