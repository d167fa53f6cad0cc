"""Compiled code that is kept never outlives the code that it was made of, and is nobody else's."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sirl
from sirl import jit

TWO_FILES = {
    "calls.py": "from sirl.jit import compiled\nfrom sirl.called import value\n\n"
    "@compiled\ndef call():\n    return value()\n\nprint(call())\n",
    "called.py": "from sirl.jit import part\n\n@part\ndef value():\n    return 1\n",
}


class Package:
    """A package of two files, where a compiled function calls one of the other file."""

    def __init__(self, place):
        self.place, self.cache = place, place / "cache"
        self.package = place / "sirl"
        self.package.mkdir()
        for name in ("__init__.py", "jit.py"):
            shutil.copy(Path(sirl.__file__).parent / name, self.package)
        for name, text in TWO_FILES.items():
            (self.package / name).write_text(text, encoding="utf-8")

    def run(self):
        """What ``call`` gives in a new process, and what is said besides."""
        environment = os.environ | {"PYTHONPATH": str(self.place), "XDG_CACHE_HOME": str(self.cache)}
        command = [sys.executable, "-B", "-c", "import sirl.calls"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return int(done.stdout), done.stderr

    def change(self):
        """Let ``call`` give 2, by a change in the other file."""
        (self.package / "called.py").write_text(TWO_FILES["called.py"].replace("1", "2"), encoding="utf-8")

    def kept(self):
        """The files with compiled code."""
        return [path for path in self.cache.rglob("*") if path.is_file()]


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


def test_a_change_in_another_file_is_noticed(package):
    """Numba alone would go on with what it has kept of ``calls.py``, which has not changed."""
    assert package.run() == (1, "")
    assert package.kept()
    package.change()
    assert package.run() == (2, "")


def test_without_a_place_to_keep_it_code_is_compiled_anew_and_that_is_said(package):
    """Numba would keep it beside the source, and not see the change of another file."""
    package.cache.touch()  # where a directory should be
    value, said = package.run()
    assert value == 1
    assert "compiled code can't be kept for the next start (Not a directory): set XDG_CACHE_HOME" in said
    assert not list(package.package.rglob("*.nb?"))
    package.change()
    assert package.run()[0] == 2


@pytest.mark.parametrize("keep", [0, 20, -1], ids=["empty", "cut off", "cut off at the end"])
def test_damaged_code_is_thrown_away_and_compiled_again(package, keep):
    package.run()
    whole = {path: path.stat().st_size for path in package.kept()}
    for path in whole:
        path.write_bytes(path.read_bytes()[:keep])
    assert package.run() == (1, "")
    assert {path: path.stat().st_size for path in package.kept()} == whole


def test_what_somebody_has_put_into_the_cache_is_not_run(package):
    package.run()
    for path in package.kept():
        path.write_bytes(f"cposix\nsystem\n(S'touch {package.place}/ran'\ntR.".encode())
    assert package.run() == (1, "")
    assert not (package.place / "ran").exists()


def test_the_cache_is_the_users_alone(package):
    directory = package.cache / "sirl"
    directory.mkdir(parents=True)
    directory.chmod(0o777)
    package.run()
    assert {stat.S_IMODE(path.stat().st_mode) for path in [directory, *directory.iterdir()]} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in package.kept()} == {0o600}


@pytest.fixture
def anew(monkeypatch):
    """Choose the directory again, and set back afterwards what that has changed."""
    monkeypatch.setenv(jit._HANDED_ON, "")
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    jit._directory.cache_clear()
    yield
    jit._directory.cache_clear()


@pytest.mark.usefixtures("anew")
def test_code_is_kept_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jit._directory().parent == tmp_path / "sirl"
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "chosen"))
    jit._directory.cache_clear()
    assert jit._directory().parent == tmp_path / "chosen" / "sirl"


@pytest.mark.skipif(os.name != "posix", reason="files have no owner")
@pytest.mark.usefixtures("anew")
def test_a_cache_of_another_user_is_left_alone(monkeypatch, tmp_path):
    (tmp_path / "sirl").mkdir(mode=0o700)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    real = os.geteuid()
    monkeypatch.setattr(jit.os, "geteuid", lambda: real + 1)
    with pytest.warns(UserWarning, match=r"sirl belongs to another user\): set XDG_CACHE_HOME to a directory of yours"):
        directory = jit._directory()
    assert not directory.is_relative_to(tmp_path)
    assert os.environ[jit._HANDED_ON] == str(directory.parent)
    with pytest.raises(PermissionError):
        jit._read_own(tmp_path / "file")


@pytest.mark.usefixtures("anew")
def test_without_a_home_nothing_is_made_in_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(jit.os.path, "expanduser", lambda path: path)
    with pytest.warns(UserWarning, match=r"\(there is no home directory\)"):
        jit._directory()
    assert not list(tmp_path.iterdir())


def test_code_of_old_versions_is_tidied_away(package):
    directory = package.cache / "sirl"
    for age in range(9):
        (directory / f"compiled-{age}").mkdir(parents=True)
        used = time.time() - 3600 * (1 if age == 8 else 100 + age)
        os.utime(directory / f"compiled-{age}", (used, used))
    package.run()
    (current,) = {path.parent.name for path in package.kept()}
    assert {path.name for path in directory.iterdir()} == {current, *(f"compiled-{age}" for age in (0, 1, 2, 3, 8))}
