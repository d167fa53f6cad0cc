"""``sirl record``: an episode as a film, the tree beside it."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from sirl.cli.arguments import add_model, add_playing, stage
from sirl.errors import SirlError


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "record",
        help="film an episode, with the tree beside it and the path lit",
        description="Film an episode, with the tree beside it and the path lit. It needs no screen. An mp4 needs "
        "ffmpeg, from `pip install 'sirl[video]'`; a gif needs nothing.",
        allow_abbrev=False,
    )
    add_model(parser)
    parser.add_argument("out", metavar="FILE", help="the film, such as out.gif or out.mp4")
    add_playing(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Record an episode."""
    from sirl.files import write_atomically
    from sirl.model.policy import load
    from sirl.reading.film import frames, spacing, write_film
    from sirl.reading.playing import trace
    from sirl.reading.replay import frames_per_second, play_moments
    from sirl.reading.simplify import simplified
    from sirl.runs.directory import writable

    out = Path(options.out)
    if out.suffix not in (".gif", ".mp4"):
        raise SirlError(f"{options.out} is no film: give a name that ends in .gif or .mp4.")
    policy = simplified(load(options.model))
    with redirect_stdout(sys.stderr), stage(options, policy) as place:
        seeds = place.seeds(1)
        every = spacing(len(trace(policy.tree, policy.task, place.recipe, seeds, place.max_steps).rewards))
        moments = play_moments(policy, place.recipe, int(seeds[0]), place.max_steps, every)
        speed = max(1.0, frames_per_second(place.recipe) / every)
        content = write_film(frames(policy, moments, every), out.suffix[1:], min(speed, 50.0))
    with writable(out):
        write_atomically(out, content)
    print(f"written to {out} ({len(content) / 1e6:.1f} MB)")
    return 0
