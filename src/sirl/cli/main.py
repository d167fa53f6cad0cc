"""The command line: which commands there are, and how mistakes are answered.

A command is a module of this room with ``add``, which tells the parser what can be asked, and ``run``, which is
imported with all that it needs only when the command runs, so that help and mistakes answer at once.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from sirl import __version__
from sirl.cli import (
    bench,
    check,
    compare,
    edit,
    evaluate,
    explain,
    export,
    plot,
    prune,
    record,
    report,
    reproduce,
    show,
    social_dqn,
    sweep,
    train,
    watch,
    zoo,
)
from sirl.errors import SirlError, did_you_mean, printable

_RUNS = (train, evaluate, compare, plot, reproduce, sweep, social_dqn, bench)
_READING = (zoo, show, report, watch, record, prune, explain, edit, check, export)
_COMMANDS = (*_RUNS[:2], *_READING, *_RUNS[2:])
_EPILOG = """\
examples:
  sirl train InvertedPendulum-v4 --stop-at 1000
  sirl train LunarLander-v3 --method sirl-sb --seed 1 --out runs/lander
  sirl evaluate runs/lander --episodes 1000
  sirl show paper:LunarLander
  sirl compare runs/lander paper:LunarLander
  sirl reproduce --scale 0.02 --runs 2
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    if sys.stderr is None:  # closed, as by 2>&-
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process
    if sys.stdout is None:
        print("sirl: error: standard output is closed: send it to a file, or to /dev/null.", file=sys.stderr)
        return 1
    try:
        os.getcwd()
    except FileNotFoundError:
        print("sirl: error: the working directory was deleted: change to another one.", file=sys.stderr)
        return 1
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that has no box characters gets question marks
            stream.reconfigure(errors="replace")
    options = _parser().parse_args(arguments)
    try:
        with _shown_warnings():
            return int(options.run(options))
    except SirlError as error:
        print(f"sirl: error: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("sirl: error: memory has run out: use a smaller --population or fewer --workers.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sirl: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `sirl show … | head`
        _silence_output()
        return 141
    except OSError as error:  # such as output that goes to a full disk
        print(f"sirl: error: the system refuses ({error.strerror or error}): give it what it lacks.", file=sys.stderr)
        _silence_output()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sirl",
        description="Train control policies that a person can read.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sirl {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser


def _silence_output() -> None:
    """Let what is still to be written go nowhere, or Python would complain of it at its very end."""
    with suppress(OSError):  # it is no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Show our own warnings as the command line shows errors."""
    usual = warnings.formatwarning

    def format_ours(message: Warning | str, category: type[Warning], filename: str, *rest: Any) -> str:
        return (
            f"sirl: warning: {printable(str(message))}\n"
            if "sirl" in filename
            else usual(message, category, filename, *rest)
        )

    warnings.formatwarning = format_ours  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.formatwarning = usual


class _Parser(argparse.ArgumentParser):
    """A parser that says which option was meant."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            first = unknown.split()[0].partition("=")[0]
            known = [name for action in self._actions for name in action.option_strings]
            what = f"there is no option {first}" if first.startswith("-") else f"{first!r} is one argument too many"
            message = f"{what}{did_you_mean(first, known) or f'; see {self.prog} --help.'}"
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        sys.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # A subcommand reports its own unknown options: it knows which ones it has.
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and self.prog.count(" "):
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown
