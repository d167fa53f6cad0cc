"""Laws: leaves that steer and leaves that score, and the search that tunes them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from gymnasium import spaces

import sirl
from conftest import Tiny
from sirl.errors import SirlError
from sirl.learning.forest import pack
from sirl.model.formula import compute
from sirl.model.laws import LawLeaves, ScoreLeaves
from sirl.model.leaves import Broken
from sirl.model.policy import Policy
from sirl.rollout.compiled import CompiledArena
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.work import PlayOrder
from sirl.search.race import Crown, challenge
from sirl.search.shapes import Shape, few_digits, make_terms, term_values
from sirl.simulators.gymnasium import GymnasiumSimulator, make_environment
from sirl.simulators.recipes import inspect, make_recipe
from sirl.simulators.spaces import describe

SMALL = {
    "generations": 6,
    "contenders": 4,
    "max_laws": 3,
    "law_episodes": 2,
    "validation_episodes": 4,
    "workers": 1,
    "max_steps": 60,
}


def random_policy(env_id, n_leaves=3, products=True, seed=0):
    task = inspect(make_recipe(env_id)).task
    terms = make_terms(task, products)
    shape = Shape(task, n_leaves, terms, np.ones(len(terms)))
    return Policy(task, shape.tree(np.random.default_rng(seed).normal(scale=0.3, size=shape.n_constants)))


@pytest.mark.parametrize(("env_id", "kind"), [("Hopper-v4", LawLeaves), ("LunarLander-v3", ScoreLeaves)])
def test_a_file_holds_laws_to_the_bit(env_id, kind):
    policy = random_policy(env_id)
    content = policy.to_json()
    again = Policy.from_json(content)
    assert isinstance(again.tree.leaves, kind)
    assert again.to_json() == content
    seen = np.random.default_rng(1).normal(size=(200, policy.task.n_features))
    np.testing.assert_array_equal(policy.predict(seen)[0], again.predict(seen)[0])
    assert "·" in str(policy)


@pytest.mark.parametrize("env_id", ["Hopper-v4", "LunarLander-v3"])
def test_a_formula_computes_what_a_law_does(env_id):
    """What export, check and the page go by."""
    policy = random_policy(env_id)
    seen = np.random.default_rng(2).normal(size=(300, policy.task.n_features))
    leaves, actions = policy.tree.walk(seen), policy.tree.act(seen).reshape(300, -1)
    computed = [compute(policy.tree.leaves.formula(leaf), row) for leaf, row in zip(leaves, seen, strict=True)]
    np.testing.assert_array_equal(np.array(computed).astype(actions.dtype), actions)


@pytest.mark.parametrize("env_id", ["Hopper-v4", "Reacher-v4", "LunarLander-v3", "CartPole-v1"])
def test_laws_play_with_the_same_bits_everywhere(env_id):
    """A bare loop with ``predict``, lockstep on Gymnasium and, where there are any, compiled loops."""
    policy = random_policy(env_id)
    seeds = np.arange(3, 9)
    order = PlayOrder(pack([policy.tree]), policy.tree.leaves.law(), seeds[None])
    simulator = GymnasiumSimulator(partial(make_environment, env_id), 4)
    lockstep = LockstepArena(simulator, policy.task).play(order)
    environment, returns = make_environment(env_id), []
    for seed in seeds.tolist():
        observation, _ = environment.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = environment.step(policy.predict(observation)[0])
            total += reward
            over = terminated or truncated
        returns.append(total)
    assert lockstep.returns.tobytes() == np.array([returns]).tobytes()
    if env_id in ("Hopper-v4", "Reacher-v4"):
        assert CompiledArena(env_id, policy.task).play(order).returns.tobytes() == lockstep.returns.tobytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"thgh": []}, "a law gives thgh in place of thigh, leg, foot"),
        ({"thigh": [[["p_z", "p_z", "p_z"], 1.0]], "leg": [], "foot": []}, "multiplies 3 features"),
        ({"thigh": [[["p_y"], 1.0]], "leg": [], "foot": []}, "weighs 'p_y', which is no feature; did you mean 'p_z'?"),
        ({"thigh": [[["p_z"], 1e999]], "leg": [], "foot": []}, "is no finite number"),
    ],
)
def test_a_law_that_is_none_is_refused(change, reason):
    task = inspect(make_recipe("Hopper-v4")).task
    with pytest.raises(Broken) as error:
        LawLeaves.of_named([change], task)
    assert reason in str(error.value)


def test_a_law_between_two_choices_is_a_condition():
    policy = random_policy("CartPole-v1", n_leaves=1, products=False)
    assert policy.tree.n_splits == 1
    assert str(policy).splitlines()[1:] == ["├─ yes → push left", "└─ no  → push right"]


def test_scaling_is_folded_back_into_the_constants():
    """A law in scaled features and outputs is the same law in the environment's own."""
    task = inspect(make_recipe("InvertedPendulum-v4")).task
    terms, scales = make_terms(task, False), np.array([0.5, 4.0, 0.1, 2.0])
    row = np.array([0.1, 0.2, -0.3, 0.05, 0.02])
    tree = Shape(task, 1, terms, scales).tree(row)
    seen = np.random.default_rng(0).normal(size=(50, 4)) * 0.1
    scaled = np.clip(row[:4] @ (seen * scales).T + row[4], -1, 1) * 3.0
    np.testing.assert_allclose(tree.act(seen)[:, 0], scaled, rtol=1e-2, atol=1e-3)


def test_constants_have_few_digits():
    np.testing.assert_array_equal(
        few_digits(np.array([[0.0, 123456.0], [-0.00012345, 1.0]])), [[0, 123500], [-0.0001234, 1]]
    )


def test_terms_are_features_and_products():
    task = describe(Tiny(), "Tiny-v0")
    terms = make_terms(task, True)
    assert terms.tolist() == [[0, -1], [1, -1], [0, 0], [0, 1], [1, 1]]
    np.testing.assert_array_equal(term_values(np.array([[2.0, 3.0]]), terms), [[2, 3, 4, 6, 9]])


@pytest.mark.parametrize("env", ["Reacher-v4", "LunarLander-v3", "MountainCar-v0"])
def test_one_seed_one_result_and_exact_resume(env, tmp_path):
    whole = sirl.train(env, out=tmp_path / "whole", **SMALL)
    run = sirl.Training(env, out=tmp_path / "run", **SMALL | {"workers": 2})
    for record in run.generations():
        if record.generation == 2:
            break
    again = sirl.Training.resume(tmp_path / "run", workers=1)
    assert again.state.generation == 3
    for _ in again.generations():
        pass
    assert again.champion.to_json() == whole.champion.to_json()
    assert (tmp_path / "run" / "champion.json").read_bytes() == (tmp_path / "whole" / "champion.json").read_bytes()
    assert [r.timed(0) for r in again.history] == [r.timed(0) for r in whole.history]
    assert len(whole.state.contenders) == 1, "halved twice"


@pytest.mark.parametrize(("env", "goal"), [("InvertedPendulum-v4", 1000), ("CartPole-v1", 500)])
@pytest.mark.parametrize("seed", [0, 1])
def test_laws_solve_easy_tasks_on_every_seed(env, goal, seed):
    run = sirl.train(env, seed=seed, stop_at=goal, workers=1)
    assert run.state.solved
    assert run.score(50).mean == goal
    assert run.champion.tree.n_leaves <= 2


def test_the_crown_never_falls_below_what_was_shown():
    run = sirl.train("Swimmer-v4", **SMALL | {"generations": 12, "max_steps": 100})
    scores = [r.champion.validation_score for r in run.history if r.champion is not None]
    shown = run.state.crown.returns
    assert scores == sorted(scores)
    prefixes = [shown[: 4 * 2**k].mean() for k in range(5)]  # it may have played on since it was crowned
    assert run.champion.origin.validation_score in prefixes


def test_a_worse_challenger_loses_and_a_better_one_wins():
    run = sirl.Training("InvertedPendulum-v4", **SMALL | {"max_steps": 300, "validation_episodes": 6})
    good, bad = sirl.load("paper:InvertedPendulum"), random_policy("InvertedPendulum-v4", 1, False)
    with run._make_engine() as engine:
        first, _, _ = challenge(Crown(None, np.zeros(0)), [bad], run.search.problem, engine)
        assert first.champion.tree is bad.tree
        second, means, _ = challenge(first, [good], run.search.problem, engine)
        assert second.champion.tree is good.tree
        assert means.tolist() == [300.0]
        third, _, cost = challenge(second, [bad], run.search.problem, engine)
    assert third.champion.tree is good.tree
    assert cost.episodes == 6, "the champion's episodes are kept, and a clear loser plays no more than a few"


def test_laws_are_for_box_and_discrete_actions():
    with pytest.raises(SirlError, match=r"^laws are for Box and Discrete actions, but .* use --method sirl-lb\.$"):
        sirl.Training(lambda: Tiny(action_space=spaces.MultiDiscrete([2, 3])), **SMALL)


def test_an_alive_bonus_is_left_out_in_training_and_counts_in_scores():
    plain, without = (sirl.train("Hopper-v4", **SMALL | {"alive_bonus": b, "generations": 1}) for b in (0.0, 1.0))
    assert without.history[0].best < plain.history[0].best
    assert without.champion.origin.validation_score > without.history[0].best


@pytest.mark.parametrize("products", [False, True])
def test_features_too_large_to_be_squared_are_no_error_even_if_numpy_raises(products):
    space = spaces.Box(-1e300, 1e300, (2,), np.float64)

    def far(env):
        return np.array([1e300, -1e300]), 1.0, False, env.steps == 10, {}

    with np.errstate(all="raise"):
        run = sirl.train(lambda: Tiny(space, behave=far), **SMALL | {"products": products, "generations": 2})
    assert Policy.from_json(run.champion.to_json()).to_json() == run.champion.to_json()
