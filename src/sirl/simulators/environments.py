"""Which simulator serves a recipe for environments."""

from __future__ import annotations

import os
from typing import get_args

from sirl.errors import SirlError, did_you_mean
from sirl.options import Backend, SimulatorName
from sirl.simulators.recipes import Recipe


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
