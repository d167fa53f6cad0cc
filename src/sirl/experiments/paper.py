"""What the paper reports: its tasks, its comparison table, and its tests between methods."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import msgspec

from sirl.config import METHODS, Method

TASKS = ("InvertedPendulum-v4", "LunarLander-v3", "Swimmer-v4", "Reacher-v4", "Hopper-v4", "Walker2d-v4")
"""The paper's tasks by their ids today, in the order of its table."""
ORDER: tuple[Method, ...] = ("eldt", "sirl-sb", "sirl-lb")
"""The paper's methods in the order of its tests."""
OURS: tuple[Method, ...] = ("linear", "laws")
"""Methods that the paper does not have; they are trained where they are asked for."""
assert {*ORDER, *OURS} == set(METHODS)
IN_SEQUENCE = "sirl-lb-sequence"
"""SIRL-LB with Algorithm 2 as it is printed: its episodes one after another, not side by side in copies."""


class Published(msgspec.Struct, frozen=True):
    """A row of the paper's comparison table."""

    env: str
    """As the paper has it, such as LunarLander-v2."""
    method: str
    type: str
    """opaque or interpretable"""
    mean: float
    std: float | None
    episodes: float | None
    episodes_is_lower_bound: bool
    macs_per_episode: float | None


def shown_method(method: str) -> str:
    """A method as the paper writes it."""
    return "SIRL-LB, in sequence" if method == IN_SEQUENCE else method.upper()


def published_rows(task: str) -> list[Published]:
    """The paper's rows of a task, given by its id today."""
    rows = msgspec.convert(_content()["rows"], list[Published])
    return [row for row in rows if _stem(row.env) == _stem(task)]


def published_row(task: str, method: str) -> Published | None:
    """The paper's row of a task and a method."""
    return next((row for row in published_rows(task) if row.method == shown_method(method)), None)


def published_stars(task: str, method: str) -> str:
    """The mark of the paper's Welch test of a method against ELDT; empty if it has none."""
    return next((str(marks.get(shown_method(method), "")) for marks in _of_task("welch", task)), "")


def published_tukey(task: str, one: str, other: str) -> float | None:
    """The paper's p of Tukey's HSD between two methods."""
    pair = f"{shown_method(one)} vs {shown_method(other)}"
    order = _content()["tukey_p"]["order"]
    return next((float(values[order.index(pair)]) for values in _of_task("tukey_p", task) if pair in order), None)


def _of_task(section: str, task: str) -> list[Any]:
    return [value for env, value in _content()[section].items() if _stem(env) == _stem(task)]


def _stem(env: str) -> str:
    """An environment's name without its version, which differs between the paper and today."""
    return env.partition("-v")[0]


@cache
def _content() -> dict[str, Any]:
    file = resources.files("sirl.experiments") / "published.json"
    content: dict[str, Any] = msgspec.json.decode(file.read_bytes())
    return content
