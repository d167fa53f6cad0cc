"""``sirl edit``: a policy as text, changed by hand."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from sirl.cli.arguments import add_model, add_playing, keep, stage
from sirl.errors import SirlError

_LARGEST_TEXT = 10_000_000


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "edit",
        help="change a policy by hand, and see what that does to its score",
        description="Open a policy as text in $EDITOR, or read a text that was changed before; tell the score before "
        "and after on the same starts. The text form is told in docs/reading.md.",
        epilog="example:  sirl edit paper:Hopper --print > tree.txt, change it, sirl edit paper:Hopper --from tree.txt",
        allow_abbrev=False,
    )
    add_model(parser)
    parser.add_argument("--print", action="store_true", dest="show", help="print the text form, and do nothing else")
    parser.add_argument("--from", dest="source", metavar="FILE", help="read the changed text from here [open $EDITOR]")
    add_playing(parser, 100, "episodes to score it on; 0: none")
    parser.add_argument("--out", metavar="FILE", help="where to write it [beside the model]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Edit a policy."""
    from sirl.cli.printing import fine, print_change, width
    from sirl.model.policy import load
    from sirl.model.text import draw_tree
    from sirl.reading.edit import read_text, write_text

    policy = load(options.model)
    if options.show:
        sys.stdout.write(write_text(policy))
        return 0
    edited = read_text(_read(Path(options.source)) if options.source else _open_editor(write_text(policy)), policy)
    if edited is policy:
        print("nothing was changed")
        return 0
    print(fine(f"{draw_tree(edited.tree, edited.task, width())}\n"))
    if options.episodes:
        with stage(options, policy) as place:
            print_change(place, policy, edited, options.episodes)
    keep(edited, options, "edited")
    return 0


def _read(path: Path) -> str:
    from sirl.files import read_plain

    try:
        return read_plain(path, _LARGEST_TEXT).decode()
    except OSError as error:
        raise SirlError(f"{path} can't be read ({error.strerror or error}): give the changed text.") from None
    except UnicodeDecodeError:
        raise SirlError(f"{path} is no text: give what `sirl edit MODEL --print` wrote, changed.") from None


def _open_editor(text: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise SirlError(
            "there is no editor to open: set EDITOR, or write the text with --print and read it back with --from."
        )
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "tree.txt"
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise SirlError(f"the editor {editor!r} failed ({error}): set EDITOR, or use --print and --from.") from None
        return _read(path)
