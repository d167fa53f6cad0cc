"""What environments return, checked once for all of a lockstep step, and named for what it is if it is wrong."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sirl.arrays import Floats
from sirl.errors import EnvironmentFailure, SirlError

_PLAIN = {float, int, bool, np.float64, np.float32}

LARGEST_REWARD = 1e100
"""Sums of these stay finite over any episode, and so do Q-values."""


def rows_of(space: spaces.Space[Any], name: str) -> Callable[[Sequence[Any]], Floats]:
    """The function that turns n observations of ``space`` into rows (n, n_features)."""
    if isinstance(space, spaces.Discrete):
        return partial(_one_hot, n=int(space.n), start=int(space.start), name=name)
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return partial(_stack, shape=space.shape, what="observation", name=name)
    raise SirlError(
        f"{name} has the observation space {space}, which is neither Discrete nor a one-dimensional Box; "
        "wrap the environment in gymnasium.wrappers.FlattenObservation"
    )


def _stack(values: Sequence[Any], *, shape: tuple[int, ...], what: str, name: str) -> Floats:
    """What n environments returned, checked once for all, as floats (n, *shape)."""
    rows = _array(values, shape, what, name)
    _check_finite(rows, what, name)
    return rows


def _array(values: Sequence[Any], shape: tuple[int, ...], what: str, name: str) -> Floats:
    """What n environments returned, (n, *shape)."""
    try:
        if shape and all(type(value) is np.ndarray and value.shape == shape for value in values):
            rows = np.concatenate(values, dtype=np.float64).reshape(-1, *shape)  # far faster than what can take all
        else:
            if not _PLAIN.issuperset(map(type, values)):
                _check_numbers(values, what, name)
            rows = np.array(values, np.float64)
    except ValueError as error:  # which shapes that differ are, for NumPy
        raise _wrong_shape(values, shape, what, name) from error
    if rows.shape != (len(values), *shape):
        raise _wrong_shape(values, shape, what, name)
    return rows


def _check_numbers(values: Sequence[Any], what: str, name: str) -> None:
    """Raise for what NumPy would make a number of, and is none: a text, None, what a mask hides."""
    for value in values:
        if not _is_of(value, "fiub"):
            raise _of_wrong_kind(value, what, "numbers were", name)


def check_flags(values: Sequence[Any], what: str, name: str) -> NDArray[np.bool_]:
    """Which of n episodes have ended, (n,)."""
    for value in values:
        if type(value) is not bool and not _is_of(value, "bi"):
            raise _of_wrong_kind(value, what, "True or False was", name)
    return np.array(values, np.bool_)


def _is_of(value: Any, kinds: str) -> bool:
    """Whether NumPy finds one of these kinds of numbers in what an environment returned, all of it in sight."""
    return not isinstance(value, np.ma.MaskedArray) and np.asarray(value).dtype.kind in kinds


def _of_wrong_kind(value: Any, what: str, due: str, name: str) -> EnvironmentFailure:
    kind = "" if value is None else f", a {type(value).__name__},"
    return EnvironmentFailure(
        f"{name} returned {reprlib.repr(value)}{kind} as {what}, where {due} due; fix the environment"
    )


def _check_finite(rows: Floats, what: str, name: str) -> None:
    finite = np.isfinite(rows)
    if not finite.all():
        first = tuple(np.argwhere(~finite)[0])
        place = f"{what} feature {first[1]}" if rows.ndim > 1 else what
        number = "NaN" if np.isnan(rows[first]) else str(rows[first])
        raise EnvironmentFailure(
            f"{name} returned {number} in {place}; fix the environment, so that all it returns is finite"
        )


def check_rewards(values: Sequence[Any], name: str) -> Floats:
    """The rewards of n environments, checked, (n,)."""
    rewards = _array(values, (), "reward", name)
    if not (rewards.min() >= -LARGEST_REWARD and rewards.max() <= LARGEST_REWARD):  # nor is it with NaN
        _check_finite(rewards, "reward", name)
        largest = rewards[int(np.abs(rewards).argmax())]
        raise EnvironmentFailure(f"{name} returned {largest:g} as reward, too large to add up; fix the environment")
    return rewards


def _wrong_shape(values: Sequence[Any], shape: tuple[int, ...], what: str, name: str) -> EnvironmentFailure:
    wrong = next((np.shape(value) for value in values if np.shape(value) != shape), "unknown")
    return EnvironmentFailure(
        f"{name} returned an array of shape {wrong} as {what}, where {shape} was due; "
        "fix the environment or its observation space"
    )


def _one_hot(values: Sequence[Any], *, n: int, start: int, name: str) -> Floats:
    """Rows (m, n), each with a one in the place of its value, from m values of ``Discrete(n, start)``."""
    places = _stack(values, shape=(), what="observation", name=name) - start
    outside = (places < 0) | (places >= n)
    if outside.any():
        raise EnvironmentFailure(
            f"{name} returned {values[int(outside.argmax())]} as observation, which is not in its space "
            f"Discrete({n}, start={start}); fix the environment or its observation space"
        )
    rows = np.zeros((len(values), n))
    rows[np.arange(len(values)), places.astype(np.intp)] = 1.0
    return rows
