"""Compiled loops, kept on disk for the next process.

numba looks at the file of a function alone to see whether what it has kept is still good, but compiled code holds all
that it calls from other files too. Here it is kept in a directory named after the content of the whole package, the
compiler and the processor: no change of any file, and no upgrade, can leave old code behind that works on new data.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import binding
from numba.extending import overload, register_jitable

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PACKAGE = Path(__file__).parent
_config: Any = numba.config


def compiled(function: _Function) -> _Function:
    """A function for numba to compile when it is first called; it then runs without the GIL."""
    chosen = _config.CACHE_DIR
    _config.CACHE_DIR = str(_directory(chosen))
    try:
        return cast(_Function, numba.njit(nogil=True, cache=True)(function))
    finally:
        _config.CACHE_DIR = chosen


def part(function: _Function) -> _Function:
    """A function that compiled ones can call, and Python too, as it is.

    It becomes a part of those that call it. What numba would make for callers from outside is left out, which saves a
    tenth of the time to compile.
    """
    return register_jitable(no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)


def implemented(function: Callable[..., Any]) -> Callable[[type], Callable[[_Function], _Function]]:
    """Let compiled code choose what ``function`` does by the type of its first argument, a NamedTuple of arrays.

    Returns:
        A decorator: ``@decorator(Kind)`` makes a function of the same arguments what is done for that kind.
    """
    kinds: dict[Any, Callable[..., Any]] = {}

    @overload(function, strict=False)
    def choose(first: Any, *_: Any) -> Callable[..., Any] | None:
        return kinds.get(getattr(first, "instance_class", None))

    def implement(kind: type) -> Callable[[_Function], _Function]:
        def register(implementation: _Function) -> _Function:
            kinds[kind] = implementation
            return implementation

        return register

    return implement


def is_kept(name: str) -> bool:
    """Whether an earlier process has left a compiled function of that name for this one."""
    return any(_directory(_config.CACHE_DIR).rglob(f"*.{name}-*.nbi"))


@cache
def _directory(chosen: str) -> Path:
    """Where compiled code is kept: below what ``NUMBA_CACHE_DIR`` has chosen, else in the user's cache."""
    base = Path(chosen) if chosen else _user_cache() / "sirl"
    return base / f"compiled-{_fingerprint()}"


def _user_cache() -> Path:
    chosen = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(chosen or os.path.expanduser("~/.cache"))


def _fingerprint() -> str:
    """Of all of the package's code, of the compiler, and of what it compiles for."""
    digest = hashlib.sha256(f"{numba.__version__} {binding.get_host_cpu_name()}".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(_PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
