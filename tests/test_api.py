"""The front door: its names, and training as a program meets it."""

import ctypes
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from gymnasium import spaces

import sirl
from conftest import TINY, Tiny
from sirl.errors import EnvironmentFailure, SirlError
from sirl.runs.directory import read_history


def test_public_names():
    assert sorted(sirl.__all__) == [
        "EnvironmentFailure", "Evaluation", "Options", "Policy", "Settings", "SirlError", "Training", "__version__",
        "evaluate", "load", "preset_settings", "train",
    ]  # fmt: skip
    assert all(getattr(sirl, name) is not None for name in sirl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = sirl.trian


@pytest.mark.parametrize(
    "code", ["import sirl", "from sirl.cli.main import main\ntry: main(['train', '--help'])\nexcept SystemExit: pass"]
)
def test_looking_is_quick(code):
    """Neither the import nor the help waits for what only training needs."""
    check = (
        "import sys; slow = {'numba', 'gymnasium', 'numpy', 'rich', 'mujoco'} & set(sys.modules); assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", f"{code}\n{check}"], check=True, stdout=subprocess.DEVNULL)


INFINITE = spaces.Box(-np.inf, np.inf, (3,))
ODD = spaces.Box(np.float32([-7.3, 0.1, -np.inf]), np.float32([-1.2, 0.3, 5.0]))


@pytest.mark.parametrize("grammar", ["oblique", "orthogonal"])
@pytest.mark.parametrize(
    ("observation", "action"),
    [
        (ODD, spaces.Discrete(3, start=1)),
        (INFINITE, spaces.Box(-0.1, 2.7, (1,), np.float32)),
        (
            spaces.Box(-5, 300, (2,), np.int16),
            spaces.Box(np.array([-3.0, 10.0]), np.array([-1.0, 10.5]), dtype=np.float64),
        ),
        (spaces.Discrete(5, start=-2), spaces.MultiDiscrete([3, 2], start=[-1, 4])),
        (spaces.Box(0, 255, (1,), np.uint8), spaces.Box(0, 255, (1,), np.uint8)),
        (spaces.Discrete(1), spaces.Discrete(1)),
    ],
    ids=["odd bounds", "infinite bounds", "integers", "discrete", "bytes", "no choice"],
)
@pytest.mark.filterwarnings("ignore:.*nothing to learn from")  # with one action all episodes may come to 0
def test_a_custom_environment_trains(observation, action, grammar, tmp_path):
    def make():
        return Tiny(observation, action)

    run = sirl.train(make, out=tmp_path / "run", grammar=grammar, **TINY)
    assert len(run.history) == 2
    policy = sirl.load(tmp_path / "run")
    seen, _ = make().reset(seed=1)
    assert action.contains(policy.predict(seen)[0])
    assert sirl.evaluate(policy, make, episodes=3, workers=1).lengths.tolist() == [10, 10, 10]
    assert str(policy) == str(run.champion)


def test_names_that_a_user_gives():
    run = sirl.train(Tiny, features=["height", "speed"], actions=["brake", "go"], **TINY)
    assert run.champion.task.features == ["height", "speed"]
    assert set(run.champion.tree.leaves.menu.names) == {"brake", "go"}
    with pytest.raises(SirlError, match=r"^features needs 2 different names, got 1: height\.$"):
        sirl.train(Tiny, features=["height"], **TINY)


@pytest.mark.parametrize(("name", "env"), [("CartPole", "CartPole-v1"), ("InvertedPendulum", "InvertedPendulum-v4")])
def test_an_id_without_a_version_is_the_one_with_a_preset(name, env):
    run = sirl.Training(name, **TINY)
    assert run.config.env == env
    assert run.settings == sirl.Training(env, **TINY).settings


def test_an_old_version_that_gymnasium_still_plays():
    assert sirl.train("CartPole-v0", **TINY).champion.task.env == "CartPole-v0"


@pytest.mark.parametrize("env", ["Hopper-v3", "LunarLander-v2"])
def test_an_id_of_old_is_answered_with_the_one_to_use(env):
    with pytest.raises(SirlError, match=r"is an old version, which Gymnasium no longer plays: use \w+-v[34]\."):
        sirl.Training(env, **TINY)


def test_a_baseline_that_collaborates_is_refused():
    with pytest.raises(SirlError, match=r"is not ELDT, which has no collaborative phase: leave it out, or use"):
        sirl.Training("CartPole-v1", method="eldt", collaborative_iterations=5)


def test_a_listener_hears_every_generation():
    heard = []
    run = sirl.train(Tiny, on_generation=heard.append, **TINY)
    assert heard == run.history


def test_there_is_no_champion_before_the_first_generation():
    with pytest.raises(SirlError, match="no champion"):
        _ = sirl.Training(Tiny, **TINY).champion


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [
        ({"poplation": 5}, "there is no setting 'poplation'; did you mean 'population'?"),
        ({"worker": 5}, "there is no setting 'worker'; did you mean 'workers'?"),
        ({"zzz": 5}, "there is no setting 'zzz'; see help(sirl.Settings)."),
        ({"population": -1}, "population = -1 is not allowed"),
        ({"seed": -1}, "seed = -1 is not allowed"),
        ({"seed": 2**63}, "seed = 9223372036854775808 is not allowed"),
        ({"seed": 0.5}, "seed = 0.5 is not allowed: give a whole number."),
        ({"workers": 0}, "workers = 0 is not allowed"),
        ({"workers": "two"}, "workers = 'two' is not allowed"),
        ({"hang_limit": 0}, "hang_limit = 0 is not allowed: give a number above 0."),
        (
            {"method": "sirl"},
            "method = 'sirl' is not allowed: give one of laws, linear, sirl-lb, sirl-sb, eldt; did you mean",
        ),
        (
            {"simulator": "mujocco"},
            "simulator = 'mujocco' is not allowed: give one of auto, mujoco, gymnasium, envpool; did you mean",
        ),
        ({"simulator": "mujoco"}, "use --simulator gymnasium."),
        ({"contenders": 4}, "contenders is for laws, not for sirl-lb: leave it out, or use method laws."),
        ({"method": "laws"}, "population is for the paper's methods, not for laws: leave it out, or use method sirl"),
        ({"genotype_length": 10}, "raise genotype_length or use codons_run_out = 'zeros'."),
    ],
)
def test_a_bad_argument(keywords, reason):
    with pytest.raises(SirlError) as error:
        sirl.train(lambda: Tiny(spaces.Box(-1, 1, (40,))), **TINY | keywords)
    assert reason in str(error.value)
    assert str(error.value).endswith((".", "?"))


def raising(problem):
    raise problem


def step(observation=(0.0, 0.0), reward=0.0):
    return np.array(observation), reward, False, False, {}


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (lambda env: raising(ValueError("bad gear")), "raised ValueError: bad gear in step; fix the environment."),
        (lambda env: step((np.nan, 0)), "returned NaN in observation feature 0; fix the environment"),
        (lambda env: step((0, np.inf)), "returned inf in observation feature 1; fix the environment"),
        (lambda env: step(reward=np.nan), "returned NaN in reward; fix the environment"),
        (lambda env: step((0, 0, 0)), "returned an array of shape (3,) as observation"),
        (lambda env: step(), "never ended an episode, not in 40 steps; set --max-steps."),
        (lambda env: 5, "in step; fix the environment."),
    ],
    ids=["raises", "NaN", "infinite", "NaN reward", "shape", "endless", "no step"],
)
def test_nothing_is_lost_when_an_environment_breaks_later(behave, reason, tmp_path, monkeypatch):
    monkeypatch.setattr("sirl.simulators.gymnasium.ENDLESS", 40)
    heard = []

    def make():
        return Tiny(behave=lambda env: behave(env) if len(heard) == 2 else None)

    with pytest.raises(EnvironmentFailure) as failure:
        sirl.train(make, out=tmp_path / "run", on_generation=heard.append, **TINY | {"generations": 5})
    assert str(failure.value).startswith("make ")
    assert reason in str(failure.value)
    assert read_history(tmp_path / "run") == heard
    assert len(heard) == 2
    assert sirl.load(tmp_path / "run").tree.n_leaves == heard[-1].champion.leaves
    log = (tmp_path / "run" / "log.txt").read_text()
    assert log.startswith("generation 3: make ")
    assert ("Traceback" in log) == bool(failure.value.details)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_names_the_individual_and_the_environment(workers, tmp_path):
    """Of all trees, those that ever go are the ones in trouble; the collaborative phase never starts."""

    def behave(env):
        if env.last_action == 1:
            raise ValueError("bad gear")

    options = TINY | {"collaborative_iterations": 0, "workers": workers, "epsilon": 0.0}
    with pytest.raises(EnvironmentFailure, match=r"^individual \d+: <lambda> raised ValueError: bad gear in step"):
        sirl.train(lambda: Tiny(behave=behave), **options)


def test_a_crash_names_the_individual_and_the_environment():
    def behave(env):
        if env.last_action == 1:
            os._exit(7)

    options = TINY | {"collaborative_iterations": 0, "workers": 2, "epsilon": 0.0}
    with pytest.raises(EnvironmentFailure, match=r"^individual \d+ of <lambda> ended its worker process 3 times"):
        sirl.train(lambda: Tiny(behave=behave), **options)


@pytest.mark.filterwarnings("ignore:.*nothing to learn from")
def test_a_limit_of_steps_ends_what_never_ends():
    run = sirl.train(lambda: Tiny(behave=lambda env: step()), max_steps=15, **TINY)
    assert run.history[0].individual.steps == 15 * run.history[0].individual.episodes


def test_an_environment_that_can_not_be_made(tmp_path):
    with pytest.raises(EnvironmentFailure, match=r"could not be made \(OSError: no licence\): fix the environment"):
        sirl.train(lambda: raising(OSError("no licence")), out=tmp_path / "run", **TINY)
    with pytest.raises(EnvironmentFailure, match=r"Tiny could not be made \(TypeError: .*nonsense"):
        sirl.train(Tiny, env_options={"nonsense": 1}, **TINY)
    assert not (tmp_path / "run").exists()


class Unseeded(Tiny):
    """Starts from wherever a generator stands that nobody has seeded."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.random.uniform(-1, 1, 2).astype(np.float32), {}  # noqa: NPY002 - as one should not


@pytest.mark.parametrize("workers", [1, 2])
def test_an_environment_that_ignores_its_seed_is_told_of(workers):
    with pytest.warns(UserWarning, match=r"^Unseeded gave two different episodes for one seed and the same actions"):
        sirl.Training(Unseeded, **TINY | {"workers": workers})
    sirl.Training(Tiny, **TINY | {"workers": workers})


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: os._exit(0), "ended its worker process with exit code 0: its environment exits instead of raising"),
        (lambda: ctypes.string_at(0), "ended its worker process with SIGSEGV: native code of its environment crashed"),
        (lambda: time.sleep(1000), "was ended after 0.5 seconds without a result: its environment hangs"),
    ],
    ids=["exits", "crashes", "hangs"],
)
def test_an_environment_that_never_comes_to_be_is_named(act, said, tmp_path):
    def make():
        act()

    with pytest.raises(EnvironmentFailure) as failure:
        sirl.train(make, out=tmp_path / "run", hang_limit=0.5, **TINY | {"workers": 2})
    assert str(failure.value).startswith(f"the making of make {said}")
    assert not (tmp_path / "run").exists()


def test_the_hang_limit_holds_in_the_final_score():
    run = sirl.train(Tiny, **TINY)
    with pytest.raises(EnvironmentFailure, match=r"^\d+ episodes .* of <lambda> was ended after 5 seconds"):
        sirl.evaluate(run.champion, lambda: Tiny(in_reset=lambda: time.sleep(1000)), hang_limit=5, workers=1)


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_without_words_is_told_by_its_name(workers, tmp_path):
    with pytest.raises(EnvironmentFailure, match=r"raised SilentError in step; fix the environment"):
        sirl.train(lambda: Tiny(behave=lambda _: raising(SilentError())), **TINY | {"workers": workers})


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("env", ["CartPole-v1", "InvertedPendulum-v4"])
def test_callers_may_have_numpy_raise(env):
    settings = TINY | {"individual_episodes": 9, "epsilon_decay": 1e-60}
    with np.errstate(all="raise"):
        run = sirl.train(env, **settings)
    assert run.champion.to_json() == sirl.train(env, **settings).champion.to_json()


def test_a_factory_works_on_worker_processes():
    run = sirl.train(lambda: Tiny(), **TINY | {"workers": 2})
    assert run.champion.to_json() == sirl.train(lambda: Tiny(), **TINY).champion.to_json()


def test_a_failure_is_put_into_words_from_its_fields_and_not_from_another_text():
    """A message that happens to begin like the work it is about says no more than it says."""
    failure = EnvironmentFailure("individual 7 of the herd is not in the observation space.", where="individual 7")
    assert str(failure) == "individual 7 of the herd is not in the observation space."
    failure.alone = True
    assert str(failure) == "individual 7: individual 7 of the herd is not in the observation space."
