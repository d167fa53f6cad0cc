"""What a task offers: names, bounds, and the menu of actions; and which tasks no tree can play."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from conftest import Tiny
from sirl.config import Settings
from sirl.errors import SirlError
from sirl.model.menu import make_menu
from sirl.simulators.spaces import describe


def task_of(observation=None, action=None, env_id="Tiny-v0", **names):
    return describe(Tiny(observation, action), env_id, **names)


@pytest.mark.parametrize(
    ("env", "features", "actions"),
    [
        ("CartPole-v1", "x v theta omega", "push left|push right"),
        ("MountainCar-v0", "x v", "push left|coast|push right"),
        ("MountainCarContinuous-v0", "x v", "push"),
        ("Pendulum-v1", "cos(theta) sin(theta) omega", "torque"),
        (
            "Acrobot-v1",
            "cos(theta_1) sin(theta_1) cos(theta_2) sin(theta_2) omega_1 omega_2",
            "torque -1|no torque|torque +1",
        ),
        (
            "LunarLander-v3",
            "p_x p_y v_x v_y theta omega c_l c_r",
            "coast|fire left engine|fire main engine|fire right engine",
        ),
        ("InvertedPendulum-v4", "x theta v omega", "push"),
        ("InvertedPendulum-v5", "x theta v omega", "push"),
        ("Swimmer-v4", "theta_0 theta_1 theta_2 v_x v_y omega_0 omega_1 omega_2", "joint 1|joint 2"),
        (
            "Hopper-v4",
            "p_z theta_t theta_th theta_l theta_f v_x v_z omega_t omega_th omega_l omega_f",
            "thigh|leg|foot",
        ),
    ],
)
def test_names_that_ship(env, features, actions):
    with gym.make(env) as made:
        task = describe(made, env)
    assert task.features == features.split()
    assert task.action_names == actions.split("|")


@pytest.mark.parametrize("env", ["Walker2d-v4", "Reacher-v4", "HalfCheetah-v4"])
def test_names_that_ship_count_right(env):
    with gym.make(env) as made:
        task = describe(made, env)
    assert "x0" not in task.features
    assert "a0" not in task.action_names


def test_names_of_an_unknown_task_and_names_that_are_given():
    assert task_of().features == ["x0", "x1"]
    assert task_of().action_names == ["a0", "a1"]
    given = task_of(features=["height", "speed"], actions=("up", "down"))
    assert (given.features, given.action_names) == (["height", "speed"], ["up", "down"])


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], ["a", "a"], "ab", [1, 2], ["a", ""]])
@pytest.mark.parametrize("what", ["features", "actions"])
def test_names_that_do_not_fit(what, names):
    with pytest.raises(SirlError, match=rf"^{what} needs 2 different names, got \d: .*\.$"):
        task_of(**{what: names})


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (spaces.Box(0, 255, (96, 96, 3), np.uint8), "an image of shape"),
        (spaces.Box(0, 1, (0,)), "an array of shape"),
        (spaces.Dict(a=spaces.Box(0, 1, (2,))), "observes a Dict.*FlattenObservation"),
        (spaces.MultiBinary(4), "observes a MultiBinary.*FlattenObservation"),
        (spaces.Discrete(10**9), "one of 1000000000 states"),
    ],
)
def test_observations_that_no_tree_reads(observation, reason):
    with pytest.raises(SirlError, match=rf"^Tiny-v0 .*{reason}.*\.$"):
        task_of(observation)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (spaces.Box(-np.inf, np.inf, (2,)), "unbounded action.*RescaleAction"),
        (spaces.Box(np.array([-1, -np.inf]), np.array([1, 1]), dtype=np.float64), "unbounded action"),
        (spaces.Box(np.finfo(np.float32).min, np.finfo(np.float32).max, (1,)), "unbounded action"),
        (spaces.Box(-1, 1, (2, 2)), "needs a Discrete, a MultiDiscrete or a 1-D Box"),
        (spaces.Dict(a=spaces.Discrete(2)), "needs a Discrete"),
        (spaces.MultiBinary(3), "needs a Discrete"),
    ],
)
def test_actions_that_no_leaf_takes(action, reason):
    with pytest.raises(SirlError, match=rf"^Tiny-v0 .*{reason}.*\.$"):
        task_of(action=action)


@pytest.mark.parametrize(
    ("action", "settings"),
    [
        (spaces.Discrete(10_000), {}),
        (spaces.MultiDiscrete([100] * 30), {}),
        (spaces.Box(-1, 1, (30,)), {"menu": "joint"}),
    ],
)
def test_a_menu_can_be_too_large(action, settings):
    with pytest.raises(SirlError, match=r"^Tiny-v0 has a menu of \d+ actions, more than 4096: .*\.$"):
        make_menu(task_of(action=action), Settings(**settings))


@pytest.mark.parametrize("menu", ["one-joint", "joint"])
@pytest.mark.parametrize(
    "action",
    [
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([2, 3], start=[5, -1]),
        spaces.Box(-0.3, 0.7, (1,)),
        spaces.Box(np.array([-0.1, 5.0]), np.array([0.7, 35.1]), dtype=np.float64),
        spaces.Box(0, 255, (2,), np.uint8),
        spaces.Box(-1e-3, 1e-3, (1,)),
    ],
    ids=str,
)
def test_every_action_of_a_menu_is_in_the_space_and_has_its_own_name(action, menu):
    values, names = make_menu(task_of(action=action), Settings(menu=menu))
    assert all(action.contains(value) for value in values)
    assert len(names) == len(values)
    assert len(set(names)) == len(names)


def test_seven_bins_of_one_joint_at_a_time():
    action = spaces.Box(np.array([-1, 0]), np.array([1, 4]), dtype=np.float32)
    values, names = make_menu(task_of(action=action), Settings())
    assert values.dtype == np.float32
    np.testing.assert_allclose(values[:7], [[-1 + i / 3, 2] for i in range(7)], atol=1e-6)
    np.testing.assert_allclose(values[7:], [[0, i * 4 / 6] for i in range(7)], atol=1e-6)
    assert names[0] == "a0 -1"
    assert names[-2] == "a1 +3.33"


def test_raw_values_must_lie_in_the_bounds():
    wide, narrow = task_of(action=spaces.Box(-3, 3, (1,))), task_of(action=spaces.Box(-0.4, 0.4, (1,)))
    np.testing.assert_allclose(
        make_menu(wide, Settings(action_scale="raw")).values[:, 0], np.linspace(-1, 1, 7), atol=1e-7
    )
    with pytest.raises(
        SirlError, match=r"outside the bounds \[-0.4, 0.4\] of action 'a0': use action_scale = 'bounds'"
    ):
        make_menu(narrow, Settings(action_scale="raw"))


@pytest.mark.parametrize("space", [spaces.Discrete(3, start=4), spaces.Box(-9, 9, (3,), np.int32)], ids=str)
def test_rows_of_one_observation_and_of_many(space):
    task = task_of(space)
    space.seed(0)
    many = np.array([space.sample() for _ in range(5)])
    assert task.rows(many).shape == (5, 3)
    assert task.rows(many).dtype == np.float64
    np.testing.assert_array_equal(task.rows(many[2]), task.rows(many)[2:3])


@pytest.mark.parametrize(
    ("space", "observation"),
    [
        (spaces.Box(-1, 1, (3,)), np.zeros(2)),
        (spaces.Box(-1, 1, (3,)), {"a": 1}),
        (spaces.Discrete(3, start=4), 3),
        (spaces.Discrete(3, start=4), np.array([4, 7])),
    ],
)
def test_an_observation_of_another_task(space, observation):
    with pytest.raises(SirlError, match=r"^this policy looks at .*: use it on Tiny-v0\.$"):
        task_of(space).rows(observation)


def names_of(env, env_id="my_env"):
    task = describe(env, env_id)
    return task.features, task.action_names


def test_names_from_the_id_behind_a_function():
    features, actions = names_of(gym.wrappers.ClipReward(gym.make("CartPole-v1"), 0, 1))
    assert features == ["x", "v", "theta", "omega"]
    assert actions == ["push left", "push right"]
    with_time = gym.wrappers.TimeAwareObservation(gym.make("CartPole-v1"))
    assert names_of(with_time)[0] == ["x0", "x1", "x2", "x3", "x4"], "a fifth feature: the preset's names do not fit"


def test_names_from_the_keys_of_a_dict():
    space = spaces.Dict({"arm": spaces.Box(-1, 1, (2,)), "door": spaces.Discrete(2), "heat": spaces.Box(0, 1, (1,))})
    env = gym.wrappers.FlattenObservation(Tiny(space))
    assert names_of(env)[0] == ["arm[0]", "arm[1]", "door=0", "door=1", "heat"]


def test_names_from_the_environment_or_a_wrapper():
    class Named(gym.Wrapper):
        feature_names = ("height", "speed")
        action_names = ("brake", "go")

    assert names_of(Named(Tiny())) == (["height", "speed"], ["brake", "go"])
    Named.feature_names = ("height", "height")
    assert names_of(Named(Tiny()))[0] == ["x0", "x1"]
