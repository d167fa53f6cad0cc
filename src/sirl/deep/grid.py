"""The grid: lists of hyperparameters, and the networks that they span, one for each combination."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sirl.config import checked
from sirl.errors import SirlError, did_you_mean

PAPER: dict[str, list[Any]] = {
    "learning_rate": [1e-3, 1e-4],
    "layers": [1, 3],
    "units": [8, 16],
    "batch_size": [64, 128],
    "target_period": [100, 1000],
}
"""The 32 combinations of the paper's supplement, "Social learning with neural networks"."""

_Width = Annotated[int, Meta(ge=1, le=100_000)]
_KINDS: dict[str, Any] = {
    "learning_rate": Annotated[float, Meta(gt=0, le=10)],
    "layers": Annotated[int, Meta(ge=1, le=100)],
    "units": _Width,
    "batch_size": Annotated[int, Meta(ge=1, le=100_000)],
    "target_period": Annotated[int, Meta(ge=1, le=10_000_000)],
    "discount": Annotated[float, Meta(ge=0, le=1)],
}
AXES = [*_KINDS, "architecture"]
_MOST = 1_000_000


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The hyperparameters of one network."""

    learning_rate: float
    hidden: tuple[int, ...]
    """Units of each hidden layer."""
    batch_size: int
    target_period: int
    """Updates between two copies of the network into its target."""
    discount: float

    def __str__(self) -> str:
        hidden = "x".join(map(str, self.hidden))
        return f"{hidden} lr={self.learning_rate:g} batch={self.batch_size} target={self.target_period}"


def make_grid(axes: Mapping[str, Sequence[Any]] | None = None) -> list[Point]:
    """A point for each combination of the axes, the paper's where an axis is not given.

    Args:
        axes: lists of values by name. ``architecture`` holds hidden layers such as ``"64x32"`` and takes the place of
            ``layers`` and ``units``.
    """
    full: dict[str, list[Any]] = PAPER | {"discount": [0.99]} | _checked_axes(axes or {})
    if "architecture" in full:
        if axes and {"layers", "units"} & set(axes):
            raise SirlError("the grid gives architecture besides layers or units: use one way to say the same.")
        del full["layers"], full["units"]
    size = math.prod(map(len, full.values()))
    if size > _MOST:
        raise SirlError(f"the grid has {size:,} points, more than {_MOST:,}: use fewer values.")
    return [_point(dict(zip(full, values, strict=True))) for values in itertools.product(*full.values())]


def _point(values: dict[str, Any]) -> Point:
    hidden = values.pop("architecture", None) or (values.pop("units"),) * values.pop("layers")
    return Point(hidden=hidden, **values)


def _checked_axes(axes: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    checked_axes = {}
    for name, values in axes.items():
        if name not in AXES:
            hint = did_you_mean(name, AXES) or f"; choose from {', '.join(AXES)}."
            raise SirlError(f"a grid has no axis {name!r}{hint}")
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise SirlError(f"the grid's axis {name} is {values!r}: give a list of at least one value.")
        kind = _KINDS.get(name)
        checked_axes[name] = [_architecture(v) if kind is None else checked(name, v, kind) for v in values]
        if len(set(checked_axes[name])) != len(values):
            raise SirlError(f"the grid's axis {name} has a value twice: leave one of them out.")
    return checked_axes


def _architecture(value: Any) -> tuple[int, ...]:
    """Hidden layers from ``"64x32"`` or ``64``, or from a list of widths."""
    widths = str(value).split("x") if isinstance(value, str | int) else value
    try:
        return tuple(checked("architecture", int(width), _Width) for width in widths)
    except (TypeError, ValueError):
        raise SirlError(f"architecture = {value!r} is not allowed: give widths of layers, such as 64x32.") from None


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """An axis from the command line, ``NAME=V,V,…``."""
    name, equals, values = text.partition("=")
    if not equals:
        raise SirlError(f"the grid's axis {text!r} has no values: write it as NAME=VALUE,VALUE,….")
    return name, [_number(value.strip()) for value in values.split(",") if value.strip()]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def check_memory(points: list[Point], n_features: int, n_actions: int, replay_size: int, streams: int) -> None:
    """Raise if the networks of a grid and what they remember do not fit into this machine's memory.

    Args:
        points: the grid.
        n_features: of an observation.
        n_actions: to choose among.
        replay_size: transitions in a replay.
        streams: replays, one if all share it.
    """
    need = streams * replay_size * (8 * n_features + 24)
    for point in points:
        widths = (n_features, *point.hidden, n_actions)
        parameters = sum((i + 1) * o for i, o in itertools.pairwise(widths))
        need += 4 * (7 * parameters + 4 * point.batch_size * sum(widths))
    have = _memory()
    if need > have:
        raise SirlError(
            f"{len(points):,} networks and {streams:,} replays of {replay_size:,} transitions need "
            f"{need / 1e9:.1f} GB, and this machine has {have / 1e9:.1f} GB: use a smaller grid or replay_size."
        )


def _memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not everywhere can a process ask
        return math.inf
