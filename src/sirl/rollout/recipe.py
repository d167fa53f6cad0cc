"""How a worker gets its arena, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass

from sirl.jit import is_kept
from sirl.model.task import Task
from sirl.options import Backend
from sirl.rollout.arena import Arena
from sirl.rollout.lockstep import LockstepArena
from sirl.simulators import Simulator
from sirl.simulators.derived import deriving
from sirl.simulators.gymnasium import GymnasiumSimulator
from sirl.simulators.recipes import Recipe

_SLOTS = {"mujoco": 32, "gymnasium": 32, "envpool": 128}
"""Episodes in lockstep on one worker: enough that Python's cost per call is shared by many."""


@dataclass(frozen=True)
class ArenaRecipe:
    """How an arena is made; what needs MuJoCo or EnvPool is imported when it is needed."""

    recipe: Recipe
    task: Task
    backend: Backend
    max_steps: int | None

    @property
    def kind(self) -> type[Arena]:
        """The kind of arena that it will be: compiled loops where MuJoCo's library is found, with the same bits."""
        if self.backend == "mujoco":
            from sirl.simulators.mujoco.library import find_library

            if find_library() is not None:
                from sirl.rollout.compiled import CompiledArena

                return CompiledArena
        return LockstepArena

    @property
    def is_warm(self) -> bool:
        """Whether an earlier process has compiled its loops, and they are kept."""
        return is_kept(self.kind.loop)

    def __call__(self) -> Arena:
        """A new arena."""
        if self.kind is not LockstepArena:
            from sirl.rollout.compiled import CompiledArena

            return CompiledArena(self.recipe.name, self.task, self.max_steps)
        return LockstepArena(deriving(self._simulator(), self.task), self.task)

    def _simulator(self) -> Simulator:
        n_slots = _SLOTS[self.backend]
        if self.backend == "envpool":
            from sirl.simulators.envpool import EnvPoolSimulator

            return EnvPoolSimulator(self.recipe.name, n_slots, self.max_steps)
        return GymnasiumSimulator(self.recipe, n_slots, self.max_steps, name=self.recipe.name)
