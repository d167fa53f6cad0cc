"""``sirl watch``: a policy at play, in a window, or as pictures where there is no screen."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sirl.cli.arguments import add_model, add_playing, free_path, stage

if TYPE_CHECKING:
    from sirl.model.policy import Policy
    from sirl.reading.playing import Stage


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "watch",
        help="watch a policy play",
        description="Watch a policy play, and read what it does and why whenever that changes. Where there is no "
        "screen, pictures are written to a directory instead.",
        allow_abbrev=False,
    )
    add_model(parser)
    add_playing(parser, 1, "episodes to watch")
    parser.add_argument("--out", metavar="DIR", help="for pictures, where there is no screen [beside the model]")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Watch a policy."""
    from sirl.model.policy import load
    from sirl.reading.simplify import simplified

    policy = simplified(load(options.model))
    with stage(options, policy) as place:
        if _has_screen():
            for number, seed in enumerate(place.seeds(max(1, options.episodes)).tolist(), start=1):
                _show(policy, place, number, seed)
        else:
            _write(options, policy, place)
    return 0


def _has_screen() -> bool:
    return os.name != "posix" or sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))


def _show(policy: Policy, place: Stage, number: int, seed: int) -> None:
    from sirl.reading.replay import play_moments

    total, last = 0.0, -1
    for step, moment in enumerate(play_moments(policy, place.recipe, seed, place.max_steps, render="human"), start=1):
        total += moment.reward
        if moment.leaf != last:
            print(f"step {step}: {policy.tree.leaves.label(moment.leaf, policy.task)}", flush=True)
        last = moment.leaf
    print(f"episode {number}: {total:.2f} in {step} steps")


def _write(options: Namespace, policy: Policy, place: Stage) -> None:
    from sirl.reading.film import frames, spacing
    from sirl.reading.playing import trace
    from sirl.reading.replay import play_moments
    from sirl.runs.directory import writable

    out = Path(options.out) if options.out else free_path(options.model, "frames").with_suffix("")
    with writable(out):
        out.mkdir(parents=True, exist_ok=True)
        count = 0
        for seed in place.seeds(max(1, options.episodes)):
            with redirect_stdout(sys.stderr):
                every = spacing(len(trace(policy.tree, policy.task, place.recipe, seed[None], place.max_steps).rewards))
                moments = play_moments(policy, place.recipe, int(seed), place.max_steps, every)
                for image in frames(policy, moments, every):
                    image.save(out / f"{count:05d}.png")
                    count += 1
    print(f"there is no screen here: {count} pictures are in {out}; `sirl record` makes a film")
