"""Presets, one file a task: what the paper, or our own tuning, changes for it, and names for features and actions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from sirl.config import METHODS, Method, Settings
from sirl.errors import SirlError, did_you_mean


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of ``presets/``: names for a task, and its settings by method."""

    envs: list[str]
    features: list[str]
    actions: list[str]
    mirror: list[str] = []
    """What changes places or its sign in the mirror, by these names; for methods that make use of it."""
    settings: dict[str, Any] = {}
    methods: dict[Method, dict[str, Any]] = {}


@cache
def presets() -> Mapping[str, Preset]:
    """All presets by environment id."""
    found: dict[str, Preset] = {}
    for file in sorted(resources.files("sirl.presets").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            preset = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Preset)
            found |= dict.fromkeys(preset.envs, preset)
    return found


_OTHER_TASKS: dict[Method, dict[str, Any]] = {
    "laws": {"generations": 150},
    "linear": {"generations": 150},
    "eldt": {"individual_episodes": 16},
    "sirl-sb": {"individual_episodes": 14},
    "sirl-lb": {"individual_episodes": 5},
}


def preset_settings(env_id: str, method: Method) -> Settings:
    """The settings of ``method`` on a task: the task's preset, or defaults for a task that has none."""
    if method not in METHODS:
        hint = did_you_mean(str(method), list(METHODS)) or f"; choose from {', '.join(METHODS)}."
        raise SirlError(f"there is no method {method!r}{hint}")
    preset = presets().get(env_id)
    changes = dict(_OTHER_TASKS[method])
    if preset is not None:
        changes |= preset.settings | (preset.methods.get("laws", {}) if method == "linear" else {})
        changes |= preset.methods.get(method, {})
    if method == "linear":
        changes |= {"max_laws": 1, "products": False}
    if method == "eldt":  # whatever a task's settings say for all methods
        changes["collaborative_iterations"] = 0
    return Settings().replace(**changes)
