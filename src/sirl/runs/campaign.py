"""Many runs side by side: each is trained whole on one worker, of this machine or of a Ray cluster.

A run's own population can be spread too (``engine`` of :func:`sirl.train`), but several runs that need nothing of each
other keep all workers busy all the time.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import gymnasium as gym

from sirl.config import checked
from sirl.engine import Engine, make_engine
from sirl.errors import InUseError, SirlError, WorkFailure, in_words
from sirl.files import append
from sirl.model.policy import Policy, load
from sirl.options import Episodes, Workers
from sirl.runs.directory import Score, read_history, read_score
from sirl.runs.training import Training
from sirl.search.records import Record
from sirl.simulators.environments import usable_cores


class Job(NamedTuple):
    """A run to be trained."""

    env: str | Callable[[], gym.Env[Any, Any]]
    seed: int
    out: str
    """Its run directory. What is in it already is not done again: a run that was stopped goes on."""
    options: dict[str, Any]
    """More arguments of :func:`sirl.train`: method, simulator, settings."""

    @property
    def label(self) -> str:
        """What this job is, for a message."""
        return f"the run in {self.out}"


class Failed(NamedTuple):
    """A run that did not come to its end."""

    job: Job
    reason: str
    in_use: bool = False
    """Another process is at it: that is no failure of the run."""

    def __str__(self) -> str:
        return f"{self.job.label}: {self.reason}"


class Finished(NamedTuple):
    """A run that has ended."""

    champion: Policy
    history: list[Record]
    score: Score


def train_all(
    jobs: Sequence[Job],
    *,
    episodes: int = 100,
    workers: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
) -> list[Finished]:
    """Train every job, or go on with it, and score its champion; in the order of the jobs.

    If some fail, the others are trained to their end first. Whatever stops it, the same call goes on: a finished run
    is not trained again. On a Ray cluster of several machines the run directories must be on a disk that all of them
    see. The history of each run can be followed in its directory.

    Args:
        jobs: the runs.
        episodes: unseen ones to score each champion on.
        workers: runs at the same time on this machine; all usable cores if not given. A Ray cluster uses all of its.
        engine: where the runs are trained.
        address: of the Ray cluster.
    """
    episodes = checked("episodes", episodes, Episodes)
    workers = checked("workers", workers, Workers) or usable_cores()
    # A worker of a cluster may be in another directory than this process.
    jobs = [job._replace(out=str(Path(job.out).resolve())) for job in jobs]
    if len({job.out for job in jobs}) < len(jobs):
        raise SirlError("two runs have the same directory: give each one of its own.")
    with make_engine(engine, nothing, workers, address) as team:
        failed = do_each(team, partial(_train, episodes), jobs)
    if failed:
        raise SirlError("\n".join(map(str, failed)))
    return [read_finished(job.out) for job in jobs]


def do_each(team: Engine[None], work: Callable[[Job], None], jobs: Sequence[Job]) -> list[Failed]:
    """``work`` on every job, whatever becomes of the others; those that failed.

    Work that is done must take no time when it is asked for again: a worker process that ended has all asked once more.
    """
    crashed: list[Failed] = []
    while True:
        gone = {one.job.label for one in crashed}
        left = [job for job in jobs if job.label not in gone]
        try:
            reasons = team.map(partial(_attempt, work), left)
        except WorkFailure as failure:  # what the others have done is kept
            crashed += [Failed(job, f"it {failure.message.rstrip('.')}.") for job in left if job.label == failure.where]
            if len(crashed) == len(gone):
                raise
            continue
        failed = [Failed(job, *why) for job, why in zip(left, reasons, strict=True) if why is not None]
        return [*crashed, *failed]


def _attempt(work: Callable[[Job], None], context: None, job: Job) -> tuple[str, bool] | None:  # noqa: ARG001
    """Work on a job in this process; why that failed and whether it is in use, or None."""
    try:
        work(job)
    except Exception as error:  # whatever it is, it stops no other run
        reason = reason_of(error)
        if not isinstance(error, (SirlError, OSError)):
            with suppress(OSError):
                append(Path(job.out) / "log.txt", traceback.format_exc().encode(errors="replace"))
                reason += f" (where, is in {job.out}/log.txt)"
        return reason, isinstance(error, InUseError)
    return None


def reason_of(error: Exception) -> str:
    """Why a run failed: a sentence of ours, or what kind of exception it was."""
    return str(error) if isinstance(error, (SirlError, OSError)) else f"it raised {in_words(error)}"


def read_finished(directory: str | Path) -> Finished:
    """A run that has ended, from its directory."""
    return Finished(load(directory), read_history(directory), read_score(directory))


def nothing() -> None:
    """What a worker needs beforehand: a run makes all that it needs."""


def _train(episodes: int, job: Job) -> None:
    """Train a job to its end in this process, and score its champion."""
    out = Path(job.out)
    run = open_run(job)
    finished = run.over and _is_scored(out, episodes)
    if not finished:
        (out / "score.json").unlink(missing_ok=True)
    for _ in run.generations():
        pass
    if not finished:
        run.score(episodes)


def open_run(job: Job) -> Training:
    """A job's run on one worker: a new one, or that of its directory where it stands."""
    out = Path(job.out)
    make = partial(Training, job.env, **job.options | {"seed": job.seed, "workers": 1})
    if not (out / "config.toml").exists():
        return make(out=out)
    run = make()
    run.go_on(out)
    return run


def _is_scored(directory: Path, episodes: int) -> bool:
    try:
        return read_score(directory).episodes == episodes
    except SirlError:
        return False
