"""Files that others may have touched: read with care, and written so that nothing earned is lost.

What is read may come from a stranger, so it must be a plain file of a size that makes sense. What is written goes
where its name says and not through a link, and a reader finds the old file or the new one, whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import IO

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a link in a stranger's directory could lead anywhere


def read_plain(path: Path, limit: int) -> bytes:
    """The content of a file of at most ``limit`` bytes; raises OSError for what is no plain file, or longer."""
    # Not to wait for the other end of a pipe.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(None, "it is no plain file")
        if status.st_size > limit:
            raise OSError(None, f"it is larger than {limit // 10**6} MB")
        return file.read(limit)


def open_to_append(path: Path) -> IO[bytes]:
    """A file opened for appending, made if it is missing; raises OSError for a link, and for what is no plain file."""
    # Not to wait for the other end of a pipe, which here is an error.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe that nobody reads
            raise OSError(None, "it is no plain file") from None
        raise
    file = os.fdopen(descriptor, "ab")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(None, "it is no plain file")
    return file


def append(path: Path, content: bytes) -> None:
    """Add ``content`` to a file; it is on the disk when this returns."""
    with open_to_append(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by ``content``: a temporary name, synced to the disk, then renamed."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)  # of a process that was killed, or a stranger's pipe
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):  # a full disk has no room for half a file
            part.unlink()
        raise
    _sync(path.parent)


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing; their names are on the disk when this returns."""
    missing = [place for place in (path, *path.parents) if not place.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for made in missing:
        _sync(made.parent)


def set_aside(path: Path, why: str) -> Path:
    """Give a file another name, such as ``champion-before.json``, and none that is taken; the new path."""
    number, free = 1, path.with_name(f"{path.stem}-{why}{path.suffix}")
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.stem}-{why}-{number}{path.suffix}")
    os.rename(path, free)
    _sync(path.parent)
    return free


def _sync(directory: Path) -> None:
    """Let the names in a directory last."""
    if os.name != "posix":  # elsewhere a directory can't be synced, and a rename needs no help to last
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
