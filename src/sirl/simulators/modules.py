"""The user's own module, as in ``my_tasks:MyEnv-v0``: found beside the user, and nothing else with it.

Python looks for every module in every place of ``sys.path``, so a working directory among them decides what the
optional imports of all packages find: a stranger's folder with an ``org.py`` would run when numba looks for ``org``.
Here the directory serves the named module alone, and what that module and its neighbours import.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType


def find_beside(env_id: str) -> str:
    """The working directory, if it is there that the module of ``module:Env-v0`` is found; else nothing."""
    module = _top(env_id)
    for finder in sys.meta_path:
        if isinstance(finder, _Beside) and finder.module == module:  # it was found before
            return finder.directory
    if not module or module in sys.modules or importlib.util.find_spec(module) is not None:
        return ""
    try:
        here = os.getcwd()
    except FileNotFoundError:  # it was deleted
        return ""
    return here if PathFinder.find_spec(module, [here]) is not None else ""


def serve(env_id: str, directory: str) -> None:
    """Let the module of ``module:Env-v0`` be imported from ``directory``."""
    finder = _Beside(_top(env_id), directory)
    if finder not in sys.meta_path:
        sys.meta_path.append(finder)


def _top(env_id: str) -> str:
    """The module to look for, which may be the package of the one that is named."""
    return env_id.rpartition(":")[0].partition(".")[0]


class _Beside(MetaPathFinder):
    """Finds one module in a directory, and its neighbours for code of that directory."""

    def __init__(self, module: str, directory: str):
        self.module, self.directory = module, directory

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Beside) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.module, self.directory))

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - part of the signature
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`; ``path`` is None unless a package is searched, which needs no help."""
        if path is None and (fullname == self.module or self._is_asked_by_a_neighbour()):
            return PathFinder.find_spec(fullname, [self.directory])
        return None

    def _is_asked_by_a_neighbour(self) -> bool:
        """Whether the import stands in a file of the directory, or is Gymnasium's, of what such a file registered."""
        importer = Path(_importer())
        return Path(self.directory) in importer.parents or importer.parts[-2:] == ("envs", "registration.py")


def _importer() -> str:
    """The file of the code that asks for a module, behind all that belongs to the import itself."""
    frame = sys._getframe()
    own = (__file__, importlib.__file__)
    while frame.f_back and (frame.f_code.co_filename in own or frame.f_code.co_filename.startswith("<frozen ")):
        frame = frame.f_back
    return frame.f_code.co_filename
