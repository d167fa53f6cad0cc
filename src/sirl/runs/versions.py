"""What a run is computed with: other versions may give other bits."""

from __future__ import annotations

import platform


def versions() -> dict[str, str]:
    """What a result is computed with: other versions may give other bits."""
    from importlib.metadata import version

    from llvmlite import binding

    packages = ("numpy", "numba", "gymnasium", "mujoco", "box2d")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "cpu": f"{platform.machine()} {binding.get_host_cpu_name()}",
    }


def changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What is no longer as it was when a run was started, a sentence each."""
    return [
        f"the run was started with {name} {version} and goes on with {now.get(name, 'none')}: its result may differ."
        for name, version in before.items()
        if now.get(name) != version
    ]
