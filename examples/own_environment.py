"""Train on an environment of your own, and read what came of it.

A boat drifts with the wind and must stay between two banks. Its environment depends on the seed and the actions alone,
which is all that `sirl` asks of one.
"""

import gymnasium as gym
import numpy as np

import sirl


class Boat(gym.Env):
    """Steer left or right against a wind that changes."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        """A place between the banks, and a wind."""
        super().reset(seed=seed)
        self.position, self.speed, self.wind = self.np_random.uniform([-1, 0, -0.5], [1, 0, 0.5])
        self.steps = 0
        return np.array([self.position, self.speed, self.wind]), {}

    def step(self, action):
        """One for every step afloat."""
        self.steps += 1
        self.wind += self.np_random.normal(scale=0.02)
        self.speed += 0.1 * (1 if action else -1) + 0.1 * self.wind
        self.position += 0.1 * self.speed
        aground = abs(self.position) > 2
        return np.array([self.position, self.speed, self.wind]), 1.0, bool(aground), self.steps >= 200, {}


run = sirl.train(
    Boat,
    features=["position", "speed", "wind"],
    actions=["steer left", "steer right"],
    generations=20,
    contenders=2,
    stop_at=200,
    workers=1,
)
print(run.champion)
print(f"{run.score(20).mean:.1f} of 200 steps afloat, on 20 unseen episodes")
