"""How an environment is made, from what a user names: an id, or a function that makes it; and the first look at it.

An environment is a stranger's code until it has been made and asked what it offers: it may hang, crash or exit. Where
it is going to run in worker processes, and where its id names a module that is yet to be imported, it is looked at in
one.
Nothing here needs numba, so that such a process starts quickly.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from sirl.engine import Engine
from sirl.engine.local import InProcess
from sirl.engine.processes import Processes
from sirl.errors import EnvironmentFailure, SirlError, WorkFailure, in_words
from sirl.model.task import Task
from sirl.presets import presets
from sirl.simulators.gymnasium import GymnasiumSimulator, make_environment
from sirl.simulators.modules import find_beside, serve
from sirl.simulators.spaces import describe

_STEPS = 10
"""Of the episode that is played twice: what is not repeatable differs at once, or nearly so."""

_named: set[str] = set()
"""Modules that the user has named in this process."""


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

    @property
    def is_gymnasiums_own(self) -> bool:
        """Whether it is one of those that come with Gymnasium, and known to behave."""
        spec = gym.registry.get(self.name) if self.factory is None else None
        return spec is not None and str(spec.entry_point).startswith("gymnasium.envs.")


def make_recipe(env: str | Callable[[], gym.Env[Any, Any]], options: dict[str, Any] | None = None) -> Recipe:
    """The recipe for an id or a factory."""
    if isinstance(env, str):
        _named.add(env.rpartition(":")[0])
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
    if colon and module not in sys.modules and module not in _named:
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
        if env_id in [f"{base}-v{old}" for old in range(int(version))] and not _is_played(env_id):
            raise SirlError(f"{env_id} is an old version, which Gymnasium no longer plays: use {preset}.")
    if env_id in gym.registry:
        return env_id
    parts = (known.rpartition("-v") for known in gym.registry)
    versions = [int(number) for name, _, number in parts if name == env_id and number.isdigit()]
    return f"{env_id}-v{max(versions)}" if versions else env_id


def _is_played(env_id: str) -> bool:
    """Whether Gymnasium still has it: of some old versions it keeps the id, for a function that says no."""
    return env_id in gym.registry and isinstance(gym.registry[env_id].entry_point, str)


class Seen(NamedTuple):
    """What a first look at an environment shows."""

    task: Task
    repeatable: bool
    """The same seed and actions gave the same episode twice, as far as that was tried and could be played."""


def inspect(
    recipe: Recipe,
    features: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    *,
    workers: int = 1,
    hang_limit: float | None = None,
    play: bool = False,
) -> Seen:
    """Look at a recipe's environment, where it is safe to.

    Args:
        recipe: how it is made.
        features: names for its features, if they are given.
        actions: names for its actions, if they are given.
        workers: how many processes it will run on; with one, it runs in this one.
        hang_limit: seconds after which it counts as hung.
        play: try whether it gives the same episode twice, too.
    """
    with _engine_for(recipe, workers, hang_limit) as engine:
        engine.map(_start, [_Start()])
        try:
            (task,) = engine.map(_describe, [_Look(recipe, features, actions, "the making")])
        except WorkFailure as failure:
            failure.env = recipe.name
            raise
        repeatable = True
        if play and not recipe.is_gymnasiums_own:
            with suppress(SirlError):  # if it fails, it does so again where the run can tell
                (repeatable,) = engine.map(_plays_alike, [_Look(recipe, label="the first episode")])
    return Seen(task, repeatable)


class _Start:
    """Nothing yet, but a process has all that it takes when it is done with it."""

    timed = False


def _start(_: None, __: _Start) -> None:
    pass


@dataclass(frozen=True)
class _Look:
    recipe: Recipe
    features: Sequence[str] | None = None
    actions: Sequence[str] | None = None
    label: str = ""


def _engine_for(recipe: Recipe, workers: int, hang_limit: float | None) -> Engine[None]:
    module, colon, _ = recipe.name.rpartition(":")
    to_be_imported = recipe.factory is None and colon and module not in sys.modules
    if not to_be_imported and (recipe.is_gymnasiums_own or (workers == 1 and hang_limit is None)):
        return InProcess(_nothing)
    return Processes(_nothing, workers=1, timeout=hang_limit, attempts=1)


def _nothing() -> None:
    """What a look needs besides its recipe."""


def _describe(_: None, look: _Look) -> Task:
    """The task that an environment offers."""
    name = look.recipe.name
    try:
        env = look.recipe()
        if not isinstance(env, gym.Env):
            raise SirlError(f"{name} made a {type(env).__name__}: let it return a gymnasium.Env.")
        task = describe(env, name, look.features, look.actions)
        with suppress(Exception):  # what there was to see is seen
            env.close()
        return task
    except SirlError:
        raise
    except (Exception, SystemExit) as error:
        raise EnvironmentFailure(
            f"{name} could not be made ({in_words(error)}): fix the environment or its options.",
            details=traceback.format_exc(),
        ) from error


def _plays_alike(_: None, look: _Look) -> bool:
    """Whether the same seed and actions give the same episode twice."""
    simulator = GymnasiumSimulator(look.recipe, 1, name=look.recipe.name)
    try:
        return _play(simulator) == _play(simulator)
    finally:
        with suppress(Exception):
            simulator.close()


def _play(simulator: GymnasiumSimulator) -> list[bytes]:
    """The beginning of an episode, as bytes of all that came back."""
    slot = np.zeros(1, dtype=np.int32)
    seen = [simulator.reset(slot, np.array([4242])).tobytes()]
    space = simulator.action_space()
    space.seed(4242)
    for _ in range(_STEPS):
        step = simulator.step(slot, np.array([space.sample()]))
        seen.append(b"".join(values.tobytes() for values in step[:4]))
        if step.terminated[0] or step.truncated[0]:
            break
    return seen
