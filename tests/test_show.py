"""`sirl show` as a person and as a program reads it."""

import json
import re

import msgspec
import pytest

import sirl
from conftest import TINY_FLAGS, Tiny

PAPER = ["Hopper", "InvertedPendulum", "LunarLander", "Reacher", "Swimmer", "Walker2d"]


@pytest.mark.parametrize("name", PAPER)
def test_the_printed_trees(sirl_command, name):
    code, out, err = sirl_command("show", f"paper:{name}", "--episodes", 1, "--max-steps", 50)
    assert (code, err) == (0, "")
    assert "multiply-accumulates per episode" in out
    assert out.count("→") == sirl.load(f"paper:{name}").tree.n_leaves
    assert out.count("  when ") == sirl.load(f"paper:{name}").tree.n_leaves
    assert " %)" in out


def test_the_papers_complexity(sirl_command):
    """4 weights and a constant at each of 1000 steps: the paper's 5.0e3."""
    found = json.loads(sirl_command("show", "paper:InvertedPendulum", "--episodes", 2, "--json").out)
    assert found["complexity"] == {"leaves": 2, "depth": 1, "weights": 4, "operations": 5000.0}
    assert sum(leaf["visits"] for leaf in found["leaves"]) == found["splits"][0]["visits"] == 2000
    assert found["splits"][0]["weights"]["theta"] == -5.024


def test_a_law_with_a_constant_is_as_complex_as_a_split(sirl_command):
    """4 weights and a constant at each of 1000 steps, too."""
    found = json.loads(sirl_command("show", "zoo:InvertedPendulum", "--episodes", 2, "--json").out)
    assert found["complexity"] == {"leaves": 1, "depth": 0, "weights": 4, "operations": 5000.0}


def test_q_values_stand_at_the_leaves(sirl_command, register):
    register(Tiny)
    assert sirl_command("train", "Tiny-v0", "--out", "run", *TINY_FLAGS).code == 0
    code, out, _ = sirl_command("show", "run")
    assert code == 0
    assert re.search(r"\(\d+\.\d %, Q [-\d.]+, next a\d [-\d.]+\)", out)


def test_a_policy_whose_environment_is_not_here(sirl_command):
    policy = sirl.load("paper:InvertedPendulum")
    sirl.Policy(msgspec.structs.replace(policy.task, env="Gone-v0"), policy.tree).save("model.json")
    code, out, err = sirl_command("show", "model.json")
    assert code == 0
    assert "push +0.67" in out
    assert "visits are not counted, since this policy's environment 'Gone-v0' is not registered" in err
