"""Our phases against loops in Python: a bare Gymnasium loop, and a straightforward implementation of the paper."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sirl.benchmarking.measure import Effort, Table, Time, rate, speedup, take_turns, time_of
from sirl.benchmarking.physics import settings_for
from sirl.benchmarking.tapes import record
from sirl.benchmarking.work import MUJOCO, Bench
from sirl.engine import local_engine
from sirl.learning.forest import Forest
from sirl.rollout.work import CollaborativeOrder
from sirl.simulators.recipes import Recipe

_BARE_STEPS = 20_000
_LANDER = "LunarLander-v3"


def gymnasium_loop(effort: Effort) -> Iterator[Table]:
    """The individual phase against a bare Gymnasium loop that plays the same episodes on one core."""
    rows = [_against_bare(env_id, effort, settings_for(env_id, effort), 1, "auto", None) for env_id in MUJOCO]
    lander = {"individual_episodes": 2, "population": max(50, round(500 * effort.scale)), "collaborative_iterations": 1}
    lander |= {"candidates": 1, "validation_episodes": 1}
    rows.append(_against_bare(_LANDER, effort, lander, 1, "gymnasium", None))
    rows.append(_against_bare(_LANDER, effort, lander, 2, "gymnasium", 1.8))
    note = (
        "The individual phase against a bare loop on one core: `env.reset(seed)`, then a fixed tree in Python and "
        "`env.step` until the episode ends. The loop plays episodes of the phase, with the actions that they had, "
        "whatever its tree says. The last column: as many bare loops as workers, each in a process of its own, against "
        "one alone, for what the cores give."
    )
    if find_spec("envpool"):
        rows.append(_against_bare(_LANDER, effort, lander, 1, "envpool", None))
        rows.append(_against_bare(_LANDER, effort, lander, 2, "envpool", 3.0))
        note += " EnvPool is another program: its episodes are alike, not the same."
    else:
        note += " EnvPool is not installed, so it was not measured."
    yield Table("Individual phase ÷ bare Gymnasium loop", note, rows)


def _against_bare(
    env_id: str, effort: Effort, settings: dict[str, Any], workers: int, simulator: str, goal: float | None
) -> dict[str, Any]:
    bench, recorded = Bench.of(env_id, simulator, **settings), Bench.of(env_id, **settings)
    with ExitStack() as stack:
        engine = stack.enter_context(bench.engine(workers))
        call = bench.first_generation(engine)["individual"]
        results = engine.map(call.function, call.orders)
        with recorded.recording_engine() as recording:
            tapes = record(recording, call.function, call.orders[:1])[1]
        episodes = _some(tapes[0].episodes(), _BARE_STEPS * effort.scale)
        of = (bench.recipe, call.orders[0].forest, episodes)
        bare = _Bare(*of)
        stack.callback(bare.close)
        sides: dict[str, Callable[[], Time]] = {
            "ours": partial(time_of, partial(engine.map, call.function, call.orders), workers),
            "bare": partial(time_of, bare.play),
        }
        if workers > 1:
            loops = stack.enter_context(local_engine(partial(_Bare, *of), workers))
            sides["bares"] = partial(time_of, partial(loops.map, _Bare.play, range(workers)), workers)
        times = take_turns(sides, effort.repetitions)
    steps, bare_steps = sum(r.steps for r in results), sum(len(actions) for _, actions in episodes)
    return {
        "task": env_id,
        "simulator": bench.backend,
        "workers": workers,
        "steps/s": rate(steps, times["ours"]),
        "bare steps/s": rate(bare_steps, times["bare"]),
        **speedup(times["ours"], times["bare"], steps / bare_steps).columns(goal),
        "bare loops ÷ one": speedup(times["bares"], times["bare"], workers).median if workers > 1 else None,
    }


def _some(episodes: list[tuple[int, list[Any]]], steps: float) -> list[tuple[int, list[Any]]]:
    """Episodes evenly from the whole phase, of about so many steps together."""
    total = sum(len(actions) for _, actions in episodes)
    return episodes[:: max(1, round(total / steps))]


class _Bare:
    """A bare loop over some episodes with a fixed tree, which has no say in them."""

    def __init__(self, recipe: Recipe, forest: Forest, episodes: list[tuple[int, list[Any]]]):
        self._env, self._tree, self._episodes = recipe(), _fixed_tree(forest), episodes

    def play(self, number: int = 0) -> None:  # noqa: ARG002
        """All episodes."""
        env, tree = self._env, self._tree
        for seed, actions in self._episodes:
            observation, _ = env.reset(seed=seed)
            for action in actions:
                tree(observation)
                observation, _, _, _, _ = env.step(action)

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def _fixed_tree(forest: Forest) -> Callable[[Sequence[float]], int]:
    """A tree of the phase as a person would write it down: nested conditions in Python."""
    name = iter(range(10_000))

    def write(node: int, indent: str) -> str:
        if node < 0:
            return f"{indent}return {next(name)}\n"
        terms = " + ".join(f"{w!r} * x[{i}]" for i, w in enumerate(forest.weights[node].tolist()) if w) or "0.0"
        yes, no = forest.children[node].tolist()
        return (
            f"{indent}if {terms} < {forest.thresholds[node].item()!r}:\n{write(yes, indent + ' ')}{write(no, indent)}"
        )

    smallest = int((forest.first_split[1:] - forest.first_split[:-1]).argmin())
    scope: dict[str, Any] = {}
    exec(f"def tree(x):\n{write(int(forest.roots[smallest]), ' ')}", scope)
    found: Callable[[Sequence[float]], int] = scope["tree"]
    return found


def plain_python(effort: Effort) -> Iterator[Table]:
    """The collaborative phase against tests/plain.py, both on one core."""
    plain = load_plain()
    rows = [_against_plain(plain, env_id, effort) for env_id in ("InvertedPendulum-v4", "Hopper-v4")]
    yield Table(
        "Collaborative phase ÷ plain Python",
        "The collaborative phase with 500 trees on one core against a straightforward implementation: one object a "
        "tree, one environment, no arrays. It plays the first episodes of the same phase, with the same bits.",
        rows,
    )


def load_plain() -> SimpleNamespace:
    """The plain implementation."""
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "tests" / "plain.py")))


def _against_plain(plain: SimpleNamespace, env_id: str, effort: Effort) -> dict[str, Any]:
    bench = Bench.of(env_id, **settings_for(env_id, effort))
    env = bench.recipe()
    with bench.engine(1) as engine:
        call = bench.first_generation(engine)["collaborative"]
        results = engine.map(call.function, call.orders)
        order: CollaborativeOrder = call.orders[0]
        settings = bench.problem.settings.replace(collaborative_copies=1, collaborative_iterations=2)
        menu, weights = bench.problem.menu.values, order.weights.tolist()
        steps: list[int] = []

        def play_plain() -> Time:
            trees = plain_trees(plain, order.forest, order.table.q_values.tolist())  # they learn: fresh each time
            play = partial(plain.collaborative_phase, env, trees, menu, settings, int(order.key), weights)
            return time_of(lambda: steps.append(play()))

        sides: dict[str, Callable[[], Time]] = {
            "ours": partial(time_of, partial(engine.map, call.function, call.orders)),
            "plain": play_plain,
        }
        times = take_turns(sides, effort.repetitions)
    env.close()
    ours = sum(r.steps for r in results)
    return {
        "task": env_id,
        "steps/s": rate(ours, times["ours"]),
        "plain steps/s": rate(steps[0], times["plain"]),
        **speedup(times["ours"], times["plain"], ours / steps[0]).columns(150),
    }


def plain_trees(plain: SimpleNamespace, forest: Forest, q_values: list[list[float]]) -> list[Any]:
    """The trees of a forest as objects of the plain implementation."""

    def build(node: int) -> Any:
        if node < 0:
            return plain.Leaf(list(q_values[~node]), [0] * len(q_values[0]))
        yes, no = forest.children[node].tolist()
        return plain.Node(forest.weights[node].tolist(), forest.thresholds[node].item(), build(yes), build(no))

    return [build(int(root)) for root in forest.roots]
