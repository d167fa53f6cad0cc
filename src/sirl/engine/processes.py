"""The engine of worker processes, for more than one worker and for work that may hang or crash.

Each thread of a `Threads` engine looks after one process: it sends it an item and waits for the answer,
starts it anew when it has died, and ends it when it hangs. So order, failures and Ctrl-C are the same as
on threads.
"""

from __future__ import annotations

import logging
import math
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event

import cloudpickle

from sirl.engine.base import ClosedError, Context, Engine, Item, Result, hung, is_timed, label_of
from sirl.engine.child import Child, DiedError, Ending, HungError
from sirl.engine.local import Threads
from sirl.engine.messages import decode_answer, encode_call
from sirl.errors import EnvironmentFailure, SirlError, WorkFailure

PATIENCE = 30
"""How many processes an item may lose by no doing of its own, as far as one can tell."""

LONG_ENOUGH = 300.0
"""Seconds for which they must have been killed with SIGKILL: on a busy machine thirty go before one has started."""

logger = logging.getLogger(__name__)

_SIGNALS = {number.value: number.name for number in signal.Signals}


class Processes(Engine[Context]):
    """Runs items on processes of this machine, which may crash or hang without harm to the others.

    Args:
        context: makes what the mapped functions work with; called in each process, at its first item.
        workers: how many processes.
        timeout: seconds after which an item counts as hung.
        attempts: how many processes an item may bring down before it counts as failed; those that are killed from
            outside count apart.
    """

    def __init__(
        self,
        context: Callable[[], Context],
        workers: int,
        timeout: float | None = None,
        attempts: int = 3,
    ):
        self.workers = workers
        self._stop = Event()
        self._threads = Threads(
            partial(
                _Post,
                _encode_context(context),
                math.inf if timeout is None else timeout,
                attempts,
                self._stop,
            ),
            workers,
        )

    def map(self, function: Callable[[Context, Item], Result], items: Sequence[Item]) -> list[Result]:
        """See `Engine.map`. An item whose process dies runs again in a new one."""

        def run(post: _Post, numbered: tuple[int, Item]) -> Result:
            number, item = numbered
            call, name = encode_call(function, item), label_of(item) or f"item {number}"
            result: Result = decode_answer(post.ask(call, name, is_timed(item)))
            return result

        return self._threads.map(run, list(enumerate(items)))

    def close(self) -> None:
        """See `Engine.close`. Processes that are at work are killed."""
        self._stop.set()
        self._threads.close()


class _Post:
    """A place for one process at a time, looked after by one thread."""

    def __init__(self, recipe: bytes, timeout: float, attempts: int, stop: Event):
        self._recipe = recipe
        self._timeout = timeout
        self._attempts = attempts
        self._stop = stop
        self._child: Child | None = None

    def ask(self, call: bytes, name: str, timed: bool = True) -> bytes:
        """The answer to a call, in as many attempts as it is worth; ``name`` is for error messages."""
        endings: list[Ending] = []
        losses: list[Ending] = []
        begin = time.monotonic()
        while len(endings) < self._attempts and not _is_enough(losses, time.monotonic() - begin):
            if self._child is None:
                self._child = Child(self._recipe, self._stop)
            try:
                return self._child.ask(call, self._timeout if timed else math.inf)
            except DiedError:
                # The item ends no process that has not started, and SIGKILL comes from somebody else.
                started, ending = self._child.ready, self._end()
                (endings if started and ending.returncode != -signal.SIGKILL else losses).append(ending)
                if len(losses) == self._attempts:
                    logger.warning(
                        "%s has lost %d worker processes and goes on: see if memory runs out", name, len(losses)
                    )
            except HungError:
                # SIGABRT makes faulthandler write down where it hangs.
                raise hung(name, self._timeout, self._end(signal.SIGABRT).traceback) from None
            except ClosedError:
                self._end(signal.SIGKILL)
                raise
        if started:
            raise _died(name, len(endings) + len(losses), ending)
        raise _never_started(ending)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._child is not None:
            self._end()

    def _end(self, signal_number: signal.Signals | None = None) -> Ending:
        assert self._child is not None
        child, self._child = self._child, None
        return child.end(signal_number)


def _is_enough(losses: list[Ending], seconds: float) -> bool:
    """Whether an item that has lost such processes in so much time is given up."""
    killed = bool(losses) and losses[-1].returncode == -signal.SIGKILL
    return len(losses) >= PATIENCE and (not killed or seconds >= LONG_ENOUGH)


def _encode_context(context: Callable[[], object]) -> bytes:
    try:
        return bytes(cloudpickle.dumps(context))
    except Exception as error:
        raise SirlError(
            f"the environment cannot be sent to worker processes ({error}): make all that it needs inside "
            "its factory function, or use --workers 1"
        ) from error


def _never_started(ending: Ending) -> EnvironmentFailure:
    return EnvironmentFailure(
        "worker processes end before they have started: see what they printed above, and whether memory has run out",
        ending.traceback,
    )


def _died(name: str, times: int, last: Ending) -> WorkFailure:
    if last.returncode >= 0:
        how = f"exit code {last.returncode}"
        fix = "its environment exits instead of raising an exception (what it printed is above)"
    else:
        how = _SIGNALS.get(-last.returncode, f"signal {-last.returncode}")
        fix = "native code of its environment crashed (the details tell where)"
        if how == "SIGKILL":
            fix = "memory has probably run out, so use fewer --workers"
    often = "with" if times == 1 else f"{times} times, last with"
    return WorkFailure(f"ended its worker process {often} {how}: {fix}", last.traceback, name)
