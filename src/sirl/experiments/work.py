"""Filling the cells of an experiment: one run on each worker, side by side; a run that fails stops no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from sirl.engine import make_engine
from sirl.errors import InUseError, SirlError
from sirl.experiments.cells import Plan
from sirl.experiments.cost import generations_done
from sirl.experiments.played import CROWNINGS, champion, play_champions, read_unseen
from sirl.experiments.results import FAILED, has_ended, is_sound
from sirl.files import write_atomically
from sirl.runs.campaign import Failed, Job, do_each, nothing, open_run, reason_of
from sirl.runs.directory import read_config
from sirl.simulators.environments import usable_cores


class Progress(NamedTuple):
    """Where an experiment stands."""

    runs_done: int
    runs: int
    generations_done: int
    generations: int
    failed: int


class Place(NamedTuple):
    """Where runs are trained."""

    workers: int | None = None
    """Runs at the same time on this machine; all usable cores if not given."""
    engine: Literal["local", "ray"] = "local"
    address: str | None = None
    """Of the Ray cluster."""


def fill(plan: Plan, place: Place, on_progress: Callable[[Progress], None], seconds: float = 2.0) -> list[Failed]:
    """Train what is missing of a plan and let the champions play; the runs that failed, or that others are at.

    Whatever stops it, the same call goes on. ``on_progress`` hears every so many ``seconds`` where it stands.
    """
    pairs = [(cell, run) for cell in plan.cells for run in plan.runs]
    for cell, run in pairs:
        _check_episodes(plan.directory(cell, run), plan.episodes)
    missing = []
    for cell, run in pairs:
        if is_sound(plan, cell, run):
            (plan.directory(cell, run) / FAILED).unlink(missing_ok=True)  # of an earlier try
        else:
            job = plan.job(cell, run)
            missing.append(job._replace(out=str(Path(job.out).resolve())))
    if not missing:
        return []
    workers = min(place.workers or usable_cores(), len(missing))
    with make_engine(place.engine, nothing, workers, place.address) as team, _told(plan, on_progress, seconds):
        failed = do_each(team, partial(_fill_one, plan.episodes), missing)
        for one in failed:
            if not one.in_use:  # also of one that ended its process
                _note(Path(one.job.out), one.reason)
        return failed


def _check_episodes(directory: Path, episodes: int) -> None:
    """Refuse to let champions play fewer episodes than they have: what is there would be lost."""
    played = 0
    with suppress(SirlError):  # what can't be read is played again
        unseen = read_unseen(directory)
        played = unseen.episodes if unseen else 0
    if played > episodes:
        raise SirlError(
            f"episodes = {episodes} is less than the {played} unseen episodes that the champions of {directory} have "
            f"played: give --episodes {played}, or another --out."
        )


def progress(plan: Plan, ended: set[Path] | None = None) -> Progress:
    """Where a plan stands, from its directories; ``ended`` keeps those that need no second look."""
    ended = set() if ended is None else ended
    pairs = [(cell, run, plan.directory(cell, run)) for cell in plan.cells for run in plan.runs]
    ended |= {path for cell, run, path in pairs if path not in ended and is_sound(plan, cell, run)}
    totals = [cell.settings(plan.scale).generations for cell, _, _ in pairs]
    done = [min(generations_done(plan, cell, run), total) for (cell, run, _), total in zip(pairs, totals, strict=True)]
    failed = sum(path not in ended and (path / FAILED).exists() for _, _, path in pairs)
    return Progress(len(ended), len(pairs), sum(done), sum(totals), failed)


def _fill_one(episodes: int, job: Job) -> None:
    """Train one run to its end in this process, and let its champions play; leaves a note of what went wrong."""
    out = Path(job.out)
    (out / FAILED).unlink(missing_ok=True)
    try:
        if not _has_ended(out, job.options["generations"]):
            for _ in open_run(job).generations():
                pass
        if not _have_played(out, episodes):
            play_champions(out, episodes)
    except InUseError:
        raise
    except Exception as error:
        _note(out, reason_of(error))
        raise


def _note(out: Path, reason: str) -> None:
    with suppress(OSError):  # the reason is told all the same
        if out.is_dir():
            write_atomically(out / FAILED, f"{reason}\n".encode(errors="replace"))


def _has_ended(out: Path, generations: int) -> bool:
    """Whether there is nothing to train; what was left half-written is mended from the last checkpoint."""
    try:
        read_config(out)
        for crowning in CROWNINGS:
            champion(out, crowning)
        return has_ended(out, generations)
    except SirlError:
        return False


def _have_played(out: Path, episodes: int) -> bool:
    try:
        unseen = read_unseen(out)
    except SirlError:
        return False
    return unseen is not None and unseen.episodes >= episodes


@contextmanager
def _told(plan: Plan, on_progress: Callable[[Progress], None], seconds: float) -> Iterator[None]:
    """Tell where a plan stands, from its directories, until the block ends; and once more then."""
    over, ended = threading.Event(), set[Path]()

    def tell() -> None:
        while not over.wait(seconds):
            on_progress(progress(plan, ended))

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        on_progress(progress(plan, ended))
