"""What a grid search was asked, and what came of it: the records behind ``config.toml`` and ``result.json``."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple

import msgspec

from sirl.deep.grid import Point
from sirl.deep.settings import DeepSettings, Method
from sirl.runs.directory import without_none


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a grid search was asked to do: enough to do it again."""

    env: str
    method: Method
    seed: int
    grid: list[Point]
    settings: DeepSettings
    features: list[str]
    actions: list[str]
    env_options: dict[str, Any] = {}
    versions: dict[str, str] = {}

    @property
    def is_social(self) -> bool:
        """Whether networks learn together first."""
        return self.method == "social"

    @property
    def collaborative_episodes(self) -> int:
        """That all networks share."""
        return self.settings.collaborative_episodes if self.is_social else 0

    @property
    def individual_episodes(self) -> int:
        """Of each network; in a plain search as many as it would see in both phases of a social one."""
        settings = self.settings
        return settings.individual_episodes + settings.collaborative_episodes - self.collaborative_episodes

    def digest(self) -> str:
        """A fingerprint of all that the result depends on."""
        asked = msgspec.structs.replace(self, versions={}, env_options=without_none(self.env_options))  # as it is kept
        return hashlib.sha256(msgspec.json.encode(asked, order="deterministic", enc_hook=repr)).hexdigest()


class Standing(NamedTuple):
    """Where a search stands, after an episode."""

    phase: str
    done: int
    """Episodes of both phases so far."""
    total: int
    """Episodes of both phases in all, if no network leaves."""
    networks: int
    """That still take part."""
    recent: float
    """Mean return of the phase's last episodes."""
    seconds: float


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Episodes that were played, by what for."""

    collaborative: int
    individual: int
    scouting: int
    validation: int
    """Outside the paper's budget: to choose the champion."""

    @property
    def budget(self) -> int:
        """What the paper counts."""
        return self.collaborative + self.individual + self.scouting


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """A network that did not come to the end."""

    number: int
    why: Literal["diverged", "halved"]
    steps: int
    """That it had seen by then."""


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A network's place in the grid search."""

    number: int
    point: Point
    score: float
    """Mean return of its last individual episodes."""
    low: float
    high: float
    """95 % interval of that mean."""
    validation_score: float | None
    """Mean return of greedy fresh episodes, if it was a candidate."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a grid search."""

    env: str
    method: Method
    seed: int
    ranking: list[Ranked]
    """Best first."""
    champion: int
    """Number of the network with the best validation score."""
    collaborative: list[float]
    """Returns of the episodes that all networks shared."""
    individual: dict[int, list[float]]
    """Returns of each network's own episodes."""
    left: list[Left]
    episodes: Counts
    steps: int
    """Of all environments together, in both phases."""
    seconds: float
    """Wall time of both phases."""

    @property
    def n_networks(self) -> int:
        """In the grid."""
        return len(self.ranking) + len(self.left)

    def curve(self, number: int) -> list[float]:
        """Returns on the way of one network: what it lived through with all, then alone."""
        return self.collaborative + self.individual[number]
