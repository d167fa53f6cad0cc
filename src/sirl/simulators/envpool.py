"""EnvPool's C++ environments in lockstep, for the classic and Box2D tasks that are slow in Python.

EnvPool seeds an environment when it is made and never again, and starts the next episode by itself. Here an
environment plays one episode: pools are made from the seeds of the episodes that are about to come, and what
follows an episode's end is never looked at. So an episode depends on its seed and its actions alone.

These are other programs than Gymnasium's, with other starts for the same seed. Train with them; scores are
Gymnasium's.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sirl.arrays import Floats
from sirl.errors import EnvironmentFailure, SirlError
from sirl.simulators import Ids, Step

SUPPORTED = (
    "LunarLander-v3",
    "LunarLanderContinuous-v3",
    "BipedalWalker-v3",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Acrobot-v1",
    "Pendulum-v1",
)
"""The tasks of which EnvPool has the same version as Gymnasium."""

_WINDOW = 512
"""Episodes made ahead in one pool: a LunarLander takes 100 KB and a tenth of a millisecond to make."""
_SEEDS = 2**31 - 1
"""EnvPool's seeds are below this."""
_WARNINGS = Lock()


class _Pool:
    """Environments that are made together; each plays one episode."""

    def __init__(self, env_id: str, seeds: NDArray[np.int64]):
        import envpool

        # EnvPool's bounds are float64, its arrays float32, and Gymnasium warns of it when a space is first asked
        # for; so both are asked for here. What is done to warnings is done to all threads.
        with _WARNINGS, warnings.catch_warnings():
            warnings.filterwarnings("ignore", r".*precision lowered by casting")
            self._pool = envpool.make_gymnasium(
                env_id, num_envs=len(seeds), env_seed=(seeds % _SEEDS).tolist(), num_threads=1
            )
            self._dtype = self._pool.action_space.dtype
            assert self._pool.observation_space.shape is not None
        observations, info = self._pool.reset()
        self.first = np.empty(observations.shape)
        """First observations, (len(seeds), n_features)."""
        self.first[info["env_id"]] = observations

    def step(self, places: NDArray[np.int32], actions: NDArray[Any]) -> Step:
        """Advance some of the environments."""
        *out, info = self._pool.step(actions.astype(self._dtype), places)
        if (info["env_id"] != places).any():
            row = np.argsort(info["env_id"])[np.argsort(np.argsort(places))]
            out = [values[row] for values in out]
        observations, rewards, terminated, truncated = out
        return Step(
            observations.astype(np.float64), rewards.astype(np.float64), terminated.copy(), truncated & ~terminated
        )


class EnvPoolSimulator:
    """Episodes of an EnvPool task in lockstep.

    Args:
        env_id: one of ``SUPPORTED``.
        n_slots: number of episodes side by side.
        max_steps: truncate episodes here, if the task does not end them before.
    """

    def __init__(self, env_id: str, n_slots: int, max_steps: int | None = None):
        self.n_slots = n_slots
        self._env_id = env_id
        self._max_steps = max_steps
        self._coming = np.zeros(0, np.int64)
        self._ready: dict[int, list[tuple[_Pool, int]]] = defaultdict(list)
        self._pools: list[_Pool | None] = [None] * n_slots
        self._places = np.zeros(n_slots, np.int32)
        self._elapsed = np.zeros(n_slots, np.int64)

    def expect(self, seeds: NDArray[np.int64]) -> None:
        """Episodes with these seeds will be asked for, in about this order."""
        self._coming = seeds
        self._ready.clear()

    def reset(self, ids: Ids, seeds: NDArray[np.int64]) -> Floats:
        """Start an episode in each slot, from ``seeds`` (n,); return first observations (n, n_features)."""
        self._elapsed[ids] = 0
        rows = []
        for slot, seed in zip(ids.tolist(), seeds.tolist(), strict=True):
            pool, place = self._take(seed, seeds)
            self._pools[slot] = pool
            self._places[slot] = place
            rows.append(pool.first[place])
        return self._finite(np.stack(rows))

    def step(self, ids: Ids, actions: NDArray[Any]) -> Step:
        """Advance each slot of ``ids`` by its row of ``actions`` (n, *action_shape)."""
        rows_of: dict[_Pool, list[int]] = defaultdict(list)
        for row, slot in enumerate(ids.tolist()):
            pool = self._pools[slot]
            assert pool is not None, "step before reset"
            rows_of[pool].append(row)
        parts = [(rows, pool.step(self._places[ids[rows]], actions[rows])) for pool, rows in rows_of.items()]
        if len(parts) == 1:
            step = parts[0][1]
        else:
            order = np.argsort(np.concatenate([rows for rows, _ in parts]))
            step = Step(
                *(np.concatenate(values)[order] for values in zip(*(part[:4] for _, part in parts), strict=True))
            )
        self._finite(step.observations)
        self._finite(step.rewards)
        if self._max_steps is None:
            return step
        self._elapsed[ids] += 1
        return step._replace(truncated=step.truncated | (self._elapsed[ids] >= self._max_steps))

    def close(self) -> None:
        """Let go of every environment."""
        self._ready.clear()
        self._pools = [None] * self.n_slots

    def _take(self, seed: int, asked: NDArray[np.int64]) -> tuple[_Pool, int]:
        """An environment that has just begun the episode of ``seed``."""
        while not self._ready.get(seed):
            window, self._coming = self._coming[:_WINDOW], self._coming[_WINDOW:]
            if not window.size:
                window = asked  # nobody has told us that it would come
            pool = _Pool(self._env_id, window)
            for place, expected in enumerate(window.tolist()):
                self._ready[expected].append((pool, place))
        taken = self._ready[seed].pop()
        if not self._ready[seed]:
            del self._ready[seed]
        return taken

    def _finite(self, values: Floats) -> Floats:
        if not np.isfinite(values).all():
            raise EnvironmentFailure(
                f"{self._env_id} returned a number that is not finite on EnvPool; use --simulator gymnasium"
            )
        return values


def check_installed() -> None:
    """Say what to do if EnvPool is not there."""
    if find_spec("envpool") is None:
        raise SirlError("EnvPool is not installed: run `pip install 'sirl[envpool]'`, or use --simulator gymnasium.")
