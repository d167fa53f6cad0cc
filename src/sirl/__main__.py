"""``python -m sirl`` is the command ``sirl``; this is where both begin."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType


def main() -> int:
    """Run the command; the exit code.

    Ctrl-C stops it at once, also while it is only being imported; one that has something to keep asks for the signal.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from sirl.cli.main import main as command

    return command()


def _leave(_: int, __: FrameType | None) -> None:
    os.write(2, b"sirl: stopped.\n")
    os._exit(130)


if __name__ == "__main__":
    with suppress(FileNotFoundError):  # the working directory was deleted
        if sys.path[0] == os.getcwd():  # as Python has it with -m: whatever lies there would be imported
            del sys.path[0]
    sys.exit(main())
