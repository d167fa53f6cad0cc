"""``sirl export``: a policy in other forms."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from sirl.cli.arguments import add_model

_FORMS = ("python", "c", "c-float", "dot", "svg", "latex", "json", "onnx")


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "export",
        help="write a policy as source code, as a drawing or as data",
        description="Write a policy in another form. Python and C (double) decide as the policy does, bit for bit; "
        "c-float is C with single precision.",
        allow_abbrev=False,
    )
    add_model(parser)
    parser.add_argument("--format", required=True, choices=_FORMS, metavar="FORMAT", help=", ".join(_FORMS))
    parser.add_argument("--out", metavar="FILE", help="where to [standard output; ONNX: policy.onnx]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Export a policy."""
    from sirl.files import write_atomically
    from sirl.model.policy import load
    from sirl.reading.export import export
    from sirl.reading.simplify import simplified
    from sirl.runs.directory import writable

    content = export(simplified(load(options.model)), options.format)
    out = options.out or ("policy.onnx" if options.format == "onnx" else None)
    if out is None:
        sys.stdout.write(content.decode())
    else:
        with writable(Path(out)):
            write_atomically(Path(out), content)
        print(f"written to {out}")
    if options.format.startswith("c"):
        _tell_room(content.decode())
    return 0


def _tell_room(source: str) -> None:
    from sirl.reading.export.c import measure_c

    room = measure_c(source)
    if room is None:
        told = "no C compiler with `size` was found, so its room in flash and on the stack is not told"
    else:
        told = f"{room.flash} bytes of flash, at most {room.stack} bytes of stack ({room.compiler})"
    print(f"sirl: {told}", file=sys.stderr)
