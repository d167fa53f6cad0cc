"""The library of shim.c, built and preloaded, and trials that run in forks of one process (Linux, gcc)."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sirl.cli import main as cli

HERE = Path(__file__).parent
_LOADED = "SIRL_SHIM"


def preload() -> Any:
    """The library, in a process that was started with it; if this one was not, it starts again."""
    if _LOADED not in os.environ:
        library = Path(tempfile.mkdtemp(prefix="sirl-shim-")) / "shim.so"
        command = ["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(HERE / "shim.c"), "-ldl"]
        subprocess.run(command, check=True)
        environment = os.environ | {_LOADED: str(library), "LD_PRELOAD": str(library)}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    shim = ctypes.CDLL(os.environ[_LOADED])
    shim.shim_count.restype = ctypes.c_long
    return shim


class Ended(NamedTuple):
    """How a trial ended."""

    code: int
    said: str
    """On both streams."""
    calls: int
    """System calls on the files of the directory."""


def command(*arguments: object) -> tuple[int, str]:
    """The command line in this process: exit code, and all that it says."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as leave:
            code = int(leave.code or 0)
    return code, said.getvalue()


def in_fork(shim: Any, act: Callable[[], tuple[int, str]]) -> Ended:
    """Do something in a fork of this process, which has all that it needs in memory already."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            code, said = act()
        except BaseException:
            code, said = 70, traceback.format_exc()
        os.write(writer, f"{code} {shim.shim_count()} {said}"[:60_000].encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        content = pipe.read().decode(errors="replace")
    os.waitpid(pid, 0)
    code, calls, said = content.split(" ", 2)
    return Ended(int(code), said, int(calls))
