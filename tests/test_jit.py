"""Compiled code that is kept never outlives the code that it was made of."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import sirl
from sirl import jit

TWO_FILES = {
    "calls.py": "from sirl.jit import compiled\nfrom sirl.called import value\n\n"
    "@compiled\ndef call():\n    return value()\n\nprint(call())\n",
    "called.py": "from sirl.jit import part\n\n@part\ndef value():\n    return 1\n",
}


def test_a_change_in_another_file_is_noticed(tmp_path):
    """Numba alone would go on with what it has kept of ``calls.py``, which has not changed."""
    package = tmp_path / "sirl"
    package.mkdir()
    for name in ("__init__.py", "jit.py"):
        shutil.copy(Path(sirl.__file__).parent / name, package)
    for name, text in TWO_FILES.items():
        (package / name).write_text(text, encoding="utf-8")

    def run() -> str:
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-B", "-c", "import sirl.calls"]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()

    assert run() == "1"
    assert list((tmp_path / "cache").rglob("*.nbi"))
    (package / "called.py").write_text(TWO_FILES["called.py"].replace("1", "2"), encoding="utf-8")
    assert run() == "2"


def test_code_is_kept_in_the_users_cache(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    jit._directory.cache_clear()
    assert jit._directory("").parent == Path("/somewhere/sirl")
    assert jit._directory("/chosen").parent == Path("/chosen")
    jit._directory.cache_clear()
