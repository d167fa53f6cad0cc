"""Mirrors: laws that do on one side what they do on the other, and how they are told."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import sirl
from every_kind import policy_of_kind
from sirl.errors import SirlError
from sirl.model.mirror import read_mirror, renamed
from sirl.model.policy import Policy
from sirl.presets import presets
from sirl.reading.edit import read_text
from sirl.runs.training import Training
from sirl.search.front import n_numbers
from sirl.search.shapes import Frame, first_shape
from sirl.search.terms import make_terms
from sirl.simulators.recipes import inspect, make_recipe

TASKS = sorted({env for env, preset in presets().items() if preset.mirror and not env.endswith("hardcore-v3")})
QUICK = {"generations": 4, "contenders": 2, "law_episodes": 1, "validation_episodes": 2, "workers": 1, "max_steps": 40}


def task_of(env):
    return inspect(make_recipe(env)).task.mirroring(presets()[env].mirror)


def turned(values, exchange):
    return (values * exchange.signs)[..., exchange.places]


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("n_leaves", [1, 3])
@pytest.mark.parametrize("env", TASKS)
def test_a_law_does_in_the_mirror_what_it_does_here(env, n_leaves, products):
    task = task_of(env)
    terms, rng = make_terms(task, products), np.random.default_rng(0)
    frame = Frame(task, terms, np.ones(len(terms)))
    frame = frame._replace(scales=frame.tied(rng.uniform(0.5, 2.0, len(terms))))
    shape = first_shape(frame, n_leaves).widened()
    shape = shape.without(np.array([1, 5]))[0]
    tree = shape.split(0, row := rng.normal(size=shape.size))[0].tree(shape.split(0, row)[1])
    seen = rng.normal(size=(300, task.n_features))
    there = turned(seen, task.mirrored.features)
    if task.action == "box":
        np.testing.assert_allclose(tree.act(there), turned(tree.act(seen), task.mirrored.actions), atol=1e-6)
    else:
        choices = task.mirrored.actions.places[tree.act(seen)]
        sums = tree.leaves.sums(tree.walk(seen), seen)
        clear = np.diff(np.sort(sums, axis=1)[:, -2:], axis=1)[:, 0] > 1e-9  # else the order of a sum decides
        np.testing.assert_array_equal(tree.act(there)[clear], choices[clear])


def test_what_the_mirror_gives_is_not_tuned():
    task = task_of("Walker2d-v4")
    frame = Frame(task, make_terms(task, False), np.ones(17))
    assert first_shape(frame, 1).size == 54, "of 6 outputs with 17 weights and a constant, half"
    lander = task_of("LunarLander-v3")
    assert first_shape(Frame(lander, make_terms(lander, False), np.ones(8)), 1).size == 9 + 4


def test_a_law_that_is_another_one_in_the_mirror_is_told_by_that_and_not_counted():
    policy = policy_of_kind("mirrored scores")
    assert "fire right engine = fire left engine, mirrored" in str(policy)
    assert "where mirrored: p_x = -p_x, v_x = -v_x, theta = -theta, omega = -omega, c_l = c_r" in str(policy)
    assert n_numbers(policy.tree) == 2 + 3 + 3
    assert Policy.from_json(policy.to_json()).to_json() == policy.to_json()
    other = read_text("largest of\n  coast = 0\n  fire left engine = 0.5*theta\n  fire main engine = 0.1\n"
                      "  fire right engine = 0.5*theta", policy)  # fmt: skip
    assert "mirrored" not in str(other), "the same sign is not the mirror image"
    assert n_numbers(other.tree) == 3


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["theta"], "write it as `a = b`"),
        (["theta = "], "it ends where a feature or an action is due"),
        (["theta = -thta"], "perhaps 'theta'"),
        (["theta = -theta", "omega = theta"], "theta is there twice"),
        (["theta = push"], "a feature and push an action"),
        (["theta = -theta x"], "'x' comes after its end"),
    ],
)
def test_a_mirror_that_is_none_is_refused(lines, reason):
    with pytest.raises(SirlError, match=r"the mirror .* can't be read") as caught:
        read_mirror(tuple(lines), ("x", "theta", "omega"), ("push",))
    assert reason in str(caught.value)


def test_a_mirror_must_fit_the_actions():
    lander, cart = (inspect(make_recipe(env)).task for env in ("LunarLander-v3", "CartPole-v1"))
    with pytest.raises(SirlError, match="a choice has no sign"):
        lander.mirroring(["coast = -coast"])
    with pytest.raises(SirlError, match="a choice that stays the same"):
        make_terms(cart.mirroring(['"push left" = "push right"']), False)
    walker = inspect(make_recipe("Walker2d-v4")).task
    uneven = msgspec.structs.replace(walker, action_high=[2.0, *walker.action_high[1:]])
    with pytest.raises(SirlError, match="other bounds"):
        uneven.mirroring(['"right thigh" = "left thigh"'])


def test_names_of_several_words_need_no_quotes():
    found = read_mirror(("left knee = right knee", "up = −up"), ("left knee", "right knee", "up"), ())
    assert found.features.places.tolist() == [1, 0, 2]
    assert found.features.signs.tolist() == [1, 1, -1]


def test_what_a_derived_feature_is_in_the_mirror_follows_from_its_formula():
    lander, mirror = inspect(make_recipe("LunarLander-v3")).task, presets()["LunarLander-v3"].mirror
    task = lander.deriving(["k = p_x*p_y", "height = p_y**2", "l = 2*c_l + v_y", "r = 2*c_r + v_y"]).mirroring(mirror)
    assert task.mirror == [*mirror, "k = -k", "l = r"]
    assert task.mirroring(task.mirror).mirror == task.mirror, "what is told is kept"
    for derived, told in (("odd = p_x + p_y", []), ("k = p_y**2", ["k = -k"])):
        with pytest.raises(SirlError, match=r"^in the mirror the derived feature \w+ is not") as caught:
            lander.deriving([derived]).mirroring([*mirror, *told])
        assert "derive what it is there, too, or leave out the mirror (--no-mirrored)" in str(caught.value)


def test_a_preset_knows_its_mirror_by_other_names():
    lines = ["a = b", "c = -c", '"push it" = -"push it"']
    names, others = (("a", "b", "c"), ("push it",)), (("x y", "z", "w"), ("u",))
    assert renamed(lines, names, others) == ['"x y" = z', "w = -w", "u = -u"]
    run = Training("LunarLander-v3", workers=1, features=list("abcdefgh"))
    assert run.task.mirror[0] == "a = -a"


@pytest.mark.parametrize("method", ["sirl-lb", "eldt"])
def test_the_papers_methods_know_no_mirror(method):
    assert not Training("LunarLander-v3", method=method, workers=1).task.mirror
    with pytest.raises(SirlError, match="leave out --mirror"):
        Training("LunarLander-v3", method=method, workers=1, mirror=["theta = -theta"])


def test_a_run_with_a_mirror_goes_on_to_the_same_end(tmp_path):
    whole = sirl.train("Walker2d-v4", out=tmp_path / "whole", **QUICK)
    stopped = Training("Walker2d-v4", out=tmp_path / "part", **QUICK).generations()
    next(stopped), next(stopped)
    stopped.close()
    part = Training.resume(tmp_path / "part")
    assert len(list(part.generations())) == 2
    assert part.champion.to_json() == whole.champion.to_json()
    assert "left thigh = right thigh, mirrored" in str(whole.champion)
    plain = sirl.train("Walker2d-v4", mirrored=False, **QUICK)
    assert not plain.champion.task.mirror
    own = sirl.train("Walker2d-v4", mirror=['"right leg" = "left leg"'], **QUICK)
    assert own.champion.task.mirror == ['"right leg" = "left leg"']


def test_a_file_with_a_mirror_that_is_none_is_refused():
    content = msgspec.json.decode(policy_of_kind("mirrored scores").to_json())
    content["task"]["mirror"] = ["theta = -thta"]
    content.pop("checksum", None)
    with pytest.raises(SirlError, match="the mirror"):
        Policy.from_json(msgspec.json.encode(content))
