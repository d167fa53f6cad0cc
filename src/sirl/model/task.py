"""What a task offers to a tree: named features to look at, and a space of actions to take."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spaces of an environment, named; part of every model file."""

    env: str
    features: list[str]
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

    @property
    def n_features(self) -> int:
        """Features in an observation."""
        return len(self.features)

    def rows(self, observations: Any) -> Floats:
        """Observations as the trees see them: one observation or many, (n, n_features)."""
        array = np.asarray(observations)
        if self.observation == "one-hot":
            places = array.ravel()[:, None] - self.observation_start == np.arange(self.n_features)
            if not places.any(axis=1).all():
                last = self.observation_start + self.n_features - 1
                raise SirlError(
                    f"this policy looks at a number from {self.observation_start} to {last} but got {observations}: "
                    f"use it on {self.env}."
                )
            return np.asarray(places, dtype=np.float64)
        if array.shape[-1:] != (self.n_features,):
            raise SirlError(
                f"this policy looks at {self.n_features} features ({', '.join(self.features)}) but got an "
                f"observation of shape {array.shape}: use it on {self.env}."
            )
        return array.reshape(-1, self.n_features).astype(np.float64)

    def mismatch(self, other: Task) -> str:
        """Why a policy for this task can't run on ``other``; empty if it can."""
        if self.observation != other.observation or self.observation_start != other.observation_start:
            mine, theirs = ((t.observation, t.observation_start) for t in (self, other))
            return "{} observations from {} against {} from {}".format(*mine, *theirs)
        if self.n_features != other.n_features:
            return f"{self.n_features} features against {other.n_features}"
        if self.action != other.action or self.action_shape != other.action_shape:
            return f"{self.action} actions of shape {self.action_shape} against {other.action} {other.action_shape}"
        bounds, others = (self.action_low, self.action_high), (other.action_low, other.action_high)
        if self.action != "box" and bounds != others:
            return "actions from {} to {} against {} to {}".format(*bounds, *others)
        return ""
