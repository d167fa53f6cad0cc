"""What is measured: real generations of the paper's tasks."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from sirl.benchmarking.tapes import Call, RawPhysics, Tape, Watched, recording_arena
from sirl.engine import Engine, local_engine
from sirl.options import Backend
from sirl.presets import preset_settings
from sirl.rollout.arena import Arena
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.recipe import ArenaRecipe
from sirl.search.evolution import State, first_state, next_generation
from sirl.search.population import Problem, make_problem
from sirl.simulators.environments import choose_backend
from sirl.simulators.recipes import Recipe, inspect, make_recipe

MUJOCO = ("InvertedPendulum-v4", "Swimmer-v4", "Reacher-v4", "Hopper-v4", "Walker2d-v4")
PAPER = (*MUJOCO, "LunarLander-v3")


class Bench(NamedTuple):
    """A task to be trained on, and where its work runs."""

    recipe: Recipe
    problem: Problem
    backend: Backend

    @staticmethod
    def of(env_id: str, simulator: Any = "auto", **settings: Any) -> Bench:
        """A task with the settings of SIRL-LB, some of them changed."""
        recipe = make_recipe(env_id)
        backend = choose_backend(recipe, simulator)
        chosen, task = preset_settings(env_id, "sirl-lb").replace(**settings), inspect(recipe).task
        cuts = ArenaRecipe(recipe, task, backend, None).kind.cuts
        return Bench(recipe, make_problem(task, chosen, "sirl-lb", 0, cuts), backend)

    @property
    def arena_recipe(self) -> ArenaRecipe:
        """How a worker gets its arena."""
        return ArenaRecipe(self.recipe, self.problem.task, self.backend, self.problem.settings.max_steps)

    def engine(self, workers: int) -> Engine[Arena]:
        """As :class:`sirl.Training` makes it."""
        return local_engine(self.arena_recipe, workers)

    def raw_engine(self, workers: int, tapes: list[Tape]) -> Engine[RawPhysics]:
        """The same for physics alone, with the tapes at hand."""
        return local_engine(partial(RawPhysics, self.recipe.name, tapes), workers)

    def first_generation(self, engine: Engine[Arena]) -> dict[str, Call]:
        """The phases of the first generation by the name of their function, run once."""
        watched = Watched(engine)
        next_generation(first_state(self.problem), self.problem, watched)
        return {call.function.__name__: call for call in watched.calls}

    def recorded(self, before: State, workers: int) -> list[Call]:
        """The phases of a generation in lockstep as they are cut for so many workers, run here and recorded."""
        with self.recording_engine() as engine:
            watched = Watched(engine, records=True, workers=workers)
            next_generation(before, self.problem._replace(cuts=LockstepArena.cuts), watched)
        return watched.calls

    def recording_engine(self) -> Engine[LockstepArena]:
        """An engine in this process whose arena keeps tapes."""
        problem = self.problem
        return local_engine(partial(recording_arena, self.recipe, problem.task, problem.settings.max_steps), 1)


def warm_up(env_id: str, engine: Engine[Arena], **settings: Any) -> None:
    """A small generation, so that all workers have started and have loaded what is compiled."""
    few: dict[str, Any] = {"population": 20, "individual_episodes": 1, "collaborative_iterations": 1, "candidates": 1}
    problem = Bench.of(env_id, **settings | few).problem
    next_generation(first_state(problem), problem, engine)


def compile_all() -> None:
    """Compile, or load, every kernel: it is measured elsewhere."""
    few: dict[str, Any] = {"population": 4, "individual_episodes": 1, "collaborative_iterations": 1, "candidates": 1}
    with ExitStack() as stack:
        for env_id in ("InvertedPendulum-v4", "Reacher-v4"):
            bench = Bench.of(env_id, collaborative_copies=2, validation_episodes=1, max_steps=5, **few)
            bench.first_generation(stack.enter_context(bench.engine(1)))
            bench.recorded(first_state(bench.problem), 1)  # in lockstep, too
