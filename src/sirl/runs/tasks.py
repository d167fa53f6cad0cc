"""The task of a run: what its environment shows at a first look, and what it was asked to make of that."""

from __future__ import annotations

import warnings

import msgspec

from sirl.config import Settings
from sirl.errors import SirlError
from sirl.model.mirror import renamed
from sirl.model.task import Task
from sirl.options import Options
from sirl.presets import presets
from sirl.simulators.recipes import Recipe, inspect


def look(recipe: Recipe, options: Options, settings: Settings, workers: int) -> Task:
    """The task that an environment offers, with derived features and a mirror; warns if it can't be repeated."""
    seen, repeatable = inspect(
        recipe, options.features, options.actions, workers=workers, hang_limit=options.hang_limit, play=True
    )
    if not repeatable:
        warnings.warn(
            f"{recipe.name} gave two different episodes for one seed and the same actions, so this run can't be "
            "repeated or resumed exactly: let its reset(seed=…) seed all that it draws from.",
            stacklevel=3,
        )
    task = as_made(seen, recipe, settings.max_steps).deriving(options.derive)
    if options.method not in ("laws", "linear") or options.start is not None:
        if options.mirror:
            raise SirlError("a mirror is for laws that are made from nothing: leave out --mirror.")
        return task
    if options.mirror and not settings.mirrored:
        raise SirlError("--no-mirrored does without a mirror: leave out that, or --mirror.")
    return task.mirroring(options.mirror or _preset_mirror(recipe.name, seen)) if settings.mirrored else task


def as_made(task: Task, recipe: Recipe, max_steps: int | None) -> Task:
    """A task that knows how its environment is made, and where its episodes are cut."""
    made = {"env_options": recipe.options or msgspec.UNSET, "max_steps": max_steps or msgspec.UNSET}
    return msgspec.structs.replace(task, **made)


def _preset_mirror(env: str, seen: Task) -> list[str]:
    """The mirror of a task's preset, by the names that the run has for its features and actions."""
    preset = presets().get(env)
    if preset is None or (len(preset.features), len(preset.actions)) != (len(seen.features), len(seen.action_names)):
        return []
    return renamed(preset.mirror, (preset.features, preset.actions), (seen.features, seen.action_names))
