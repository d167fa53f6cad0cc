"""The driver's hold on one worker process: starts it, asks it, notices how it ended, ends it.

A worker is a fresh interpreter that never imports the user's ``__main__``, so a script needs no
``if __name__ == "__main__"`` guard. It is in a session of its own, so that Ctrl-C in the terminal reaches only the
driver. What is started here becomes its supervisor, which ends whatever an environment has started.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from multiprocessing import Pipe
from pathlib import Path
from threading import Event
from typing import NamedTuple

from sirl.engine.base import ClosedError
from sirl.engine.messages import READY, with_number, without_number

GRACE = 1.0
"""Seconds that a worker gets to close its context and exit."""

CLEARING = 10.0
"""Seconds that its supervisor gets to end all that it started."""

TICK = 0.1
"""Seconds between two looks at what the channel does not tell."""

_STDERR = 2
_HOME = str(Path(__file__).parents[2])

# Workers already share the cores among them.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class DiedError(Exception):
    """The worker ended before it answered."""


class HungError(Exception):
    """The worker did not answer in time."""


class Ending(NamedTuple):
    """How a worker ended."""

    returncode: int
    """Its exit code, or minus the signal that killed it."""
    traceback: str
    """Where its Python code was, if a signal made it tell."""


class Child:
    """One worker process, held by one thread.

    Args:
        recipe: the pickled function that makes the worker's context.
        stop: once set, a wait for the worker is given up.
    """

    def __init__(self, recipe: bytes, stop: Event):
        self._recipe = recipe
        self._stop = stop
        self._calls = 0
        self.ready = False
        """It has started, so a call is what it dies of."""
        with ExitStack() as ours, ExitStack() as theirs:
            self._channel, channel = Pipe()
            lifeline, self._lifeline = Pipe(duplex=False)
            for end in (self._channel, self._lifeline):
                ours.enter_context(end)
            for end in (channel, lifeline):
                theirs.enter_context(end)
            self._crash_log = ours.enter_context(tempfile.TemporaryFile())
            self._process = _start(channel.fileno(), lifeline.fileno(), self._crash_log.fileno())
            self._open = ours.pop_all()

    def ask(self, call: bytes, timeout: float) -> bytes:
        """The worker's answer to a call, if it takes no more than ``timeout`` seconds."""
        try:
            if not self.ready:
                self.ready = self._receive(math.inf) == READY
                self._channel.send_bytes(self._recipe)
            self._calls += 1
            self._channel.send_bytes(with_number(self._calls, call))
            number = 0
            while number != self._calls:  # else it is about an earlier call, from a process that an environment forked
                number, answer = without_number(self._receive(timeout))
            return answer
        except (EOFError, OSError) as error:
            raise DiedError from error

    def _receive(self, timeout: float) -> bytes:
        """What comes next; a look takes a tick of the time, however long this process was itself stopped in it."""
        while not self._channel.poll(TICK):
            if self._stop.is_set():
                raise ClosedError
            timeout -= TICK
            if timeout <= 0:
                raise HungError
            # What an environment forked may hold the channel open after its worker's death.
            if self._process.poll() is not None and not self._channel.poll():
                raise EOFError
        return self._channel.recv_bytes()

    def end(self, signal_number: signal.Signals | None = None) -> Ending:
        """End the worker and all that it started, and let go of everything.

        It gets a moment to exit by itself, by the signal if one is given, and because nobody listens; but none if the
        signal is SIGKILL.
        """
        self._channel.close()
        if signal_number not in (None, signal.SIGKILL):
            self._process.send_signal(signal_number)  # its supervisor passes it on
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if signal_number == signal.SIGKILL else GRACE)
        self._lifeline.close()  # which tells its supervisor to end all of them
        try:
            returncode = self._process.wait(CLEARING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            returncode = self._process.wait()
        self._crash_log.seek(0)
        traceback = self._crash_log.read().decode(errors="replace")
        self._open.close()
        return Ending(returncode, traceback)


def _start(*descriptors: int) -> subprocess.Popen[bytes]:
    path = [str(entry) for entry in sys.path]
    path += [_HOME] if _HOME not in path else []  # where this package was found may have left the path since
    return subprocess.Popen(
        # The path is set before anything is imported, so that modules are found wherever the driver
        # found them, this package included.
        [
            sys.executable,
            "-u",  # what an environment printed before it crashed is the best hint there is
            "-c",
            f"import sys; sys.path[:] = {path}; from sirl.engine.worker import main; main{descriptors}",
        ],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=_STDERR,  # the driver's output may be parsed, by whoever called `sirl evaluate --json`
        env=os.environ | _ONE_THREAD,
        start_new_session=True,
    )
