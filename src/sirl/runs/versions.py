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


_THEN = ", then "


def changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What is no longer as it was when a run was last at work, a sentence each."""
    return [
        f"the run was started with {name} {version} and goes on with {now.get(name, 'none')}: its result may differ."
        for name, version in before.items()
        if now.get(name) != version.rpartition(_THEN)[2]
    ]


def both(before: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """What a run that goes on is computed with: of what has changed, all that it was, in turn."""
    earlier = {name: before.get(name, version) for name, version in now.items()}
    return {
        name: earlier[name] if earlier[name].rpartition(_THEN)[2] == version else f"{earlier[name]}{_THEN}{version}"
        for name, version in now.items()
    }
