"""The inside of a worker process: waits for calls, answers them, and never outlives its driver.

It is started by `sirl.engine.child` with three file descriptors: the channel for calls and answers, the
lifeline, and the log to which faulthandler writes where a crash happened. Standard output belongs to the
environments, which may print what they like.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import sys
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from threading import Thread

from sirl.engine.base import Workplace
from sirl.engine.messages import READY, answer_call


def main(channel: int, lifeline: int, crash_log: int) -> None:
    """The life of a worker process."""
    for descriptor in (channel, lifeline, crash_log):
        os.set_inheritable(descriptor, False)  # or what an environment starts could hold them open
    faulthandler.enable(crash_log)
    _end_with_driver(lifeline)
    with Connection(channel) as connection, suppress(EOFError, OSError):  # the driver closed its end
        _serve(connection)


def _serve(connection: Connection) -> None:
    """Answer calls for as long as they come."""
    connection.send_bytes(READY)
    recipe = connection.recv_bytes()
    with closing(Workplace(lambda: pickle.loads(recipe)())) as workplace:
        while True:
            connection.send_bytes(answer_call(workplace, connection.recv_bytes()))


def _end_with_driver(lifeline: int) -> None:
    """End this process and all that it starts as soon as the driver is gone, however it went.

    The lifeline is a pipe whose other end only the driver holds: it reads as ended when the driver does.
    """

    def watch() -> None:
        os.read(lifeline, 1)
        os.killpg(0, signal.SIGKILL)

    Thread(target=watch, name="lifeline", daemon=True).start()
    if sys.platform == "linux":
        # Native code that holds the GIL holds up that thread, but not a signal from the kernel.
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)
