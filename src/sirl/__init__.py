"""Reinforcement learning whose result a person can read.

>>> import sirl
>>> run = sirl.train("CartPole-v1", seed=0, stop_at=475)
>>> print(run.champion)
>>> action, _ = run.champion.predict(observation)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sirl.config import Settings
    from sirl.errors import EnvironmentFailure, SirlError
    from sirl.model.policy import Policy, load
    from sirl.options import Options
    from sirl.presets import preset_settings
    from sirl.runs.evaluation import Evaluation, evaluate
    from sirl.runs.training import Training, train

__all__ = [
    "EnvironmentFailure",
    "Evaluation",
    "Options",
    "Policy",
    "Settings",
    "SirlError",
    "Training",
    "__version__",
    "evaluate",
    "load",
    "preset_settings",
    "train",
]

_HOME = {
    "EnvironmentFailure": "sirl.errors",
    "Evaluation": "sirl.runs.evaluation",
    "Options": "sirl.options",
    "Policy": "sirl.model.policy",
    "Settings": "sirl.config",
    "SirlError": "sirl.errors",
    "Training": "sirl.runs.training",
    "evaluate": "sirl.runs.evaluation",
    "load": "sirl.model.policy",
    "preset_settings": "sirl.presets",
    "train": "sirl.runs.training",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # Names are imported when they are first used, so that `sirl --help` does not wait for numba.
    if name not in _HOME:
        raise AttributeError(f"module 'sirl' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
