"""The text form goes out and comes back; a slip of the hand is answered with its line and the fix."""

import numpy as np
import pytest
from gymnasium import spaces

import sirl
from conftest import Tiny
from formula_leaves import policy_of
from sirl.errors import SirlError
from sirl.model.formula import Sum, Term
from sirl.model.laws import LawLeaves
from sirl.model.policy import Policy
from sirl.model.tree import Tree
from sirl.reading.edit import read_text, write_text
from sirl.simulators.spaces import describe
from test_tree import random_tree

PAPER = ["Hopper", "InvertedPendulum", "LunarLander", "Reacher", "Swimmer", "Walker2d"]


@pytest.mark.parametrize("name", [*PAPER, "linear", "products", "scores"])
def test_what_nobody_touches_stays(name):
    policy = policy_of(name) if name.islower() else sirl.load(f"paper:{name}")
    assert read_text(write_text(policy), policy) is policy


def test_odd_names_and_deep_trees_come_back():
    task = describe(Tiny(), "Tiny-v0", ['x < 3 # "', "if"], ["left", "right"])
    policy = Policy(task, random_tree(60, 2, 2, np.random.default_rng(1)))
    assert read_text(write_text(policy), policy) is policy


def test_an_edit():
    policy = sirl.load("paper:LunarLander").scored(validation_score=270.0)
    edited = read_text(
        """
        if theta + 0.5·omega >= 0.1:    # a new condition
            fire right engine
        else:
            if v_y < -0.3
                fire main engine
            else
                coast
        """,
        policy,
    )
    assert str(edited).splitlines() == [
        "if theta + 0.5·omega > 0.1",
        "├─ yes → fire right engine",
        "└─ no  if v_y < -0.3",
        "       ├─ yes → fire main engine",
        "       └─ no  → coast",
    ]
    assert edited.predict([0, 0, 0, 0, 0.1, 0, 0, 0])[0] == 3, "the border belongs to >="
    assert edited.origin.changed == "edited by hand"
    assert edited.origin.validation_score is edited.origin.published_score is None
    assert Policy.from_json(edited.to_json()).predict(np.zeros(8))[0] == 0


def test_grafting_a_leaf_of_a_kind_that_computes():
    policy = policy_of("linear")
    edited = read_text("if p_z < 1\n  leaf 2\nelse\n  leaf 2", policy)
    x = np.random.default_rng(0).normal(size=(50, 11))
    np.testing.assert_array_equal(edited.predict(x)[0], policy.tree.leaves.act(np.full(50, 2), x))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the text has no tree"),
        ("if theta < 1\n  push +1", "line 1: this `if` has no `else`; add one"),
        ("if theta < 1\nelse\n  push +1", "line 1: its `if` has no branch; write below it"),
        ("if theta < 1\n  push +1\nelse", "line 3: its `else` has no branch"),
        (
            "if thta < 1\n  push +1\nelse\n  push -1",
            "line 1: the condition 'thta < 1' can't be read: there is no 'thta'; perhaps 'theta'",
        ),
        (
            "# a\n\nif theta < nan\n  push +1\nelse\n  push -1",
            "line 3: the condition 'theta < nan' can't be read: there is no 'nan'",
        ),
        ("if theta < 1\n  pull\nelse\n  push -1", "line 2: there is no action 'pull'"),
        (
            "if theta < 1\n  push +1.5\nelse\n  push -1",
            "line 2: there is no action 'push +1.5'; did you mean 'push +1'",
        ),
        ("if theta < 1\n  [7]\nelse\n  push -1", "line 2: action [7.0] lies outside the bounds [-3.0] to [3.0]"),
        ("if theta < 1\n  [nan]\nelse\n  push -1", "line 2: action [nan] lies outside the bounds"),
        ("if theta < 1\n  [1, 2]\nelse\n  push -1", "line 2: action [1.0, 2.0] does not have the shape [1]"),
        ("if theta < 1\n  push +1\n  push -1\nelse\n  push -1", "line 3: a branch is one action or one `if`"),
        ("push +1\npush -1", "line 2: 'push -1' comes after the end of the tree"),
        ("else\n  push -1", "line 1: this `else` has no `if`"),
        ("if theta < 1 and x < 1\n  push +1\nelse\n  push -1", "line 1: an `if` has one comparison"),
        ("leaf 9", "line 1: there is no leaf 9; the policy has leaf 0 to leaf 1"),
    ],
)
def test_a_slip_of_the_hand(text, why):
    with pytest.raises(SirlError) as error:
        read_text(text, sirl.load("paper:InvertedPendulum"))
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command(sirl_command, refusal, monkeypatch, tmp_path):
    code, out, _ = sirl_command("edit", "paper:InvertedPendulum", "--print")
    assert code == 0
    (tmp_path / "tree.txt").write_text(out.replace("[-1.0]", "push -0.67").replace("push -1", "push -0.67"))
    asked = ["--from", "tree.txt", "--episodes", 2, "--max-steps", 50, "--workers", 1]
    code, out, _ = sirl_command("edit", "paper:InvertedPendulum", *asked)
    assert code == 0
    assert "score  50.00 ± 0.00 → " in out
    assert out.endswith("written to InvertedPendulum-edited.json\n")
    shown = sirl_command("show", "InvertedPendulum-edited.json", "--episodes", 0).out
    assert "edited by hand" in shown
    assert "score" not in shown
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    assert "there is no editor to open: set EDITOR" in refusal("edit", "paper:InvertedPendulum")
    monkeypatch.setenv("EDITOR", "sed -i s/0.285/0.3/")
    code, out, _ = sirl_command("edit", "paper:InvertedPendulum", "--episodes", 0)
    assert code == 0
    assert "InvertedPendulum-edited-2.json" in out
    monkeypatch.setenv("EDITOR", "true")
    assert sirl_command("edit", "paper:InvertedPendulum").out == "nothing was changed\n"


def pendulum(text):
    return read_text(text, sirl.load("paper:InvertedPendulum"))


def test_laws_are_written_and_come_back():
    edited = pendulum(
        """
        if x < 0
            push = 9*x + 34.5*theta - 0.5
                + 2·x·theta - theta*(1 - x)     # it goes on further in
        else
            push -1
        """
    )
    (law, other) = (edited.tree.leaves.formula(leaf).sums for leaf in range(2))
    assert law == (Sum(-0.5, (Term(9.0, (0,)), Term(33.5, (1,)), Term(3.0, (0, 1)))),)
    assert other == (Sum(-1.0),)
    x = np.array([[-0.1, 0.05, 0.0, 0.0], [-0.1, 0.5, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(edited.predict(x)[0].ravel(), [-0.9 + 1.675 - 0.015 - 0.5, 3.0, -1.0], rtol=1e-6)
    assert read_text(write_text(edited), edited) is edited
    again = read_text(write_text(edited).replace("33.5", "33.25"), edited)
    assert again.tree.leaves.formula(0).sums[0].terms[1].weight == 33.25
    assert again.tree.leaves.formula(1) == edited.tree.leaves.formula(1)
    back = Policy.from_json(again.to_json())
    np.testing.assert_array_equal(back.predict(x)[0], again.predict(x)[0])


def test_laws_with_odd_names_come_back():
    names = ['</b> = "1"', "x = 1; y", "a # b", "if", "\\end{x}"]
    task = describe(Tiny(spaces.Box(-1, 1, (5,)), spaces.Box(-1, 1, (5,))), "Tiny-v0", names, names)
    law = {name: [([name, names[0]], 0.5), ([name], 2.0), ([], -1e-7)] for name in names}
    policy = Policy(
        task, Tree(np.zeros((0, 5)), np.zeros(0), np.zeros((0, 2), np.int32), LawLeaves.of_named([law], task))
    )
    assert read_text(write_text(policy), policy) is policy


def test_scores_are_written_and_come_back():
    lander = sirl.load("paper:LunarLander")
    text = """
        if p_y < 0.5
            largest of
                coast = 0.1
                "fire left engine" = theta*omega - 1
                fire main engine = -2*v_y
                fire right engine = -3
        else
            fire right engine
        """
    edited = read_text(text, lander)
    x = np.zeros((4, 8))
    x[1, 3] = -1.0
    x[2, 4:6] = 2.0
    x[3, 1] = 1.0
    assert edited.predict(x)[0].tolist() == [0, 2, 1, 3]
    assert str(edited).endswith("└─ no  → fire right engine")
    assert read_text(write_text(edited), edited) is edited
    named = read_text("if p_y < 0\n  coast\nelse\n  leaf 0", edited)
    assert named.predict(x)[0].tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize(
    ("model", "text", "why"),
    [
        ("InvertedPendulum", "push = 2*x*theta*v", "line 1: the law '2*x*theta*v' can't be read: it multiplies more"),
        ("InvertedPendulum", "push = 2*y", "line 1: the law '2*y' can't be read: there is no 'y'"),
        ("InvertedPendulum", "push = 2*x\n  + nan", "line 1: the law '2*x + nan' can't be read: there is no 'nan'"),
        ("InvertedPendulum", "push =", "line 1: the law '' can't be read: it ends where a number or a feature is due"),
        ("InvertedPendulum", "pull = 2*x", "line 1: there is no 'pull' to give a law; there are push"),
        ("InvertedPendulum", "push = 1\npush = 2", "line 2: there is a law for push already"),
        ("InvertedPendulum", "largest of\n  push = 1", "line 1: `largest of` chooses among discrete actions"),
        ("Reacher", "shoulder = 1", "line 1: there is no law for elbow"),
        ("LunarLander", "coast = 1", "line 1: a law with `=` steers a continuous action; write `largest of`"),
        ("LunarLander", "largest of\n  coast = 1", "line 2: there is no law for fire left engine"),
        ("LunarLander", "largest of\ncoast = 1", "line 1: `largest of` has no laws"),
    ],
)  # fmt: skip
def test_a_slip_in_a_law(model, text, why):
    with pytest.raises(SirlError) as error:
        read_text(text, sirl.load(f"paper:{model}"))
    assert why in str(error.value)
    assert "\n" not in str(error.value)
