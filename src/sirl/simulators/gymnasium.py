"""Any Gymnasium environment in lockstep: one environment object a slot, stepped one after another.

Environments are other people's code. Whatever one does wrong (raises, returns a number that is none, never
ends) becomes an ``EnvironmentFailure`` that names the environment, what it did and what to do about it.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from sirl.arrays import Floats
from sirl.errors import EnvironmentFailure, SirlError, did_you_mean, in_words
from sirl.simulators import Ids, Step
from sirl.simulators.returned import check_flags, check_rewards, rows_of

Environment = gym.Env[Any, Any]

ENDLESS = 100_000
"""Steps after which an episode without a time limit is taken for one that never ends."""

# These keep one Box2D world for all their episodes, and a world remembers: the order in which it solves
# contacts depends on the bodies it held before. More than half of BipedalWalker's episodes differ for it.
# Making the environment anew costs less than its reset. LunarLander resets exactly: it makes a new world.
_REMADE_AT_RESET = {
    ("gymnasium.envs.box2d.bipedal_walker", "BipedalWalker"),
    ("gymnasium.envs.box2d.car_racing", "CarRacing"),
}


def make_environment(env_id: str, **kwargs: Any) -> Environment:
    """Make a registered environment as ``gymnasium.make`` does, with errors that say what to do.

    Args:
        env_id: such as ``LunarLander-v3``, or ``module:Env-v0`` if it is ``module`` that registers it.
        kwargs: arguments of the environment.
    """
    name = env_id.rpartition(":")[2]
    if name in gym.registry and str(gym.registry[name].entry_point).startswith("gymnasium.envs.mujoco."):
        from sirl.simulators.mujoco.rules import silence_mujoco

        silence_mujoco()
    with _blame(env_id, "make"):
        try:
            with warnings.catch_warnings():
                # The paper's MuJoCo tasks are v4: Gymnasium's advice to upgrade would change the task.
                warnings.filterwarnings("ignore", r".*environment \S+-v4 is out of date", DeprecationWarning)
                return gym.make(env_id, disable_env_checker=True, **kwargs)
        except (ImportError, gym.error.DependencyNotInstalled) as error:
            raise _missing_package(env_id, error) from error
        except gym.error.Error as error:
            if name in gym.registry:
                raise
            hint = did_you_mean(name, list(gym.registry)) or "; write module:id if a module registers it"
            raise SirlError(f"no environment is registered as {name!r}{hint}") from error


class GymnasiumSimulator:
    """N environment objects of one kind in lockstep, in this process.

    Observations of a one-dimensional Box, of any dtype, become float64 rows; those of a Discrete space become
    one-hot rows.

    Args:
        make: makes one environment; called when a slot is first reset.
        n_slots: number of episodes side by side.
        max_steps: truncate episodes here, if the environment does not end them before.
        name: what to call the environment in messages.
    """

    def __init__(
        self,
        make: Callable[[], Environment],
        n_slots: int,
        max_steps: int | None = None,
        name: str = "the environment",
    ):
        self.n_slots = n_slots
        self._make = make
        self._max_steps = max_steps
        self._name = name
        self._environments: dict[int, Environment] = {}
        self._elapsed = np.zeros(n_slots, np.int64)
        # Known from the first environment on.
        self._to_rows: Callable[[Sequence[Any]], Floats] | None = None
        self._may_be_endless = False
        self._counts = False
        """Steps must be counted here."""
        self._remade_at_reset = False
        self._is_mujoco = False

    def expect(self, seeds: NDArray[np.int64]) -> None:
        """Nothing to prepare: environments are seeded at reset."""

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> Floats:
        """Start an episode in each slot, from ``seeds`` (n,); return first observations (n, n_features)."""
        environments = [self._environment_for(slot) for slot in ids.tolist()]
        self._elapsed[ids] = 0
        with _blame(self._name, "reset"):
            starts = [env.reset(seed=seed) for env, seed in zip(environments, seeds.tolist(), strict=True)]
            observations, _ = zip(*starts, strict=True)
            return self._rows(observations)

    def step(self, ids: Ids, actions: NDArray[Any]) -> Step:
        """Advance each slot of ``ids`` by its row of ``actions`` (n, *action_shape)."""
        environments = self._environments
        out_of_time = self._count_step(ids) if self._counts else False
        with _blame(self._name, "step"):
            # Rows of a copy: an environment may keep its action, or change it.
            rows = zip(ids.tolist(), actions.copy(), strict=True)
            steps = [environments[slot].step(action) for slot, action in rows]
            observations, rewards, terminated, truncated, _ = zip(*steps, strict=True)
            step = Step(
                observations=self._rows(observations),
                rewards=check_rewards(rewards, self._name),
                terminated=check_flags(terminated, "terminated", self._name),
                truncated=check_flags(truncated, "truncated", self._name) | out_of_time,
            )
        return self._without_broken(ids, step) if self._is_mujoco else step

    def _without_broken(self, ids: Ids, step: Step) -> Step:
        """The step, without what comes after MuJoCo has lost a state, which it then silently sets back."""
        from sirl.simulators.mujoco.rules import has_diverged

        broken = np.array([has_diverged(self._environments[slot].unwrapped.data) for slot in ids.tolist()])  # type: ignore[attr-defined]
        if not broken.any():
            return step
        step.observations[broken], step.rewards[broken], step.terminated[broken] = 0.0, 0.0, True
        return step._replace(broken=broken)

    def action_space(self) -> spaces.Space[Any]:
        """The action space of an environment that has been reset."""
        return next(iter(self._environments.values())).action_space

    def close(self) -> None:
        """Close every environment."""
        while self._environments:
            _, environment = self._environments.popitem()
            with _blame(self._name, "close"):
                environment.close()

    def _environment_for(self, slot: int) -> Environment:
        """The slot's environment, ready for reset."""
        environment = self._environments.get(slot)
        if environment is not None and not self._remade_at_reset:
            return environment
        with _blame(self._name, "make"):
            if environment is not None:
                environment.close()
            environment = self._environments[slot] = self._make()
            if self._to_rows is None:
                self._to_rows = rows_of(environment.observation_space, self._name)
                self._may_be_endless = self._max_steps is None and not _has_time_limit(environment)
                self._counts = self._max_steps is not None or self._may_be_endless
                self._remade_at_reset = _is_remade_at_reset(environment)
                self._is_mujoco = _is_mujoco(environment)
                if self._is_mujoco:
                    from sirl.simulators.mujoco.rules import silence_mujoco

                    silence_mujoco()
        return environment

    def _rows(self, observations: Sequence[Any]) -> Floats:
        assert self._to_rows is not None, "step before the first reset"
        return self._to_rows(observations)

    def _count_step(self, ids: Ids) -> NDArray[np.bool_]:
        """Whether the step that comes is the last that ``max_steps`` allows, (n,)."""
        elapsed = self._elapsed[ids] + 1
        self._elapsed[ids] = elapsed
        if self._may_be_endless and (elapsed > ENDLESS).any():
            raise EnvironmentFailure(f"{self._name} never ended an episode, not in {ENDLESS} steps; set --max-steps")
        return elapsed >= (np.inf if self._max_steps is None else self._max_steps)


def _has_time_limit(environment: Environment) -> bool:
    while isinstance(environment, gym.Wrapper):
        if isinstance(environment, gym.wrappers.TimeLimit):
            return True
        environment = environment.env
    return False


def _is_remade_at_reset(environment: Environment) -> bool:
    return any((cls.__module__, cls.__name__) in _REMADE_AT_RESET for cls in type(environment.unwrapped).__mro__)


def _is_mujoco(environment: Environment) -> bool:
    mujoco = sys.modules.get("mujoco")
    return mujoco is not None and isinstance(getattr(environment.unwrapped, "data", None), mujoco.MjData)


@contextmanager
def _blame(name: str, call: str) -> Iterator[None]:
    """Turn an exception of an environment, or its exit, into an ``EnvironmentFailure``; our own and Ctrl-C pass."""
    try:
        yield
    except SirlError:
        raise
    except (Exception, SystemExit) as error:
        raise EnvironmentFailure(
            f"{name} raised {in_words(error)} in {call}; fix the environment"
            + (" or its options" if call == "make" else ""),
            details=traceback.format_exc(),
        ) from error


def _missing_package(env_id: str, error: Exception) -> SirlError:
    cause = in_words(error).partition(": ")[2].partition(". ")[0]
    package = getattr(error, "name", None)
    fix = f"run `pip install {package}`" if package else "install the package that provides it"
    return SirlError(f"environment {env_id!r} cannot be loaded ({cause}); {fix}")
