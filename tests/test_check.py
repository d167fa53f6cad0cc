"""A property holds, or there is a state that refutes it; and nonsense is answered."""

import json

import numpy as np
import pytest

import sirl
from formula_leaves import policy_of
from sirl.errors import SirlError
from sirl.model.tokens import write_name
from sirl.reading.check import check, read_property
from sirl.reading.edit import read_text
from sirl.reading.language import read_conditions

NAMES = ["x", "v", "cos(theta)", "left leg", "x_2"]


@pytest.mark.parametrize(
    ("text", "weights", "sign", "bound"),
    [
        ("x < 1", [1, 0, 0, 0, 0], "<", 1),
        ("-2*x + 0.5·cos(theta) >= 3", [-2, 0, 0.5, 0, 0], "≥", 3),
        ("x - 1 < v + 2e-1", [1, -1, 0, 0, 0], "<", 1.2),
        ('2*("left leg" - x_2) > -(1 - x)', [-1, 0, 0, 2, -2], ">", -1),
        ("0.3 <= v", [0, -1, 0, 0, 0], "≤", -0.3),
        ("x·3 − v ≤ .5", [3, -1, 0, 0, 0], "≤", 0.5),
    ],
)
def test_conditions_that_a_person_types(text, weights, sign, bound):
    (found,) = read_conditions(text, NAMES)
    np.testing.assert_allclose(found.weights, weights)
    assert (found.sign, found.bound) == (sign, pytest.approx(bound))


def test_chains_and_joins():
    found = read_conditions("0.1 < x <= 2 and v > 0", NAMES)
    assert [(c.sign, c.bound) for c in found] == [("<", -0.1), ("≤", 2.0), (">", 0.0)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("y < 1", "there is no 'y'; there are x, v, cos(theta), left leg, x_2"),
        ("cos(thta) < 1", "there is no 'cos'"),
        ("x", "it compares nothing"),
        ("x <", "it ends where a number or a feature is due"),
        ("x*v < 1", "it multiplies features"),
        ("(x < 1", "a parenthesis is not closed"),
        ("x < nan", "there is no 'nan'"),
        ("x < 1e999", "1e999 is no finite number"),
        ("x < 1 or v < 1", "'or' comes after its end; join conditions with `and`"),
        ("x < 1; import os", "';' comes after its end"),
    ],
)
def test_conditions_that_can_not_be_read(text, why):
    with pytest.raises(SirlError) as error:
        read_conditions(text, NAMES)
    assert why in str(error.value)


def test_odd_names_are_quoted():
    names = ['a "b"', "and", "1st", "x < 3", "<b>"]
    for place, name in enumerate(names):
        (found,) = read_conditions(f"{write_name(name)} < 1", names)
        assert found.weights.tolist() == np.eye(5)[place].tolist()


def answers(policy, when, never):
    return [verdict.answer for verdict in check(policy, read_property(policy, when, never))]


def test_what_holds_and_what_fails():
    policy = sirl.load("paper:InvertedPendulum")
    upright = "theta > 0.2 and omega >= 0 and x >= 0 and v >= 0"
    assert answers(policy, upright, "push -1") == ["holds", "holds"]
    assert answers(policy, upright, "push < 0") == ["holds", "holds"]
    assert answers(policy, upright, "push +0.67") == ["fails", "holds"]
    assert answers(policy, "theta > 0.2", "push -1") == ["holds", "fails"]
    assert answers(policy, "", "push > 2") == ["holds", "holds"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["LunarLander", "linear", "scores"])
def test_answers_agree_with_many_states(kind, seed):
    """No state of many that were tried refutes what is said to hold, and what is said to refute does."""
    rng = np.random.default_rng(seed)
    policy = policy_of(kind, rng) if kind in ("linear", "scores") else sirl.load(f"paper:{kind}")
    features = policy.task.features
    first, second = rng.choice(len(features), 2, replace=False)
    when = f"{features[first]} > 0.4 and {features[second]} < {features[first]}"
    never = "leg > 0.3" if kind == "linear" else "fire main engine"
    verdicts = check(policy, read_property(policy, when, never))
    x = rng.uniform(-1, 1, (20_000, len(features)))
    x = x[(x[:, first] > 0.4) & (x[:, second] < x[:, first])]

    def bad(states):
        actions = policy.predict(states)[0]
        return actions[:, 1] > 0.3 if kind == "linear" else actions == 2

    leaves = policy.tree.walk(x)
    for verdict in verdicts:
        assert verdict.answer != "open"
        if verdict.answer == "holds":
            assert not bad(x[leaves == verdict.leaf]).any()
        else:
            assert bad(verdict.state[None]).all()
            assert verdict.state[first] > 0.4
            assert verdict.state[second] < verdict.state[first]
            assert policy.tree.walk(verdict.state[None])[0] == verdict.leaf


def pendulum(law):
    return read_text(law, sirl.load("paper:InvertedPendulum"))


@pytest.mark.parametrize(
    ("law", "when", "never", "answer"),
    [
        ("x*theta + 0.1", "x >= 0 and theta >= 0", "push < 0", "holds"),  # signs decide, without any bounds
        ("x*theta + 0.1", "x >= 0 and theta >= -1", "push < 0", "fails"),
        ("x*theta", "0 < x < 1 and 0 < theta < 2", "push > 2.1", "holds"),
        ("x*theta", "0 < x < 1 and 0 < theta < 2", "push > 1.9", "fails"),
        ("x*x - 2*x*theta + theta*theta + 0.01", "-1 < x < 1 and -1 < theta < 1", "push < 0", "holds"),
        ("x*x - 2*x*theta + theta*theta - 0.01", "-1 < x < 1 and -1 < theta < 1", "push < 0", "fails"),
        ("x*v - theta*omega", "0.5 < x < 1 and 1 < v < 2 and -1 < theta < 1 and 0 < omega < 0.4", "push < 0", "holds"),
        ("x*v - theta*omega", "0.5 < x < 1 and 1 < v < 2 and -1 < theta < 1 and 0 < omega < 0.6", "push < 0", "fails"),
        ("x*x + 2*x*theta + theta*theta + 0.01", "", "push < 0", "open"),  # true, and no box has an end
        ("4*x*theta", "", "push > 3", "holds"),  # beyond what the law is held within
    ],
)  # fmt: skip
def test_products(law, when, never, answer):
    policy = pendulum(f"push = {law}")
    (verdict,) = check(policy, read_property(policy, when, never))
    assert verdict.answer == answer
    if answer == "open":
        assert verdict.why == "it multiplies features of which x, theta has no bounds; give some with --when"
    if answer == "fails":
        push = float(policy.predict(verdict.state)[0][0])
        assert push < 0 if "<" in never else push > 1.9


@pytest.mark.parametrize("seed", range(4))
def test_products_agree_with_many_states(seed):
    """No state of many that were tried refutes what is said to hold, and what is said to refute does."""
    rng = np.random.default_rng(seed)
    policy = policy_of("products", rng)
    when = " and ".join(f"-1 <= {write_name(name)} <= 1" for name in policy.task.features)
    bound = round(float(rng.uniform(-1, 0.8)), 2)
    x = rng.uniform(-1, 1, (20_000, policy.task.n_features))
    leaves, legs = policy.tree.walk(x), policy.predict(x)[0][:, 1]
    for verdict in check(policy, read_property(policy, when, f"leg > {bound}")):
        assert verdict.answer != "open"
        if verdict.answer == "holds":
            assert not (legs[leaves == verdict.leaf] > bound).any()
        else:
            assert policy.predict(verdict.state)[0][1] > bound
            assert np.abs(verdict.state).max() <= 1


def test_scores_with_products():
    lander = sirl.load("paper:LunarLander")
    policy = read_text(
        "largest of\n  coast = 0\n  fire left engine = -1\n  fire main engine = p_x*v_x - 2\n  fire right engine = -1",
        lander,
    )
    never = "fire main engine"
    assert answers(policy, "-1 < p_x < 1 and -1 < v_x < 1.9", never) == ["holds"]
    assert answers(policy, "-1 < p_x < 1 and -1 < v_x < 2.5", never) == ["fails"]
    assert answers(policy, "", never) == ["fails"], "the bounds of the features are enough"


def test_the_command(sirl_command, refusal):
    code, out, _ = sirl_command("check", "paper:InvertedPendulum", "--when", "theta > 0.2", "--never", "push -1")
    assert code == 3
    assert out.startswith("FAILS: when theta > 0.2, never push -1\n")
    assert "theta = 0.3" in out
    when = ["--when", "v_y > 0 and p_y > 0"]
    code, out, _ = sirl_command("check", "zoo:LunarLander", *when, "--never", "fire main engine", "--json")
    assert code == 0
    assert json.loads(out)["answer"] == "holds"
    assert "no observation within the task's bounds is like that" in refusal(
        "check", "paper:LunarLander", "--when", "theta > 7", "--never", "coast"
    )
    assert "there is no 'thta'; perhaps 'theta'" in refusal(
        "check", "paper:LunarLander", "--when", "thta > 1", "--never", "coast"
    )
    assert "there is no action 'fly'; there are coast, fire left" in refusal(
        "check", "paper:LunarLander", "--never", "fly"
    )
    assert "name one, or compare push with a number" in refusal("check", "paper:InvertedPendulum", "--never", "pull")


def test_the_largest_printed_tree():
    assert len(answers(sirl.load("paper:Swimmer"), "theta_0 > 0.1", "joint 2 +1")) == 14
