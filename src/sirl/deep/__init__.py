"""Deep Q-networks that learn socially: a whole grid search for about the price of one run.

>>> from sirl import deep
>>> search = deep.train("CartPole-v1", seed=0)
>>> search.result.ranking[0]
>>> action, _ = search.champion.predict(observation)
>>> print(deep.distil(search.champion).tree)

Needs the extra ``sirl[deep]``; PyTorch is imported when one of these names is first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sirl.errors import SirlError

if TYPE_CHECKING:
    from sirl.deep.episodes import evaluate
    from sirl.deep.grid import PAPER, make_grid
    from sirl.deep.imitation import distil
    from sirl.deep.policy import NetworkPolicy, load
    from sirl.deep.search import GridSearch, train
    from sirl.deep.settings import DeepSettings

__all__ = [
    "PAPER",
    "DeepSettings",
    "GridSearch",
    "NetworkPolicy",
    "distil",
    "evaluate",
    "load",
    "make_grid",
    "train",
]

_HOME = {
    "PAPER": "grid",
    "DeepSettings": "settings",
    "GridSearch": "search",
    "NetworkPolicy": "policy",
    "distil": "imitation",
    "evaluate": "episodes",
    "load": "policy",
    "make_grid": "grid",
    "train": "search",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sirl.deep' has no attribute {name!r}")
    check_installed()
    return getattr(import_module(f"sirl.deep.{_HOME[name]}"), name)


def check_installed() -> None:
    """Raise if what this room needs is missing."""
    missing = [package for package in ("torch", "safetensors") if not _is_there(package)]
    if missing:
        raise SirlError(f"social deep Q-learning needs {' and '.join(missing)}: run `pip install 'sirl[deep]'`.")


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # somebody has put something else in its place
        return False
