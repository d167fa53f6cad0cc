"""``python -m sirl`` is the command ``sirl``; this is where both begin."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType


def main() -> int:
    """Run the command, and stop at once on Ctrl-C for as long as it is only being imported; the exit code."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from sirl.cli.main import main as command

    return command(imported=lambda: signal.signal(signal.SIGINT, usual))


def _leave(_: int, __: FrameType | None) -> None:
    os.write(2, b"sirl: stopped.\n")
    os._exit(130)


if __name__ == "__main__":
    with suppress(FileNotFoundError):  # the working directory was deleted
        if sys.path[0] == os.getcwd():  # as Python has it with -m: whatever lies there would be imported
            del sys.path[0]
    sys.exit(main())
