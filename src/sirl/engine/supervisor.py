"""The process between the driver and a worker: ends all that the worker's environments have started.

An environment may start processes, in sessions and groups of their own or as daemons, and its worker may end in any
way, or the driver may. The supervisor runs nobody's code but this, so it is still there when the worker is not. On
Linux it is a subreaper: whatever loses its parent below it becomes its child, and none gets out of sight. Elsewhere it
ends the worker's process group.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 5.0
"""Seconds after which what can't be killed, such as a process of another user, is left."""
_NAP = 0.01


def fork_worker(lifeline: int, *of_worker: int) -> None:
    """Return in a new process, the worker; this one becomes its supervisor and never returns.

    Args:
        lifeline: a pipe whose other end only the driver holds: it reads as ended when the driver does, or says so.
        of_worker: file descriptors that only the worker needs.
    """
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    supervisor, worker = os.getpid(), os.fork()
    if worker:
        for descriptor in of_worker:
            os.close(descriptor)
        _supervise(worker, lifeline)
    os.close(lifeline)
    os.setpgid(0, 0)
    _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:  # it was gone before it could be followed
        os._exit(1)


def _supervise(worker: int, lifeline: int) -> NoReturn:
    """Wait for the end of the worker or of the driver, end all that is left, and end as the worker did."""
    news, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGABRT, lambda *_: _kill(worker, signal.SIGABRT))  # to make it tell where it hangs
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: _kill(worker, signal.SIGKILL))
    statuses: dict[int, int] = {}
    while _reap(statuses) and worker not in statuses:
        ready, _, _ = select.select([lifeline, news], [], [])
        if lifeline in ready:
            break
        os.read(news, 1024)
    _end_all(worker, statuses)
    _end_as(statuses.get(worker, signal.SIGKILL))


def _reap(statuses: dict[int, int]) -> bool:
    """Note the status of every child that has ended; whether there are others."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            statuses[ended[0]] = ended[1]
    except ChildProcessError:
        return False
    return True


def _end_all(worker: int, statuses: dict[int, int]) -> None:
    """Kill the worker and all that it has started; those that lose their parent come within reach by that."""
    deadline = time.monotonic() + _PATIENCE
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    while _reap(statuses) and time.monotonic() < deadline:
        for pid in _descendants():
            _kill(pid, signal.SIGKILL)
        time.sleep(_NAP)


def _descendants() -> list[int]:
    """All processes below this one, as far as that can be seen."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _kill(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _end_as(status: int) -> NoReturn:
    """End with the exit code, or by the signal, that another process has ended with."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the worker has left its core already
        number = os.WTERMSIG(status)
        with suppress(OSError):  # SIGKILL can't be handled, and needs not to be
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _control(option: int, value: int) -> None:
    """A request to the kernel about this process; other systems than Linux have nothing like it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
