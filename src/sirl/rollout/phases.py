"""The two phases of a generation (Algorithms 2 and 3), and playing without learning.

Each takes an arena and one order of work. Where physics can be called from compiled loops, whole episodes are played
in them; for all else there is lockstep. Both give the same bits. What needs MuJoCo is imported when it is needed.
"""

from __future__ import annotations

from sirl.learning.voting import ELECTING
from sirl.rollout import lockstep
from sirl.rollout.work import (
    Arena,
    CollaborativeOrder,
    CollaborativeResult,
    IndividualOrder,
    IndividualResult,
    PlayOrder,
    PlayResult,
)


def refine(arena: Arena, order: IndividualOrder) -> IndividualResult:
    """Individual phase (Algorithm 3): every tree learns alone; its mean return is its fitness."""
    if arena.direct is None:
        return lockstep.refine(arena, order)
    from sirl.rollout import compiled as episodes

    return episodes.refine(arena.direct, arena.actions, order)


def collaborate(arena: Arena, order: CollaborativeOrder) -> CollaborativeResult:
    """Collaborative phase (Algorithm 2): all propose, a vote decides, all learn from the one transition."""
    if arena.direct is None or order.voting not in ELECTING:
        return lockstep.collaborate(arena, order)
    from sirl.rollout import compiled as episodes

    return episodes.collaborate(arena.direct, arena.actions, order)


def play(arena: Arena, order: PlayOrder) -> PlayResult:
    """Every tree on every one of its seeds, its leaves' actions as they are."""
    if arena.direct is None:
        return lockstep.play(arena, order)
    from sirl.rollout import compiled as episodes

    return episodes.play(arena.direct, order)
