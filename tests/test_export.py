"""Every form that runs decides as ``predict`` does, on the border too; names are inert in all of them."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET

import gymnasium as gym
import msgspec
import numpy as np
import pytest

import every_kind
import sirl
from conftest import Tiny
from formula_leaves import policy_of
from sirl.config import Settings
from sirl.model.menu import make_menu
from sirl.model.policy import Policy
from sirl.model.tree import Tree
from sirl.reading.export import FORMATS, export
from sirl.reading.export.c import measure_c
from sirl.reading.playing import Stage
from sirl.simulators.spaces import describe
from test_tree import random_tree

PAPER = ["Hopper", "InvertedPendulum", "LunarLander", "Reacher", "Swimmer", "Walker2d"]
FORMULAS = ["linear", "products", "scores", "derived"]
KINDS = [*FORMULAS, *(f"kind: {kind}" for kind in every_kind.KINDS)]
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler `cc` on this machine")


def load(name):
    if name.startswith("kind: "):
        return every_kind.policy_of_kind(name.removeprefix("kind: "))
    return policy_of(name) if name in FORMULAS else sirl.load(f"paper:{name}")


def observations_for(policy, n, seed=0):
    """Half of them at random, half on the threshold of a split or some last bits beside it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=2.0, size=(n, policy.task.n_observed))
    tree = policy.tree
    if tree.n_splits:
        split = rng.integers(tree.n_splits, size=n // 2)
        weights = tree.weights[split, : policy.task.n_observed]
        feature = np.abs(weights).argmax(axis=1)
        rows = np.arange(n // 2)
        rest = (weights * x[: n // 2]).sum(axis=1) - weights[rows, feature] * x[rows, feature]
        weight = weights[rows, feature]  # zero where a split weighs derived features alone
        border = np.where(
            weight == 0, x[rows, feature], (tree.thresholds[split] - rest) / np.where(weight == 0, 1, weight)
        )
        for _ in range(3):
            border = np.nextafter(border, rng.choice([-np.inf, np.inf], n // 2))
        x[rows, feature] = border
    x[-1] = 0.0  # where laws give their constants, and scores may be equal
    return x


def run_c(policy, observations, real, tmp_path):
    task = policy.task
    source = export(policy, "c" if real == "double" else "c-float").decode()
    n = len(task.action_names) if task.action != "discrete" else 1
    out = real if task.action == "box" else "int"
    call = "a[0] = policy_act(x)" if task.action == "discrete" else "policy_act(x, a)"
    harness = (
        f"#include <stdio.h>\nint main(void) {{ {real} x[{task.n_observed}]; {out} a[{n}];\n"
        f"while (fread(x, sizeof x, 1, stdin)) {{ {call}; fwrite(a, sizeof a, 1, stdout); }} return 0; }}\n"
    )
    (tmp_path / "policy.c").write_text(source)
    (tmp_path / "main.c").write_text(source + harness)
    strict = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
    subprocess.run([*strict, "-c", "policy.c"], cwd=tmp_path, check=True)
    subprocess.run([*strict, "-o", "policy", "main.c"], cwd=tmp_path, check=True)
    rows = observations.astype(np.float64 if real == "double" else np.float32)
    found = subprocess.run([tmp_path / "policy"], input=rows.tobytes(), capture_output=True, check=True).stdout
    dtype = np.int32 if out == "int" else rows.dtype
    return np.frombuffer(found, dtype).reshape(len(rows), *policy.task.action_shape).astype(task.action_dtype)


def run_python(policy, observations):
    module = {"__builtins__": {"float": float, "min": min, "max": max, "range": range}}
    exec(export(policy, "python").decode(), module)
    actions = [module["act"](x) for x in np.asarray(observations).tolist()]
    return np.array(actions).astype(policy.task.action_dtype)


@needs_compiler
@pytest.mark.parametrize("name", [*PAPER, *KINDS])
def test_c_decides_as_predict_does(name, tmp_path):
    policy = load(name)
    observations = observations_for(policy, 100_000)
    np.testing.assert_array_equal(run_c(policy, observations, "double", tmp_path), policy.predict(observations)[0])


@needs_compiler
def test_c_in_single_precision(tmp_path):
    """Where no sum is near its threshold."""
    policy = load("LunarLander")
    observations = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    margin = np.abs(observations @ policy.tree.weights.T - policy.tree.thresholds).min(axis=1)
    clear = observations[margin > 1e-4]
    assert len(clear) > 19_000
    np.testing.assert_array_equal(run_c(policy, clear, "float", tmp_path), policy.predict(clear)[0])


@needs_compiler
def test_c_plays_lunar_lander(tmp_path):
    """The decisions of C are those of ``predict`` in each step of 100 episodes, and so is its score."""
    policy = load("LunarLander")
    seen = Stage(policy).trace(policy.tree, 100)
    assert seen.n_episodes == 100
    assert 255 < seen.returns.mean() < 285
    np.testing.assert_array_equal(run_c(policy, seen.observations, "double", tmp_path), seen.actions)


@needs_compiler
def test_the_room_that_c_takes():
    room = measure_c(export(load("LunarLander"), "c").decode())
    assert 200 < room.flash < 5000
    assert 0 < room.stack < 200


@pytest.mark.parametrize("name", [*PAPER, *KINDS])
def test_python_decides_as_predict_does(name):
    policy = load(name)
    observations = observations_for(policy, 100_000)
    np.testing.assert_array_equal(run_python(policy, observations), policy.predict(observations)[0])


@pytest.mark.parametrize("name", [*PAPER, *KINDS])
def test_onnx_decides_as_predict_does(name):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    policy = load(name)
    observations = observations_for(policy, 100_000)
    session = runtime.InferenceSession(export(policy, "onnx"), providers=["CPUExecutionProvider"])
    (actions,) = session.run(None, {"observation": observations})
    np.testing.assert_array_equal(actions.astype(policy.task.action_dtype), policy.predict(observations)[0])


@needs_compiler
def test_a_tree_deeper_than_languages_nest(tmp_path):
    task = describe(Tiny(), "Tiny-v0")
    n = 250
    children = np.array([[~i, i + 1 if i < n - 1 else ~n] for i in range(n)], dtype=np.int32)
    leaves = random_tree(n, 2, 2, np.random.default_rng(0)).leaves
    policy = Policy(task, Tree(np.tile([1.0, 0.0], (n, 1)), np.linspace(-3, 3, n), children, leaves))
    observations = observations_for(policy, 2000)
    np.testing.assert_array_equal(run_python(policy, observations), policy.predict(observations)[0])
    np.testing.assert_array_equal(run_c(policy, observations, "double", tmp_path), policy.predict(observations)[0])


@pytest.mark.parametrize("n_splits", [0, 3])
@pytest.mark.parametrize(
    ("observation", "action"),
    [(gym.spaces.Discrete(5, start=-2), gym.spaces.Discrete(3, start=1)), (None, gym.spaces.MultiDiscrete([3, 2]))],
    ids=["one-hot", "multi-discrete"],
)
def test_other_spaces(observation, action, n_splits):
    env = Tiny(observation, action)
    task = describe(env, "Tiny-v0")
    menu = make_menu(task, Settings())
    tree = random_tree(n_splits, task.n_features, len(menu.names), np.random.default_rng(0), menu)
    policy = Policy(task, tree)
    seen = [env.reset(seed=seed)[0] for seed in range(50)]
    expected = [policy.predict(x)[0] for x in seen]
    np.testing.assert_array_equal(run_python(policy, seen), expected)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", [*PAPER, *KINDS])
def test_every_policy_in_every_form(form, name):
    pytest.importorskip("onnx")
    assert export(load(name), form)


NASTY = [
    '</script><b onclick="x">',
    "*/ int evil; /*",
    r"\end{document}\input{/etc/passwd}",
    '""" + exit() + """',
    "a\\",
]


@needs_compiler
def test_names_are_inert(tmp_path):
    env = Tiny(gym.spaces.Box(-1, 1, (5,)), gym.spaces.Discrete(5))
    task = describe(env, "Tiny-v0", NASTY, NASTY)
    task = msgspec.structs.replace(task, env="*/\"; evil()'")
    menu = make_menu(task, Settings())
    policy = Policy(task, random_tree(6, 5, 5, np.random.default_rng(0), menu))
    observations = observations_for(policy, 500)
    expected = policy.predict(observations)[0]
    np.testing.assert_array_equal(run_python(policy, observations), expected)
    np.testing.assert_array_equal(run_c(policy, observations, "double", tmp_path), expected)
    root = ET.fromstring(export(policy, "svg"))
    assert {element.tag.partition("}")[2] for element in root.iter()} == {
        "svg",
        "title",
        "style",
        "path",
        "g",
        "rect",
        "text",
    }
    assert NASTY[0] in "".join(root.itertext())
    tex = export(policy, "latex").decode()
    assert tex.count(r"\end{document}") == 1
    assert r"\input{" not in tex
    dot = export(policy, "dot").decode()
    assert dot.count('"') % 2 == 0
    assert json.loads(export(policy, "json"))["task"]["features"] == NASTY


def test_the_command(sirl_command, refusal, monkeypatch):
    code, out, err = sirl_command("export", "paper:Hopper", "--format", "c", "--out", "hopper.c")
    assert (code, out) == (0, "written to hopper.c\n")
    assert "bytes of flash" in err or "no C compiler" in err
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    code, out, err = sirl_command("export", "paper:Hopper", "--format", "c")
    assert (code, "policy_act" in out) == (0, True)
    assert "no C compiler with `size` was found" in err
    assert "invalid choice: 'rust'" in refusal("export", "paper:Hopper", "--format", "rust")
