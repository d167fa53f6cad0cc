"""Derived features: what is read and what is refused, the same bits wherever they are computed, and who sees them."""

from __future__ import annotations

import json

import msgspec
import numba
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import sirl
from conftest import TINY, Tiny
from every_kind import deriving, policy_of_kind
from formula_leaves import DERIVED, policy_of
from sirl.errors import EnvironmentFailure, SirlError
from sirl.learning.forest import pack
from sirl.model.laws import LawLeaves
from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.model.tree import Tree
from sirl.reading.check import check, read_property
from sirl.reading.complexity import decision_costs, leaf_costs, measure
from sirl.reading.describing import describe_tree, look
from sirl.reading.edit import read_text, write_text
from sirl.reading.export import export
from sirl.reading.playing import Stage
from sirl.reading.region import Region, Row
from sirl.reading.report import Effort, gather
from sirl.rollout.recipe import ArenaRecipe
from sirl.rollout.work import PlayOrder
from sirl.runs.directory import read_config
from sirl.search.shapes import Frame, first_shape
from sirl.search.terms import make_terms
from sirl.simulators.derived import derive, make_programs
from sirl.simulators.recipes import inspect, make_recipe
from sirl.simulators.spaces import describe

TIP = "tip_x_miss = p_x*d_y - p_y*d_x"
LAWS = {
    "generations": 2,
    "contenders": 2,
    "max_laws": 2,
    "law_episodes": 2,
    "validation_episodes": 4,
    "offspring": 6,
    "products": False,
}


def tiny_task(low=-5.0, high=5.0):
    return describe(Tiny(spaces.Box(low, high, (3,))), "Tiny-v0", features=["x", "v", "left leg"])


def law_policy(env_id, derived, n_leaves=3, seed=0):
    task = inspect(make_recipe(env_id)).task.deriving(derived)
    terms = make_terms(task, False)
    shape = first_shape(Frame(task, terms, np.ones(len(terms))), n_leaves)
    return Policy(task, shape.tree(np.random.default_rng(seed).normal(scale=0.3, size=shape.size)))


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("x + 2*v", lambda x, v, w: x + 2 * v),
        ("x - v - 1", lambda x, v, w: (x - v) - 1),
        ("x/4/2*v", lambda x, v, w: ((x / 4) / 2) * v),
        ("-x**2", lambda x, v, w: -(x * x)),
        ("(-x)^3", lambda x, v, w: ((-x) * (-x)) * (-x)),
        ("2·x − v×.5", lambda x, v, w: 2 * x - v * 0.5),
        ('+(x - (v - "left leg")) * 1e-1', lambda x, v, w: (x - (v - w)) * 0.1),
        ("x*x/(1 + v*v)", lambda x, v, w: (x * x) / (1 + v * v)),
        ("3", lambda x, v, w: 3.0),
    ],
)
def test_a_formula_is_arithmetic_as_everywhere(formula, expected):
    task = tiny_task().deriving([f"new = {formula}"])
    seen = np.random.default_rng(0).normal(size=(50, 3))
    rows = task.rows(seen)
    assert task.features == ["x", "v", "left leg", "new"]
    assert rows[:, 3].tolist() == [expected(*row) for row in seen.tolist()]
    np.testing.assert_array_equal(rows[:, :3], seen)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("new = x +", "it ends where a number or a feature is due"),
        ("new = x*/2", "'/' (character 9) stands where a number or a feature is due"),
        ("new = (x + 1", "a parenthesis is not closed before its end"),
        ("new = (x 1)", "a parenthesis is not closed before '1' (character 10)"),
        ("new = x v", "'v' (character 9) comes after its end"),
        ("new = x < 1", "'<' (character 9) comes after its end"),
        ("new = __import__('os')", "there is no '__import__'"),
        ("new = lag*2", "there is no 'lag'"),
        ("new = theta", "there is no 'theta'; there are x, v, left leg"),
        ('new = "left lag"', "perhaps 'left leg'"),
        ('new = "left', 'the name " is not quoted as in JSON'),
        ("x = v + 1", "the name x is taken; choose another"),
        ("x + v", "it has no name; write `name = formula`"),
        ("= x", "it has no name"),
        ("", "it ends where a name is due"),
        ("left foot = x", "it has no name"),
        ('" " = x', "it has no name"),
        ("and = x", "it has no name"),
        ("new = new + x", "new uses itself; derive it from other features"),
        ("new = later*2", "later is derived only after it; give that one first"),
        ("new = 1/x", "it divides by x, which can be 0 within the bounds of the features; add a constant"),
        ("new = 1/(x**2)", "it divides by (x**2), which can be 0"),
        ("new = v/0", "it divides by 0, which can be 0"),
        ("new = 1/(6 - x - v)", "it divides by (6 - x - v), which can be 0"),
        ("new = x**0.5", "'0.5' (character 10) is no exponent; write a whole number from 2 to 9"),
        ("new = x**-1", "'-' (character 10) is no exponent"),
        ("new = x^10", "'10' (character 9) is no exponent"),
        ("new = x**2**3", "'**' (character 11) follows a power; write parentheses"),
        ("new = 1e999*x", "1e999 is no finite number"),
        ("new = x*1e200*1e200", "it can become infinite where features are large"),
        ("new = 1/(1e-200 + x**2)*1e200", "it can become infinite"),
        (f"new = {'(' * 80}x{')' * 80}", "it nests deeper than 50; derive a part of it first"),
        (f"new = {'-' * 80}x", "it nests deeper than 50"),
        (f"new = x{' + x' * 400}", "it has 1607 characters, and 1000 are the most"),
        ("new = (((x/9)**9)**9)**9", "its powers make it too long"),
        ("new = x\n", None),
        ("new = x\t+ 1", "it has a character that does not print"),
    ],
)
def test_what_can_not_be_used_says_why(line, why):
    if why is None:
        assert tiny_task().deriving([line]).derived == [line.strip()]
        return
    with pytest.raises(SirlError) as error:
        tiny_task().deriving([line, "later = v"])
    assert str(error.value).startswith("the derived feature ")
    assert why in str(error.value)
    assert str(error.value).endswith(".")


def test_without_bounds_a_square_still_is_not_negative():
    task = tiny_task(-np.inf, np.inf).deriving(["fine = 1/(1 + x**2)", "sum = x + v", "even = (x*v)**2 - 3"])
    assert task.feature_low[3:] == [0.0, None, -3.0]
    assert task.feature_high[3:] == [1.0, None, None]
    with pytest.raises(SirlError, match=r"can become infinite .* lower its powers, or scale it"):
        tiny_task(-np.inf, np.inf).deriving(["far = x**9*v**9"])


def test_too_many_are_refused():
    with pytest.raises(SirlError, match="101 derived features are too many: give 100 at most"):
        tiny_task().deriving([f"d{n} = x" for n in range(101)])


def formulas():
    """Formulas over x and v whose denominators are above zero."""
    leaf = st.sampled_from(["x", "v", "2", "0.3", "1e-3"])

    def larger(inner):
        pair = st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
        power = st.tuples(inner, st.integers(2, 3)).map(lambda p: f"({p[0]})**{p[1]}")
        ratio = st.tuples(inner, inner).map(lambda p: f"({p[0]}/(0.5 + ({p[1]})**2))")
        return st.one_of(pair, power, ratio, inner.map(lambda text: f"-{text}"))

    return st.recursive(leaf, larger, max_leaves=5)


_derive = numba.njit(lambda programs, row: derive(programs, row))


@settings(deadline=None)  # a loop is compiled first
@given(formulas(), st.integers(0, 2**32 - 1))
def test_loops_and_arrays_agree_to_the_bit_and_keep_within_bounds(formula, seed):
    task = tiny_task().deriving([f"new = {formula}", "more = new*x - new"])
    corners = np.array([[-5.0, -5, 0], [5, 5, 0], [-5, 5, 0], [0, 0, 0], [0, 5, 0]])
    seen = np.vstack([corners, np.random.default_rng(seed).uniform(-5, 5, (20, 3))])
    rows, programs = task.rows(seen), make_programs(task)
    for row in rows:
        own = np.concatenate([row[:3], [np.nan, np.nan]])
        _derive(programs, own)
        assert own.tobytes() == row.tobytes()
    for place in (3, 4):
        low, high = task.feature_low[place], task.feature_high[place]
        assert low is None or (rows[:, place] >= low).all()
        assert high is None or (rows[:, place] <= high).all()


def test_a_discrete_observation_has_derived_features_too():
    task = describe(Tiny(spaces.Discrete(3, start=5)), "Tiny-v0").deriving(["first = x0 - x1*2"])
    np.testing.assert_array_equal(task.rows(6), [[0, 1, 0, -2]])
    assert task.n_observed == 3
    largest = Region(task, (Row(np.array([0.0, 0, 0, 1]), 0.0),)).largest(np.array([0.0, 0, 1, 0]))
    assert largest == 0.0  # where first < 0, it is x1 that is seen


def test_a_file_keeps_formulas(tmp_path):
    policy = law_policy("Hopper-v4", ["push = p_z*v_x - 2", '"odd name" = push**2'])
    content = policy.to_json()
    again = Policy.from_json(content)
    assert again.to_json() == content
    assert json.loads(content)["task"]["derived"] == ["push = p_z*v_x - 2", '"odd name" = push**2']
    seen = np.random.default_rng(0).normal(size=(100, 11))
    np.testing.assert_array_equal(again.predict(seen)[0], policy.predict(seen)[0])
    with pytest.raises(SirlError, match="its checksum does not fit"):
        Policy.from_json(content.replace(b"v_x - 2", b"v_x - 3"))


def test_a_task_without_them_is_written_as_ever():
    assert b"derived" not in sirl.load("paper:Reacher").to_json()
    assert "derived" not in msgspec.to_builtins(tiny_task().deriving([]))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"derived": ["push = p_z*v_q"]}, "there is no 'v_q'"),
        ({"derived": ["pull = p_z*v_x"]}, "other names or bounds than their formulas give"),
        ({"derived": ["push = p_z**2"]}, "other names or bounds than their formulas give"),
        ({"derived": ["push = 1/p_z"]}, "it divides by p_z"),
        ({"derived": ["a = 1"] * 20}, "all of its features are derived"),
        ({"derived": [3]}, "Expected `str`"),
        ({"feature_low": [None] * 11 + [0.0]}, "other names or bounds than their formulas give"),
    ],
)
def test_a_file_that_contradicts_its_formulas(change, why):
    values = json.loads(law_policy("Hopper-v4", ["push = p_z*v_x"]).to_json())
    values["task"] |= change
    del values["checksum"]
    with pytest.raises(SirlError) as error:
        Policy.from_json(json.dumps(values).encode())
    assert why in str(error.value)


def test_predict_takes_what_is_observed():
    policy = law_policy("Reacher-v4", [TIP])
    one, _ = policy.predict(np.ones(11))
    assert one.shape == (2,)
    with pytest.raises(SirlError, match=r"looks at 11 features .*d_z\) but got an observation of shape \(12,\)"):
        policy.predict(np.ones(12))
    with pytest.raises(SirlError, match="NaN as p_x"):
        policy.predict([0, 0, 0, 0, np.nan, 0, 0, 0, 0, 0, 0])
    assert not policy.mismatch(inspect(make_recipe("Reacher-v4")).task)
    assert "11 features against 4" in policy.mismatch(inspect(make_recipe("CartPole-v1")).task)


@pytest.mark.parametrize("env_id", ["Hopper-v4", "Reacher-v4"])
def test_compiled_loops_and_lockstep_play_alike(env_id):
    names = inspect(make_recipe(env_id)).task.features
    quoted = [json.dumps(name) for name in names]
    derived = [f"one = {quoted[4]}*{quoted[9]} - 1", f"two = one/(2 + {quoted[0]}**2) - one**3/100"]
    policy = law_policy(env_id, derived)
    order = PlayOrder(pack([policy.tree]), policy.tree.leaves.law(), np.arange(8)[None])
    found = []
    for backend in ("mujoco", "gymnasium"):
        arena = ArenaRecipe(make_recipe(env_id), policy.task, backend, None)()
        found.append(arena.play(order))
        arena.close()
    assert found[0].returns.tobytes() == found[1].returns.tobytes()
    assert found[0].lengths.tobytes() == found[1].lengths.tobytes()
    assert sirl.evaluate(policy, episodes=3, workers=1).returns.shape == (3,)


@pytest.mark.parametrize("method", ["sirl-lb", "eldt", "laws", "linear"])
def test_one_seed_one_champion_wherever_it_is_trained(method):
    settings = {"laws": LAWS, "linear": LAWS | {"max_laws": 1}}.get(method, TINY)
    if method == "eldt":
        settings = {name: value for name, value in settings.items() if not name.startswith("collaborative")}
    asked = settings | {"method": method, "max_steps": 30, "derive": [TIP, "square = tip_x_miss**2"]}
    found = [
        sirl.train("Reacher-v4", **asked | {"simulator": simulator, "workers": workers}).champion.to_json()
        for simulator, workers in (("mujoco", 1), ("mujoco", 2), ("gymnasium", 1))
    ]
    assert found[0] == found[1] == found[2]
    assert b'"square = tip_x_miss**2"' in found[0]


def test_a_run_keeps_them_and_goes_on(tmp_path):
    asked = TINY | {"derive": ["lean = theta + 0.1*omega"], "generations": 3}
    whole = sirl.train("CartPole-v1", **asked)
    sirl.train("CartPole-v1", **asked | {"generations": 1, "out": tmp_path / "run"})
    config = read_config(tmp_path / "run")
    assert config.derive == ["lean = theta + 0.1*omega"]
    assert "lean" not in config.features
    from sirl.runs.training import Training

    run = Training.resume(tmp_path / "run", generations=3, workers=1)
    for _ in run.generations():
        pass
    assert run.champion.to_json() == whole.champion.to_json()


def test_a_run_with_other_formulas_is_another_run(tmp_path):
    digests = set()
    for asked in ([], ["lean = theta*2"], ["lean = theta*3"]):
        out = tmp_path / str(len(digests))
        sirl.train("CartPole-v1", **TINY | {"derive": asked, "generations": 1, "out": out})
        digests.add(read_config(out).digest())
        assert ("derive" in (out / "config.toml").read_text()) == bool(asked)
    assert len(digests) == 3


def test_a_start_must_have_the_same():
    start = law_policy("InvertedPendulum-v4", ["lean = theta*omega"], n_leaves=1)
    asked = {
        "start": start,
        "generations": 1,
        "contenders": 1,
        "law_episodes": 1,
        "validation_episodes": 2,
        "workers": 1,
    }
    with pytest.raises(SirlError, match="its derived features are others, so give the same --derive"):
        sirl.train("InvertedPendulum-v4", **asked)
    run = sirl.train("InvertedPendulum-v4", **asked, derive=["swing = theta*omega"])
    assert run.champion.task.features[-1] == "swing"


def test_an_observation_beyond_its_bounds_is_noticed():
    def env():
        return Tiny(spaces.Box(1, 2, (2,)), behave=lambda env: (np.zeros(2), 0.0, False, env.steps == 10, {}))

    with pytest.raises(EnvironmentFailure, match=r"env gave an observation on which the derived feature odd is inf"):
        sirl.train(env, **TINY | {"derive": ["odd = 1/x0"]})
    task = tiny_task(-np.inf, np.inf).deriving(["far = x**4*v**4"])
    with pytest.raises(SirlError, match="derived feature far is inf: let it keep to its bounds"):
        task.rows([1e60, 1e60, 0])


def test_texts_tell_what_is_used():
    text = str(policy_of("derived"))
    assert text.splitlines()[-4:] == [f"where {line}" for line in DERIVED if not line.startswith("unused")]
    plain = law_policy("Hopper-v4", ["push = p_z*v_x"])
    weights = plain.tree.leaves.weights.copy()
    weights[:, :, -1] = 0.0
    splits = plain.tree.weights.copy()
    splits[:, -1] = 0.0
    leaves = type(plain.tree.leaves)(plain.tree.leaves.terms, weights, plain.tree.leaves.constants, plain.task)
    unused = Policy(plain.task, plain.tree._replace(weights=splits, leaves=leaves))
    assert "where" not in str(unused)
    assert str(plain).splitlines()[-1] == "where push = p_z*v_x"


def test_an_edit_can_speak_of_them():
    policy = sirl.train("CartPole-v1", **TINY | {"derive": ["lean = theta + 0.1*omega"]}).champion
    assert "# where lean = theta + 0.1*omega" in write_text(policy)
    edited = read_text("if lean < 0\n    push left\nelse\n    push right\n", policy)
    assert str(edited).splitlines() == [
        "if lean < 0",
        "├─ yes → push left",
        "└─ no  → push right",
        "where lean = theta + 0.1*omega",
    ]
    assert read_text(write_text(edited), edited) is edited
    assert edited.predict([0, 0, 0.1, -2.0])[0] == 0
    assert edited.predict([0, 0, 0.1, -0.5])[0] == 1


def lean_policy(derived):
    text = "if lean < 0\n    push -1\nelse\n    push +1\n"
    return read_text(text, deriving(sirl.load("paper:InvertedPendulum"), derived))


def test_a_linear_one_is_proved_exactly():
    """Where both are above zero their sum is, so that no such state is pushed left."""
    policy = lean_policy(["lean = 2*(theta + 0.1*omega)/3"])
    asked = read_property(policy, "theta > 0.2 and omega > 0", "push -1")
    assert {verdict.answer for verdict in check(policy, asked)} == {"holds"}
    asked = read_property(policy, "theta > 0.2", "push -1")
    fails = next(verdict for verdict in check(policy, asked) if verdict.answer == "fails")
    np.testing.assert_array_equal(policy.task.extended(fails.state[None, :4])[0], fails.state)
    assert policy.predict(fails.state[:4])[0] == -1


def test_a_curved_one_is_never_refuted_by_a_state_that_is_none():
    policy = lean_policy(["lean = theta**2 + 1"])
    assert {v.answer for v in check(policy, read_property(policy, "", "push -1"))} == {"holds"}  # its bounds prove it
    policy = lean_policy(["lean = theta*omega"])
    asked = read_property(policy, "theta > 0.2 and omega > 1", "push -1")
    assert {verdict.answer for verdict in check(policy, asked)} == {"holds"}


LEAN = ["lean = theta**2 - 0.5*theta*omega", "twice = 2*lean - x", "ratio = x/(1 + v**2)"]


@pytest.mark.parametrize(
    ("law", "when", "never", "answer"),
    [
        ("push = lean", "-1 < theta < 1 and -1 < omega < 1", "push > 1.6", "holds"),  # 1 + 0.5 at most
        ("push = lean", "-1 < theta < 1 and -1 < omega < 1", "push > 1.4", "fails"),
        ("push = lean - twice*0.5", "-1 < x < 1", "push > 0.6", "holds"),  # half of x: curves cancel
        ("push = lean*ratio", "-1 < theta < 1 and -1 < omega < 1 and -1 < x < 1", "push > 1.7", "holds"),
        ("push = lean*ratio", "-1 < theta < 1 and -1 < omega < 1 and 0 < x < 1 and -1 < v < 1", "push > 0.5", "fails"),
        ("push = twice*twice", "", "push < 0", "holds"),
        ("push = ratio*v", "-1 < x < 1 and -3 < v < 3", "push > 0.8", "holds"),  # x/2 at most, at v = 1
        ("push = ratio*v", "-1 < x < 1 and -3 < v < 3", "push > 0.45", "fails"),
        ("push = lean*omega", "theta > 2", "push > 1", "fails"),
    ],
)
def test_boxes_decide_laws_of_curved_ones(law, when, never, answer):
    policy = read_text(law, deriving(sirl.load("paper:InvertedPendulum"), LEAN))
    (verdict,) = check(policy, read_property(policy, when, never))
    assert verdict.answer == answer
    if verdict.state is not None:
        np.testing.assert_array_equal(policy.task.extended(verdict.state[None, :4])[0], verdict.state)
        bound = float(never.split()[-1])
        assert policy.predict(verdict.state[:4])[0][0] > bound


def test_what_boxes_can_not_decide_is_open():
    policy = lean_policy(["lean = theta**2 - theta*omega + omega**2 + 0.001"])
    left, _ = check(policy, read_property(policy, "", "push -1"))
    assert left.answer == "open"
    assert left.why == "it derives from features of which theta, omega has no bounds; give some with --when"
    left, _ = check(policy, read_property(policy, "-1 < theta < 1 and 1.5 < omega < 2", "push -1"))
    assert left.answer == "holds"


def test_one_hot_laws_multiply_derived_ones():
    task = describe(Tiny(spaces.Discrete(3), spaces.Box(-9, 9, (1,))), "Tiny-v0").deriving(["twice = 2*x0 - 3*x1"])
    leaves = LawLeaves.of_named([{task.action_names[0]: [(["twice", "twice"], 1.0), (["x0", "x1"], -1.0)]}], task)
    policy = Policy(task, Tree(np.zeros((0, 4)), np.zeros(0), np.zeros((0, 2), dtype=np.int32), leaves))
    for never, answer in (("> 8.5", "fails"), ("> 9", "holds"), ("< 0", "holds")):
        (verdict,) = check(policy, read_property(policy, "", f'"{task.action_names[0]}" {never}'))
        assert verdict.answer == answer
    (verdict,) = check(policy, read_property(policy, "x1 < 0.5", f'"{task.action_names[0]}" > 4'))
    assert verdict.answer == "holds"


def test_an_edit_writes_laws_of_them():
    policy = policy_of_kind("derived law")
    text = write_text(policy)
    assert "# where lean = theta + 0.1*omega\n# where swing = lean*omega/(1 + x**2)\n" in text
    assert "    push = 9.1*x + 34.26*lean - 2.5*x*lean + 0.3*lean*swing\n" in text
    assert read_text(text, policy) is policy
    edited = read_text('push = 0.5*lean*"swing" - lean·2', policy)
    assert str(edited).splitlines()[0] == "always push = -2·lean + 0.5·lean·swing"
    x, theta, _, omega = seen = [0.3, -0.2, 0.1, 0.4]
    lean = theta + 0.1 * omega
    assert edited.predict(seen)[0][0] == pytest.approx(0.5 * lean * lean * omega / (1 + x**2) - 2 * lean)
    with pytest.raises(SirlError, match="there is no 'swings'; perhaps 'swing'"):
        read_text("push = swings", policy)


def test_explain_leaves_out_terms_of_them(sirl_command, tmp_path):
    policy_of_kind("derived law").save(tmp_path / "model.json")
    playing = ["--episodes", "1", "--workers", "1", "--max-steps", "12"]
    told = sirl_command("explain", str(tmp_path / "model.json"), *playing)
    assert "without" in told.out
    assert "lean·swing" in told.out


def test_latex_tells_what_they_are():
    drawn = export(policy_of_kind("derived law"), "latex").decode()
    assert r"where lean = theta + 0.1*omega \\ {}where swing = lean*omega/(1 + x**2)" in drawn


def test_experiments_count_their_operations():
    policy = policy_of_kind("derived law")
    in_split, lean, swing = 3, 2, 4
    others = decision_costs(policy.tree, policy.task) - leaf_costs(policy.tree)
    assert others.tolist() == [in_split + lean + swing] * 2


def test_a_page_moves_what_is_observed():
    policy = law_policy("InvertedPendulum-v4", ["lean = theta*omega + theta"])
    with Stage(policy, workers=1, max_steps=20) as stage:
        data = gather(policy, stage, [], "", Effort(episodes=2, variants=0, replays=1))
    assert [feature["name"] for feature in data["features"]] == policy.task.features[:4]
    assert {len(row) for row in data["replays"][0]["observations"]} == {4}
    (told,) = data["tree"]["derived"]
    assert told == {
        "name": "lean",
        "formula": "theta*omega + theta",
        "program": [["feature", 1], ["feature", 3], ["*"], ["feature", 1], ["+"]],
    }
    assert data["tree"]["where"] == ["lean = theta*omega + theta"]


def test_their_operations_are_counted():
    policy = law_policy("InvertedPendulum-v4", ["lean = theta*omega + theta**3", "more = lean - 1"], n_leaves=1)
    with Stage(policy, workers=1, max_steps=20) as stage:
        view = look(policy, stage.trace(policy.tree, 2))
    steps = view.n_steps / 2
    in_law = np.count_nonzero(policy.tree.leaves.weights)
    constants = np.count_nonzero(policy.tree.leaves.constants)
    assert view.complexity.operations == steps * (in_law + constants + 5)
    assert measure(policy.tree, policy.task).operations is None
    assert describe_tree(view)["complexity"]["operations"] == view.complexity.operations


def test_the_command(sirl_command, refusal, tmp_path):
    small = ["--method", "linear", "--generations", "2", "--law-episodes", "1", "--validation-episodes", "2"]
    derived = ["--derive", "lean = theta + 0.1*omega", "--derive", "more = lean**2"]
    run = str(tmp_path / "run")
    told = sirl_command("train", "InvertedPendulum-v4", *small, *derived, "--out", run, "--workers", "1")
    assert "where lean = theta + 0.1*omega\nwhere more = lean**2" in told.out
    assert "where more = lean**2" in sirl_command("show", run, "--episodes", "1", "--workers", "1").out
    assert "score" in sirl_command("evaluate", run, "--episodes", "2", "--workers", "1").out
    assert sirl_command("explain", run, "--episodes", "2", "--workers", "1").code in (0, 1)
    why = refusal("train", "InvertedPendulum-v4", "--derive", "lean = theta +", "--out", str(tmp_path / "other"))
    assert "the derived feature 'lean = theta +' can't be used: it ends where" in why
    assert not (tmp_path / "other").exists()


def test_a_task_travels():
    task = tiny_task().deriving(["new = x*v"])
    assert msgspec.json.decode(msgspec.json.encode(task), type=Task) == task
