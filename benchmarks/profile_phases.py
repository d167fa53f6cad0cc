"""Where the time of a phase goes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.benchmarking.measure import Effort, Table, take_turns, time_of
from sirl.benchmarking.physics import PHASES, settings_for
from sirl.benchmarking.tapes import Tape
from sirl.benchmarking.work import MUJOCO, Bench
from sirl.errors import SirlError
from sirl.jit import compiled
from sirl.rollout.arena import Arena
from sirl.rollout.compiled import CompiledArena
from sirl.search.evolution import first_state
from sirl.simulators.mujoco.library import call_with_two
from sirl.simulators.mujoco.rules import SUPPORTED, draw_starts, load_model
from sirl.simulators.mujoco.world import World, advance, begin

_NOTE = (
    "Per cent of a phase's time on one worker. The same episodes are played three times in turns, in a compiled loop "
    "each time: as the phase, with its actions but without trees, and with nothing but MuJoCo's steps between the "
    "starts; of several repetitions the shortest counts. Physics is the last; rules (observations, rewards, ends, the "
    "check for divergence) what the second takes beyond it; trees (draws, choices, walks, learning, results) what the "
    "phase takes beyond that."
)


class _Script(NamedTuple):
    """Episodes as they were played."""

    seeds: NDArray[np.int64]
    """(n_episodes,)"""
    lengths: NDArray[np.int64]
    """(n_episodes,)"""
    actions: NDArray[Any]
    """(n_steps, nu), one episode after another."""

    @staticmethod
    def of(tapes: list[Tape]) -> _Script:
        """What is on some tapes."""
        episodes = [episode for tape in tapes for episode in tape.episodes()]
        lengths = np.array([len(actions) for _, actions in episodes])
        return _Script(
            np.array([seed for seed, _ in episodes]), lengths, np.stack([a for _, actions in episodes for a in actions])
        )


@compiled
def _simulate(world: World, controls: Any, starts: Any, lengths: Any, physics_only: bool) -> None:
    """Play episodes without trees; ``physics_only``: without what a task lays over the steps of its physics."""
    physics, taken = world.physics, 0
    for episode in range(len(lengths)):
        begin(world, starts[episode])
        for k in range(taken, taken + lengths[episode]):
            if physics_only:
                for j in range(len(physics.ctrl)):
                    physics.ctrl[j] = controls[k, j]
                for _ in range(physics.frame_skip):
                    call_with_two(physics.step, physics.model, physics.data)
            else:
                for j in range(len(world.control)):
                    world.control[j] = controls[k, j]
                advance(world)
        taken += lengths[episode]


def _without_trees(arena: CompiledArena, env_id: str, script: _Script, physics_only: bool) -> None:
    starts = draw_starts(SUPPORTED[env_id], load_model(env_id), script.seeds)
    _simulate(arena.world, script.actions, starts, script.lengths, physics_only)


def _run(function: Any, orders: Any, arena: Arena) -> None:
    for order in orders:
        function(arena, order)


def profile(effort: Effort, env_ids: tuple[str, ...] = MUJOCO, **settings: Any) -> Iterator[Table]:
    """Shares of a phase's time, on one worker."""
    rows = []
    for env_id in env_ids:
        bench = Bench.of(env_id, **settings_for(env_id, effort) | settings)
        arena = bench.arena_recipe()
        if not isinstance(arena, CompiledArena):
            raise SirlError("a profile needs MuJoCo's library, which is not in its package: leave this section out.")
        for call in bench.recorded(first_state(bench.problem), 1):
            if call.function.__name__ not in PHASES:
                continue
            script = _Script.of(call.tapes)
            sides = {
                "phase": partial(_run, call.function, call.orders, arena),
                "no trees": partial(_without_trees, arena, env_id, script, False),
                "physics": partial(_without_trees, arena, env_id, script, True),
            }
            times = take_turns({name: partial(time_of, side) for name, side in sides.items()}, effort.repetitions)
            phase, no_trees, physics = (min(t.wall for t in times[name]) for name in sides)
            rows.append(
                {
                    "task": env_id,
                    "phase": call.function.__name__,
                    "seconds": phase,
                    "physics": 100 * physics / phase,
                    "rules": 100 * (no_trees - physics) / phase,
                    "trees": 100 * (phase - no_trees) / phase,
                }
            )
        arena.close()
        yield Table("Where the time goes", _NOTE, rows)
