"""Tiny environments and a way to call the command line, for tests of the shell around the core."""

from __future__ import annotations

import signal
from typing import NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from sirl.cli import main as cli

TINY = {
    "method": "sirl-lb",
    "population": 20,
    "generations": 2,
    "individual_episodes": 1,
    "collaborative_copies": 2,
    "collaborative_iterations": 1,
    "candidates": 2,
    "validation_episodes": 2,
    "workers": 1,
}
"""Settings for a run that takes a moment."""

TINY_FLAGS = [text for name, value in TINY.items() for text in ("--" + name.replace("_", "-"), str(value))]


class Tiny(gym.Env):
    """Ten steps in any spaces; ``behave(env)`` may raise, or return a step of its own."""

    def __init__(self, observation_space=None, action_space=None, behave=None, in_reset=None):
        self.observation_space = spaces.Box(-1, 1, (2,)) if observation_space is None else observation_space
        self.action_space = spaces.Discrete(2) if action_space is None else action_space
        self.behave, self.in_reset = behave, in_reset

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.steps = 0
        if self.in_reset:
            self.in_reset()
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.steps += 1
        self.last_action = action
        out = self.behave(self) if self.behave else None
        if out is not None:
            return out
        return self.observation_space.sample(), float(np.sum(action)), False, self.steps == 10, {}


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C raises, also where the tests were started in the background, by a shell that has it ignored there."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.fixture
def register():
    """A function that registers a factory as an environment id, for the length of a test."""
    ids = []

    def add(factory, env_id="Tiny-v0"):
        gym.register(env_id, entry_point=lambda **options: factory(**options))
        ids.append(env_id)
        return env_id

    yield add
    for env_id in ids:
        gym.registry.pop(env_id)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def sirl_command(capfd, monkeypatch, tmp_path):
    """The command line, called from an empty directory; it never shows a traceback."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as leave:
            code = leave.code
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Outcome(code, out, err)

    return call


@pytest.fixture
def refusal(sirl_command):
    """The one sentence with which the command line refuses its arguments."""

    def call(*arguments):
        code, _, err = sirl_command(*arguments)
        assert code in (1, 2)
        assert err.count("\n") == 1
        assert err.startswith("sirl")
        assert err.endswith((".\n", "?\n", ")\n"))
        return err

    return call
