"""A whole generation against the plain implementation of the paper: same keys, same bits."""

import numpy as np
import pytest

import plain
from sirl.engine import local_engine
from sirl.keys import Stream, fold_all, root
from sirl.learning.q_learning import fresh_table
from sirl.presets import preset_settings
from sirl.rollout.recipe import ArenaRecipe
from sirl.search.evolution import first_state
from sirl.search.population import evaluate_all, make_problem
from sirl.simulators.recipes import inspect, make_recipe

SMALL = {
    "population": 12,
    "candidates": 2,
    "genotype_length": 150,
    "individual_episodes": 2,
    "collaborative_copies": 3,
    "collaborative_iterations": 4,
}


def compare(env_id, simulator="gymnasium", seed=3, generation=2, **changes):
    """Evaluate the first population both ways, and compare fitness and Q-values bit for bit."""
    settings = preset_settings(env_id, "sirl-lb").replace(**SMALL | changes)
    recipe = make_recipe(env_id)
    problem = make_problem(inspect(recipe).task, settings, "sirl-lb", seed)
    codons = first_state(problem).codons
    with local_engine(ArenaRecipe(recipe, problem.task, simulator, settings.max_steps), 1) as engine:
        ours = evaluate_all(codons, problem, generation, engine)
    constants = problem.grammar.constants[0].tolist()
    env = recipe()
    fitness, trees = plain.evaluate(env, codons.tolist(), problem.menu.values, constants, settings, seed, generation)
    env.close()
    assert list(trees) == ours.valid.tolist()
    np.testing.assert_array_equal(ours.fitness, fitness)
    rows = [leaf.q for tree in trees.values() for leaf in plain.leaves(tree)]
    np.testing.assert_array_equal(ours.table.q_values, rows)
    keys = fold_all(root(seed, Stream.Q_VALUES, generation), ours.valid)
    fresh = fresh_table(ours.forest, len(problem.menu.values), keys, settings)
    assert (ours.table.q_values != fresh.q_values).any()  # something was learned


@pytest.mark.parametrize("voting", ["random", "majority", "leader", "weighted"])
def test_every_voting_rule_gives_the_bits_of_the_plain_implementation(voting):
    compare("CartPole-v1", voting=voting)


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate_rule": "1/visits"},
        {"bootstrap": "always"},
        {"bootstrap": "never", "discount": 0.99},
        {"codons_run_out": "zeros", "genotype_length": 40},
        {"epsilon": 0.0},
        {"epsilon": 1.0, "learning_rate": 1.0},
        {"q_low": 0.0, "q_high": 0.0},  # every leaf starts with ties
        {"collaborative_iterations": 0},
    ],
    ids=str,
)
def test_every_learning_rule_gives_the_bits_of_the_plain_implementation(changes):
    compare("CartPole-v1", **changes)


@pytest.mark.parametrize("voting", ["random", "weighted"])
@pytest.mark.parametrize("env_id", ["InvertedPendulum-v4", "Hopper-v4"])
def test_mujoco_gives_the_bits_of_the_plain_implementation(env_id, voting):
    compare(env_id, simulator="mujoco", voting=voting)


def test_trees_that_lag_far_behind_catch_up_to_the_same_bits(monkeypatch):
    """Episodes of 200 steps and a log of seven states: the log fills up many times."""
    monkeypatch.setattr("sirl.learning.deferred.LOG_CAPACITY", 7)
    compare("MountainCar-v0", population=4, individual_episodes=1, collaborative_iterations=2, grammar="oblique")
