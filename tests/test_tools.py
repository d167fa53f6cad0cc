"""Every printed tree and every leaf kind goes through every tool that reads a policy."""

import json
import shutil
import subprocess
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import sirl
from conftest import Tiny
from every_kind import KINDS, policy_of_kind
from sirl.model.laws import LawLeaves, ScoreLeaves
from sirl.model.leaves import FixedLeaves, QLeaves
from sirl.model.policy import Policy
from sirl.model.tokens import write_name
from sirl.reading.edit import read_text
from sirl.reading.export import FORMATS, export
from sirl.simulators.spaces import describe
from test_export import NASTY, PAPER

POLICIES = [*(f"paper:{name}" for name in PAPER), *KINDS]
TOOLS = ("show", "prune", "explain", "edit", "export", "check", "record", "report")
PLAYING = ["--workers", 1, "--max-steps", 12]
PICTURED = ["--workers", 1, "--max-steps", 3]


def test_every_kind_is_among_them():
    found = {type(policy_of_kind(kind).tree.leaves) for kind in KINDS}
    assert found == {QLeaves, FixedLeaves, LawLeaves, ScoreLeaves}


@pytest.fixture(params=POLICIES)
def model(request, tmp_path, monkeypatch):
    """What the tools are given: a name, or a file."""
    monkeypatch.chdir(tmp_path)
    if request.param in KINDS:
        policy_of_kind(request.param).save("model.json")
        return "model.json"
    return request.param


@pytest.mark.parametrize("tool", TOOLS)
def test_a_policy_goes_through_a_tool(sirl_command, model, tool):
    _USES[tool](sirl_command, model, sirl.load(model))


def _show(command, model, policy):
    text = command("show", model, "--episodes", 1, *PLAYING).out
    labels = [policy.tree.leaves.label(leaf, policy.task) for leaf in range(min(2, policy.tree.n_leaves))]
    assert all(label.removeprefix("largest of: ").split("; ")[0] in text for label in labels)
    data = json.loads(command("show", model, "--episodes", 1, *PLAYING, "--json").out)
    assert sum(leaf["share"] for leaf in data["leaves"]) == pytest.approx(1.0)


def _prune(command, model, policy):
    code, out, _ = command("prune", model, "--max-leaves", 1, "--episodes", 1, *PLAYING, "--out", "pruned.json")
    assert code == 0
    if policy.tree.n_leaves > 1:
        assert sirl.load("pruned.json").tree.n_leaves == 1
    else:
        assert out == "nothing to prune: every split is needed\n"


def _explain(command, model, policy):
    code, out, _ = command("explain", model, "--episodes", 1, *PLAYING, "--out", "simple.json")
    assert code == 0
    assert out.count("    without ") >= np.count_nonzero(policy.tree.weights)
    assert sirl.load("simple.json").origin.changed.endswith("simplified by explain")


def _edit(command, model, policy):
    Path("tree.txt").write_text(command("edit", model, "--print").out, encoding="utf-8")
    assert command("edit", model, "--from", "tree.txt").out == "nothing was changed\n"
    first, last = policy.task.features[0], policy.tree.n_leaves - 1
    grafted = f'if "{first}" < 0.25\n    leaf 0\nelse\n    leaf {last}\n'
    Path("tree.txt").write_text(grafted, encoding="utf-8")
    assert command("edit", model, "--from", "tree.txt", "--episodes", 1, *PLAYING, "--out", "edited.json").code == 0
    assert sirl.load("edited.json").origin.changed == "edited by hand"


def _export(command, model, policy):
    pytest.importorskip("onnx")
    for form in FORMATS:
        assert command("export", model, "--format", form, "--out", f"policy-{form}").code == 0
        assert Path(f"policy-{form}").read_bytes() == export(policy, form)


def _check(command, model, policy):
    task = policy.task
    never = f"{write_name(task.action_names[0])} > 0.9" if task.action == "box" else task.action_names[-1]
    when = " and ".join(f'-1 <= "{name}" <= 1' for name in task.features)
    code, out, _ = command("check", model, "--when", when, "--never", never, "--json")
    found = json.loads(out)
    assert code == {"holds": 0, "fails": 3}[found["answer"]]
    for leaf in found["leaves"]:
        if leaf["state"] is not None:
            action = policy.predict(np.array(leaf["state"])[: task.n_observed])[0]
            assert action[0] > 0.9 if task.action == "box" else action == len(task.action_names) - 1


def _record(command, model, policy):
    assert command("record", model, "film.gif", *PICTURED).code == 0
    assert Path("film.gif").read_bytes().startswith(b"GIF89a")


def _report(command, model, policy):
    out = command("report", model, "--episodes", 1, "--replays", 1, "--quick", *PICTURED, "--out", "page.html").out
    assert out.startswith("report page.html")
    assert policy.task.env in Path("page.html").read_text(encoding="utf-8")


_USES = dict(zip(TOOLS, (_show, _prune, _explain, _edit, _export, _check, _record, _report), strict=True))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex on this machine")
def test_latex_compiles(tmp_path):
    """All of them on a page each, with names that would run away with TeX among them."""
    nasty = describe(Tiny(gym.spaces.Box(-1, 1, (5,)), gym.spaces.Box(-1, 1, (5,))), "Tiny-v0", NASTY, NASTY)
    law = {name: [([name, NASTY[0]], 0.5), ([], -1e-7)] for name in NASTY}
    policies = [sirl.load(name) if name.startswith("paper:") else policy_of_kind(name) for name in POLICIES]
    policies.append(
        Policy(nasty, policies[0].tree._replace(leaves=LawLeaves.of_named([law] * 4, nasty), weights=np.eye(3, 5)))
    )
    pictures = [export(policy, "latex").decode() for policy in policies]
    head = pictures[0].partition(r"\begin{tikzpicture}")[0]
    bodies = [text[len(head) :].removesuffix("\\end{document}\n") for text in pictures]
    (tmp_path / "all.tex").write_text(head + "".join(bodies) + "\\end{document}\n", encoding="utf-8")
    if subprocess.run(["kpsewhich", "standalone.cls", "tikz.sty"], capture_output=True, check=False).returncode:
        pytest.skip("TeX lacks standalone or TikZ")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-1500:]
    assert f"({len(policies)} pages" in done.stdout
    assert "Overfull" not in done.stdout


def test_an_edited_law_is_what_is_exported():
    policy = policy_of_kind("law")
    edited = read_text("push = 1.5*x*v", policy)
    assert "1.5 * x[0] * x[2]" in export(edited, "python").decode()
