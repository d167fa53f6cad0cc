"""From a recipe for environments to the simulator that serves it, and the arena of a worker."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from sirl.errors import SirlError, did_you_mean
from sirl.model.task import Menu
from sirl.rollout.work import Arena
from sirl.simulators import Simulator
from sirl.simulators.gymnasium import GymnasiumSimulator
from sirl.simulators.recipes import Recipe

Backend = Literal["mujoco", "gymnasium", "envpool"]
SimulatorName = Literal["auto", "mujoco", "gymnasium", "envpool"]

SLOTS = {"mujoco": 128, "gymnasium": 32, "envpool": 128}
"""Episodes in lockstep on one worker: enough that Python's cost per call is shared by many."""


@dataclass(frozen=True)
class ArenaRecipe:
    """How a worker gets its arena."""

    recipe: Recipe
    menu: Menu
    backend: Backend
    max_steps: int | None

    def __call__(self) -> Arena:
        """A new arena."""
        slots = SLOTS[self.backend]
        simulator: Simulator
        if self.backend == "mujoco":
            from sirl.simulators.mujoco.lockstep import MujocoSimulator
            from sirl.simulators.mujoco.world import Direct

            simulator = MujocoSimulator(self.recipe.name, slots, max_steps=self.max_steps)
            return Arena(simulator, self.menu.values, Direct.of(self.recipe.name, self.max_steps))
        if self.backend == "envpool":
            from sirl.simulators.envpool import EnvPoolSimulator

            simulator = EnvPoolSimulator(self.recipe.name, slots, self.max_steps)
        else:
            simulator = GymnasiumSimulator(self.recipe, slots, self.max_steps, name=self.recipe.name)
        return Arena(simulator, self.menu.values)


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


def in_lockstep(backend: Backend) -> bool:
    """Whether episodes advance in lockstep, rather than in compiled loops one after another."""
    if backend != "mujoco":
        return True
    from sirl.simulators.mujoco.library import find_library

    return find_library() is None


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
