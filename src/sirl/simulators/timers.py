"""MuJoCo's own stopwatch, which costs up to a third of a small model's physics.

The Python package sets MuJoCo's ``mjcb_time``, so every step of the physics reads the clock a dozen times for
``mjData.timer``. Nothing here looks at that, and no result depends on it. ``mujoco.set_mjcb_time(None)`` brings the
package's clock back rather than none, so the callback, a public variable of the library, is cleared in its place.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import mujoco


def stop_timers() -> bool:
    """Let MuJoCo step without reading the clock, in this process; whether that could be done."""
    for library in Path(mujoco.__file__).parent.glob("*mujoco*.*"):
        if library.suffix in (".dll", ".dylib") or ".so." in library.name:
            try:
                ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "mjcb_time").value = None
            except (OSError, ValueError):  # another build of MuJoCo: it is slower, and no less right
                continue
            return True
    return False
