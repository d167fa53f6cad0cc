"""Mirrors: what changes places, or its sign, when a task is seen from the other side.

A walker has a right and a left leg, a lander may come from either side. Who does in the mirror what it does here needs
half of the numbers, and half of the reading: a law for the right thigh is one for the left thigh, too.

A mirror is a list of lines such as ``right thigh = left thigh`` (they change places) and ``theta = -theta`` (it changes
its sign), of features and of actions; what is not named stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.errors import SirlError
from sirl.model.tokens import MINUS, Reader, Unreadable, unquoted, write_name

Names = tuple[Sequence[str], Sequence[str]]
"""Of features and of actions."""


class Exchange(NamedTuple):
    """Where each of some quantities goes in the mirror, and whether its sign changes there."""

    places: Ints
    """(n,): done twice, everything is where it was."""
    signs: Floats
    """(n,): 1 or -1, the same for both that change places."""


class Mirror(NamedTuple):
    """Seen from the other side."""

    features: Exchange
    actions: Exchange
    """Of the components of a Box action, or of the choices of a Discrete one."""


@lru_cache(maxsize=64)
def read_mirror(lines: tuple[str, ...], features: tuple[str, ...], actions: tuple[str, ...]) -> Mirror:
    """The mirror that lines tell of; raises :class:`SirlError` for one that is none."""
    found = Mirror(*(Exchange(np.arange(len(names)), np.ones(len(names))) for names in (features, actions)))
    named: set[str] = set()
    for line in lines:
        try:
            one, other, sign = _read_line(line, (*features, *actions))
            for name in {one, other}:
                if name in named:
                    raise Unreadable(f"{write_name(name)} is there twice")
            _exchange(found, one, other, sign, (features, actions))
        except Unreadable as reason:
            raise SirlError(f"the mirror {line!r} can't be read: {reason}.") from None
        named |= {one, other}
    return found


def _read_line(line: str, names: Sequence[str]) -> tuple[str, str, float]:
    """The two names of a line, and the sign between them."""
    one, _, signed = (part.strip() for part in line.partition("="))
    other = signed if signed in names else signed.lstrip("".join(MINUS)).strip()
    if one in names and other in names:  # names of several words need no quotes here
        return one, other, 1.0 if other == signed else -1.0
    reader, read = Reader(line, names), []
    sign = 1.0
    for side in range(2):
        if side == 1 and not reader.next("="):
            raise Unreadable("write it as `a = b`, or `a = -a` for what changes its sign")
        if side == 1 and reader.next(*MINUS):
            sign = -1.0
        token = reader.take("a feature or an action")
        if unquoted(token) not in names:
            raise Unreadable(reader.unknown(unquoted(token), token))
        read.append(unquoted(token))
    if reader.ahead is not None:
        raise Unreadable(f"{reader.ahead.text!r} comes after its end")
    return read[0], read[1], sign


def _exchange(mirror: Mirror, one: str, other: str, sign: float, names: tuple[tuple[str, ...], ...]) -> None:
    """Note that two of the features, two of the actions or both change places."""
    both = [i for i, some in enumerate(names) if one in some and other in some]
    if not both:
        raise Unreadable(f"{write_name(one)} is a feature and {write_name(other)} an action, or the other way round")
    for which in both:
        a, b = names[which].index(one), names[which].index(other)
        mirror[which].places[[a, b]] = b, a
        mirror[which].signs[[a, b]] = sign


def renamed(lines: Sequence[str], old: Names, new: Names) -> list[str]:
    """The lines of a mirror for features and actions with other names."""
    mirror = read_mirror(tuple(lines), *map(tuple, old))
    found: dict[str, None] = {}
    for (places, signs), names in zip(mirror, new, strict=True):
        for here, (there, sign) in enumerate(zip(places.tolist(), signs.tolist(), strict=True)):
            if here < there or sign < 0 <= there - here:
                found[f"{write_name(names[here])} = {'-' if sign < 0 else ''}{write_name(names[there])}"] = None
    return list(found)
