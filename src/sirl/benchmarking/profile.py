"""Where the time of a phase goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from sirl import catching_up, kernels
from sirl.benchmarking.measure import Effort, Stopwatch, Table
from sirl.benchmarking.physics import settings_for
from sirl.benchmarking.work import MUJOCO, Bench
from sirl.simulators import mujoco

_PARTS: list[tuple[Any, str, str]] = [
    (mujoco._Physics, "step", "physics"),
    (mujoco.MujocoSimulator, "step", "simulator"),
    (mujoco.MujocoSimulator, "reset", "starts"),
    (kernels, "walk_each", "walk"),
    (kernels, "act_each", "choose"),
    (kernels, "learn_each", "learn"),
    (kernels, "end_step", "bookkeeping"),
    (catching_up, "vote_chances", "choose"),
    (catching_up, "propose_one", "choose"),
    (catching_up, "log_starts", "log"),
    (catching_up, "log_steps", "log"),
    (catching_up, "learn_log", "learn"),
]


def profile(effort: Effort, env_ids: tuple[str, ...] = MUJOCO, **settings: Any) -> Iterator[Table]:
    """Shares of a phase's time, on one worker."""
    rows = []
    for env_id in env_ids:
        bench = Bench.of(env_id, **settings_for(env_id, effort) | settings)
        with bench.engine(1) as engine:
            calls = bench.first_generation(engine)
            for name in ("refine", "collaborate"):
                call, watch = calls[name], Stopwatch()
                with ExitStack() as stack:
                    for owner, attribute, part in _PARTS:
                        stack.enter_context(watch.on(owner, attribute, part))
                    start = time.perf_counter()
                    engine.map(call.function, call.orders)
                    whole = time.perf_counter() - start
                rows.append({"task": env_id, "phase": "individual" if name == "refine" else "collaborative"})
                rows[-1] |= _shares(watch.seconds, whole)
    note = (
        "Per cent of a phase's wall time on one worker, by a clock around each part. Rules: observations, rewards, "
        "ends, the check for divergence. Choose: a leaf's action; in the collaborative phase also the catching up of "
        "the tree that is asked. Learn: Q-learning, walks included. Loop: what is left, Python."
    )
    yield Table("Where the time goes", note, rows)


def _shares(seconds: dict[str, float], whole: float) -> dict[str, Any]:
    simulator = seconds.pop("simulator")
    parts = {
        "physics": seconds["physics"],
        "rules": simulator - seconds["physics"],
        "starts": seconds["starts"],
        "choose": seconds["choose"] + seconds["walk"],
        "learn": seconds["learn"] + seconds["log"],
        "bookkeeping": seconds["bookkeeping"],
    }
    shares: dict[str, Any] = {part: 100 * spent / whole for part, spent in parts.items()}
    return {"seconds": whole} | shares | {"loop": 100 - sum(shares.values())}
