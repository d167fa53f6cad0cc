"""The benchmark compares like with like; nothing here looks at how long anything took."""

import json
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest

import growth
import profile_phases
import python_loops
import run as whole_bench
from noise import balanced_forest, noise_arena, noise_phases
from sirl.benchmarking import physics, sections
from sirl.benchmarking.measure import Effort, Table, Time, speedup, take_turns
from sirl.benchmarking.report import markdown_table, shown
from sirl.benchmarking.tapes import RawPhysics, Watched, record, replay
from sirl.benchmarking.work import MUJOCO, Bench
from sirl.errors import SirlError
from sirl.learning.forest import pack
from sirl.model.leaves import QLeaves
from sirl.model.menu import Menu
from sirl.search.evolution import first_state, next_generation

ONCE = Effort(1, 0.01, 0.0)
SMALL = {
    "population": 12,
    "candidates": 1,
    "validation_episodes": 1,
    "individual_episodes": 2,
    "collaborative_copies": 3,
    "collaborative_iterations": 2,
    "max_steps": 30,
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("env_id", MUJOCO)
def test_raw_physics_goes_through_the_very_states_of_the_phase(env_id, workers):
    bench = Bench.of(env_id, **SMALL)
    calls = bench.recorded(first_state(bench.problem), workers)
    assert {"collaborative", "individual"} <= {call.function.__name__ for call in calls}
    for call in calls:
        assert len(call.tapes) == len(call.orders)
        assert len(call.orders) >= workers or call.function.__name__ == "play"
        physics_alone = RawPhysics(env_id, call.tapes)
        for number, tape in enumerate(call.tapes):
            assert tape.steps > 0
            assert np.abs(tape.end).max() > 0
            used = np.unique(np.concatenate([event.ids for event in tape.events]))
            raw = replay(physics_alone, number)
            np.testing.assert_array_equal(raw.end[used], tape.end[used])


def test_a_recorded_generation_has_the_bits_of_one_that_is_not():
    bench = Bench.of("Hopper-v4", **SMALL)
    with bench.engine(1) as engine:
        state = first_state(bench.problem)
        plain, summary = next_generation(state, bench.problem, engine)
    with bench.recording_engine() as engine:
        watched = Watched(engine, records=True)
        recorded, again = next_generation(state, bench.problem, watched)
    assert again == summary
    np.testing.assert_array_equal(recorded.fitness, plain.fitness)
    spent = summary.collaborative.steps + summary.individual.steps + summary.validation.steps
    assert sum(tape.steps for call in watched.calls for tape in call.tapes) == spent


def test_a_tape_knows_its_episodes():
    bench = Bench.of("CartPole-v1", **SMALL)
    with bench.recording_engine() as engine:
        call = bench.first_generation(engine)["individual"]
        (result,), (tape,) = record(engine, call.function, call.orders)
    episodes = tape.episodes()
    assert len(episodes) == result.returns.size
    assert sum(len(actions) for _, actions in episodes) == result.steps
    env = bench.recipe()
    returns = {}
    for seed, actions in episodes:
        env.reset(seed=seed)
        returns[seed] = sum(env.step(action)[1] for action in actions)
    assert sorted(returns.values()) == sorted(result.returns.ravel().tolist())


def test_plain_trees_are_the_trees_of_the_forest():
    plain = python_loops.load_plain()
    bench = Bench.of("InvertedPendulum-v4", **SMALL | {"collaborative_copies": 1})
    with bench.engine(1) as engine:
        call = bench.first_generation(engine)["collaborative"]
        (result,) = engine.map(call.function, call.orders)
    order = call.orders[0]
    trees = python_loops.plain_trees(plain, order.forest, order.table.q_values.tolist())
    env = bench.recipe()
    # plain.py knows no max_steps: Gymnasium's own limit is far enough for an untrained pendulum.
    steps = plain.collaborative_phase(
        env, trees, bench.problem.menu.values, bench.problem.settings, int(order.key), order.weights.tolist()
    )
    assert steps == result.steps
    rows = [leaf.q for tree in trees for leaf in plain.leaves(tree)]
    np.testing.assert_array_equal(result.tables.q_values[0], rows)


@pytest.mark.parametrize("n_splits", [1, 2, 6, 7])
def test_balanced_trees_are_trees(n_splits):
    forest = balanced_forest(3, n_splits, 4)
    leaves = QLeaves(np.zeros((n_splits + 1, 2)), Menu(np.arange(2), ["a", "b"]))
    trees = [forest.tree(i, leaves) for i in range(3)]
    again = pack(trees)
    for ours, packed in zip(forest, again, strict=True):
        np.testing.assert_array_equal(ours, packed)
    assert trees[0].depth == int(np.floor(np.log2(n_splits))) + 1


def test_phases_on_noise_play_every_step():
    together, alone = noise_phases(n_trees=5, n_splits=3, n_features=2, n_actions=4, copies=2)
    arena = noise_arena(2, 4, length=7)
    assert together.function(arena, together.orders[0]).steps == 2 * 10 * 7
    assert alone.function(arena, alone.orders[0]).steps == 5 * 7


def test_sides_take_turns():
    order = []

    def side(name):
        order.append(name)
        return Time(1.0 if name == "a" else 2.0, 1.0)

    times = take_turns({name: partial(side, name) for name in "ab"}, 3)
    assert order == list("ab" + "abbaab")
    assert speedup(times["a"], times["b"]) == (2.0, 2.0, 2.0, 1.0)
    assert speedup(times["a"], times["b"]).columns(2.5)["met"] == "no"


def test_every_goal_stands_beside_its_ratio():
    tables = list(physics.phases(ONCE, ("InvertedPendulum-v4",), **SMALL))
    assert [table.title for table in tables] == ["Phases ÷ raw physics", "2 workers ÷ 1 worker"]
    assert [(row["phase"], row["workers"], row["goal"]) for row in tables[0].rows] == [
        ("individual", 1, 0.85), ("individual", 2, 0.85), ("collaborative", 1, 0.55), ("collaborative", 2, 0.55),
    ]  # fmt: skip
    assert all(row["ratio"] > 0 for table in tables for row in table.rows)


def test_the_parts_of_a_profile_add_up():
    (table,) = profile_phases.profile(ONCE, ("Reacher-v4",), **SMALL)
    assert [row["phase"] for row in table.rows] == ["collaborative", "individual"]
    for row in table.rows:
        assert row["physics"] > 0
        assert row["physics"] + row["rules"] + row["trees"] == pytest.approx(100)


@pytest.mark.parametrize("physics_only", [False, True])
def test_a_profile_plays_the_episodes_of_the_phase_again(physics_only):
    bench = Bench.of("Hopper-v4", **SMALL)
    call = bench.recorded(first_state(bench.problem), 1)[0]
    arena, script = bench.arena_recipe(), profile_phases._Script.of(call.tapes)
    last = script._replace(
        seeds=script.seeds[-1:], lengths=script.lengths[-1:], actions=script.actions[-script.lengths[-1] :]
    )
    profile_phases._without_trees(arena, "Hopper-v4", script, physics_only)
    whole = arena.world.physics.qpos.copy()
    profile_phases._without_trees(arena, "Hopper-v4", last, physics_only)
    np.testing.assert_array_equal(arena.world.physics.qpos, whole)
    assert len(script.actions) == script.lengths.sum() == sum(tape.steps for tape in call.tapes)
    assert any((whole == tape.end).all(axis=1).any() for tape in call.tapes)


def test_growth_is_measured_in_a_process_of_its_own():
    (row,) = growth._grow("splits", (3,))
    assert row["splits"] == 3
    assert row["collaborative, ns"] > 0


def test_tables_are_readable():
    table = Table("Speed", "How fast.", [{"task": "A", "ratio": 0.123456, "steps": 12345, "goal": None}])
    assert markdown_table(table)[4:] == [
        "| task | ratio | steps | goal |",
        "|---|---|---|---|",
        "| A | 0.12 | 12,345 |  |",
        "",
    ]
    assert [shown(value) for value in (1234.5, 12.34, 0.004, "x", None)] == ["1,234", "12.3", "0.0040", "x", ""]


def test_the_command_measures_what_it_is_asked(sirl_command, monkeypatch):
    table = Table("Raw", "Note.", [{"turns": 2}])
    monkeypatch.setitem(sections.SECTIONS, "raw", lambda effort: iter([table]))
    code, out, err = sirl_command("bench", "--only", "raw", "--quick", "--out", "here")
    assert (code, err) == (0, "sirl: measuring raw …\n")
    assert "| turns |\n|---|\n| 2 |" in out
    saved = json.loads(Path("here/bench.json").read_text())
    assert [table["title"] for table in saved["tables"]] == ["Raw"]
    assert {"cpu", "cores", "python", "numpy", "numba", "mujoco", "gymnasium", "envpool"} <= set(saved["machine"])
    assert Path("here/bench.md").read_text().startswith("Measured ")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["grwth"], "there is no section 'grwth' to measure; did you mean 'growth'?"),
        (["raw", "xyz"], "there is no section 'xyz' to measure; choose from raw, phases,"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_measured(names, message):
    with pytest.raises(SirlError) as error:
        sections.chosen(whole_bench.SECTIONS, names)
    assert message in str(error.value)


def clock(raw, _):
    """What MuJoCo's clock counts for a step in a worker that steps physics alone."""
    data = mujoco.MjData(raw.batch.model)
    mujoco.mj_step(raw.batch.model, data)
    return data.timer[mujoco.mjtTimer.mjTIMER_STEP].duration


def test_raw_physics_has_no_clock_on_any_worker():
    with Bench.of("InvertedPendulum-v4").raw_engine(2, []) as engine:
        assert engine.map(clock, range(4)) == [0, 0, 0, 0]
