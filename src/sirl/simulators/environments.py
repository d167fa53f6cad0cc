"""From what a user names (an id, or a function that makes an environment) to a task and its simulators."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_args

import gymnasium as gym

from sirl.config import presets
from sirl.errors import EnvironmentFailure, SirlError, did_you_mean
from sirl.model.task import Task
from sirl.options import Backend, SimulatorName
from sirl.simulators.gymnasium import make_environment
from sirl.simulators.modules import find_beside, serve
from sirl.simulators.spaces import describe


@dataclass(frozen=True)
class Recipe:
    """How an environment is made, here or on any worker."""

    name: str
    factory: Callable[..., gym.Env[Any, Any]] | None
    """None: ``name`` is a Gymnasium id."""
    options: dict[str, Any]
    """Keyword arguments of the environment."""
    beside: str = ""
    """The directory that the module of ``name`` is in, if it is not where Python looks."""

    def __call__(self) -> gym.Env[Any, Any]:
        """A new environment."""
        if self.factory is None:
            if self.beside:
                serve(self.name, self.beside)
            return make_environment(self.name, **self.options)
        return self.factory(**self.options)


def make_recipe(env: str | Callable[[], gym.Env[Any, Any]], options: dict[str, Any] | None = None) -> Recipe:
    """The recipe for an id or a factory."""
    if isinstance(env, str):
        return Recipe(_with_version(env), None, dict(options or {}), find_beside(env))
    if isinstance(env, gym.Env) or not callable(env):
        raise SirlError(
            "give an environment's id, or a function that makes one such as `lambda: MyEnv()`, not "
            f"{type(env).__name__}: every worker makes environments of its own."
        )
    return Recipe(getattr(env, "__name__", type(env).__name__), env, dict(options or {}))


def named_by_file(env_id: str, fix: str) -> str:
    """An id that a file gives, if it needs no module that nobody has asked for: a file must not choose what runs."""
    module, colon, _ = env_id.rpartition(":")
    if colon and module not in sys.modules:
        raise SirlError(
            f"the environment {env_id!r} would import the module {module!r}, and only a file asks for that: if you "
            f"trust it, {fix}, or import it first."
        )
    return env_id


def _with_version(env_id: str) -> str:
    """The full name of an id: without a version, the one that has a preset, else the newest."""
    for preset in presets():
        base, _, version = preset.rpartition("-v")
        if env_id == base:
            return preset
        if env_id in [f"{base}-v{old}" for old in range(int(version))]:
            raise SirlError(f"{env_id} is an old version, which Gymnasium no longer plays: use {preset}.")
    if env_id in gym.registry:
        return env_id
    parts = (known.rpartition("-v") for known in gym.registry)
    versions = [int(number) for name, _, number in parts if name == env_id and number.isdigit()]
    return f"{env_id}-v{max(versions)}" if versions else env_id


def inspect(recipe: Recipe, features: Sequence[str] | None = None, actions: Sequence[str] | None = None) -> Task:
    """The task that a recipe's environment offers."""
    try:
        env = recipe()
        if not isinstance(env, gym.Env):
            raise SirlError(f"{recipe.name} made a {type(env).__name__}: let it return a gymnasium.Env.")
        task = describe(env, recipe.name, features, actions)
        with suppress(Exception):  # what there was to see is seen
            env.close()
        return task
    except SirlError:
        raise
    except (Exception, SystemExit) as error:
        reason = str(error).partition("\n")[0]
        raise EnvironmentFailure(
            f"{recipe.name} could not be made ({type(error).__name__}: {reason}): fix the environment or its options.",
            details=traceback.format_exc(),
        ) from error


def choose_backend(recipe: Recipe, simulator: SimulatorName) -> Backend:
    """Which simulator serves a recipe: unless named, MuJoCo itself where the task is one of its own, else Gymnasium."""
    known = get_args(SimulatorName)
    if simulator not in known:
        hint = did_you_mean(str(simulator), list(known)) or f"; choose from {', '.join(known)}."
        raise SirlError(f"there is no simulator {simulator!r}{hint}")
    if simulator == "gymnasium":
        return "gymnasium"
    from sirl.simulators import envpool
    from sirl.simulators.mujoco import rules

    if simulator == "envpool":
        envpool.check_installed()
    served = tuple(envpool.SUPPORTED if simulator == "envpool" else rules.SUPPORTED)
    fits = recipe.factory is None and not recipe.options and recipe.name in served
    if simulator == "auto":
        return "mujoco" if fits else "gymnasium"
    if not fits:
        raise SirlError(
            f"the {simulator} simulator serves {', '.join(served)} without options, not {recipe.name}: "
            "use --simulator gymnasium."
        )
    return simulator


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
