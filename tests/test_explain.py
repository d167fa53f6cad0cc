"""What the paper found by hand is found, and a constant's sweep changes that constant."""

import json

import numpy as np
import pytest

import sirl
from sirl.model.text import condition
from sirl.reading.explain import explain
from sirl.reading.playing import Stage
from sirl.reading.sensitivity import constants, find_constant, usual_range, with_constant


def test_reachers_two_terms():
    """The paper: 9.3·cos(theta_1) + 1.1·omega_1 < 0 does nearly as well as all seven terms."""
    policy = sirl.load("paper:Reacher")
    with Stage(policy, workers=1) as stage:
        found = explain(policy.tree, policy.task, lambda trees: stage.returns(trees, 20), 0.43)
    used = [policy.task.features[f] for f in np.flatnonzero(found.simple.weights[0])]
    assert used == ["cos(theta_1)", "omega_1"]
    assert condition(found.simple, 0, policy.task).text(policy.task.features) == "cos(theta_1) + 0.1·omega_1 < 0"
    assert found.simple_score >= found.score - 0.43
    most = max(found.losses, key=lambda term: term.loss)
    assert policy.task.features[most.feature] in ("cos(theta_1)", "omega_1")


def test_constants_are_those_that_are_shown():
    policy = sirl.load("paper:InvertedPendulum")
    shown = {c.label: round(c.value, 3) for c in constants(policy.tree, policy.task)}
    assert shown == {"1.x": 0.045, "1.v": 3.054, "1.omega": 0.334, "1.bound": -0.057}
    k_v = find_constant(policy.tree, policy.task, "1.v")
    changed = with_constant(policy.tree, policy.task, k_v, 1.0)
    assert condition(changed, 0, policy.task).text(policy.task.features) == (
        "0.0446·(x + v) + theta + 0.334·omega > -0.0567"
    )
    x = np.random.default_rng(0).normal(size=(1000, 4))
    same = with_constant(policy.tree, policy.task, k_v, k_v.value)
    np.testing.assert_array_equal(same.act(x), policy.tree.act(x))
    assert usual_range(k_v, 3).tolist() == pytest.approx([-k_v.value, k_v.value, 3 * k_v.value])


def test_a_sweep(sirl_command, refusal):
    asked = ["--from", 0, "--to", 0.4, "--points", 2, "--episodes", 3, "--workers", 1, "--max-steps", 100]
    code, out, _ = sirl_command("explain", "paper:InvertedPendulum", "--sweep", "1.omega", *asked, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["own"] == pytest.approx(0.334, abs=1e-3)
    assert found["values"] == [0.0, 0.4]
    assert found["means"][0] < 20 < found["means"][1] == 100, "without omega the pole falls; with more it stands"
    code, out, _ = sirl_command("explain", "paper:InvertedPendulum", "--sweep", "1.omega", *asked)
    assert out.startswith("1.omega is 0.334 in the policy\n")
    assert "there is no constant '1.omga'; did you mean '1.omega'?" in refusal(
        "explain", "paper:InvertedPendulum", "--sweep", "1.omga"
    )


@pytest.mark.parametrize("name", ["Hopper", "InvertedPendulum", "LunarLander", "Reacher", "Swimmer", "Walker2d"])
def test_the_printed_trees(sirl_command, name):
    code, out, _ = sirl_command(
        "explain", f"paper:{name}", "--episodes", 2, "--max-steps", 20, "--workers", 1, "--out", "simple.json"
    )
    assert code == 0
    policy = sirl.load(f"paper:{name}")
    assert out.count("  simply: ") == policy.tree.n_splits
    assert out.count("    without ") == np.count_nonzero(policy.tree.weights)
    assert sirl.load("simple.json").origin.changed == "simplified by explain"
