"""What the driver and its worker processes say to each other.

A call is a function and an item, an answer what came of it. Both travel as cloudpickle, which carries
lambdas and classes of a notebook by value. That is safe here and nowhere else: both ends of a
channel are one program, which has started its workers itself or trusts its Ray cluster. No file holds any of it.
"""

from __future__ import annotations

import contextlib
import pickle
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import cloudpickle

from sirl.engine.base import Workplace
from sirl.errors import EnvironmentFailure, in_words

READY = b"ready"
"""A worker's first message, when it has started and waits for the recipe of its context."""


class Returned(NamedTuple):
    """The answer of a call that went well."""

    value: Any


class Raised(NamedTuple):
    """The answer of a call that raised."""

    exception: bytes
    """Pickled apart from the answer, because exceptions of strangers may refuse either way."""
    summary: str
    """Its type and message in one line."""
    remote_traceback: str


def with_number(number: int, message: bytes) -> bytes:
    """A message that says which call it is about."""
    return number.to_bytes(8) + message


def without_number(message: bytes) -> tuple[int, bytes]:
    """The number of the call that a message is about, and the rest."""
    return int.from_bytes(message[:8]), message[8:]


def encode_call(function: Callable[[Any, Any], Any], item: object) -> bytes:
    """The message that asks a worker for ``function(context, item)``."""
    return bytes(cloudpickle.dumps((function, item)))


def answer_call(workplace: Workplace[Any], call: bytes) -> bytes:
    """Run a call in its worker, and encode what came of it."""
    try:
        function, item = pickle.loads(call)
        return bytes(cloudpickle.dumps(Returned(workplace.run(function, item))))
    except Exception as error:
        exception = b""
        with contextlib.suppress(Exception):
            exception = cloudpickle.dumps(error)
        return bytes(cloudpickle.dumps(Raised(exception, in_words(error), traceback.format_exc())))


def decode_answer(answer: bytes) -> Any:
    """What the call returned; raises what it raised, with the worker's traceback as a note."""
    content: Returned | Raised = pickle.loads(answer)
    if isinstance(content, Returned):
        return content.value
    raise _exception(content)


def _exception(raised: Raised) -> BaseException:
    try:
        exception = pickle.loads(raised.exception)
    except Exception:
        exception = None
    if not isinstance(exception, BaseException):
        return EnvironmentFailure(
            f"a worker process raised {raised.summary}; its exception class cannot be unpickled, so see the "
            "traceback in the details",
            raised.remote_traceback,
        )
    exception.add_note(f"In a worker process:\n{raised.remote_traceback}")
    return exception
