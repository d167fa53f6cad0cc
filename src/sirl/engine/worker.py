"""The inside of a worker process: waits for calls, answers them, and never outlives its driver.

It is started by `sirl.engine.child` with three file descriptors: the channel for calls and answers, the
lifeline, and the log to which faulthandler writes where a crash happened. Standard output belongs to the
environments, which may print what they like.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
from contextlib import closing, suppress
from multiprocessing.connection import Connection

from sirl.engine.base import Workplace
from sirl.engine.messages import READY, answer_call, with_number, without_number
from sirl.engine.supervisor import fork_worker


def main(channel: int, lifeline: int, crash_log: int) -> None:
    """The life of a worker process."""
    fork_worker(lifeline, channel, crash_log)
    for descriptor in (channel, crash_log):
        os.set_inheritable(descriptor, False)  # or what an environment starts could hold them open
    faulthandler.enable(crash_log)
    with Connection(channel) as connection, suppress(EOFError, OSError):  # the driver closed its end
        _serve(connection)


def _serve(connection: Connection) -> None:
    """Answer calls for as long as they come."""
    connection.send_bytes(READY)
    recipe = connection.recv_bytes()
    home = os.getpid()
    with closing(Workplace(lambda: pickle.loads(recipe)())) as workplace:
        while True:
            number, call = without_number(connection.recv_bytes())
            answer = answer_call(workplace, call)
            if os.getpid() != home:  # an environment forked, and this is the copy: the answer is not its to give
                os._exit(0)
            connection.send_bytes(with_number(number, answer))
