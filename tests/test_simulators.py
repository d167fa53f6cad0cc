"""One contract for every simulator; environments that misbehave."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sirl
from conftest import Tiny
from sirl.errors import EnvironmentFailure, SirlError
from sirl.learning.forest import pack
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.work import PlayOrder
from sirl.simulators import Simulator, gymnasium
from sirl.simulators.envpool import EnvPoolSimulator
from sirl.simulators.gymnasium import GymnasiumSimulator, make_environment

# ---------------------------------------------------------------------------------------------- contract


def slots(*ids: int) -> np.ndarray:
    return np.array(ids, np.int32)


def gymnasium_simulator(env_id: str, n_slots: int, max_steps: int | None = None) -> GymnasiumSimulator:
    return GymnasiumSimulator(partial(make_environment, env_id), n_slots, max_steps, name=env_id)


def menu(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Actions from the paper's seven values in [-1, 1]."""
    return (2 * rng.integers(0, 7, shape) / 6 - 1).astype(np.float32)


def box_actions(size: int) -> np.ndarray:
    """One episode's actions, (60, size)."""
    return menu(np.random.default_rng(5), (60, size))


def discrete_actions(n_actions: int) -> np.ndarray:
    """One episode's actions, (60,)."""
    return np.random.default_rng(5).integers(0, n_actions, 60)


# name: (make a simulator of n slots and a time limit, one episode's actions)
CONTRACT: dict[str, tuple[Callable[..., Simulator], np.ndarray]] = {
    "gymnasium-discrete": (partial(gymnasium_simulator, "CartPole-v1"), discrete_actions(2)),
    "gymnasium-box": (partial(gymnasium_simulator, "Hopper-v4"), box_actions(3)),
    "gymnasium-one-hot": (partial(gymnasium_simulator, "FrozenLake-v1"), discrete_actions(4)),
    "gymnasium-box2d": (partial(gymnasium_simulator, "LunarLander-v3"), discrete_actions(4)),
    "gymnasium-remade": (partial(gymnasium_simulator, "BipedalWalker-v3"), box_actions(4)),
}
if find_spec("envpool"):
    CONTRACT |= {
        "envpool-discrete": (partial(EnvPoolSimulator, "CartPole-v1"), discrete_actions(2)),
        "envpool-box": (partial(EnvPoolSimulator, "BipedalWalker-v3"), box_actions(4)),
        "envpool-box2d": (partial(EnvPoolSimulator, "LunarLander-v3"), discrete_actions(4)),
    }
SEEDS = np.array([7, 2**63 - 1, 2**32, 123_456_789_012_345, 0])


@pytest.fixture(params=CONTRACT)
def contract(request: pytest.FixtureRequest) -> tuple[Callable[..., Simulator], np.ndarray]:
    return CONTRACT[request.param]


def play(simulator: Simulator, slot: int, seed: int, actions: np.ndarray) -> list[bytes]:
    """An episode in one slot, to its end or that of the actions: the bits of all it gave."""
    ids = slots(slot)
    trace = [simulator.reset(ids, np.array([seed])).tobytes()]
    for action in actions:
        step = simulator.step(ids, action[None])
        trace.append(b"".join(array.tobytes() for array in step[:4]))
        if step.terminated[0] or step.truncated[0]:
            break
    return trace


def test_shapes_and_dtypes(contract):
    make, actions = contract
    simulator = make(5)
    first = simulator.reset(slots(0, 2, 3), SEEDS[:3])
    step = simulator.step(slots(0, 3), actions[:2])
    assert simulator.n_slots == 5
    assert first.dtype == step.observations.dtype == step.rewards.dtype == np.float64
    assert step.terminated.dtype == step.truncated.dtype == np.bool_
    assert step.observations.shape == (2, first.shape[1])
    assert step.rewards.shape == step.terminated.shape == step.truncated.shape == (2,)
    assert first.flags.c_contiguous
    assert step.observations.flags.c_contiguous
    simulator.close()


def test_an_episode_depends_on_its_seed_and_actions_alone(contract):
    """Not on its slot, the number of slots, its neighbours, or what the slot played before."""
    make, actions = contract
    alone = [play(make(1), 0, seed, actions) for seed in SEEDS]
    assert len({trace[0] + trace[-1] for trace in alone}) > 1, "the seed matters"

    reused = make(3)
    for index in (3, 0, 4, 2, 1):
        assert play(reused, index % 3, int(SEEDS[index]), actions) == alone[index]

    together = make(len(SEEDS))
    traces = [[row.tobytes()] for row in together.reset(np.arange(len(SEEDS), dtype=np.int32), SEEDS)]
    live = np.arange(len(SEEDS), dtype=np.int32)
    for action in actions:
        step = together.step(live, np.repeat(action[None], len(live), axis=0))
        for row, slot in enumerate(live):
            traces[slot].append(b"".join(array[row].tobytes() for array in step[:4]))
        live = live[~(step.terminated | step.truncated)]
        if not live.size:
            break
    assert traces == alone


def test_what_is_expected_changes_nothing(contract):
    """More than one pool's worth, an episode that comes twice, and one that was not announced."""
    make, actions = contract
    simulator = make(2)
    simulator.expect(np.concatenate([np.arange(600), SEEDS[:3], SEEDS[:1]]))
    for seed in (*SEEDS[:3], SEEDS[0], SEEDS[4], 599):
        assert play(simulator, 1, int(seed), actions) == play(make(1), 0, int(seed), actions)


@pytest.mark.parametrize("env_id", ["BipedalWalker-v3", "LunarLander-v3"])
def test_a_box2d_world_does_not_remember(env_id):
    """Several episodes of history are needed before a BipedalWalker that is not made anew differs."""
    reused = gymnasium_simulator(env_id, 1)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        actions = menu(rng, (100, 4)) if env_id == "BipedalWalker-v3" else rng.integers(0, 4, 100)
        assert play(reused, 0, seed, actions) == play(gymnasium_simulator(env_id, 1), 0, seed, actions)


def test_only_the_given_slots_advance(contract):
    make, actions = contract
    alone = play(make(1), 0, 11, actions[:4])
    simulator = make(3)
    simulator.reset(slots(0, 1, 2), np.array([11, 12, 13]))
    trace = []
    for action in actions[:4]:
        simulator.step(slots(0), action[None])  # slot 0 is reset below, while 1 and 2 wait
    for action in actions[:4]:
        simulator.reset(slots(0), np.array([99]))
        step = simulator.step(slots(0, 2), np.stack([actions[0], action]))
        trace.append(step.observations[1])
    reference = make(1)
    reference.reset(slots(0), np.array([13]))
    for row, action in zip(trace, actions[:4], strict=True):
        assert row.tobytes() == reference.step(slots(0), action[None]).observations.tobytes()
    assert play(simulator, 1, 11, actions[:4]) == alone, "a slot reset in the middle of an episode"


def test_results_are_not_overwritten_by_later_calls(contract):
    make, actions = contract
    simulator = make(2)
    first = simulator.reset(slots(0, 1), SEEDS[:2])
    step = simulator.step(slots(0, 1), actions[:2])
    kept = [first.copy(), *(array.copy() for array in step[:4])]
    simulator.step(slots(0, 1), actions[2:4])
    simulator.reset(slots(0, 1), SEEDS[2:4])
    for now, then in zip([first, *step[:4]], kept, strict=True):
        np.testing.assert_array_equal(now, then)


def test_max_steps_truncates(contract):
    make, actions = contract
    simulator = make(2, max_steps=3)
    simulator.reset(slots(0, 1), SEEDS[:2])
    simulator.step(slots(1), actions[:1])
    truncated = [simulator.step(slots(0, 1), actions[k : k + 2]).truncated.tolist() for k in range(3)]
    assert truncated == [[False, False], [False, True], [True, True]]
    simulator.reset(slots(0), SEEDS[:1])
    assert not simulator.step(slots(0), actions[:1]).truncated[0]


def test_close_twice(contract):
    make, _ = contract
    simulator = make(2)
    simulator.reset(slots(0, 1), SEEDS[:2])
    simulator.close()
    simulator.close()


# ---------------------------------------------------------------------------------------- MuJoCo diverges


def test_divergence_ends_an_episode():
    """MuJoCo sets the state back and goes on, and Gymnasium does not look at its warnings."""
    simulator = gymnasium_simulator("Hopper-v5", 2, max_steps=3)
    simulator.reset(slots(0, 1), np.arange(2))
    simulator._environments[1].unwrapped.data.qvel[:] = 1e200
    actions = np.zeros((2, 3), np.float32)
    step = simulator.step(slots(0, 1), actions)
    assert step.broken.tolist() == [False, True]
    assert step.terminated.tolist() == [False, True]
    assert (step.observations[1] == 0).all()
    assert step.rewards[1] == 0
    assert simulator.step(slots(0), actions[:1]).broken is None, "its neighbour is well"
    simulator.reset(slots(1), np.arange(1))
    assert [simulator.step(slots(1), actions[:1]).broken for _ in range(3)] == [None] * 3, "a reset mends it"


def test_mujoco_in_gymnasium_leaves_no_log(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    environment = make_environment("HalfCheetah-v4")
    environment.reset(seed=0)
    environment.step(np.full(6, np.nan))
    assert any(warning.number for warning in environment.unwrapped.data.warning)
    assert os.listdir() == []
    assert capfd.readouterr() == ("", "")


# ------------------------------------------------------------------------------- environments that misbehave


class Custom(gym.Env[Any, Any]):
    """Four features, two actions, no end; ``fault`` says what is wrong with it."""

    observation_space: spaces.Space[Any] = spaces.Box(-1, 1, (4,), np.float32)
    action_space: spaces.Space[Any] = spaces.Discrete(2)

    def __init__(self, fault: str = "none"):
        self.fault = fault
        if fault == "make":
            raise ValueError("boom\nand more")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.fault == "reset":
            raise RuntimeError
        return self.observation(self.fault.removeprefix("reset-")), {}

    def step(self, action):
        if self.fault == "step":
            raise ValueError("boom")
        if self.fault == "ctrl-c":
            raise KeyboardInterrupt
        if self.fault == "four":
            return self.observation(""), 1.0, False, {}
        reward = {"reward-nan": np.nan, "reward-inf": -np.inf, "reward-shape": np.ones(2)}.get(self.fault, 1.0)
        return self.observation(self.fault), reward, False, False, {}

    def observation(self, fault: str) -> np.ndarray:
        observation = np.zeros(3 if fault == "shape" else 4, np.float32)
        if fault in ("nan", "inf"):
            observation[2] = float(fault)
        return observation[:, None] if fault == "column" else observation


def custom(fault: str, n_slots: int = 3, **kwargs: Any) -> GymnasiumSimulator:
    """A simulator whose second environment has the fault."""
    faults = iter(["none", fault, "none"])
    return GymnasiumSimulator(lambda: Custom(next(faults)), n_slots, name="My-v0", **kwargs)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("make", "My-v0 raised ValueError: boom in make; fix"),
        ("reset", "My-v0 raised RuntimeError in reset; fix"),
        ("reset-nan", "My-v0 returned NaN in observation feature 2; fix"),
        ("reset-shape", r"My-v0 returned an array of shape \(3,\) as observation, where \(4,\) was due; fix"),
        ("step", "My-v0 raised ValueError: boom in step; fix"),
        ("four", "My-v0 raised ValueError: .* in step; fix"),
        ("nan", "My-v0 returned NaN in observation feature 2; fix"),
        ("inf", "My-v0 returned inf in observation feature 2; fix"),
        ("shape", r"My-v0 returned an array of shape \(3,\) as observation, where \(4,\) was due; fix"),
        ("column", r"My-v0 returned an array of shape \(4, 1\) as observation, where \(4,\) was due; fix"),
        ("reward-nan", "My-v0 returned NaN in reward; fix"),
        ("reward-inf", "My-v0 returned -inf in reward; fix"),
        ("reward-shape", r"My-v0 returned an array of shape \(2,\) as reward, where \(\) was due; fix"),
    ],
)
def test_a_fault_is_named(fault, message):
    def play_all(simulator: Simulator) -> None:
        simulator.reset(slots(0, 1, 2), np.arange(3))
        simulator.step(slots(0, 1, 2), np.array([0, 1, 0]))

    with pytest.raises(EnvironmentFailure, match=f"^{message}") as caught:
        play_all(custom(fault))
    assert "\n" not in str(caught.value)
    assert ("Traceback" in caught.value.details) == ("raised" in message)


NOTHING = np.ma.masked_array([0.0, 1.0], mask=[True, False])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": None}, "My-v0 returned None as reward, where numbers were due; fix the environment"),
        ({"reward": "1.5"}, "My-v0 returned '1.5', a str, as reward, where numbers were due; fix"),
        ({"reward": NOTHING[0]}, "My-v0 returned masked, a MaskedConstant, as reward, where numbers were due"),
        ({"observation": ["1", "2"]}, r"My-v0 returned \['1', '2'\], a list, as observation, where numbers were due"),
        ({"observation": NOTHING}, "My-v0 returned .*, a MaskedArray, as observation, where numbers were due"),
        ({"terminated": "False"}, "My-v0 returned 'False', a str, as terminated, where True or False was due"),
        ({"truncated": None}, "My-v0 returned None as truncated, where True or False was due"),
    ],
)
def test_what_is_no_number_is_named_as_what_it_is(changes, message):
    good = {"observation": np.zeros(2), "reward": 1.0, "terminated": np.True_, "truncated": 0, "info": {}}
    for values in (good, good | changes):
        simulator = GymnasiumSimulator(lambda: Tiny(behave=lambda _: tuple(values.values())), 1, name="My-v0")  # noqa: B023
        simulator.reset(slots(0), np.arange(1))
        if values is good:
            assert simulator.step(slots(0), np.array([0])).terminated[0]
        else:
            with pytest.raises(EnvironmentFailure, match=f"^{message}"):
                simulator.step(slots(0), np.array([0]))


def test_ctrl_c_passes():
    simulator = custom("ctrl-c")
    simulator.reset(slots(1, 2), np.arange(2))
    with pytest.raises(KeyboardInterrupt):
        simulator.step(slots(1, 2), np.array([0, 1]))


def test_an_endless_episode_is_an_error(monkeypatch):
    monkeypatch.setattr(gymnasium, "ENDLESS", 50)
    endless = custom("none")
    endless.reset(slots(0), SEEDS[:1])
    for _ in range(50):
        endless.step(slots(0), np.array([1]))
    with pytest.raises(EnvironmentFailure, match=r"^My-v0 never ended .* in 50 steps; set --max-steps\.$"):
        endless.step(slots(0), np.array([1]))

    limited = custom("none", max_steps=60)
    wrapped = GymnasiumSimulator(lambda: gym.wrappers.TimeLimit(Custom(), 60), 1)
    for simulator in (limited, wrapped):
        simulator.reset(slots(0), SEEDS[:1])
        ends = [simulator.step(slots(0), np.array([1])).truncated[0] for _ in range(60)]
        assert ends == [False] * 59 + [True]


def test_environments_are_made_when_first_needed():
    made: list[Custom] = []

    def make() -> Custom:
        made.append(Custom())
        return made[-1]

    simulator = GymnasiumSimulator(make, 3)
    assert not made
    simulator.reset(slots(1), SEEDS[:1])
    simulator.reset(slots(1, 2), SEEDS[:2])
    assert len(made) == 2


# ------------------------------------------------------------------------------------------------- spaces


class Echo(Custom):
    """Observes what it is told to, and keeps the actions it got."""

    def __init__(self, space: spaces.Space[Any], observation: Any):
        super().__init__()
        self.observation_space, self.told, self.actions = space, observation, []

    def reset(self, *, seed=None, options=None):
        return self.told, {}

    def step(self, action):
        self.actions.append(action)
        return self.told, 0, np.True_, False, {}


def observed(space: spaces.Space[Any], observation: Any) -> list[float]:
    simulator = GymnasiumSimulator(lambda: Echo(space, observation), 1, name="Echo-v0")
    first = simulator.reset(slots(0), SEEDS[:1])
    step = simulator.step(slots(0), np.array([0]))
    assert first.tobytes() == step.observations.tobytes()
    assert first.dtype == np.float64
    return first[0].tolist()


def test_discrete_observations_are_one_hot():
    assert observed(spaces.Discrete(4), 2) == [0, 0, 1, 0]
    assert observed(spaces.Discrete(3, start=-1), np.int64(-1)) == [1, 0, 0]
    with pytest.raises(EnvironmentFailure, match=r"returned 4 as observation, which is not in .*Discrete\(4"):
        observed(spaces.Discrete(4), 4)


def test_box_observations_of_any_dtype():
    assert observed(spaces.Box(0, 255, (3,), np.uint8), np.array([0, 7, 255], np.uint8)) == [0, 7, 255]
    assert observed(spaces.Box(-1, 1, (2,), np.float32), np.array([0.1, 1], np.float32)) == [
        np.float32(0.1),
        1,
    ]
    assert observed(spaces.Box(-1, 1, (2,), np.float64), [0.25, -1.0]) == [0.25, -1.0]


@pytest.mark.parametrize("space", [spaces.Box(0, 1, (2, 2)), spaces.Dict(a=spaces.Discrete(2))])
def test_observations_that_are_no_rows(space):
    with pytest.raises(SirlError, match=r"^Echo-v0 has the observation space .*FlattenObservation\.$"):
        observed(space, space.sample())


@pytest.mark.parametrize(
    "actions", [np.array([1, 0]), np.array([[1, 2], [3, 4]]), np.array([[0.5, 1], [2, 3]], np.float32)]
)
def test_each_environment_gets_its_row_of_actions(actions):
    environments = [Echo(spaces.Discrete(2), 0) for _ in range(2)]
    makers = iter(environments)
    simulator = GymnasiumSimulator(lambda: next(makers), 2)
    simulator.reset(slots(0, 1), SEEDS[:2])
    simulator.step(slots(0, 1), actions)
    for environment, row in zip(environments, actions.copy(), strict=True):
        (got,) = environment.actions
        assert got.dtype == actions.dtype
        np.testing.assert_array_equal(got, row)
    actions[:] = 0
    assert np.any(environments[0].actions[0]), "the caller may use the array again"


# ----------------------------------------------------------------------------------------- make_environment


def test_make_environment_by_id():
    assert make_environment("CartPole-v1", max_episode_steps=7).spec.max_episode_steps == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_environment("Hopper-v4")
        with pytest.raises(EnvironmentFailure, match="CartPole-v0 is out of date"):
            make_environment("CartPole-v0")  # only MuJoCo's v4 are known to be meant


@pytest.fixture
def _registry():
    """Forget what a test registers."""
    known = dict(gym.registry)
    yield
    gym.registry.clear()
    gym.registry.update(known)


@pytest.mark.usefixtures("_registry")
def test_make_environment_that_a_module_registers(tmp_path, monkeypatch):
    cart_pole = "gymnasium.envs.classic_control.cartpole:CartPoleEnv"
    (tmp_path / "corridor.py").write_text(f"import gymnasium\ngymnasium.register('Corridor-v0', {cart_pole!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert make_environment("corridor:Corridor-v0").spec.id == "Corridor-v0"
    del sys.modules["corridor"]


@pytest.mark.usefixtures("_registry")
def test_make_environment_that_needs_a_package():
    gym.register("Needy-v0", "not_here.envs:Needy")
    with pytest.raises(SirlError) as caught:
        make_environment("Needy-v0")
    assert str(caught.value) == (
        "environment 'Needy-v0' cannot be loaded (No module named 'not_here'); run `pip install not_here`."
    )


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        (
            "LunarLander-v2",
            "no environment is registered as 'LunarLander-v2'; did you mean 'LunarLander-v3'?",
        ),
        ("CartPol-v1", "no environment is registered as 'CartPol-v1'; did you mean 'CartPole-v1'?"),
        ("Zzyzx-v0", "no environment is registered as 'Zzyzx-v0'; write module:id if a module registers it."),
        ("no id!", "no environment is registered as 'no id!'; write module:id if a module registers it."),
        (
            "nomodule:My-v0",
            "environment 'nomodule:My-v0' cannot be loaded (No module named 'nomodule'); "
            "install the package that provides it.",
        ),
    ],
)
def test_make_environment_says_what_to_do(env_id, message):
    with pytest.raises(SirlError) as caught:
        make_environment(env_id)
    assert str(caught.value) == message


def test_make_environment_blames_the_environment():
    with pytest.raises(EnvironmentFailure, match=r"^CartPole-v1 raised TypeError: .*colour.* in make; fix"):
        make_environment("CartPole-v1", colour="red")


# ---------------------------------------------------------------------------------------------- EnvPool

needs_envpool = pytest.mark.skipif(not find_spec("envpool"), reason="EnvPool has wheels for Linux on x86-64 alone")


@needs_envpool
@pytest.mark.parametrize(
    ("env_id", "n_actions"), [("CartPole-v1", 2), ("MountainCar-v0", 3), ("MountainCarContinuous-v0", 0)]
)
def test_envpool_computes_what_gymnasium_does(env_id, n_actions):
    """From the same state with the same actions, up to EnvPool's rounding to float32."""
    rng = np.random.default_rng(0)
    simulator = EnvPoolSimulator(env_id, 1)
    environment = make_environment(env_id)
    for seed in range(3):
        first = simulator.reset(slots(0), np.array([seed]))
        environment.reset(seed=0)
        environment.unwrapped.state = first[0].copy()
        for _ in range(25):
            action = rng.integers(n_actions) if n_actions else rng.uniform(-1, 1, 1).astype(np.float32)
            ours = simulator.step(slots(0), np.array([action]))
            observation, reward, terminated, _, _ = environment.step(action)
            np.testing.assert_allclose(ours.observations[0], observation, atol=2e-5)
            np.testing.assert_allclose(ours.rewards[0], reward, atol=1e-6)
            assert ours.terminated[0] == terminated
            if terminated:
                break


@needs_envpool
def test_the_papers_lander_lands_on_envpool_too():
    """It scores 271 on Gymnasium, with a spread of 25."""
    policy = sirl.load("paper:LunarLander")
    law = policy.tree.leaves.law()
    order = PlayOrder(pack([policy.tree]), law, np.arange(30)[None])
    arena = LockstepArena(EnvPoolSimulator("LunarLander-v3", 30), policy.task)
    assert arena.play(order).returns.mean() > 250


@needs_envpool
def test_a_task_that_envpool_does_not_have():
    with pytest.raises(SirlError, match=r"envpool simulator serves .* not Hopper-v4: use --simulator gymnasium"):
        sirl.Training("Hopper-v4", simulator="envpool")


def test_envpool_is_an_extra(monkeypatch):
    monkeypatch.setattr("sirl.simulators.envpool.find_spec", lambda name: None)
    with pytest.raises(SirlError, match=r"EnvPool is not installed: run `pip install 'sirl\[envpool\]'`"):
        sirl.Training("LunarLander-v3", simulator="envpool")
