"""What came of a grid search, or of many, as text and numbers; ``figure.py`` draws the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.deep.ranking import interval
from sirl.deep.records import Ranked, Result
from sirl.errors import SirlError


class Curve(NamedTuple):
    """Mean return by episode over runs, with a 95 % interval."""

    label: str
    mean: Floats
    """(n_episodes,)"""
    low: Floats
    high: Floats


class Comparison(NamedTuple):
    """Social search against plain deep Q-learning over the same seeds."""

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
    plain_best_scores: Floats | None
    """(n_runs,): of the best configuration of the plain search, if that had the whole grid."""
    social_fresh: Floats
    """(n_runs,): greedy mean of the same networks on fresh episodes, which did not choose them."""
    plain_fresh: Floats
    """(n_runs,): NaN where the network was no candidate of its search."""
    difference: tuple[float, float, float]
    """Mean of social minus plain score, and its 95 % interval."""
    social_episodes: int
    plain_episodes: int
    """Of a search of the whole grid."""


def compare(social: list[Result], plain: list[Result]) -> Comparison:
    """Curves and scores of searches with the same seeds, in the same order.

    Args:
        social: searches of the whole grid.
        plain: of the whole grid too, or of each social search's best configuration alone.
    """
    if not social or [r.seed for r in social] != [r.seed for r in plain]:
        raise SirlError("a comparison needs a social and a plain search of each seed: run what is missing.")
    best = [result.ranking[0] for result in social]
    alone = [_alone(result, top) for result, top in zip(plain, best, strict=True)]
    n_last = len(next(iter(social[0].individual.values())))
    curves = [
        np.array([r.curve(entry.number) for r, entry in zip(results, entries, strict=True)])
        for results, entries in ((social, best), (plain, alone))
    ]
    scores = [curve[:, -n_last:].mean(axis=1) for curve in curves]
    gap = scores[0] - scores[1]
    whole = [result.n_networks for result in plain] == [result.n_networks for result in social]
    return Comparison(
        env=social[0].env,
        n_runs=len(social),
        social=_curve("Social DQN", curves[0]),
        plain=_curve("DQN", curves[1]),
        social_scores=scores[0],
        plain_scores=scores[1],
        plain_best_scores=np.array([result.ranking[0].score for result in plain]) if whole else None,
        social_fresh=_fresh(best),
        plain_fresh=_fresh(alone),
        difference=(float(gap.mean()), *interval(gap)),
        social_episodes=social[0].episodes.budget,
        plain_episodes=plain[0].episodes.budget * social[0].n_networks // plain[0].n_networks,
    )


def _alone(plain: Result, best: Ranked) -> Ranked:
    """The configuration that is best in a social search, in the plain one of the same seed."""
    for entry in plain.ranking:
        if entry.point == best.point:
            return entry
    raise SirlError(
        f"{best.point}, the best of the social search of seed {plain.seed}, did not come to the end of the plain one, "
        "so there is nothing to compare it with: compare other seeds, or use smaller values of learning_rate."
    )


def _fresh(entries: list[Ranked]) -> Floats:
    return np.array([np.nan if e.validation_score is None else e.validation_score for e in entries])


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
    rows = [
        ("social: best configuration", found.social_scores, found.social_fresh, found.social_episodes),
        ("plain: the same configuration alone", found.plain_scores, found.plain_fresh, found.plain_episodes),
    ]
    if found.plain_best_scores is not None:
        nothing = np.full(found.n_runs, np.nan)
        rows.append(("plain: best of its own search", found.plain_best_scores, nothing, found.plain_episodes))
    lines = [
        f"| {found.env}, {found.n_runs} runs | last episodes, mean | 95 % interval | by run | greedy on fresh episodes "
        "| episodes of a search |",
        "|---|---|---|---|---|---|",
    ]
    for label, scores, fresh, episodes in rows:
        low, high = interval(scores)
        by_run = ", ".join(f"{score:.0f}" for score in scores)
        greedy = "" if np.isnan(fresh).any() else f"{fresh.mean():.1f}"
        lines.append(
            f"| {label} | {scores.mean():.1f} | {low:.1f} to {high:.1f} | {by_run} | {greedy} | {episodes:,} |"
        )
    mean, low, high = found.difference
    lines.append(f"\nSocial minus the same configuration alone: {mean:+.1f} ({low:+.1f} to {high:+.1f}).")
    return "\n".join(lines)
