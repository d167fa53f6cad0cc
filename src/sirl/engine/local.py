"""The engines inside this process: the calling thread itself, and a team of threads that look after processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread

from sirl.engine.base import ClosedError, Context, Engine, Item, Result, Workplace

GRACE = 1.0
"""Seconds that running items get to end by themselves after Ctrl-C."""

NAP = 0.25
"""Seconds after which a Ctrl-C is noticed at the latest."""

CLOSING = 2.0
"""Seconds that ``close`` gives the threads: enough for a worker process to use up its own grace."""


class InProcess(Engine[Context]):
    """Runs one item after the other, here: easiest to debug, nothing to start, nothing to send."""

    workers = 1

    def __init__(self, context: Callable[[], Context]):
        self._workplace = Workplace(context)
        self._closed = False

    def map(self, function: Callable[[Context, Item], Result], items: Sequence[Item]) -> list[Result]:
        """See `Engine.map`."""
        if self._closed:
            raise ClosedError
        return [self._workplace.run(function, item) for item in items]

    def close(self) -> None:
        """See `Engine.close`."""
        self._closed = True
        self._workplace.close()


class Threads(Engine[Context]):
    """Runs items on threads of this process, for work that waits: here, for worker processes.

    Workers pull items in order from one queue, so an item that has started means that all before it have.
    """

    def __init__(self, context: Callable[[], Context], workers: int):
        assert workers >= 1
        self.workers = workers
        self._jobs: SimpleQueue[Callable[[Workplace[Context]], None] | None] = SimpleQueue()
        self._closed = False
        # Daemons, because an item that never ends must not keep the interpreter from exiting.
        self._threads = [
            Thread(target=_serve, args=(context, self._jobs), name=f"sirl-worker-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def map(self, function: Callable[[Context, Item], Result], items: Sequence[Item]) -> list[Result]:
        """See `Engine.map`. Ctrl-C gives the running items a moment to end, and starts no other."""
        if self._closed:
            raise ClosedError
        futures: list[Future[Result]] = [Future() for _ in items]
        news: SimpleQueue[Future[Result]] = SimpleQueue()
        try:
            for future, item in zip(futures, items, strict=True):
                future.add_done_callback(news.put)
                self._jobs.put(partial(_fulfil, future, function, item))
            while not _failed_or_done(futures):
                _nap(news)
            rest = _cancel(futures)
            while not _all_done(rest):
                _nap(news)
        except BaseException:  # Ctrl-C, or whatever else a signal handler raises
            rest, deadline = _cancel(futures), time.monotonic() + GRACE
            while not _all_done(rest) and time.monotonic() < deadline:
                _nap(news)
            raise
        # Cancelled items come after every item that failed, so this raises the first failure.
        return [future.result() for future in futures]

    def close(self) -> None:
        """See `Engine.close`. A thread whose item goes on is left to end by itself."""
        if not self._closed:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)
        deadline = time.monotonic() + CLOSING
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _serve(context: Callable[[], Context], jobs: SimpleQueue[Callable[[Workplace[Context]], None] | None]) -> None:
    """The life of a worker thread; its context is made, used and closed on this thread only."""
    workplace = Workplace(context)
    for job in iter(jobs.get, None):
        job(workplace)
        del job  # or it would keep its item and result in memory until the next one comes
    workplace.close()


def _fulfil(
    future: Future[Result],
    function: Callable[[Context, Item], Result],
    item: Item,
    workplace: Workplace[Context],
) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = workplace.run(function, item)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _nap(news: SimpleQueue[Future[Result]]) -> None:
    """Wait for news, but not for long: a Ctrl-C that comes just before a wait begins is noticed when that wait ends.

    A simple queue and no lock of Python's: a handler that raises between two lines of one would leave it broken.
    """
    with suppress(Empty):
        news.get(timeout=NAP)


def _all_done(futures: list[Future[Result]]) -> bool:
    return all(future.done() for future in futures)


def _failed_or_done(futures: list[Future[Result]]) -> bool:
    return _all_done(futures) or any(future.done() and future.exception() is not None for future in futures)


def _cancel(futures: list[Future[Result]]) -> list[Future[Result]]:
    """Cancel what has not started; the rest."""
    return [future for future in futures if not future.cancel()]
