"""Where work runs: in this process, on threads, on worker processes of this machine, or on a Ray cluster.

One generation of training is a few pure functions mapped over items (chunks of a population, copies of
the collaborative phase). An engine maps them and promises the same result wherever it runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sirl.engine.base import Context, Engine
from sirl.engine.local import InProcess, Threads
from sirl.engine.processes import Processes

__all__ = ["Engine", "local_engine"]


def local_engine(
    context: Callable[[], Context],
    workers: int,
    kind: Literal["threads", "processes"],
    timeout: float | None = None,
) -> Engine[Context]:
    """The engine of this machine that suits the work.

    Args:
        context: makes what the mapped functions work with; called once for each worker.
        workers: how many items run at the same time.
        kind: threads, where the heavy work releases the GIL; processes, where it is Python.
        timeout: seconds after which an item counts as hung. Only a process can be ended from outside, so
            with a timeout even one worker is a process, and threads know no timeout.
    """
    if kind == "processes" and (workers > 1 or timeout is not None):
        return Processes(context, workers, timeout)
    if workers > 1:
        return Threads(context, workers)
    return InProcess(context)
