"""MuJoCo without its stopwatch: the clock stands still, the physics has the same bits."""

import mujoco
import numpy as np

from sirl.simulators.mujoco.library import stop_timers
from sirl.simulators.mujoco.rules import load_model


def walk(clock_runs):
    model = load_model("Walker2d-v4")
    data = mujoco.MjData(model)
    if clock_runs:
        mujoco.set_mjcb_time(None)
    else:
        assert stop_timers()
    rng = np.random.default_rng(0)
    for _ in range(200):
        data.ctrl = rng.uniform(-1, 1, model.nu)
        mujoco.mj_step(model, data)
    return data.qpos.copy(), data.timer[mujoco.mjtTimer.mjTIMER_STEP].duration


def test_no_bit_depends_on_the_clock():
    qpos, duration = walk(clock_runs=True)
    assert duration > 0
    again, nothing = walk(clock_runs=False)
    assert nothing == 0
    np.testing.assert_array_equal(again, qpos)
