"""Environments that misbehave, for faults.py.

``faulty:Faulty-v0`` does so in one of many ways, by its option ``fault``, unless FAULTY_IS_MENDED is set;
``faulty:Exploding-v0`` has physics that MuJoCo can't follow.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv

_made = 0


class Faulty(gym.Env[Any, Any]):
    """A walk on a line of 30 steps, until the fault shows at the 20th step of an episode."""

    def __init__(self, fault: str = "none"):
        global _made
        _made += 1
        self.fault = "none" if "FAULTY_IS_MENDED" in os.environ else fault
        self.observation_space = spaces.Box(-1, 1, (2,), np.float64)
        self.action_space = spaces.Discrete(2)
        if self.fault == "raise in make" and _made > 1:  # the first is made to look at its spaces
            raise RuntimeError("the motor is on fire")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002 - part of the signature
        """Start an episode."""
        super().reset(seed=seed)
        self.steps, self.at = 0, self.np_random.uniform(-1, 1, 2)
        if self.fault == "raise in reset":
            raise RuntimeError("the motor is on fire")
        return self.at.copy(), {}

    def step(self, action: Any) -> Any:
        """Advance an episode."""
        self.steps += 1
        self.at = np.clip(self.at + self.np_random.uniform(-0.2, 0.2, 2) + [0.1 * (2 * action - 1), 0.0], -1, 1)
        observation, reward, over = self.at.copy(), float(1 - abs(self.at[0])), self.steps == 30
        if self.steps >= 20:
            if self.fault in _ACTS:
                _ACTS[self.fault]()
            observation[0] = {"NaN observation": np.nan, "infinite observation": np.inf}.get(self.fault, observation[0])
            reward = {"NaN reward": np.nan, "infinite reward": np.inf, "huge reward": 1e308}.get(self.fault, reward)
            over = over and self.fault != "endless"
        return observation, reward, over, False, {}

    def close(self) -> None:
        """Let go."""
        if self.fault == "raise in close" and _made > 1:
            raise RuntimeError("the motor is on fire")


def _raise() -> None:
    raise RuntimeError("the motor is on fire")


def _blow_up() -> None:
    """Take all memory that there is, but no more than 2 GB of it."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))
    hoard = []
    while True:
        hoard.append(bytearray(10**8))


_ACTS = {
    "raise in step": _raise,
    "exit": lambda: sys.exit(0),
    "hard exit": lambda: os._exit(3),
    "hang": lambda: time.sleep(10_000),
    "hang in native code": lambda: ctypes.PyDLL(None).sleep(10_000),
    "segmentation fault": lambda: ctypes.string_at(0),
    "memory": _blow_up,
    "killed by the kernel": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


class Exploding(HopperEnv):
    """A Hopper that explodes under a tree that pushes its first joint with all its might at first."""

    def step(self, action: Any) -> Any:
        """Advance an episode."""
        if self.data.time == 0.0 and action[0] == 1.0:
            self.data.qvel[:] = 1e200
        return super().step(action)


gym.register("Faulty-v0", entry_point=Faulty)
gym.register("Exploding-v0", entry_point=Exploding, max_episode_steps=1000)
