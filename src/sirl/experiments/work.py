"""Filling the cells of an experiment: one run on each worker, side by side; a run that fails stops no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from sirl.engine import make_engine
from sirl.errors import SirlError, printable
from sirl.experiments.cells import Plan
from sirl.experiments.cost import generations_done
from sirl.experiments.played import play_champions
from sirl.experiments.results import has_ended, is_sound
from sirl.files import read_plain, write_atomically
from sirl.runs.campaign import Job, open_run
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


def fill(plan: Plan, place: Place, on_progress: Callable[[Progress], None], seconds: float = 2.0) -> list[str]:
    """Train what is missing of a plan and let the champions play; a sentence for each run that failed.

    Whatever stops it, the same call goes on. ``on_progress`` hears every so many ``seconds`` where it stands.
    """
    missing = [plan.job(cell, run) for cell in plan.cells for run in plan.runs if not is_sound(plan, cell, run)]
    missing = [job._replace(out=str(Path(job.out).resolve())) for job in missing]
    if not missing:
        return []
    workers = min(place.workers or usable_cores(), len(missing))
    with make_engine(place.engine, _nothing, workers, place.address) as team, _told(plan, on_progress, seconds):
        return [text for text in team.map(partial(_fill_one, plan.episodes), missing) if text]


def progress(plan: Plan) -> Progress:
    """Where a plan stands, from its directories."""
    pairs = [(cell, run) for cell in plan.cells for run in plan.runs]
    totals = [cell.settings(plan.scale).generations for cell, _ in pairs]
    done = [min(generations_done(plan, cell, run), total) for (cell, run), total in zip(pairs, totals, strict=True)]
    failed = sum((plan.directory(cell, run) / "failed.txt").exists() for cell, run in pairs)
    ended = sum(is_sound(plan, cell, run) for cell, run in pairs)
    return Progress(ended, len(pairs), sum(done), sum(totals), failed)


def failures(plan: Plan) -> list[str]:
    """Runs of a plan that failed when they were last tried, with the reason of each."""
    files = [plan.directory(cell, run) / "failed.txt" for cell in plan.cells for run in plan.runs]
    return [f"{file.parent}: {_reason(file)}" for file in files if file.exists()]


def _reason(file: Path) -> str:
    try:
        return printable(read_plain(file, 10**6).decode(errors="replace").strip())
    except OSError as error:
        return f"why can't be read ({error.strerror})"


def _nothing() -> None:
    """What a worker needs beforehand: a run makes all that it needs."""


def _fill_one(episodes: int, context: None, job: Job) -> str:  # noqa: ARG001
    """Train one run to its end in this process, and let its champions play; why that failed, or nothing."""
    out = Path(job.out)
    reason = out / "failed.txt"
    try:
        reason.unlink(missing_ok=True)
        if not _has_ended(out, job.options["generations"]):
            for _ in open_run(job).generations():
                pass
        play_champions(out, episodes)
    except (SirlError, OSError) as error:
        if out.is_dir():
            write_atomically(reason, f"{error}\n".encode(errors="replace"))
        return f"{job.label}: {error}"
    return ""


def _has_ended(out: Path, generations: int) -> bool:
    """Whether there is nothing to train; a history that was left half-written is mended from the last checkpoint."""
    try:
        return has_ended(out, generations)
    except SirlError:
        return False


@contextmanager
def _told(plan: Plan, on_progress: Callable[[Progress], None], seconds: float) -> Iterator[None]:
    """Tell where a plan stands, from its directories, until the block ends; and once more then."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(seconds):
            on_progress(progress(plan))

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        on_progress(progress(plan))
