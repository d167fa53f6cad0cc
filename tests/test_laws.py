"""Laws: leaves that steer and leaves that score, and the search that tunes them."""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np
import pytest
from gymnasium import spaces

import sirl
from conftest import TINY, Tiny
from sirl.errors import SirlError
from sirl.experiments.gallery import draw_runs
from sirl.learning.forest import pack
from sirl.model.formula import compute
from sirl.model.laws import LawLeaves, ScoreLeaves
from sirl.model.leaves import Broken
from sirl.model.policy import Policy
from sirl.presets import presets
from sirl.rollout.compiled import CompiledArena
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.work import PlayOrder
from sirl.runs.fronts import write_front
from sirl.search.contenders import first_contenders, widen
from sirl.search.front import Point, choose, gain, n_numbers, with_point
from sirl.search.race import challenge
from sirl.search.shapes import Frame, few_digits, first_shape
from sirl.search.starting import from_policy
from sirl.search.terms import make_terms, term_values
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
    shape = full_shape(Frame(task, terms, np.ones(len(terms))), n_leaves)
    return Policy(task, shape.tree(np.random.default_rng(seed).normal(scale=0.3, size=shape.size)))


def full_shape(frame, n_leaves):
    shape = first_shape(frame, n_leaves)
    return shape._replace(free=np.ones_like(shape.free))


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
    policy = random_policy("CartPole-v1", n_leaves=2, products=False)
    assert policy.tree.n_splits == 1
    assert str(policy).splitlines()[1:] == ["├─ yes → push left", "└─ no  → push right"]


def test_scaling_is_folded_back_into_the_constants():
    """A law in scaled features and outputs is the same law in the environment's own."""
    task = inspect(make_recipe("InvertedPendulum-v4")).task
    terms, scales = make_terms(task, False), np.array([0.5, 4.0, 0.1, 2.0])
    row = np.array([0.1, 0.2, -0.3, 0.05, 0.02])
    tree = first_shape(Frame(task, terms, scales), 1).tree(row)
    seen = np.random.default_rng(0).normal(size=(50, 4)) * 0.1
    scaled = np.clip(row[:4] @ (seen * scales).T + row[4], -1, 1) * 3.0
    np.testing.assert_allclose(tree.act(seen)[:, 0], scaled, rtol=1e-2, atol=1e-3)


def test_constants_have_few_digits():
    np.testing.assert_array_equal(
        few_digits(np.array([[0.0, 123456.0], [-0.00012345, 1.0]])), [[0, 123000], [-0.000123, 1]]
    )


def test_terms_are_features_and_products():
    task = describe(Tiny(), "Tiny-v0")
    terms = make_terms(task, True)
    assert terms.tolist() == [[0, -1], [1, -1], [0, 0], [0, 1], [1, 1]]
    np.testing.assert_array_equal(term_values(np.array([[2.0, 3.0]]), terms), [[2, 3, 4, 6, 9]])


@pytest.mark.parametrize("env", ["Reacher-v4", "LunarLander-v3", "CartPole-v1", "Pendulum-v1"])
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
    front = (tmp_path / "whole" / "front.json").read_bytes()
    assert (tmp_path / "run" / "front.json").read_bytes() == front
    (tmp_path / "run" / "front.json").unlink()  # as if the run had died just before it was written
    sirl.Training.resume(tmp_path / "run")
    assert (tmp_path / "run" / "front.json").read_bytes() == front


@pytest.mark.parametrize(("env", "goal"), [("InvertedPendulum-v4", 1000), ("CartPole-v1", 500)])
@pytest.mark.parametrize("seed", [0, 1])
def test_laws_solve_easy_tasks_on_every_seed(env, goal, seed):
    run = sirl.train(env, seed=seed, stop_at=goal, workers=1)
    assert run.state.solved
    assert run.score(50).mean == goal
    assert run.champion.tree.n_leaves <= 2


def test_the_crown_never_falls_below_what_was_shown():
    asked = SMALL | {"generations": 12, "max_steps": 100, "prefer_small": 0.0, "shrinking": 0.0}
    run = sirl.train("Swimmer-v4", **asked)
    scores = [r.champion.validation_score for r in run.history if r.champion is not None]
    assert scores == sorted(scores)
    assert run.champion.origin.validation_score == pytest.approx(run.state.front[-1].score)


def test_a_worse_challenger_loses_and_a_better_one_wins():
    run = sirl.Training("InvertedPendulum-v4", **SMALL | {"max_steps": 300, "validation_episodes": 6})
    good, bad = sirl.load("paper:InvertedPendulum"), random_policy("InvertedPendulum-v4", 1, False)
    with run._make_engine() as engine:
        first, _, _ = challenge(None, [bad], run.search.problem, engine)
        assert first.policy.tree is bad.tree
        second, opening, _ = challenge(first, [good], run.search.problem, engine)
        assert second.policy.tree is good.tree
        assert opening.tolist() == [[300.0] * 6]
        third, _, cost = challenge(second, [bad], run.search.problem, engine)
    assert third.policy.tree is good.tree
    assert cost.episodes == 6, "the champion's episodes are kept, and a clear loser plays no more than a few"


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "CartPole-v1", "LunarLander-v3"])
@pytest.mark.parametrize("leaf", [0, 1, 2])
def test_a_leaf_is_split_without_a_change_of_what_the_tree_does(env_id, leaf):
    task = inspect(make_recipe(env_id)).task
    frame = Frame(task, make_terms(task, False), np.linspace(0.5, 2.0, task.n_features))
    rng = np.random.default_rng(leaf)
    shape = first_shape(frame, 3).without(np.array([1, 4]))[0]
    row = rng.normal(size=shape.size)
    larger, its_row, source = shape.split(leaf, row)
    assert larger.n_leaves == 4
    assert larger.fits()
    assert (source == -1).sum() == task.n_features + 1, "a condition is new, all else is known"
    seen = rng.normal(size=(500, task.n_features))
    np.testing.assert_array_equal(larger.tree(its_row).act(seen), shape.tree(row).act(seen))
    law = rng.normal(size=shape.law(leaf, row).shape) * (shape.law(leaf, row) != 0)
    _, joined, _ = shape.split(leaf, row, law)
    np.testing.assert_array_equal(larger.tree(joined).act(seen), shape.tree(row).act(seen))
    np.testing.assert_array_equal(larger.law(leaf, joined), law)
    np.testing.assert_array_equal(larger.law(leaf + 1, joined), shape.law(leaf, row))


def test_numbers_that_are_left_out_are_zero():
    task = inspect(make_recipe("Hopper-v4")).task
    frame = Frame(task, make_terms(task, False), np.ones(11))
    shape, kept = first_shape(frame, 1).without(np.array([0, 12, 35]))
    tree = shape.tree(np.ones(shape.size))
    assert shape.size == 33
    assert kept.tolist() == [i for i in range(36) if i not in (0, 12, 35)]
    assert n_numbers(tree) == 33
    assert [len(total.terms) for total in tree.leaves.formula(0).sums] == [10, 10, 11]


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("env_id", ["Pendulum-v1", "CartPole-v1", "Walker2d-v4"])
def test_what_is_ignored_is_weighed_nowhere(env_id, products):
    task = inspect(make_recipe(env_id)).task
    task = task.mirroring(presets()[env_id].mirror)
    frame = Frame(task, terms := make_terms(task, products), np.ones(len(terms)), (1, 2))
    shape = first_shape(frame, 2).widened()
    larger, row, _ = shape.split(1, np.ones(shape.size))
    assert shape.fits()
    assert larger.fits()
    assert shape.size > 0
    tree = larger.tree(row + 1.0)
    weighed = {f for leaf in range(3) for total in tree.leaves.formula(leaf).sums for _, t in total.terms for f in t}
    weighed |= set(np.flatnonzero(tree.weights.any(axis=0)).tolist())
    unseen = {1, 2} | ({5} if env_id == "Walker2d-v4" else set())
    assert weighed == set(range(task.n_features)) - unseen, "and what it is in the mirror"


@pytest.mark.parametrize(
    ("ignore", "reason"),
    [
        ("thet", r"CartPole-v1 has no feature 'thet' to ignore; did you mean 'theta'\?"),
        ("omega, z*", r"CartPole-v1 has no feature 'z\*' to ignore: name some of x, v, theta, omega, or none."),
        ("*", r"ignore = '\*' leaves no feature of CartPole-v1 to weigh: ignore fewer."),
    ],
)
def test_what_can_not_be_ignored_is_told(ignore, reason):
    with pytest.raises(SirlError, match=f"^{reason}$"):
        sirl.train("CartPole-v1", ignore=ignore, **SMALL)


def test_a_run_starts_from_a_policy_that_weighs_nothing_that_it_ignores(tmp_path):
    first = sirl.train("InvertedPendulum-v4", ignore="x, v", **SMALL)
    assert "·x" not in str(first.champion)
    path = tmp_path / "first.json"
    first.champion.save(path)
    sirl.train("InvertedPendulum-v4", ignore="x, v", start=path, **SMALL)
    with pytest.raises(SirlError, match=r'weighs features that this run ignores: ignore others, or none \(""\)\.$'):
        sirl.train("InvertedPendulum-v4", ignore="theta", start=path, **SMALL)


def test_a_front_has_the_best_of_each_size_and_the_choice_is_the_smallest_that_is_good_enough():
    policies = {n: random_policy("InvertedPendulum-v4", n, False) for n in (1, 2, 3)}
    points = [Point(policies[n], np.array(r)) for n, r in ((3, [10.0, 10.0]), (1, [9.0, 9.9]), (2, [9.0, 9.0]))]
    front = ()
    for point in points:
        front = with_point(front, point)
    assert [p.policy for p in front] == [policies[1], policies[3]], "two laws are worse than one"
    best = points[0]
    assert choose(front, best, 0.01).policy is policies[3]
    assert choose(front, best, 0.1).policy is policies[1]
    assert choose((), best, 0.1) is best
    assert gain(*front) == (pytest.approx(0.55), pytest.approx(0.45))


def test_a_run_keeps_its_front(tmp_path):
    run = sirl.train("InvertedPendulum-v4", out=tmp_path / "run", **SMALL | {"generations": 20, "shrinking": 0.5})
    rows = msgspec.json.decode((tmp_path / "run" / "front.json").read_bytes())
    assert [row["size"] for row in rows] == [point.size for point in run.state.front]
    assert rows[0]["size"] < 5, "something was left out"
    assert rows == sorted(rows, key=lambda row: (row["size"], row["score"]))
    for row, point in zip(rows, run.state.front, strict=True):
        assert sirl.load(tmp_path / "run" / row["model"]).to_json() == point.policy.to_json()
    larger = Point(random_policy("InvertedPendulum-v4", 2, False), run.state.front[-1].returns + 1)
    write_front(tmp_path / "run", with_point(run.state.front, larger))
    assert "fronts" in draw_runs([str(tmp_path / "run")])


@pytest.mark.parametrize("model", ["paper:LunarLander", "paper:Hopper", "conditions"])
def test_what_is_started_from_acts_as_the_policy_does(model):
    policy = random_policy("CartPole-v1", 5, False) if model == "conditions" else sirl.load(model)
    task = policy.task
    scales = np.random.default_rng(0).uniform(0.5, 2.0, task.n_features)
    shape, row = from_policy(policy, Frame(task, make_terms(task, False), scales))
    seen = np.random.default_rng(1).normal(size=(2000, task.n_features))
    ours, its = shape.tree(row).act(seen), policy.tree.act(seen)
    same = np.isclose(ours, its, atol=1e-2).reshape(2000, -1).all(axis=1)
    assert same.mean() > 0.99, "but where three digits of a threshold decide"


def test_a_run_starts_from_a_policy_and_goes_on_without_it(tmp_path):
    asked = SMALL | {"generations": 4, "contenders": 1, "shrinking": 0.0, "max_steps": 1000}
    run = sirl.Training("InvertedPendulum-v4", start="paper:InvertedPendulum", out=tmp_path / "run", **asked)
    first = next(iter(run.generations()))
    assert first.best == 1000, "it knows how from the start"
    again = sirl.Training.resume(tmp_path / "run", workers=1)
    for _ in again.generations():
        pass
    whole = sirl.train("InvertedPendulum-v4", start="paper:InvertedPendulum", **asked)
    assert again.champion.to_json() == whole.champion.to_json()


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"start": "paper:Hopper"}, "can't be started from on InvertedPendulum-v4: "),
        ({"start": "paper:Hoper"}, "the paper prints no tree for 'Hoper'; did you mean 'Hopper'?"),
        ({"start": "paper:InvertedPendulum", "method": "eldt"}, "--method eldt starts from nothing: leave out --start"),
    ],
)
def test_a_policy_that_can_not_be_started_from_is_refused(asked, reason):
    with pytest.raises(SirlError) as error:
        sirl.Training("InvertedPendulum-v4", **asked)
    assert reason in str(error.value)


def test_wide_trees_are_tuned_by_random_search_and_say_so():
    run = sirl.Training("Walker2d-v4", **SMALL | {"max_laws": 4, "generations": 2, "contenders": 1, "products": True})
    assert "are too many for CMA-ES: augmented random search" in run.search.plan()
    frame = run.search._frame(np.ones(len(make_terms(run.task, True))))
    contender = widen(first_contenders(frame, run.settings)[0], run.settings)
    offspring = contender.ask(None, np.uint64(7))
    towards = -np.square(offspring - 0.3).sum(axis=1)
    told = contender.tell(offspring, towards)
    assert np.square(told.distribution.mean - 0.3).sum() < np.square(0.3 - contender.distribution.mean).sum()


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
        return np.array([1e300, -1e300]), float(env.last_action), False, env.steps == 10, {}

    with np.errstate(all="raise"):
        run = sirl.train(lambda: Tiny(space, behave=far), **SMALL | {"products": products, "generations": 2})
    assert Policy.from_json(run.champion.to_json()).to_json() == run.champion.to_json()


@pytest.mark.parametrize(
    ("method", "signal"),
    [("laws", {}), ("laws", {"alive_bonus": 1.0}), ("laws", {"shaping": "x0"}), ("sirl-lb", {})],
)
def test_a_reward_that_is_always_zero_is_told_and_the_run_is_kept(method, signal, tmp_path):
    still = partial(Tiny, behave=lambda env: (env.observation_space.sample(), 0.0, False, env.steps == 10, {}))
    asked = {"laws": SMALL, "sirl-lb": TINY}[method] | {"out": tmp_path / "run"} | signal
    with pytest.warns(UserWarning, match="returned 0, so there was nothing to learn from: check its reward"):
        run = sirl.train(still, **asked)
    assert sirl.load(tmp_path / "run").to_json() == run.champion.to_json()


def test_a_policy_to_start_from_reigns_until_something_is_better(tmp_path):
    asked = SMALL | {"contenders": 1, "law_sigma": 5.0, "generations": 10, "max_steps": 200}
    run = sirl.train("Swimmer-v4", start="zoo:Swimmer", **asked)
    first, given = (sirl.evaluate(p, episodes=5, max_steps=200).mean for p in (run.champion, sirl.load("zoo:Swimmer")))
    assert first >= given - 0.02 * abs(given)
    assert n_numbers(run.champion.tree) <= n_numbers(sirl.load("zoo:Swimmer").tree), "it has no more numbers"


@pytest.mark.parametrize("asked", [{"env": "LunarLander-v3"}, {"env": "Pendulum-v1", "ignore": "omega"}])
def test_products_join_in_where_some_numbers_are_not_free(asked):
    env, asked = asked["env"], {name: value for name, value in asked.items() if name != "env"}
    run = sirl.train(env, products=True, **SMALL | {"generations": 4, "contenders": 1, "max_steps": 30}, **asked)
    assert run.champion.tree.n_leaves == 1


@pytest.mark.parametrize(
    ("env", "asked", "reason"),
    [
        ("InvertedPendulum-v4", {"mirror": ["push = -push"]}, "the mirror leaves no number of a law for InvertedPend"),
        (
            "Pendulum-v1",
            {"method": "linear", "max_laws": 3},
            "max_laws = 3 is not linear, which is one law of features",
        ),
        ("Pendulum-v1", {"method": "linear", "products": True}, "products = True is not linear"),
        ("Pendulum-v1", {"method": "linear", "start": "zoo:Pendulum"}, "zoo:Pendulum is not linear, but a tree: use"),
        (
            "Walker2d-v4",
            {"mirrored": False, "mirror": ["p_z = -p_z"]},
            "--no-mirrored does without a mirror: leave out",
        ),
        ("Acrobot-v1", {"start": "zoo:Acrobot", "products": False}, "multiplies features, and this run does not: add"),
    ],
)
def test_what_can_not_be_tuned_is_refused_before_anything_is_written(env, asked, reason, tmp_path):
    with pytest.raises(SirlError) as error:
        sirl.Training(env, out=tmp_path / "run", **asked)
    assert reason in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_run_of_laws_does_not_go_on_to_more_generations(tmp_path):
    sirl.train("CartPole-v1", out=tmp_path / "run", **SMALL)
    with pytest.raises(SirlError, match=r"so it can't go on to 99: start a new run from its champion with --start "):
        sirl.Training.resume(tmp_path / "run", generations=99)


def test_the_first_line_says_what_is_tuned_and_how():
    def plan(**asked):
        return sirl.Training("Pendulum-v1", **asked).search.plan()

    assert plan(contenders=1, max_laws=64).startswith("one contender with one law, tuned"), "it never comes to more"
    assert plan(contenders=8, max_laws=2).startswith("8 contenders with up to 2 laws each, tuned")
    assert "augmented random search" not in plan(contenders=2, max_laws=64)


def test_a_run_that_meets_its_goal_has_a_front(tmp_path):
    run = sirl.train("InvertedPendulum-v4", stop_at=1, out=tmp_path / "run", **SMALL | {"generations": 20})
    assert run.state.solved
    assert [row["size"] for row in msgspec.json.decode((tmp_path / "run" / "front.json").read_bytes())] == [5]


def test_a_reward_that_training_leaves_out_is_a_reward():
    sirl.train("CartPole-v1", alive_bonus=1.0, **SMALL)  # a warning would be an error


def test_a_single_action_is_nothing_to_choose():
    with pytest.raises(SirlError, match="has a single action, so that there is nothing to choose: give it one more"):
        sirl.Training(lambda: Tiny(action_space=spaces.Discrete(1)), method="laws")


def test_a_shaping_that_divides_by_zero_beyond_the_bounds_is_told():
    beyond = partial(Tiny, behave=lambda env: (np.float32([-2, 0]), 1.0, False, env.steps == 10, {}))
    with pytest.raises(sirl.errors.EnvironmentFailure, match="on which the shaping divides by 0: let it keep to its"):
        sirl.train(beyond, shaping="1/(x0 + 2)", **SMALL)
