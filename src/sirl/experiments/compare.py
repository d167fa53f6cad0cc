"""Runs or policies against each other: all play the same unseen episodes, then come the statistics.

What is given is a policy (a model file, a run directory, ``paper:TASK``, ``zoo:TASK``), and its sample is its episodes;
or a directory of runs, such as the seeds of one method, and its sample is the mean return of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError
from sirl.experiments.played import champion
from sirl.experiments.report import SEED
from sirl.experiments.statistics import Comparison, Summary, compare, summarize
from sirl.experiments.tables import Table, interval, number, probability, spread
from sirl.model.policy import Policy, is_built_in, load
from sirl.runs.evaluation import evaluate


class Contender(NamedTuple):
    """What was given under one name."""

    label: str
    place: Path
    """Where it is; of a built-in policy its name."""
    policies: list[Policy]
    directories: list[Path]
    """Of its runs; empty for a model file and a built-in policy."""
    is_group: bool


class Compared(NamedTuple):
    """What all of them did on the same episodes."""

    task: str
    unit: str
    """What a sample consists of: runs or episodes."""
    episodes: int
    seed: int
    crowning: str
    samples: dict[str, Floats]
    """(n_runs,) or (n_episodes,) of each"""
    summaries: dict[str, Summary]
    tests: Comparison


def gather(models: Sequence[str], crowning: str = "validation") -> list[Contender]:
    """The policies that are meant; groups can't be compared with single policies."""
    found = [_contender(model, crowning) for model in models]
    if len({one.is_group for one in found}) > 1:
        groups = ", ".join(one.label for one in found if one.is_group)
        raise SirlError(
            f"{groups} holds several runs and the others are single policies, which have other samples: compare "
            "directories of runs with each other, or policies with each other."
        )
    if len({one.place for one in found}) < len(found):
        raise SirlError("the same run is given twice: name each once.")
    return [one._replace(label=_distinct(one, found)) for one in found]


def _distinct(one: Contender, everyone: Sequence[Contender]) -> str:
    """A contender's label; where others have the same, with as much of its path before it as tells them apart."""
    rivals = [other.place.parts for other in everyone if other.label == one.label and other.place != one.place]
    if not rivals:
        return one.label
    parts = one.place.parts
    n = len(Path(one.label).parts)
    while n < len(parts) and any(other[-n:] == parts[-n:] for other in rivals):
        n += 1
    return "/".join(parts[-n:])


def compare_models(
    models: Sequence[str],
    *,
    env: str | None = None,
    episodes: int = 100,
    seed: int = 0,
    workers: int | None = None,
    crowning: str = "validation",
) -> Compared:
    """Let all play the same unseen episodes, and compare their samples.

    Args:
        models: policies, or directories of runs.
        env: the task, if not the one that they were trained on.
        episodes: for each policy.
        seed: which ones.
        workers: processes to use.
        crowning: which champion of a run plays, the validated one or that of the best training score.
    """
    contenders = gather(models, crowning)
    task = env or _common("task", [policy.task.env for one in contenders for policy in one.policies])
    own = env is None or all(policy.task.env == env for one in contenders for policy in one.policies)
    env_options, max_steps = _as_trained(contenders) if own else ({}, None)
    samples = {}
    for one in contenders:
        how: dict[str, Any] = {"episodes": episodes, "seed": seed, "workers": workers, "max_steps": max_steps}
        played = [evaluate(policy, env, env_options=env_options, **how) for policy in one.policies]
        returns = np.array([score.returns for score in played])
        samples[one.label] = returns.mean(axis=1) if one.is_group else returns[0]
    summaries = {label: summarize(sample, np.random.default_rng(SEED)) for label, sample in samples.items()}
    unit = "runs" if contenders[0].is_group else "episodes"
    return Compared(task, unit, episodes, seed, crowning, samples, summaries, compare(samples))


def tables(found: Compared) -> list[Table]:
    """Summaries, and tests where there are two or more."""
    each = "each run's mean return" if found.unit == "runs" else "the return of each episode"
    rows = [
        [
            *(label, str(one.n), spread(one.mean, one.std), interval(one.interval), number(one.median)),
            *(f"{number(one.iqm)} ({interval(one.iqm_interval)})", number(one.best)),
        ]
        for label, one in found.summaries.items()
    ]
    columns = ["", found.unit, "mean ± std", "95 % CI", "median", "IQM (95 % CI)", "best"]
    note = f"The same {found.episodes} unseen episodes for all; a sample is {each}."
    summary = Table("summary", found.task, note, columns, rows)
    if len(found.samples) < 2:
        return [summary]
    tests = found.tests
    said = f" {tests.missing[:1].upper()}{tests.missing[1:]}." if tests.missing else ""
    anova = "" if tests.p is None else f" One-way ANOVA: F = {tests.f:.3g}, p = {probability(tests.p)}."
    pairs = [
        [
            f"{pair.other} − {pair.one}",
            number(pair.difference),
            probability(pair.tukey),
            probability(pair.welch),
            pair.stars,
        ]
        for pair in tests.pairs
    ]
    marks = "Stars mark Welch's p: * ≤ 0.05, ** ≤ 0.01, *** ≤ 0.001, **** ≤ 0.0001; ns: not significant; –: no test."
    return [
        summary,
        Table("tests", "Differences", f"{marks}{anova}{said}", ["pair", "difference", "Tukey p", "Welch p", ""], pairs),
    ]


def _contender(model: str, crowning: str) -> Contender:
    path = Path(model)
    if is_built_in(model) or not path.is_dir():
        return Contender(model, Path(model) if is_built_in(model) else path.resolve(), [load(model)], [], False)
    if (path / "config.toml").exists() or (path / "champion.json").exists():
        # The number of a run says nothing without whose it is.
        label = "/".join(path.resolve().parts[-2:]) if path.name.isdecimal() else path.resolve().name
        return Contender(label, path.resolve(), [champion(path, crowning)], [path], False)
    runs = sorted((child for child in path.iterdir() if (child / "champion.json").exists()), key=_in_order)
    if not runs:
        raise SirlError(f"{path} holds no run with a champion: give a run directory, or a directory of runs.")
    return Contender(path.resolve().name, path.resolve(), [champion(run, crowning) for run in runs], runs, True)


def _in_order(path: Path) -> tuple[int, str]:
    return (int(path.name) if path.name.isdecimal() else -1, path.name)


def _common(what: str, values: Sequence[Any]) -> Any:
    other = next((value for value in values if value != values[0]), values[0])
    if other != values[0]:
        raise SirlError(f"{what} {values[0]} and {what} {other} can't be compared: give runs of one {what}.")
    return values[0]


def _as_trained(contenders: Sequence[Contender]) -> tuple[dict[str, Any], int | None]:
    """The environment's options and limit of steps, which all must share but those that come with sirl."""
    tasks = [policy.task for one in contenders if not is_built_in(one.label) for policy in one.policies]
    if not tasks:
        return {}, None
    options: dict[str, Any] = _common("environment with", [task.env_options or {} for task in tasks])
    limit: int | None = _common("limit of", [task.max_steps or None for task in tasks])
    return options, limit
