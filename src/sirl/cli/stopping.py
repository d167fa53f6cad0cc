"""Ctrl-C and SIGTERM, for commands that have something to keep."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_STOPPING = 5.0
"""Seconds in which a run that was told to stop does so; to be told again in the midst of that could break it off."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: stop as on Ctrl-C."""


class Stops:
    """What is done about signals: they stop what is under way, unless somebody sees to that at a better moment."""

    def __init__(self) -> None:
        self._put_off: Callable[[type[KeyboardInterrupt]], bool] = lambda _: False
        self._last = -math.inf

    @contextmanager
    def left_to(self, put_off: Callable[[type[KeyboardInterrupt]], bool]) -> Iterator[None]:
        """Within this, ``put_off`` is given what is to be raised, and says whether it will see to that."""
        usual, self._put_off = self._put_off, put_off
        try:
            yield
        finally:
            self._put_off = usual

    def hear(self, number: int, _: object) -> None:
        """A signal came; those that follow soon after the first say nothing new."""
        now = time.monotonic()
        if now - self._last <= _STOPPING:
            return
        self._last = now
        reason = Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if not self._put_off(reason):
            raise reason


@contextmanager
def stops_on_signals() -> Iterator[Stops]:
    """Let SIGINT and SIGTERM stop what is under way."""
    stops = Stops()
    if threading.current_thread() is not threading.main_thread():
        yield stops
        return
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    usual = {number: signal.signal(number, stops.hear) for number in numbers}
    try:
        yield stops
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def what_stopped(error: BaseException) -> BaseException:
    """The reason of a stop; a SystemError is none, unless numba tells so of a signal.

    It does if that came while a compiled function began or ended, one SystemError behind the other.
    """
    reason: BaseException | None = error
    while isinstance(reason, SystemError):
        reason = reason.__cause__
    if reason is error or isinstance(reason, KeyboardInterrupt):
        return reason
    raise error


def exit_code(reason: BaseException) -> int:
    """Of a command that was stopped."""
    return 143 if isinstance(reason, Terminated) else 130
