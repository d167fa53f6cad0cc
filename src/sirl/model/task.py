"""What a task offers to a tree: named features to look at, and a space of actions to take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from sirl.arrays import Floats
from sirl.errors import EnvironmentFailure, SirlError
from sirl.model.derived import Definition, Program, read_definitions, read_formula, run
from sirl.model.interval import Interval
from sirl.model.mirror import Mirror, read_mirror
from sirl.model.tokens import write_name

NO_BOUND = 1e6
"""A bound as large as this is none."""


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spaces of an environment, named; part of every model file."""

    env: str
    features: list[str]
    """What is observed, then what is derived from it."""
    observation: Literal["box", "one-hot"]
    observation_start: int = 0
    """First value of a Discrete observation."""
    feature_low: list[float | None]
    """Lower bound of each feature, None if there is none."""
    feature_high: list[float | None]
    action: Literal["discrete", "multi-discrete", "box"]
    action_names: list[str]
    """A name for each choice of a Discrete action, for each component of any other."""
    action_shape: list[int]
    action_dtype: str
    action_low: list[float]
    """Bounds of each component; for integer actions both are included."""
    action_high: list[float]
    derived: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Name and formula of each derived feature (see `sirl.model.derived`); not there if there are none."""
    mirror: list[str] | msgspec.UnsetType = msgspec.UNSET
    """What changes places or its sign in the mirror (see `sirl.model.mirror`); not there if nothing does."""
    env_options: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """Keyword arguments that the environment is made with; not there if there are none."""
    max_steps: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)] | msgspec.UnsetType = msgspec.UNSET
    """Where a run cut its episodes; not there if it did not."""

    @property
    def n_features(self) -> int:
        """What a tree can look at."""
        return len(self.features)

    @property
    def n_observed(self) -> int:
        """Features in an observation, which come first."""
        return len(self.features) - len(self.derived or ())

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The derived features in order."""
        if not self.derived:
            return ()
        n = self.n_observed
        bounds = zip(self.feature_low[:n], self.feature_high[:n], strict=True)
        return _definitions(tuple(self.derived), tuple(self.features[:n]), tuple(bounds))

    def needed(self, used: set[int]) -> dict[int, Definition]:
        """The derived features among those used, and those that they are derived from, by place and in order."""
        found = list(enumerate(self.definitions, start=self.n_observed))
        wanted = set(used)
        for place, definition in reversed(found):
            if place in wanted:
                wanted |= definition.uses
        return {place: definition for place, definition in found if place in wanted}

    def deriving(self, texts: Sequence[str]) -> Task:
        """The task with more features, each given as ``name = formula``."""
        lines = [*(self.derived or ()), *texts]
        if not lines:
            return self
        n = self.n_observed
        bare = msgspec.structs.replace(self, derived=lines, features=[*self.features[:n], *lines])
        found = bare.definitions
        return msgspec.structs.replace(
            bare,
            derived=[definition.line for definition in found],
            features=[*self.features[:n], *(definition.name for definition in found)],
            feature_low=[*self.feature_low[:n], *(_bound(definition.bounds.low) for definition in found)],
            feature_high=[*self.feature_high[:n], *(_bound(definition.bounds.high) for definition in found)],
        )

    @property
    def mirrored(self) -> Mirror | None:
        """How the task looks from the other side, if there is one."""
        if not self.mirror:
            return None
        return read_mirror(tuple(self.mirror), tuple(self.features), tuple(self.action_names))

    def mirroring(self, lines: Sequence[str]) -> Task:
        """The task with a mirror, each line ``a = b`` or ``a = -a``; raises for one that does not fit the actions."""
        if not lines:
            return self
        task = msgspec.structs.replace(self, mirror=list(lines))
        task = msgspec.structs.replace(task, mirror=[*lines, *task._images_of_derived()])
        mirror = task.mirrored
        assert mirror is not None
        places, signs = mirror.actions
        low, high = np.array(self.action_low), np.array(self.action_high)
        if self.action != "box":
            if (signs < 0).any():
                raise SirlError(f"a choice has no sign, as the mirror {', '.join(lines)} says: let two change places.")
        elif (np.where(signs > 0, low, -high) != low[places]).any() or (
            np.where(signs > 0, high, -low) != high[places]
        ).any():
            raise SirlError(f"the mirror {', '.join(lines)} exchanges actions with other bounds: leave those out.")
        return task

    def _images_of_derived(self) -> list[str]:
        """The lines of a mirror that follow from formulas: what each derived feature is there, seen on a few states."""
        if not self.derived or (mirror := self.mirrored) is None:
            return []
        n, (places, signs) = self.n_observed, mirror.features
        low, high = np.transpose(list(map(_stretch, self.feature_low[:n], self.feature_high[:n])))
        here = low + (high - low) * np.modf(np.outer(np.arange(1, 65), np.sqrt(np.arange(2, n + 2)) + np.pi))[0]
        seen, there = self.extended(here), self.extended((here * signs[:n])[:, places[:n]])
        lines = []
        for one in range(n, self.n_features):
            images = [
                (other, sign)
                for other in range(n, self.n_features)
                for sign in (1.0, -1.0)
                if np.allclose(there[:, one], sign * seen[:, other], rtol=1e-9, atol=1e-9)
            ]
            told = (int(places[one]), float(signs[one]))
            name = write_name(self.features[one])
            if not images or (told != (one, 1.0) and told not in images):
                raise SirlError(
                    f"in the mirror the derived feature {name} is not {write_name(self.features[told[0]])} or another "
                    "one: derive what it is there, too, or leave out the mirror (--no-mirrored)."
                )
            other, sign = images[0]
            if told not in images and one <= other:
                lines.append(f"{name} = {'-' if sign < 0 else ''}{write_name(self.features[other])}")
        return lines

    def program(self, formula: str, what: str) -> Program:
        """A formula of the features, derived ones too; raises :class:`SirlError`, which says ``what`` can't be read."""
        return read_formula(
            formula, self.features, _ranges(zip(self.feature_low, self.feature_high, strict=True)), what
        )

    def rows(self, observations: Any) -> Floats:
        """Observations as the trees see them: one observation or many, (n, n_features)."""
        array, n_observed = np.asarray(observations), self.n_observed
        if self.observation == "one-hot":
            places = array.ravel()[:, None] - self.observation_start == np.arange(n_observed)
            if not places.any(axis=1).all():
                last = self.observation_start + n_observed - 1
                raise SirlError(
                    f"this policy looks at a number from {self.observation_start} to {last} but got {observations}: "
                    f"use it on {self.env}."
                )
            return self.extended(np.asarray(places, dtype=np.float64))
        if array.shape[-1:] != (n_observed,):
            raise SirlError(
                f"this policy looks at {n_observed} features ({', '.join(self.features[:n_observed])}) but got an "
                f"observation of shape {array.shape}: use it on {self.env}."
            )
        return self.extended(array.reshape(-1, n_observed).astype(np.float64))

    def extended(self, observed: Floats) -> Floats:
        """What is observed (n, n_observed), followed by what is derived from it, (n, n_features)."""
        if not self.derived:
            return observed
        rows = np.empty((len(observed), self.n_features))
        rows[:, : self.n_observed] = observed
        with np.errstate(all="ignore"):  # it is looked at below
            for place, definition in enumerate(self.definitions, start=self.n_observed):
                rows[:, place] = run(definition.program, rows.T.__getitem__, np.float64)
        odd = ~np.isfinite(rows) & np.isfinite(observed).all(axis=1, keepdims=True)
        if odd.any():
            row, place = np.argwhere(odd)[0]
            raise EnvironmentFailure(
                f"{self.env} gave an observation on which the derived feature {self.features[place]} is "
                f"{rows[row, place]}: let it keep to its bounds, or derive a feature that stays finite."
            )
        return rows

    def mismatch(self, other: Task) -> str:
        """Why a policy for this task can't run on ``other``; empty if it can."""
        if self.observation != other.observation or self.observation_start != other.observation_start:
            mine, theirs = ((t.observation, t.observation_start) for t in (self, other))
            return "{} observations from {} against {} from {}".format(*mine, *theirs)
        if self.n_observed != other.n_observed:
            return f"{self.n_observed} features against {other.n_observed}"
        if self.action != other.action or self.action_shape != other.action_shape:
            return f"{self.action} actions of shape {self.action_shape} against {other.action} {other.action_shape}"
        bounds, others = (self.action_low, self.action_high), (other.action_low, other.action_high)
        if self.action != "box" and bounds != others:
            return "actions from {} to {} against {} to {}".format(*bounds, *others)
        return ""


@lru_cache(maxsize=64)
def _definitions(
    lines: tuple[str, ...], names: tuple[str, ...], bounds: tuple[tuple[float | None, float | None], ...]
) -> tuple[Definition, ...]:
    return tuple(read_definitions(lines, names, _ranges(bounds)))


def _ranges(bounds: Iterable[tuple[float | None, float | None]]) -> list[Interval]:
    return [Interval(-math.inf if low is None else low, math.inf if high is None else high) for low, high in bounds]


def _stretch(low: float | None, high: float | None) -> tuple[float, float]:
    """Within bounds; four wide where one is open, and about zero where both are."""
    if low is None:
        return (-2.0, 2.0) if high is None else (high - 4.0, high)
    return low, low + 4.0 if high is None else high


def _bound(value: float) -> float | None:
    return value if abs(value) < NO_BOUND else None
