"""Many runs side by side: each is trained whole on one worker, of this machine or of a Ray cluster.

A run's own population can be spread too (``engine`` of :func:`sirl.train`), but several runs that need nothing of each
other keep all workers busy all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import gymnasium as gym

from sirl.config import checked
from sirl.engine import Engine, make_engine
from sirl.errors import SirlError, WorkFailure
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
    with make_engine(engine, _nothing, workers, address) as team:
        failures = _train_each(team, episodes, jobs)
    if failures:
        raise SirlError("\n".join(failures))
    return [read_finished(job.out) for job in jobs]


def _train_each(team: Engine[None], episodes: int, jobs: list[Job]) -> list[str]:
    """Train every job to its end, also after one that ends its process; why some failed."""
    crashed: list[WorkFailure] = []
    while True:
        left = [job for job in jobs if job.label not in {failure.where for failure in crashed}]
        try:
            return [*map(str, crashed), *(text for text in team.map(partial(_train, episodes), left) if text)]
        except WorkFailure as failure:  # what the others have done is kept, and is not done again
            crashed.append(failure)


def read_finished(directory: str | Path) -> Finished:
    """A run that has ended, from its directory."""
    return Finished(load(directory), read_history(directory), read_score(directory))


def _nothing() -> None:
    """What a worker needs beforehand: a run makes all that it needs."""


def _train(episodes: int, context: None, job: Job) -> str:  # noqa: ARG001
    """Train a job to its end in this process; why that failed, or nothing."""
    out = Path(job.out)
    try:
        run = open_run(job)
        finished = run.over and _is_scored(out, episodes)
        if not finished:
            (out / "score.json").unlink(missing_ok=True)
        for _ in run.generations():
            pass
        if not finished:
            run.score(episodes)
    except SirlError as error:
        return f"{job.label}: {error}"
    return ""


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
