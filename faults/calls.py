"""Every system call on the files of a tiny run, made to fail in turn, once and for ever (Linux, gcc).

python faults/calls.py

A run and a resume are each repeated with the k-th call failing, for every k. Each must end in a sentence and not in a
traceback, or go on in spite of it; and a resume with a sound system must end with the bytes of an undisturbed run.
"""

from __future__ import annotations

import argparse
import errno
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import MEMORY, TINY
from shim import Ended, command, in_fork, preload
from watched import flags, outcome

SETTINGS = TINY | {"generations": 2}


def fail_in_turn(shim: Any, step: int, work: Path) -> dict[str, Any]:
    """Fail every ``step``-th of the calls of a new run and of a resumed one, in each way."""
    start = ("train", "CartPole-v1", "--workers", 1, *flags(SETTINGS), "--out")
    assert command(*start, work / "whole")[0] == 0
    whole = outcome(work / "whole")
    assert command(*start[:-1], "--generations", 1, "--out", work / "half")[0] == 0
    tried, bad = 0, []
    for kind in ("new", "resumed"):
        for error, ever in ((errno.EIO, 1), (errno.ENOSPC, 1), (errno.EIO, 0), (errno.EACCES, 0)):
            at = 1
            while True:
                path = work / "run"
                shutil.rmtree(path, ignore_errors=True)
                if kind == "resumed":
                    shutil.copytree(work / "half", path)
                go = ("train", "--resume", path, "--workers", 1, "--generations", 2)
                first = go if kind == "resumed" else (*start, path)
                ended = in_fork(shim, _failing(shim, path, at, ever, error, first))
                if ended.calls < at:
                    break
                tried += 1
                if why := _fault(shim, path, ended, (*start, path), go, whole):
                    bad.append(f"{kind}, call {at}, {errno.errorcode[error]}{' for ever' if ever else ''}: {why}")
                    print(bad[-1], flush=True)
                at += step
    return {
        "calls": tried,
        "bad": bad,
        "figure": f"{tried - len(bad)} of {tried}: a sentence or no harm, and a resume ends with identical bytes",
        "good": not bad and tried > 0,
    }


def _failing(
    shim: Any, path: Path, at: int, ever: int, error: int, arguments: tuple[object, ...]
) -> Callable[[], tuple[int, str]]:
    def act() -> tuple[int, str]:
        shim.shim_watch(str(path).encode())
        shim.shim_fail(at, ever, error)
        ended = command(*arguments)
        shim.shim_fail(0, 0, 0)
        return ended

    return act


def _fault(shim: Any, path: Path, ended: Ended, start: tuple[object, ...], go: tuple[object, ...], whole: Any) -> str:
    """What is wrong with how a command ended, or with what a sound system makes of what it left."""
    if ended.code not in (0, 1) or "Traceback" in ended.said:
        return f"exit code {ended.code}: {ended.said[-200:]!r}"
    if ended.code == 1 and "sirl: error: " not in ended.said:
        return f"no sentence: {ended.said[-200:]!r}"
    again = in_fork(shim, lambda: command(*(go if (path / "config.toml").exists() else start)))
    if again.code != 0:
        return f"can't go on: {again.said[-200:]!r}"
    return "" if outcome(path) == whole else "other bytes"


def main() -> None:
    """Fail all of them, or a sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, default=1, help="fail every so many-th call")
    options = parser.parse_args()
    shim = preload()
    with tempfile.TemporaryDirectory(prefix="sirl-calls-", dir=MEMORY) as work:
        print(json.dumps(fail_in_turn(shim, options.step, Path(work))))


if __name__ == "__main__":
    main()
