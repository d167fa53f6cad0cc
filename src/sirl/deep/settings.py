"""What a social grid search does besides its grid: one frozen record, the paper's protocol as defaults.

A field's text is the command line's help. Where the paper says nothing (exploration, replay, optimiser, loss) the
values are the usual ones for a small task; docs/deep.md lists them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sirl.config import MaxSteps, checked, field_types
from sirl.errors import SirlError, did_you_mean

Method = Literal["social", "plain"]
"""All networks together, then each alone; or each alone from the start, the plain grid search."""

_BIG = 10_000_000


def _setting(text: str, **bounds: float) -> Meta:
    return Meta(description=text, **bounds)  # type: ignore[call-overload, no-any-return]


class DeepSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a grid search's result depends on but the task, the grid and the seed."""

    collaborative_episodes: Annotated[int, _setting("episodes that all networks share", ge=1, le=_BIG)] = 500
    individual_episodes: Annotated[int, _setting("episodes that each network then plays alone", ge=1, le=_BIG)] = 10
    voting: Annotated[
        Literal["random", "majority", "leader", "weighted"], _setting("how proposed actions become one")
    ] = "random"
    rounds: Annotated[
        int, _setting("times that networks are scouted, where the vote or halving goes by scores", ge=1, le=_BIG)
    ] = 5
    scouting_episodes: Annotated[int, _setting("greedy episodes of each network in a scouting", ge=1, le=_BIG)] = 3
    halving: Annotated[bool, _setting("drop the worse half of the networks before every round but the first")] = False
    epsilon: Annotated[float, _setting("chance to explore, in the end", ge=0, le=1)] = 0.05
    exploration_steps: Annotated[int, _setting("steps in which it falls from 1 to that", ge=0, le=_BIG)] = 5_000
    replay_size: Annotated[int, _setting("transitions that are kept to learn from", ge=1, le=_BIG)] = 50_000
    learning_starts: Annotated[int, _setting("transitions to gather before the first update", ge=1, le=_BIG)] = 500
    candidates: Annotated[int, _setting("best networks that are validated on fresh episodes", ge=1, le=_BIG)] = 5
    validation_episodes: Annotated[int, _setting("greedy episodes of each candidate", ge=1, le=_BIG)] = 30
    max_steps: Annotated[MaxSteps, _setting("cut episodes here (default: the environment's own limit)")] = None

    def scouts(self) -> bool:
        """Whether networks are scored before they vote."""
        return self.halving or self.voting in ("leader", "weighted")


def make_settings(**changes: Any) -> DeepSettings:
    """The defaults with some changed, each checked against its bounds."""
    kinds = field_types(DeepSettings)
    for name, value in changes.items():
        if name not in kinds:
            raise SirlError(f"there is no setting {name!r}{did_you_mean(name, list(kinds)) or '.'}")
        changes[name] = checked(name, value, kinds[name])
    settings = DeepSettings(**changes)
    if settings.learning_starts > settings.replay_size:
        raise SirlError(
            f"learning_starts = {settings.learning_starts} is never reached with replay_size = {settings.replay_size}: "
            "lower the one or raise the other."
        )
    if settings.rounds > settings.collaborative_episodes:
        raise SirlError(
            f"rounds = {settings.rounds} does not fit into collaborative_episodes = {settings.collaborative_episodes}: "
            "use fewer rounds."
        )
    return settings
