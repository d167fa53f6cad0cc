"""Settings are checked where they are made; presets are the paper's numbers."""

import msgspec
import numpy as np
import pytest

from sirl.config import METHODS, Settings
from sirl.errors import SirlError
from sirl.presets import preset_settings, presets


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population": -3}, "population = -3 is not allowed: give a whole number of at least 2."),
        ({"population": 2.5}, "population = 2.5 is not allowed: give a whole number."),
        ({"population": "many"}, "population = 'many' is not allowed: give a whole number."),
        ({"population": True}, "population = True is not allowed: give a whole number."),
        (
            {"generations": 10**12},
            "generations = 1000000000000 is not allowed: give a whole number of at most 10000000.",
        ),
        ({"learning_rate": 2}, "learning_rate = 2 is not allowed: give a number of at most 1."),
        ({"epsilon": float("nan")}, "epsilon = nan is not allowed: give a number of at least 0."),
        ({"stop_at": float("inf")}, "stop_at = inf is not allowed: give a finite number."),
        ({"constant_step": 0}, "constant_step = 0 is not allowed: give a number above 0."),
        ({"max_steps": 0}, "max_steps = 0 is not allowed: give a whole number of at least 1."),
        ({"voting": "majorty"}, "give one of random, majority, leader, weighted; did you mean 'majority'?"),
        ({"grammar": None}, "give one of oblique, orthogonal."),
        ({"poplation": 4}, "there is no setting 'poplation'; did you mean 'population'?"),
        ({"zzz": 4}, "there is no setting 'zzz'."),
        ({"constant_low": 3, "constant_high": 2}, "must lie below constant_high"),
        ({"constant_step": 1e-9}, "take a larger step"),
        ({"q_low": -1e308, "q_high": 1e308}, "q_low = -1e+308 is not allowed: give a number of at least -1e+100."),
        ({"constant_high": 1e200}, "constant_high = 1e+200 is not allowed: give a number of at most 1e+100."),
        ({"q_low": 2}, "q_low = 2.0 must not lie above q_high = 1.0"),
        ({"rounds": 9}, "rounds = 9 must not exceed individual_episodes = 5"),
        ({"population": 4}, "candidates = 5 must not exceed population = 4"),
        ({"tournament": 501}, "tournament = 501 must not exceed population = 500"),
        ({"population": 10_000_000}, "more than 100000000 codons"),
    ],
)
def test_a_bad_setting_is_named_with_the_fix(changes, message):
    with pytest.raises(SirlError) as error:
        Settings().replace(**changes)
    assert message in str(error.value)
    assert str(error.value).endswith((".", "?"))


def test_numbers_of_numpy_are_numbers():
    settings = Settings(population=np.int64(30), epsilon=np.float32(0.5), stop_at=475)
    assert settings == Settings(population=30, epsilon=0.5, stop_at=475.0)
    assert [type(v) for v in (settings.population, settings.epsilon, settings.stop_at)] == [int, float, float]


def test_defaults_are_the_papers_table():
    s = Settings()
    assert (s.population, s.generations, s.genotype_length, s.codon_limit, s.tournament) == (500, 100, 1000, 40_000, 2)
    assert (s.crossover_probability, s.mutation_probability, s.mutation_rate) == (0.1, 0.9, 0.05)
    assert (s.epsilon, s.learning_rate, s.discount, s.q_low, s.q_high) == (0.05, 0.1, 0.9, -1.0, 1.0)
    assert (s.constant_low, s.constant_high, s.constant_step, s.bins, s.voting) == (-10.0, 10.0, 0.1, 7, "random")


def test_settings_survive_their_file():
    settings = Settings(stop_at=3, max_steps=7)
    assert msgspec.convert(msgspec.to_builtins(settings), Settings) == settings


@pytest.mark.parametrize(
    ("env", "eldt", "sb", "lb"),
    [
        ("InvertedPendulum-v4", 9, (7, 1000), (3, 1000)),
        ("LunarLander-v3", 50, (20, 1000), (10, 1000)),
        ("Swimmer-v4", 12, (10, 1000), (5, 800)),
        ("Reacher-v4", 16, (14, 1000), (5, 1000)),
        ("Hopper-v4", 16, (14, 1000), (5, 1000)),
        ("Walker2d-v4", 16, (14, 1000), (5, 1000)),
    ],
)
def test_presets_spend_the_published_budgets(env, eldt, sb, lb):
    assert preset_settings(env, "eldt").episodes_per_generation() == 500 * eldt
    assert preset_settings(env, "sirl-sb").episodes_per_generation() == 500 * sb[0] + sb[1]
    assert preset_settings(env, "sirl-lb").episodes_per_generation() == 500 * lb[0] + lb[1]
    assert preset_settings(env, "eldt").collaborative_iterations == 0


@pytest.mark.parametrize("env", [*presets(), "Somebody/Else-v3"])
@pytest.mark.parametrize("method", METHODS)
def test_every_preset_is_valid_and_only_eldt_does_not_collaborate(env, method):
    assert (preset_settings(env, method).collaborative_iterations == 0) == (method == "eldt")
    assert method != "linear" or preset_settings(env, method).max_laws == 1


@pytest.mark.parametrize("env", [*presets(), "Somebody/Else-v3"])
def test_the_low_budget_is_the_lowest_and_the_standard_one_is_the_baselines(env):
    low, standard, baseline = (
        preset_settings(env, m).episodes_per_generation() for m in ("sirl-lb", "sirl-sb", "eldt")
    )
    assert low < standard <= baseline


def test_a_misspelt_method():
    with pytest.raises(SirlError, match=r"there is no method 'eldtt'; did you mean 'eldt'\?"):
        preset_settings("CartPole-v1", "eldtt")
