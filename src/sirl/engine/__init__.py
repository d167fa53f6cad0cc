"""Where work runs: in this process, on worker processes of this machine, or on a Ray cluster.

One generation of training is a few pure functions mapped over items (chunks of a population, copies of
the collaborative phase). An engine maps them and promises the same result wherever it runs them.
"""

from __future__ import annotations

from collections.abc import Callable

from sirl.engine.base import Context, Engine
from sirl.engine.local import InProcess
from sirl.engine.processes import Processes
from sirl.errors import SirlError

__all__ = ["Engine", "check_engine", "local_engine", "make_engine"]


def check_engine(kind: str, address: str | None) -> str:
    """The kind of engine, if there is one of that name and the address fits it."""
    if kind not in ("local", "ray"):
        raise SirlError(f"engine = {kind!r} is not allowed: give local or ray.")
    if address is not None and kind != "ray":
        raise SirlError(f"address = {address!r} is for the ray engine: give engine = 'ray' too.")
    return kind


def make_engine(
    kind: str, context: Callable[[], Context], workers: int, address: str | None, timeout: float | None = None
) -> Engine[Context]:
    """The engine of this machine with so many workers, or that of the Ray cluster at an address."""
    if check_engine(kind, address) == "ray":
        from sirl.engine.cluster import RayCluster

        return RayCluster(context, address, timeout)
    return local_engine(context, workers, timeout)


def local_engine(
    context: Callable[[], Context],
    workers: int,
    timeout: float | None = None,
) -> Engine[Context]:
    """The engine of this machine that suits the work.

    Args:
        context: makes what the mapped functions work with; called once for each worker.
        workers: how many items run at the same time.
        timeout: seconds after which an item counts as hung. Only a process can be ended from outside, so
            with a timeout even one worker is a process.
    """
    if workers > 1 or timeout is not None:
        return Processes(context, workers, timeout)
    return InProcess(context)
