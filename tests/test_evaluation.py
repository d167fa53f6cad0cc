"""Scores on unseen episodes do not depend on who computes them, and bad questions get an answer."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sirl
from conftest import TINY, Tiny
from sirl.errors import EnvironmentFailure, SirlError
from sirl.model.leaves import FixedLeaves

POLE = sirl.load("paper:InvertedPendulum")


def test_the_same_episodes_on_any_number_of_workers():
    lander = sirl.load("paper:LunarLander")
    one, two = (sirl.evaluate(lander, episodes=17, seed=5, workers=n) for n in (1, 2))
    np.testing.assert_array_equal(one.returns, two.returns)
    np.testing.assert_array_equal(one.lengths, two.lengths)
    fewer = sirl.evaluate(lander, episodes=3, seed=5, workers=1)
    np.testing.assert_array_equal(fewer.returns, one.returns[:3])
    assert not np.array_equal(sirl.evaluate(lander, episodes=3, seed=6, workers=1).returns, fewer.returns)


def test_a_score_is_what_playing_gives():
    """Against a plain loop over a plain environment, on the same starts."""
    starts = []

    class Noting(gym.Wrapper):
        def reset(self, *, seed=None, options=None):
            starts.append(seed)
            return self.env.reset(seed=seed, options=options)

    score = sirl.evaluate(POLE, lambda: Noting(gym.make("InvertedPendulum-v4")), episodes=2, workers=1, max_steps=60)
    with gym.make("InvertedPendulum-v4") as env:
        for seed, expected in zip(starts, score.returns, strict=True):
            observation, _ = env.reset(seed=seed)
            total = 0.0
            for _ in range(60):
                observation, reward, *_ = env.step(POLE.predict(observation)[0])
                total += reward
            assert total == expected
    np.testing.assert_array_equal(score.lengths, [60, 60])


def test_statistics():
    score = sirl.Evaluation(np.array([1.0, 3.0]), np.array([5, 7]))
    assert (score.mean, score.std) == (2.0, pytest.approx(2**0.5))
    assert sirl.Evaluation(np.array([1.0]), np.array([5])).std == 0.0


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"episodes": 0}, "episodes = 0 is not allowed: give a whole number of at least 1."),
        ({"episodes": 10**12}, "episodes = 1000000000000 is not allowed"),
        ({"seed": -1}, "seed = -1 is not allowed: give a whole number of at least 0."),
        ({"workers": 0}, "workers = 0 is not allowed"),
        ({"workers": -2}, "workers = -2 is not allowed"),
        ({"max_steps": -1}, "max_steps = -1 is not allowed"),
        ({"env": "CartPole-v9"}, "did you mean 'CartPole-v1'?"),
        ({"env": "CartPole-v1"}, "made for InvertedPendulum-v4 and can't play CartPole-v1 (box actions"),
        ({"env": "LunarLander-v3"}, "(4 features against 8)"),
        ({"env": "FrozenLake-v1"}, "(box observations from 0 against one-hot from 0)"),
        ({"env": lambda: None}, "made a NoneType: let it return a gymnasium.Env."),
        ({"env": 5}, "give an environment's id, or a function that makes one"),
        ({"env": Tiny()}, "give an environment's id, or a function that makes one"),
        ({"env_options": {"nonsense": 1}}, "nonsense"),
    ],
)
def test_a_bad_question(question, reason):
    with pytest.raises(SirlError) as error:
        sirl.evaluate(POLE, **{"episodes": 1, "workers": 1} | question)
    assert reason in str(error.value)
    assert str(error.value).endswith((".", "?"))


def test_actions_of_another_size():
    policy = sirl.train(lambda: Tiny(action_space=spaces.Discrete(3)), **TINY).champion
    with pytest.raises(SirlError, match=r"actions from \[0.0\] to \[2.0\] against \[0.0\] to \[1.0\]"):
        sirl.evaluate(policy, Tiny, episodes=1, workers=1)


def test_actions_beyond_the_bounds_of_another_task():
    def make(high=3.0):
        return Tiny(action_space=spaces.Box(-high, high, (1,)))

    policy = sirl.train(make, **TINY).champion
    policy = sirl.Policy(
        policy.task,
        policy.tree._replace(leaves=FixedLeaves(np.full((policy.tree.n_leaves, 1), 2.0), policy.tree.leaves.menu)),
    )
    assert sirl.evaluate(policy, make, episodes=1, workers=1).lengths == [10]
    with pytest.raises(SirlError, match=r"can't play make \(its actions leave the bounds \[-1.0\] to \[1.0\]\)"):
        sirl.evaluate(policy, make, env_options={"high": 1.0}, episodes=1, workers=1)


def test_an_environment_that_a_function_made():
    policy = sirl.train(Tiny, **TINY).champion
    with pytest.raises(SirlError, match=r"^this policy's environment 'Tiny' is not registered here: give it as env"):
        sirl.evaluate(policy, episodes=1)


def fail(*_):
    raise RuntimeError("the motor is on fire\nand more")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("make", "call"),
    [(fail, "could not be made"), (lambda: Tiny(in_reset=fail), "in reset"), (lambda: Tiny(behave=fail), "in step")],
    ids=["make", "reset", "step"],
)
def test_an_environment_that_raises(make, call, workers):
    policy = sirl.train(Tiny, **TINY | {"generations": 1}).champion
    with pytest.raises(EnvironmentFailure) as failure:
        sirl.evaluate(policy, make, episodes=20, workers=workers)
    assert "RuntimeError: the motor is on fire" in str(failure.value)
    assert call in str(failure.value)
    assert "\n" not in str(failure.value)
    assert "and more" in failure.value.details
