"""What came of a grid search, or of many, as text and numbers; ``figure.py`` draws the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.deep.records import Result, interval
from sirl.errors import SirlError

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """Mean return by episode over runs, with a 95 % interval."""

    label: str
    mean: Floats
    """(n_episodes,)"""
    low: Floats
    high: Floats


class Comparison(NamedTuple):
    """Social against plain grid search over the same seeds."""

    env: str
    n_runs: int
    social: Curve
    """Of each run's best configuration: the shared episodes, then its own."""
    plain: Curve
    """The same configurations alone from scratch."""
    social_scores: Floats
    """(n_runs,): mean of the last individual episodes of the run's best configuration."""
    plain_scores: Floats
    """(n_runs,): of the same configuration alone."""
    plain_best_scores: Floats
    """(n_runs,): of the best configuration of the plain search."""
    difference: tuple[float, float, float]
    """Mean of social minus plain score, and its 95 % interval."""
    social_episodes: int
    plain_episodes: int
    """Of a whole search."""


def compare(social: list[Result], plain: list[Result]) -> Comparison:
    """Curves and scores of searches with the same seeds, in the same order."""
    if not social or [r.seed for r in social] != [r.seed for r in plain]:
        raise SirlError("a comparison needs a social and a plain search of each seed: run what is missing.")
    best = [result.ranking[0].number for result in social]
    n_last = len(next(iter(social[0].individual.values())))
    curves = [np.array([r.curve(n) for r, n in zip(results, best, strict=True)]) for results in (social, plain)]
    scores = [curve[:, -n_last:].mean(axis=1) for curve in curves]
    gap = scores[0] - scores[1]
    return Comparison(
        env=social[0].env,
        n_runs=len(social),
        social=_curve("Social DQN", curves[0]),
        plain=_curve("DQN", curves[1]),
        social_scores=scores[0],
        plain_scores=scores[1],
        plain_best_scores=np.array([result.ranking[0].score for result in plain]),
        difference=(float(gap.mean()), *interval(gap)),
        social_episodes=social[0].episodes.budget,
        plain_episodes=plain[0].episodes.budget,
    )


def _curve(label: str, returns: Floats) -> Curve:
    """From returns (n_runs, n_episodes)."""
    bounds = [interval(column) for column in returns.T]
    return Curve(label, returns.mean(axis=0), np.array([low for low, _ in bounds]), np.array([h for _, h in bounds]))


def ranking_table(result: Result, rows: int = 10) -> str:
    """The first rows of the ranking, and who left before."""
    lines = ["place  score  95 % interval     greedy  network"]
    for place, entry in enumerate(result.ranking[:rows]):
        greedy = "" if entry.validation_score is None else f"{entry.validation_score:.1f}"
        mark = "  champion" if entry.number == result.champion else ""
        lines.append(
            f"{place + 1:5d} {entry.score:6.1f}  {f'{entry.low:.1f} to {entry.high:.1f}':16s}  {greedy:>6s}  "
            f"{entry.point}{mark}"
        )
    if len(result.ranking) > rows:
        lines.append(f"       {len(result.ranking) - rows} more in result.json")
    lines += [f"network {left.number} {left.why} in step {left.steps:,}" for left in result.left]
    return "\n".join(lines)


def comparison_text(found: Comparison) -> str:
    """Social against plain, in Markdown."""
    n = found.n_runs
    rows = [
        ("social: best configuration", found.social_scores, found.social_episodes),
        ("plain: the same configuration alone", found.plain_scores, found.plain_episodes),
        ("plain: best configuration of its own search", found.plain_best_scores, found.plain_episodes),
    ]
    lines = [
        f"| {found.env}, {n} runs | mean of the last episodes | 95 % interval | by run | episodes of the search |",
        "|---|---|---|---|---|",
    ]
    for label, scores, episodes in rows:
        low, high = interval(scores)
        by_run = ", ".join(f"{score:.0f}" for score in scores)
        lines.append(f"| {label} | {scores.mean():.1f} | {low:.1f} to {high:.1f} | {by_run} | {episodes:,} |")
    mean, low, high = found.difference
    lines.append(f"\nSocial minus the same configuration alone: {mean:+.1f} ({low:+.1f} to {high:+.1f}).")
    return "\n".join(lines)
