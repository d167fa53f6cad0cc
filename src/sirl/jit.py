"""Compiled loops, kept on disk for the next process.

numba's own way to keep compiled code looks at the file of a function alone to see whether it is still good, falls back
to places that others may write, and takes what it finds there for its own. Here code is kept in a directory named after
the content of the whole package, the compiler and the processor: no change of any file, and no upgrade, can leave old
code behind that works on new data. What is kept is executed, so the directory is the user's alone, a file must be the
user's too, and its checksum must fit; whatever does not is compiled again.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import binding
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.extending import overload, register_jitable

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PACKAGE = Path(__file__).parent
_HANDED_ON = "SIRL_COMPILED_CODE"
"""The environment variable that tells worker processes of a cache that is temporary."""
_NEWEST = 5
_UNUSED = 24 * 3600
"""Seconds without a start after which code of another version goes, unless it is among the newest."""


def compiled(function: _Function) -> _Function:
    """A function for numba to compile when it is first called; it then runs without the GIL."""
    dispatcher: Any = numba.njit(nogil=True)(function)
    dispatcher._cache = _Kept(function, _directory())
    return cast(_Function, dispatcher)


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
    return any(_directory().glob(f"*.{name}-*.code"))


class _Kept:
    """The compiled forms of one function on disk, a file each; what numba's dispatcher asks of a cache."""

    def __init__(self, function: Callable[..., Any], directory: Path):
        self._function = function
        self.cache_path = str(directory)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """What an earlier process compiled for these types of arguments; None if there is nothing good."""
        context.refresh()
        path = self._path(signature, context.codegen())
        try:
            content = _read_own(path)
        except OSError:
            return None
        if content[:32] != _checksum(path, content[32:]):
            return None
        return CompileResult._rebuild(context, *pickle.loads(content[32:]))  # type: ignore[no-untyped-call]

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was just compiled."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        path = self._path(signature, result.codegen)
        payload: bytes = dumps(result._reduce())  # type: ignore[no-untyped-call]
        with suppress(OSError):  # it runs all the same, and the next process compiles it again
            path.parent.mkdir(mode=0o700, exist_ok=True)
            # A name that no other process has: several may have compiled the same.
            descriptor, temporary = tempfile.mkstemp(dir=path.parent)
            with open(descriptor, "wb") as file:
                file.write(_checksum(path, payload) + payload)
            os.replace(temporary, path)

    def _path(self, signature: Any, codegen: Any) -> Path:
        code = self._function.__code__
        what = hashlib.sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()[:16]
        name = f"{self._function.__module__}.{self._function.__name__}-{code.co_firstlineno}-{what}.code"
        return Path(self.cache_path) / name


def _checksum(path: Path, payload: bytes) -> bytes:
    """Of the name too: a file that was renamed holds another function."""
    return hashlib.sha256(path.name.encode() + b"\n" + payload).digest()


def _read_own(path: Path) -> bytes:
    """The content of a file of the user's own: a pickle of somebody else would run as this user."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not _is_own(status):
            raise PermissionError(f"{path} is not a plain file of this user")
        return file.read()


def _is_own(status: os.stat_result) -> bool:
    return os.name != "posix" or status.st_uid == os.geteuid()


@cache
def _directory() -> Path:
    """Where compiled code is kept: below what ``NUMBA_CACHE_DIR`` has chosen, else in the user's cache.

    Where no such place is the user's alone, a temporary one serves this process and its workers.
    """
    handed_on = os.environ.get(_HANDED_ON)
    base = Path(handed_on) if handed_on else _user_cache()
    name = f"compiled-{_fingerprint()}"
    try:
        if base is None:
            raise OSError(None, "there is no home directory")
        _make_private(base)
        _make_private(base / name)
    except OSError as error:
        reason = error.strerror or str(error)
        base = Path(tempfile.mkdtemp(prefix="sirl-compiled-"))
        atexit.register(_remove, base, os.getpid())
        os.environ[_HANDED_ON] = str(base)
        warnings.warn(
            f"compiled code can't be kept for the next start ({reason}): set XDG_CACHE_HOME to a directory of yours.",
            stacklevel=2,
        )
    else:
        os.utime(base / name)
        _tidy(base, name)
    return base / name


def _user_cache() -> Path | None:
    chosen = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    if not chosen:
        chosen = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
        if not os.path.isabs(chosen):  # without a home "~" stays as it is, and would become a directory right here
            return None
    return Path(chosen).absolute() / "sirl"


def _make_private(directory: Path) -> None:
    """Let a directory be there, and be this user's and nobody else's; raise OSError if it can't be."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(None, f"{directory} is a link")
    if not _is_own(status):
        raise OSError(None, f"{directory} belongs to another user")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise OSError(None, f"{directory} can't be written")
    if stat.S_IMODE(status.st_mode) != 0o700:
        directory.chmod(0o700)


def _tidy(base: Path, current: str) -> None:
    """Remove code of other versions, but not what was used of late: another process may be at work with it."""
    with suppress(OSError):
        others = [path for path in base.glob("compiled-*") if path.name != current]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_NEWEST:]:
            if time.time() - path.stat().st_mtime > _UNUSED:
                shutil.rmtree(path, ignore_errors=True)


def _remove(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a process that was forked from it
        shutil.rmtree(directory, ignore_errors=True)


def _fingerprint() -> str:
    """Of all of the package's code, of the compiler, and of what it compiles for."""
    compiler = f"{sys.implementation.cache_tag} {numba.__version__} {binding.llvm_version_info}"
    digest = hashlib.sha256(f"{compiler} {binding.get_host_cpu_name()}".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(_PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
