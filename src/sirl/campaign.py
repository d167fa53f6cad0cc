"""Many runs side by side: each is trained whole on one worker, of this machine or of a Ray cluster.

A run's own population can be spread too (``engine`` of :func:`sirl.train`), but several runs that need nothing of each
other keep all workers busy all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from sirl.config import Episodes, Workers, checked
from sirl.engine import Engine, local_engine
from sirl.environments import usable_cores
from sirl.errors import SirlError
from sirl.evaluation import evaluate
from sirl.files import read_plain, write_atomically
from sirl.policy import Policy, load
from sirl.runs import Record, read_config, read_history, writable
from sirl.training import Training, check_engine

_LARGEST_SCORE = 10_000


class Job(NamedTuple):
    """A run to be trained."""

    env: str
    seed: int
    out: str
    """Its run directory. What is in it already is not done again: a run that was stopped goes on."""
    options: dict[str, Any]
    """More arguments of :func:`sirl.train`: method, simulator, settings."""

    @property
    def label(self) -> str:
        """What this job is, for a message."""
        return f"the run in {self.out} ({self.env}, seed {self.seed})"


class Score(msgspec.Struct, frozen=True):
    """How a champion does on episodes that no training has seen: score.json in its run directory."""

    episodes: int
    mean: float
    std: float


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

    On a Ray cluster of several machines the run directories must be on a disk that all of them see. Whatever stops
    it, the same call goes on: a finished run is not trained again.

    Args:
        jobs: the runs.
        episodes: unseen ones to score each champion on.
        workers: runs at the same time; all usable cores if not given.
        engine: where the runs are trained.
        address: of the Ray cluster.
    """
    episodes = checked("episodes", episodes, Episodes)
    places = [str(Path(job.out).resolve()) for job in jobs]
    if len(set(places)) < len(places):
        raise SirlError("two runs have the same directory: give each one of its own.")
    with _make_engine(check_engine(engine, address), checked("workers", workers, Workers), address) as team:
        team.map(partial(_train, episodes), jobs)
    return [read_finished(job.out) for job in jobs]


def read_finished(directory: str | Path) -> Finished:
    """A run that has ended, from its directory."""
    path = Path(directory)
    try:
        score = msgspec.json.decode(read_plain(path / "score.json", _LARGEST_SCORE), type=Score)
    except (OSError, ValueError) as error:
        raise SirlError(f"{path / 'score.json'} can't be read ({error}): train the run to its end first.") from None
    return Finished(load(path), read_history(path), score)


def _make_engine(engine: str, workers: int | None, address: str | None) -> Engine[None]:
    if engine == "ray":
        from sirl.engine.cluster import RayCluster

        return RayCluster(_nothing, address)
    return local_engine(_nothing, workers or usable_cores())


def _nothing() -> None:
    """A run makes all that it needs."""


def _train(episodes: int, context: None, job: Job) -> None:  # noqa: ARG001
    """Train a job to its end in this process."""
    out = Path(job.out)
    make: Callable[..., Training] = partial(Training, job.env, seed=job.seed, workers=1, **job.options)
    if (out / "config.toml").exists():
        wanted = make()
        if read_config(out).digest() != wanted.config.digest():
            raise SirlError(f"{out} holds another run than {job.env} with seed {job.seed}: give an empty directory.")
        settings = wanted.settings
        run = Training.resume(out, env=job.env, workers=1, generations=settings.generations, stop_at=settings.stop_at)
    else:
        run = make(out=out)
    for _ in run.generations():
        pass
    score = evaluate(run.champion, episodes=episodes, workers=1)
    with writable(out):
        content = msgspec.json.encode(Score(episodes, score.mean, score.std))
        write_atomically(out / "score.json", content + b"\n")
