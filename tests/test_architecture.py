"""The house is as docs/architecture.md draws it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sirl

SOURCE = Path(sirl.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
ROOMS = [
    name.rstrip("/")
    for line in re.search(r"```rooms\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1].splitlines()
    if not line.startswith(" ")
    for name in re.match(r"(\S+(?: \S+)*?)(?:  |$)", line)[1].split()
]
"""Top to bottom."""
MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(module):
    return module.removeprefix("sirl.").split(".")[0]


def imports(path):
    """Every module of the package that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sirl."):
            yield node.module
        elif isinstance(node, ast.ImportFrom) and node.module == "sirl":
            yield from (f"sirl.{alias.name}" for alias in node.names if alias.name != "__version__")
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("sirl."))


def test_the_page_draws_every_room():
    found = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert sorted(ROOMS) == sorted(found - {"__init__", "__main__"})


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_those_above_it(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):  # the front door leads anywhere
        return
    for module in imports(path):
        assert ROOMS.index(room_of(module)) <= ROOMS.index(room), f"{room} imports {module}"


def test_a_policy_ships_to_small_places():
    """What reads and plays a policy needs neither the compiler nor the simulators."""
    code = """
import sys, sirl.model
policy = sirl.model.load("paper:LunarLander")
policy.predict([0.0] * 8)
str(policy)
print(sorted({name.split(".")[0] for name in sys.modules} & {"numba", "gymnasium", "mujoco", "scipy", "torch"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_history_is_read_without_the_compiler(tmp_path):
    code = "import sys; from sirl.runs.directory import read_history; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_modules_and_functions_stay_readable():
    """A module of 300 lines or a function of 50 is time to look for a second room."""
    long = []
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 300:
            long.append(path.name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 50:
                long.append(f"{path.name}: {node.name}")
    assert long == []
