"""Files that others may have touched: read with care, and written so that nothing earned is lost.

What is read may come from a stranger, so it must be a plain file of a size that makes sense. What is written goes
where its name says and not through a link, and a reader finds the old file or the new one, whole.
"""

from __future__ import annotations

import contextlib
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


def open_here(path: Path, mode: str) -> IO[bytes]:
    """A file opened for writing ("wb") or appending ("ab"), made if it is missing, refused if it is a link."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "ab" else os.O_TRUNC) | _NO_LINK
    return os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666), mode)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by ``content``: a temporary name, synced to the disk, then renamed."""
    part = path.with_name(f".{path.name}.part")
    try:
        with open_here(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):  # a full disk has no room for half a file
            part.unlink()
        raise
    if os.name == "posix":  # elsewhere a directory can't be synced, and a rename needs no help to last
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
