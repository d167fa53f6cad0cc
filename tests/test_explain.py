"""What the paper found by hand is found, and a constant's sweep changes that constant."""

import json
import re

import numpy as np
import pytest

import sirl
from sirl.model.text import condition
from sirl.reading.edit import read_text
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
    assert policy.task.features[most.place.term] in ("cos(theta_1)", "omega_1")


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


LAW = "push = 9.027*x + 34.26*theta + 1.097*v + 2.096*omega - 0.01543 + 0.001*x*theta"


def test_a_law_is_explained_term_by_term(sirl_command, tmp_path):
    policy = read_text(LAW, sirl.load("paper:InvertedPendulum"))
    policy.save(tmp_path / "law.json")
    asked = ["--episodes", 3, "--workers", 1, "--max-steps", 200]
    code, out, _ = sirl_command("explain", "law.json", *asked, "--out", "simple.json")
    assert code == 0
    assert out.startswith("leaf 0: push = 9.027·x + 34.26·theta + 1.097·v + 2.096·omega + 0.001·x·theta - 0.01543\n")
    assert "    without x·theta: +0.00 ± 0.00  can go\n" in out
    assert "    without constant: +0.00 ± 0.00  can go\n" in out
    assert re.search(r"    without theta: -1\d\d\.\d\d ± \d+\.\d\d\n", out)
    (total,) = sirl.load("simple.json").tree.leaves.formula(0).sums
    assert {term.features for term in total.terms} <= {(0,), (1,), (2,), (3,)}
    assert all(term.weight == float(f"{term.weight:.2g}") for term in total.terms)
    terms = json.loads(sirl_command("explain", "law.json", *asked, "--json", "--out", "again.json").out)["terms"]
    assert {(t["leaf"], t["output"], t["term"]) for t in terms} >= {(0, "push", "x·theta"), (0, "push", "constant")}


def test_a_constant_of_a_law_is_swept():
    policy = read_text(LAW, sirl.load("paper:InvertedPendulum"))
    product = find_constant(policy.tree, policy.task, "leaf0.push.x*theta")
    changed = with_constant(policy.tree, policy.task, product, 0.5)
    assert changed.leaves.label(0, policy.task).endswith("+ 0.5·x·theta - 0.01543")
    assert policy.tree.leaves.label(0, policy.task).endswith("+ 0.001·x·theta - 0.01543")
