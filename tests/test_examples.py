"""The examples run as they are, each from an empty directory."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "last_line"),
    [
        ("own_environment", r"of 200 steps afloat, on 20 unseen episodes"),
        ("callback", "→ "),
        ("ship_a_policy", "falling, and tilted a little: fire"),
    ],
)
def test_an_example_runs(name, last_line, tmp_path):
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert last_line in done.stdout.splitlines()[-1]
