"""The engine of a Ray cluster, for populations that outgrow one machine (extra ``sirl[ray]``).

Items travel to the cluster and back as the same messages that local worker processes get. Ray runs an item again
elsewhere when its worker or node is lost; since an item's result depends on the item alone, nobody can tell. A
worker keeps its context from one item to the next.
"""

from __future__ import annotations

import faulthandler
import hashlib
import logging
import math
import os
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import chdir, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread, Timer
from typing import Any

import cloudpickle

from sirl.engine.base import ClosedError, Context, Engine, Item, Result, Workplace, hung, label_of
from sirl.engine.child import TICK
from sirl.engine.messages import answer_call, decode_answer, encode_call
from sirl.errors import SirlError, WorkFailure

_ANSWER = 10.0
"""Seconds in which the address of a cluster has to answer."""
_FAREWELL = 1.0
"""Seconds that a Ray worker has to hand over the news that its item hangs."""

_HOME = Path(__file__).parents[2]
"""Where this package was found."""

_workplaces: dict[bytes, Workplace[Any]] = {}
"""In a Ray worker: the one context that it serves, by the digest of its recipe."""


class RayCluster(Engine[Context]):
    """Runs items on the workers of a Ray cluster.

    Args:
        context: makes what the mapped functions work with; called in each Ray worker, at its first item.
        address: of a running cluster, ``auto`` for the one that this machine belongs to; without it, Ray is started
            on this machine alone.
        timeout: seconds after which an item that has started counts as hung.
        attempts: how many workers or nodes an item may lose before it counts as failed.
    """

    def __init__(
        self,
        context: Callable[[], Context],
        address: str | None = None,
        timeout: float | None = None,
        attempts: int = 5,
    ):
        self._ray = ray = _connect(address)
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._timeout = math.inf if timeout is None else timeout
        self._attempts = attempts
        self._recipe = ray.put(bytes(cloudpickle.dumps((sys.path, os.getcwd(), cloudpickle.dumps(context)))))
        self._serve = ray.remote(num_cpus=1, max_retries=attempts - 1)(_serve)
        self._closed = False

    def map(self, function: Callable[[Context, Item], Result], items: Sequence[Item]) -> list[Result]:
        """See `Engine.map`. An item whose worker or node is lost runs again elsewhere."""
        if self._closed:
            raise ClosedError
        calls = [self._serve.remote(self._recipe, encode_call(function, item), self._timeout) for item in items]
        try:
            return [
                self._result(call, number, item) for number, (call, item) in enumerate(zip(calls, items, strict=True))
            ]
        except BaseException:
            _, unfinished = self._ray.wait(calls, num_returns=len(calls), timeout=0)
            for call in unfinished:
                self._ray.cancel(call, force=True)  # or its thread would go on in the worker
            raise

    def close(self) -> None:
        """See `Engine.close`. The cluster goes on; a worker drops its context when it serves another."""
        self._closed = True

    def _result(self, call: Any, number: int, item: object) -> Any:
        name = label_of(item) or f"item {number}"
        try:
            answer = self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            raise WorkFailure(
                f"was lost with its Ray worker {self._attempts} times ({type(error).__name__}): its environment "
                "crashes, memory runs out, or nodes keep leaving the cluster",
                str(error),
                name,
            ) from None
        if isinstance(answer, str):
            raise hung(name, self._timeout, answer)
        return decode_answer(answer)


def _connect(address: str | None) -> Any:
    try:
        import ray
    except ImportError:
        raise SirlError("the ray engine needs Ray: run `pip install 'sirl[ray]'`.") from None
    if not ray.is_initialized():
        try:
            _knock(address)
            with chdir(_HOME):  # Ray's workers look for every module where it was started: not in a stranger's folder
                where = address or "local"  # not whichever happens to run on this machine
                ray.init(where, log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0].rstrip(".")
            raise SirlError(
                f"no Ray cluster answers at {address!r} ({reason}): start one with `ray start --head`, or leave out "
                "--address to start one here."
            ) from None
    return ray


def _knock(address: str | None) -> None:
    """Raise OSError if nobody listens at an address such as ``host:port``: Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_ANSWER).close()


def _serve(recipe: bytes, call: bytes, timeout: float) -> bytes | str:
    """Answer a call in a Ray worker; one that takes too long is answered with where it hangs."""
    answers: SimpleQueue[bytes] = SimpleQueue()
    thread = Thread(target=lambda: answers.put(answer_call(_workplace(recipe), call)), daemon=True)
    thread.start()
    if timeout < math.inf:  # for native code that keeps the GIL, and so this thread, for itself
        faulthandler.dump_traceback_later(2 * timeout + _FAREWELL, exit=True)
    try:
        return _first(answers, timeout)
    except Empty:
        frame = sys._current_frames().get(thread.ident or 0)
        # The thread can't be ended, so its process is, as soon as the answer is on its way.
        Timer(_FAREWELL, os._exit, (1,)).start()
        return "".join(traceback.format_stack(frame))
    finally:
        faulthandler.cancel_dump_traceback_later()


def _first(answers: SimpleQueue[bytes], timeout: float) -> bytes:
    """The first answer; a look takes a tick of the time, however long this process was itself stopped in it."""
    while True:
        try:
            return answers.get(timeout=TICK)
        except Empty:
            timeout -= TICK
            if timeout <= 0:
                raise


def _workplace(recipe: bytes) -> Workplace[Any]:
    digest = hashlib.sha256(recipe).digest()
    if digest not in _workplaces:
        for workplace in _workplaces.values():  # of an earlier run: a worker outlives the runs that it serves
            workplace.close()
        _workplaces.clear()
        paths, here, context = cloudpickle.loads(recipe)
        with suppress(OSError):  # another machine may have no such directory
            os.chdir(here)
        sys.path += [path for path in paths if path not in sys.path]  # modules of the user, where nodes share them
        _workplaces[digest] = Workplace(cloudpickle.loads(context))
    return _workplaces[digest]
