"""What every engine is: the protocol, and the workplace that each of its workers keeps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, Self, TypeVar

from sirl.errors import EnvironmentFailure, WorkFailure, in_words

Context = TypeVar("Context")
Context_co = TypeVar("Context_co", covariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)


class ClosedError(RuntimeError):
    """An engine was asked for work after it was closed."""

    def __init__(self) -> None:
        super().__init__("the engine is closed")


class Engine(Protocol[Context_co]):
    """Maps functions over items, on workers that each have a context of their own."""

    workers: int
    """How many items run at the same time."""

    def map(self, function: Callable[[Context_co, Item], Result], items: Sequence[Item]) -> list[Result]:
        """``function(context, item)`` for each item, in the order of ``items``.

        If items fail, the exception of the first of them in that order is raised, whatever the timing.
        """
        ...

    def close(self) -> None:
        """End the workers and close their contexts; a second call does nothing."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def label_of(item: object) -> str:
    """What an item is, for a message; empty if it does not say."""
    return str(getattr(item, "label", ""))


def is_timed(item: object) -> bool:
    """Whether an item counts as hung if it takes too long; all do that do not say otherwise."""
    return bool(getattr(item, "timed", True))


def hung(name: str, timeout: float, traceback: str) -> WorkFailure:
    """What to raise for an item that took too long; ``traceback`` is where it was."""
    return WorkFailure(
        f"was ended after {timeout:g} seconds without a result: its environment hangs, or --hang-limit is too short "
        "for it",
        traceback,
        name,
    )


class Workplace(Generic[Context]):
    """One worker's context: made when it is first needed, kept for the worker's life, then closed."""

    def __init__(self, make: Callable[[], Context]):
        self._make = make
        self._made: list[Context] = []

    def run(self, function: Callable[[Context, Item], Result], item: Item) -> Result:
        """``function(context, item)``."""
        try:
            if not self._made:
                self._made.append(self._make())
            return function(self._made[0], item)
        except EnvironmentFailure as failure:
            failure.where = failure.where or label_of(item)
            raise

    def close(self) -> None:
        """Close the context, if it was made and can be closed."""
        while self._made:
            close = getattr(self._made.pop(), "close", None)
            if close is None:
                continue
            try:
                close()
            except Exception as error:
                # The results are in already: a simulator that fails to close must not cost them.
                logger.warning("a simulator failed to close (%s)", in_words(error))
