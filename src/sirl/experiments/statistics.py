"""What samples of scores say: summaries of one, and tests between several. Pure functions over arrays.

A sample is one score a run (how the paper compares methods), or one return an episode (how it compares two agents).
Where a statistic needs more scores than there are it is None, and :attr:`Comparison.missing` says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from sirl.arrays import Floats

RESAMPLES = 2000
"""Bootstrap samples: the ends of a 95 % interval then have some 50 samples beyond them."""
SIGNIFICANT = 0.05
ENOUGH = 3
"""Runs below which their best is marked with no star."""
_SAME = 1e-9
"""Scores that differ by less, relative to their size, differ by rounding."""
_STARS = ((1e-4, "****"), (1e-3, "***"), (1e-2, "**"), (SIGNIFICANT, "*"))


class Interval(NamedTuple):
    """Where a quantity lies with 95 % confidence."""

    low: float
    high: float


class Summary(NamedTuple):
    """One sample in numbers."""

    n: int
    mean: float
    std: float | None
    """With n - 1 below the line; None of a single score."""
    median: float
    best: float
    interval: Interval | None
    """Of the mean, by Student's t; None of a single score."""
    iqm: float
    """Mean of the middle half."""
    iqm_interval: Interval | None
    """By percentile bootstrap; None of a single score."""


class Pair(NamedTuple):
    """Two samples against each other."""

    one: str
    other: str
    difference: float
    """Mean of the other minus mean of the one."""
    welch: float | None
    """p of Welch's t-test; None where a side has a single score, or neither varies and they agree."""
    tukey: float | None
    """p of Tukey's HSD over all samples."""

    @property
    def stars(self) -> str:
        """Welch's test as the paper marks it."""
        return star_mark(self.welch)


class Comparison(NamedTuple):
    """One-way ANOVA over all samples, and every pair of them."""

    f: float | None
    p: float | None
    pairs: list[Pair]
    missing: str
    """Why there are no tests; empty if there are."""


def moments(scores: Sequence[float] | Floats) -> tuple[float, float | None]:
    """Mean and standard deviation (with n - 1 below the line) of a sample; a single score has no deviation."""
    sample = np.asarray(scores, dtype=np.float64)
    return float(sample.mean()), float(sample.std(ddof=1)) if len(sample) > 1 else None


def interquartile_mean(scores: Floats) -> float:
    """Mean of the middle half of all scores, of any shape: a quarter is cut at either end, as ``rliable`` has it."""
    return float(stats.trim_mean(scores, 0.25, axis=None))


def bootstrap_iqm(scores: Floats, generator: np.random.Generator, resamples: int = RESAMPLES) -> Interval:
    """The 95 % interval of the interquartile mean, by percentiles of a bootstrap stratified by task.

    Args:
        scores: (n_runs, n_tasks), or (n_runs,) of one task. Runs are drawn anew for each task by itself.
        generator: where the draws come from.
        resamples: how many.
    """
    table = scores.reshape(len(scores), -1)
    n_runs, n_tasks = table.shape
    rows = generator.integers(n_runs, size=(resamples, n_runs, n_tasks))
    drawn = table[rows, np.arange(n_tasks)].reshape(resamples, -1)
    low, high = np.percentile(stats.trim_mean(drawn, 0.25, axis=1), [2.5, 97.5])
    return Interval(float(low), float(high))


def summarize(scores: Sequence[float] | Floats, generator: np.random.Generator) -> Summary:
    """One sample in numbers; ``generator`` is where the bootstrap's draws come from."""
    sample = np.asarray(scores, dtype=np.float64)
    mean, std = moments(sample)
    several = len(sample) > 1
    return Summary(
        n=len(sample),
        mean=mean,
        std=std,
        median=float(np.median(sample)),
        best=float(sample.max()),
        interval=mean_interval(sample) if several else None,
        iqm=interquartile_mean(sample),
        iqm_interval=bootstrap_iqm(sample, generator) if several else None,
    )


def mean_interval(sample: Floats) -> Interval:
    """The 95 % interval of the mean of a sample (n,), by Student's t."""
    half = float(stats.sem(sample) * stats.t.ppf(0.975, len(sample) - 1))
    mean = float(sample.mean())
    return Interval(mean - half, mean + half)


def compare(samples: Mapping[str, Sequence[float] | Floats]) -> Comparison:
    """ANOVA with Tukey's HSD over all samples, and Welch's t-test for each pair."""
    arrays = {name: np.asarray(sample, dtype=np.float64) for name, sample in samples.items()}
    if len(arrays) < 2:
        return Comparison(None, None, [], "tests need two samples or more")
    missing = ""
    if few := [name for name, sample in arrays.items() if len(sample) < 2]:
        missing = (
            f"tests need two scores or more of each, and {', '.join(few)} {'has' if len(few) == 1 else 'have'} one"
        )
    elif not any(_varies(sample) for sample in arrays.values()):
        missing = "no test applies where no sample varies"
    f = p = tukey = None
    if not missing:
        with _quiet():
            anova = stats.f_oneway(*arrays.values())
            f, p = float(anova.statistic), float(anova.pvalue)
            tukey = stats.tukey_hsd(*arrays.values()).pvalue
    pairs = [
        Pair(
            one,
            other,
            float(arrays[other].mean() - arrays[one].mean()),
            welch(arrays[one], arrays[other]),
            None if tukey is None else float(tukey[i, j]),
        )
        for (i, one), (j, other) in combinations(enumerate(arrays), 2)
    ]
    return Comparison(f, p, pairs, missing)


def _varies(sample: Floats) -> bool:
    """Whether a sample differs by more than rounding."""
    return bool(np.ptp(sample) > _SAME * np.abs(sample).max())


def welch(one: Floats, other: Floats) -> float | None:
    """The p of Welch's t-test; 0 where neither sample varies and they differ, None where there is nothing to test."""
    if min(len(one), len(other)) < 2:
        return None
    if not _varies(one) and not _varies(other):
        return 0.0 if _varies(np.array([one[0], other[0]])) else None
    with _quiet():
        return float(stats.ttest_ind(one, other, equal_var=False).pvalue)


def welch_of_moments(one: tuple[float, float, int], other: tuple[float, float, int]) -> float | None:
    """The same from published numbers: mean, standard deviation and size of either sample."""
    if min(one[2], other[2]) < 2:
        return None
    if one[1] == other[1] == 0:
        return None if one[0] == other[0] else 0.0
    return float(stats.ttest_ind_from_stats(*one, *other, equal_var=False).pvalue)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without scipy's warning that scores are nearly the same, as those of a solved task are."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        yield


def star_mark(p: float | None) -> str:
    """The paper's marks: ns, then a star for 0.05 and one more for each of 0.01, 0.001 and 0.0001; – without a test."""
    return "–" if p is None else next((mark for limit, mark in _STARS if p <= limit), "ns")
