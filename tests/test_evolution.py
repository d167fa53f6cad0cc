from dataclasses import replace

import numpy as np
import pytest

from sirl.config import Settings
from sirl.errors import EnvironmentFailure
from sirl.presets import preset_settings
from sirl.runs.training import Training, train
from sirl.search import champion
from sirl.search.evolution import State, _replace
from sirl.search.population import _rounds
from sirl.simulators.mujoco.rules import SUPPORTED, draw_starts
from sirl.simulators.mujoco.seeding import first_uniforms

TINY = {
    "method": "sirl-lb",
    "population": 10,
    "generations": 3,
    "individual_episodes": 2,
    "collaborative_copies": 2,
    "collaborative_iterations": 2,
    "candidates": 2,
    "validation_episodes": 3,
    "workers": 1,
}


@pytest.mark.parametrize(
    ("env", "method", "episodes"),
    [
        ("InvertedPendulum-v4", "eldt", 450_000),
        ("InvertedPendulum-v4", "sirl-sb", 450_000),
        ("InvertedPendulum-v4", "sirl-lb", 250_000),
        ("LunarLander-v3", "eldt", 2_500_000),
        ("LunarLander-v3", "sirl-sb", 1_100_000),
        ("LunarLander-v3", "sirl-lb", 600_000),
        ("Swimmer-v4", "eldt", 600_000),
        ("Swimmer-v4", "sirl-sb", 600_000),
        ("Swimmer-v4", "sirl-lb", 330_000),
        *[
            (env, method, episodes)
            for env in ("Reacher-v4", "Hopper-v4", "Walker2d-v4")
            for method, episodes in [("eldt", 800_000), ("sirl-sb", 800_000), ("sirl-lb", 350_000)]
        ],
    ],
)
def test_presets_spend_the_episodes_that_the_paper_reports(env, method, episodes):
    settings = preset_settings(env, method)
    assert settings.generations * settings.episodes_per_generation() == episodes


def test_a_generation_spends_what_its_settings_say():
    run = train("CartPole-v1", codons_run_out="zeros", **TINY)
    for record in run.history:
        assert record.episodes == run.settings.episodes_per_generation()
        assert record.collaborative.episodes == 4
        assert record.invalid == 0
    assert [r.validation.episodes for r in run.history] == [2 * 3, 3 * 3, 3 * 3]


def test_eldt_is_the_same_machine_without_a_collaborative_phase():
    run = train("CartPole-v1", **TINY | {"method": "eldt", "collaborative_iterations": 0})
    assert all(r.collaborative.episodes == 0 and r.collaborative.steps == 0 for r in run.history)


@pytest.mark.parametrize("voting", ["leader", "weighted"])
def test_a_vote_by_performance_scouts_first_and_counts_it(voting):
    run = train("CartPole-v1", voting=voting, scouting_episodes=2, codons_run_out="zeros", **TINY)
    assert run.history[0].individual.episodes == 10 * (2 + 2)


def test_rounds_share_out_both_phases():
    settings = Settings(individual_episodes=5, collaborative_iterations=7, rounds=3)
    assert _rounds(settings) == [(range(0, 2), range(0, 1)), (range(2, 4), range(1, 3)), (range(4, 7), range(3, 5))]
    run = train("CartPole-v1", rounds=2, codons_run_out="zeros", **TINY)
    assert run.history[0].episodes == run.settings.episodes_per_generation()


def test_elitist_replacement_keeps_a_slot_unless_the_offspring_is_strictly_better():
    state = State(1, np.zeros((4, 2), np.int32), np.array([1.0, 2.0, -np.inf, 3.0]), None, False, None)
    fitness = np.array([1.0, 2.5, -np.inf, -np.inf])
    codons, kept = _replace(state, np.ones((4, 2), np.int32), fitness, Settings())
    assert codons[:, 0].tolist() == [0, 1, 0, 0]
    assert kept.tolist() == [1.0, 2.5, -np.inf, 3.0]
    codons, kept = _replace(state, np.ones((4, 2), np.int32), fitness, Settings(replacement="generational"))
    assert (codons == 1).all()


def test_the_papers_champion_has_the_best_training_score_of_all_generations():
    run = train("CartPole-v1", crowning="training", **TINY)
    assert run.champion.origin.training_score == max(r.best for r in run.history)
    assert run.champion.origin.validation_score is None
    assert sum(r.validation.episodes for r in run.history) == 0
    validated = train("CartPole-v1", **TINY).state
    assert validated.trained.to_json() == run.champion.to_json()
    assert validated.champion.origin.validation_score is not None


def test_a_tree_that_no_file_can_hold_is_not_crowned(monkeypatch, tmp_path):
    """And the run goes on: with a limit of two conditions there are trees on either side."""
    monkeypatch.setattr(champion, "DEEPEST", 2)
    for crowning in ("validation", "training"):
        run = train("CartPole-v1", crowning=crowning, **TINY | {"generations": 3})
        assert len(run.history) == 3
        assert run.state.champion is None or run.champion.tree.depth <= 2


def test_survivors_can_be_evaluated_again():
    """At twice the episodes; the luck of a score then lasts for a generation."""
    kept, again = (train("CartPole-v1", replacement=r, **TINY) for r in ("elitist", "re-evaluated"))
    assert kept.history[0].episodes == again.history[0].episodes
    assert again.history[1].episodes > 1.5 * kept.history[1].episodes
    assert len(again.state.fitness) == TINY["population"]


def test_the_luck_of_a_training_score_can_be_corrected():
    """The paper's fitness is the training score; validated trees can be made to keep the lower of the two."""
    many = TINY | {"generations": 1, "candidates": 10, "validation_episodes": 50}
    kept, corrected = (train("CartPole-v1", luck=luck, **many).state for luck in ("kept", "corrected"))
    assert (corrected.fitness <= kept.fitness).all()
    lower = corrected.fitness < kept.fitness
    assert lower.any()
    assert not lower.all()


def test_a_run_stops_when_its_champion_holds_the_goal_on_fresh_episodes():
    run = train("CartPole-v1", stop_at=9.0, confirmation_episodes=5, **TINY)
    assert len(run.history) == 1
    assert run.state.solved
    assert run.history[0].validation.episodes == 2 * 3 + 5
    run = train("CartPole-v1", stop_at=500.0, **TINY)
    assert not run.state.solved


def _explosive(monkeypatch, share):
    """Let the Hopper start a share of its episodes at a speed that its physics can't follow."""
    hopper = SUPPORTED["Hopper-v4"]

    def starts(model, seeds):
        rows = draw_starts(hopper, model, seeds)
        rows[first_uniforms(seeds, 1)[:, 0] < share, model.nq :] = 1e200
        return rows

    monkeypatch.setitem(SUPPORTED, "Hopper-v4", replace(hopper, starts=starts))


def test_an_individual_that_breaks_the_simulation_has_no_fitness(monkeypatch, tmp_path):
    _explosive(monkeypatch, 0.1)
    run = train("Hopper-v4", out=tmp_path / "run", **TINY | {"population": 30})
    for record in run.history:
        assert record.broke
        assert np.isfinite([record.best, record.mean, record.median]).all()
        assert f"generation {record.generation + 1}: no fitness for individual {record.broke[0]}" in (
            tmp_path / "run" / "log.txt"
        ).read_text(encoding="utf-8")
    assert np.isfinite(run.champion.tree.leaves.q_values).all()


def test_nobody_is_crowned_who_breaks_the_simulation(monkeypatch, tmp_path):
    """Of 300 validation episodes one in ten breaks, so nobody gets through; the paper's crowning has no such test."""
    _explosive(monkeypatch, 0.1)
    settings = TINY | {"population": 30, "generations": 1}
    run = train("Hopper-v4", out=tmp_path / "run", **settings | {"validation_episodes": 300})
    assert run.state.champion is None
    assert run.history[0].champion is None
    assert Training.resume(tmp_path / "run").state.generation == 1
    assert train("Hopper-v4", crowning="training", **settings).state.champion is not None


def test_a_task_that_always_breaks_is_refused(monkeypatch):
    _explosive(monkeypatch, 1.0)
    with pytest.raises(EnvironmentFailure, match="every tree made the simulation of Hopper-v4 lose its state"):
        train("Hopper-v4", **TINY)
