"""Policies: their files, and how they play; Stable-Baselines3 takes them as its own."""

import json
import os
import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import sirl
from conftest import Tiny
from sirl.config import Settings
from sirl.errors import SirlError
from sirl.model.menu import make_menu
from sirl.model.policy import Policy
from sirl.simulators.spaces import describe
from test_tree import random_tree

PAPER = ["Hopper", "InvertedPendulum", "LunarLander", "Reacher", "Swimmer", "Walker2d"]
ACTIONS = [
    spaces.Discrete(3, start=2),
    spaces.MultiDiscrete([2, 3]),
    spaces.Box(-0.3, 0.7, (1,)),
    spaces.Box(np.array([-1.0, 0.1]), np.array([1.0, 5.0]), dtype=np.float64),
]


def random_policy(seed=0, n_splits=5, action=ACTIONS[0]):
    task = describe(Tiny(spaces.Box(-1, 1, (3,)), action), "Tiny-v0", features=["height", "speed", 'a "name"'])
    menu = make_menu(task, Settings())
    return Policy(task, random_tree(n_splits, 3, len(menu.values), np.random.default_rng(seed), menu))


GOOD = random_policy().to_json()
EDITABLE = re.sub(rb' *"checksum".*\n', b"", GOOD)
"""The good file without its line "checksum"."""


def changed(change):
    """The good file's bytes after ``change`` of its content by hand."""
    content = json.loads(EDITABLE)
    change(content)
    return json.dumps(content).encode()


@given(st.integers(0, 2**32), st.integers(0, 30), st.sampled_from(ACTIONS))
@settings(max_examples=40, deadline=None)
def test_a_file_gives_back_its_policy(seed, n_splits, action):
    policy = random_policy(seed, n_splits, action)
    again = Policy.from_json(policy.to_json())
    assert again.to_json() == policy.to_json()
    observations = np.random.default_rng(seed).normal(size=(20, 3))
    np.testing.assert_array_equal(again.predict(observations)[0], policy.predict(observations)[0])
    assert str(again) == str(policy)


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_trees_survive_their_files(name, tmp_path):
    policy = sirl.load(f"paper:{name}")
    policy.save(tmp_path / "model.json")
    assert sirl.load(tmp_path / "model.json").to_json() == policy.to_json()
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_a_leaf_that_was_edited_by_hand():
    before = random_policy(n_splits=1)
    content = json.loads(before.to_json())
    content["tree"]["if_true"] = {"action": 4}
    with pytest.raises(SirlError, match=r'if you have edited it, delete its line "checksum"; if not, it is damaged'):
        Policy.from_json(json.dumps(content).encode())
    del content["checksum"]
    after = Policy.from_json(json.dumps(content).encode())
    observations = np.random.default_rng(0).normal(size=(500, 3))
    edited = before.tree.walk(observations) == 0
    assert 0 < edited.sum() < 500
    assert set(after.predict(observations[edited])[0]) == {4}
    np.testing.assert_array_equal(after.predict(observations[~edited])[0], before.predict(observations[~edited])[0])
    assert Policy.from_json(after.to_json()).to_json() == after.to_json()


def test_weights_go_by_name():
    weights = {"speed": 2.0, "height": -1.0}
    policy = Policy.from_json(changed(lambda c: c["tree"].update(weights=weights)))
    np.testing.assert_array_equal(policy.tree.weights[0], [-1.0, 2.0, 0.0])
    assert str(policy).startswith("if 0.5·height - speed > ")


def nest(content, levels):
    leaf = {"action": 2}
    for _ in range(levels):
        leaf = {"weights": {}, "threshold": 0, "if_true": leaf, "if_false": {"action": 2}}
    content["tree"] = leaf


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda c: c["tree"].update(weights={"sped": 1}), "'sped', which is no feature; did you mean 'speed'?"),
        (lambda c: c["tree"].pop("threshold"), "missing required field `threshold`"),
        (lambda c: c["tree"].update(action=2), "both a condition and a leaf"),
        (lambda c: c["tree"].update(weights=None), "Expected `object`, got `null`"),
        (lambda c: c.update(tree={"if_true": {"action": 2}, "action": 2}), "a condition lacks weights"),
        (lambda c: c.update(tree={}), "a leaf needs one of q_values, action, law, scores, but one has nothing"),
        (lambda c: c.update(tree={"q_values": [1.0, 2.0]}), "a leaf has 2 q_values for 3 actions"),
        (lambda c: c.update(tree={"action": [2, 2]}), "does not have the shape []"),
        (lambda c: c.update(tree={"action": 2.5}), "is no whole number"),
        (lambda c: c.update(tree={"action": 9}), "its action 9.0 lies outside the bounds [2.0] to [4.0]"),
        (lambda c: c.update(tree={"action": 1e300}), "lies outside the bounds"),
        (lambda c: c.update(tree={"acton": 2}), "a leaf needs one of q_values, action, law, scores, but one has acton"),
        (lambda c: c["actions"].update(values=[]), "not named one by one"),
        (lambda c: c["actions"].update(values=[2, [3], 4]), "does not have the shape"),
        (lambda c: c["task"].update(features=["a", "a", "b"]), "its features are not named one by one"),
        (lambda c: c["task"].update(feature_low=[]), "its features are not named one by one"),
        (lambda c: c["task"].update(action_dtype="object"), "of type 'object'"),
        (lambda c: c["task"].update(action_dtype="float32"), "of type 'float32'"),
        (
            lambda c: (c["task"].update(action_dtype="int8", action_high=[300.0]), c.update(tree={"action": 300})),
            "its action 300.0 is none of type int8",
        ),
        (lambda c: c["task"]["features"].__setitem__(0, " "), "a name in it is empty"),
        (lambda c: c["actions"]["names"].__setitem__(0, ""), "a name in it is empty"),
        (lambda c: c["task"].update(action="box"), "do not agree"),
        (lambda c: c["task"].update(observation_start=10**30), "its observations start at"),
        (lambda c: c.pop("task"), "missing required field `task`"),
        (lambda c: c.update(schema=0), "its schema is 0"),
        (lambda c: nest(c, 400), "it nests too deeply"),
    ],
)
def test_a_file_that_contradicts_itself(change, reason):
    with pytest.raises(SirlError) as error:
        Policy.from_json(changed(change), "x.json")
    assert str(error.value).startswith("x.json is not a readable sirl policy (")
    assert str(error.value).endswith("): correct it, or give one that sirl wrote.")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        GOOD[:-20],
        EDITABLE.replace(b'"threshold": ', b'"threshold": NaN', 1),
        EDITABLE.replace(b'"threshold": ', b'"threshold": 1e999', 1),
        b"\xff\xfe\x00",
        b"[1, 2]",
        b'{"tree": ' * 10_000 + b"1" + b"}" * 10_000,
        EDITABLE[: EDITABLE.index(b'"tree"')] + b'"tree": ' + b'{"if_true": ' * 10_000 + b"1" + b"}" * 10_001,
    ],
    ids=["empty", "brace", "truncated", "NaN", "infinite", "binary", "list", "nested", "nested tree"],
)
def test_a_broken_file(content, tmp_path):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(SirlError, match=r"x\.json is not a (readable )?sirl policy.*\.$"):
        sirl.load(tmp_path / "x.json")


def test_a_foreign_file_and_a_newer_one():
    with pytest.raises(SirlError, match=r"^x is not a sirl policy: give a champion\.json that sirl wrote\.$"):
        Policy.from_json(b'{"name": "something else"}', "x")
    with pytest.raises(SirlError, match=r"^x has schema 2, but this sirl reads up to 1: install a newer sirl\.$"):
        Policy.from_json(changed(lambda c: c.update(schema=2, tree="unheard of")), "x")


def test_files_that_are_not_there(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(10**12)
    for path in ("nothing.json", "null\0byte", "pipe", "endless", "huge", ""):
        path = tmp_path / path
        with pytest.raises(SirlError, match=r"can't be read \(.*\): give a model file, a run directory"):
            sirl.load(path)
    with pytest.raises(SirlError, match=r"the paper prints no tree for 'Lunarlander'; did you mean 'LunarLander'\?"):
        sirl.load("paper:Lunarlander")
    with pytest.raises(SirlError, match=r"choose from Hopper, InvertedPendulum, .*\.$"):
        sirl.load("paper:Chess")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


PLACES = list(places(json.loads(EDITABLE)))[1:]


@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON, st.booleans()), min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_a_mangled_file_loads_or_is_refused(mutations):
    content = json.loads(EDITABLE)
    for path, value, remove in mutations:
        try:
            at = content
            for key in path[:-1]:
                at = at[key]
            if remove:
                del at[path[-1]]
            else:
                at[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier mutation has taken the place away
    _load_and_play(json.dumps(content).encode())


@given(st.integers(0, len(EDITABLE) - 1), st.binary(max_size=3), st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_damaged_bytes_load_or_are_refused(position, patch, n_lost):
    _load_and_play(EDITABLE[:position] + patch + EDITABLE[position + n_lost :])


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 7), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_flipped_bit_and_no_lost_end_goes_unnoticed(position, bit, lost):
    damaged = GOOD[:position] + (b"" if lost else bytes([GOOD[position] ^ 1 << bit]) + GOOD[position + 1 :])
    try:
        content = Policy.from_json(damaged).to_json()
    except SirlError:
        return
    assert content == GOOD  # 1e-05 may become 1E-05, and the last line its end


def test_the_layout_of_a_file_does_not_matter():
    assert Policy.from_json(json.dumps(json.loads(GOOD), indent=7).encode()).to_json() == GOOD
    assert Policy.from_json(GOOD.replace(b"\n", b"\r\n")).to_json() == GOOD
    assert Policy.from_json(EDITABLE).to_json() == GOOD


def test_a_small_file_that_asks_for_much_is_refused():
    def widen(content):
        names = [f"f{i}" for i in range(100_000)]
        none = [None] * len(names)
        content["task"].update(features=names, feature_low=none, feature_high=none)
        nest(content, 250)

    with pytest.raises(SirlError, match="too many conditions for 100000 features"):
        Policy.from_json(changed(widen))


def test_a_file_of_many_long_names_is_refused_at_once(monkeypatch):
    compared = []
    monkeypatch.setattr("difflib.get_close_matches", lambda name, known, **_: compared.extend(known) or [])

    def change(content):
        names = [f"{number:03}{'abcd' * 500}" for number in range(3000)]
        content["task"].update(features=names, feature_low=[0.0] * 3000, feature_high=[1.0] * 3000)
        content["tree"].update(weights={"abcd" * 500: 1.0})

    with pytest.raises(SirlError, match="which is no feature"):
        Policy.from_json(changed(change))
    assert not compared


@pytest.mark.parametrize("place", ["features", "action_names", "env"])
def test_a_name_cannot_drive_the_terminal(place):
    def rename(content):
        evil = "\x1b]0;owned\x07"
        content["task"][place] = evil if place == "env" else [evil, *content["task"][place][1:]]

    with pytest.raises(SirlError, match=r"its name '\\x1b\]0;owned\\x07' has a character that does not print"):
        Policy.from_json(changed(rename))


def test_a_refusal_cannot_drive_the_terminal():
    with pytest.raises(SirlError, match=r"unknown field `\\x1b\[2J`"):
        Policy.from_json(changed(lambda c: c.update({"\x1b[2J": 1})))


def _load_and_play(content):
    try:
        policy = Policy.from_json(content)
    except SirlError:
        return
    seen = np.full(2, policy.task.observation_start) if policy.task.observation == "one-hot" else np.zeros((2, 3))
    assert len(policy.predict(seen)[0]) == 2
    assert str(policy)
    assert Policy.from_json(policy.to_json()).to_json() == policy.to_json()


def test_predict_takes_one_observation_or_many():
    policy = sirl.load("paper:Reacher")
    many = np.random.default_rng(0).normal(size=(6, 11)).astype(np.float32)
    actions, state = policy.predict(many, state=None, episode_start=np.ones(6, dtype=bool), deterministic=False)
    assert state is None
    assert actions.shape == (6, 2)
    assert actions.dtype == np.float32
    np.testing.assert_array_equal(policy.predict(many[3])[0], actions[3])
    assert policy.predict(many[:1])[0].shape == (1, 2)


def test_predict_on_a_discrete_observation():
    task = describe(Tiny(spaces.Discrete(3, start=1)), "Tiny-v0")
    menu = make_menu(task, Settings())
    policy = Policy(task, random_tree(4, 3, 2, np.random.default_rng(0), menu))
    actions, _ = policy.predict(np.array([1, 2, 3, 1]))
    assert actions.shape == (4,)
    assert policy.predict(3)[0] == actions[2]
    assert policy.predict(np.int64(3))[0].shape == ()


def test_a_tree_that_no_file_can_hold(tmp_path):
    deep = random_policy(n_splits=0)
    n = 400
    children = np.array([[i + 1 if i + 1 < n else ~n, ~i] for i in range(n)], dtype=np.int32)
    tree = deep.tree._replace(
        weights=np.ones((n, 3)),
        thresholds=np.zeros(n),
        children=children,
        leaves=type(deep.tree.leaves)(np.ones((n + 1, 3)), deep.tree.leaves.menu),
    )
    with pytest.raises(SirlError, match=r"^a tree of depth 400 is too deep for a model file"):
        Policy(deep.task, tree).save(tmp_path / "model.json")


@pytest.mark.parametrize("n_envs", [1, 3])
@pytest.mark.parametrize(("name", "episodes"), [("InvertedPendulum", 4), ("LunarLander", 6)])
def test_stable_baselines_evaluates_a_policy(name, episodes, n_envs):
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    policy = sirl.load(f"paper:{name}")

    def make():
        return Monitor(gym.make(policy.task.env))

    env = make() if n_envs == 1 else DummyVecEnv([make] * n_envs)
    env.reset(seed=3) if n_envs == 1 else env.seed(3)  # what it resets to later follows from that
    returns, lengths = evaluate_policy(policy, env, n_eval_episodes=episodes, return_episode_rewards=True)
    env.close()
    assert len(returns) == episodes
    if name == "InvertedPendulum":
        assert np.mean(returns) == sirl.evaluate(policy, episodes=2, workers=1).mean == 1000.0
    else:
        assert np.mean(returns) > 200
        assert max(lengths) < 1000


def test_an_observation_with_nan_is_refused():
    policy = sirl.load("paper:InvertedPendulum")
    with pytest.raises(
        SirlError, match=r"^the observation has NaN as v, on which no condition decides: fix what gives"
    ):
        policy.predict([0.0, 0.0, np.nan, 0.0])


def test_a_file_edited_by_hand_claims_no_score(tmp_path):
    """Who edits a file deletes the line "checksum"; its scores were those of another policy."""
    scored = sirl.load("paper:InvertedPendulum").scored(validation_score=1000.0)
    scored.save(tmp_path / "model.json")
    assert sirl.load(tmp_path / "model.json").origin.validation_score == 1000.0
    text = (tmp_path / "model.json").read_text()
    (tmp_path / "model.json").write_text(re.sub(' *"checksum".*\n', "", text))
    edited = sirl.load(tmp_path / "model.json")
    assert edited.origin.validation_score is edited.origin.published_score is None
    assert edited.origin.changed == "edited by hand"
    edited.save(tmp_path / "model.json")
    assert sirl.load(tmp_path / "model.json").origin == edited.origin
