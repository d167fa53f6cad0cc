"""Statistics against scipy, against published numbers, and where there is too little to say anything."""

import numpy as np
import pytest
from scipy import stats

from sirl.experiments.paper import ORDER, TASKS, published_row, published_rows, published_stars, published_tukey
from sirl.experiments.statistics import (
    bootstrap_iqm,
    compare,
    interquartile_mean,
    moments,
    star_mark,
    summarize,
    welch,
    welch_of_moments,
)

MEANS = {"a": 0, "b": 1, "c": 4}
RUNS = {name: np.random.default_rng(seed).normal(MEANS[name], 2, 10) for seed, name in enumerate(MEANS)}


def generator():
    return np.random.default_rng(0)


def test_a_summary_is_what_scipy_says():
    sample = RUNS["a"]
    found = summarize(sample, generator())
    assert (found.n, found.mean, found.std) == (10, pytest.approx(sample.mean()), pytest.approx(sample.std(ddof=1)))
    low, high = stats.t.interval(0.95, 9, loc=sample.mean(), scale=stats.sem(sample))
    assert found.interval == pytest.approx((low, high))
    assert (found.median, found.best) == (np.median(sample), sample.max())


def test_the_interquartile_mean_leaves_a_quarter_out_at_either_end():
    assert interquartile_mean(np.array([-1000.0, 1, 2, 3, 4, 5, 6, 1e6])) == 3.5
    by_task = np.arange(16.0).reshape(4, 4)  # runs x tasks: pooled, as rliable has it
    assert interquartile_mean(by_task) == stats.trim_mean(by_task.ravel(), 0.25) == 7.5


def test_the_bootstrap_of_one_task_is_scipys():
    sample = np.random.default_rng(3).exponential(size=40)
    ours = bootstrap_iqm(sample, generator(), 20_000)
    theirs = stats.bootstrap(
        (sample,), lambda x, axis: stats.trim_mean(x, 0.25, axis=axis), method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    assert ours == pytest.approx(theirs, abs=0.01)
    assert bootstrap_iqm(sample, generator()) == bootstrap_iqm(sample, generator())


def test_the_bootstrap_draws_each_task_by_itself():
    """Two tasks far apart, each constant: no draw may mix them."""
    table = np.array([[0.0, 10.0]] * 5)
    assert bootstrap_iqm(table, generator()) == (5.0, 5.0)


def test_anova_tukey_and_welch_are_scipys():
    found = compare(RUNS)
    anova, tukey = stats.f_oneway(*RUNS.values()), stats.tukey_hsd(*RUNS.values())
    assert (found.f, found.p) == (anova.statistic, anova.pvalue)
    assert [(pair.one, pair.other) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair, (i, j) in zip(found.pairs, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert pair.tukey == tukey.pvalue[i, j]
        assert pair.welch == stats.ttest_ind(RUNS[pair.one], RUNS[pair.other], equal_var=False).pvalue
        assert pair.difference == pytest.approx(RUNS[pair.other].mean() - RUNS[pair.one].mean())


def test_tukey_on_a_published_example():
    """The headache remedies of scipy's documentation, whose p-values are SAS's and MATLAB's."""
    groups = {
        "0": [24.5, 23.5, 26.4, 27.1, 29.9],
        "1": [28.4, 34.2, 29.5, 32.2, 30.1],
        "2": [26.1, 28.3, 24.3, 26.2, 27.8],
    }
    assert [round(pair.tukey, 3) for pair in compare(groups).pairs] == [0.014, 0.980, 0.020]


def test_published_marks_follow_from_the_published_means():
    """Over 100 episodes each, if the paper's tests are one-sided; two-sided ones would give a star less in three."""
    fewer = 0
    for task in TASKS:
        baseline = published_row(task, "eldt")
        for method in ("sirl-sb", "sirl-lb"):
            row = published_row(task, method)
            p = welch_of_moments((row.mean, row.std, 100), (baseline.mean, baseline.std, 100))
            assert star_mark(1.0 if p is None else p / 2) == published_stars(task, method)
            fewer += p is not None and star_mark(p) != published_stars(task, method)
    assert fewer == 3


def test_moments_say_what_samples_say():
    one, other = RUNS["a"], RUNS["b"]
    moments = ((sample.mean(), sample.std(ddof=1), len(sample)) for sample in (one, other))
    assert welch_of_moments(*moments) == pytest.approx(welch(one, other))


@pytest.mark.parametrize(
    ("p", "mark"),
    [(None, "–"), (0.06, "ns"), (0.05, "*"), (0.01, "**"), (0.001, "***"), (0.0001, "****"), (0.0, "****")],
)
def test_marks(p, mark):
    assert star_mark(p) == mark


def test_too_little_says_so():
    alone = summarize([3.0], generator())
    assert (alone.mean, alone.std, alone.interval, alone.iqm_interval) == (3.0, None, None, None)
    found = compare({"a": [1.0, 2.0], "b": [3.0]})
    assert (found.f, found.p) == (None, None)
    assert found.missing == "tests need two scores or more of each, and b has one"
    assert found.pairs[0][2:] == (1.5, None, None)
    assert compare({"a": [1.0, 2.0]}).missing == "tests need two samples or more"


def test_solved_tasks_have_nothing_to_test():
    found = compare({"a": [1000.0] * 3, "b": [1000.0] * 3})
    assert (found.p, found.missing) == (None, "no test applies where no sample varies")
    assert (found.pairs[0].welch, found.pairs[0].stars) == (None, "–")
    assert welch(np.array([1000.0] * 3), np.array([999.0] * 3)) == 0.0
    assert compare({"a": [1000.0] * 3, "b": [1000.0, 999.0, 1000.0]}).p == pytest.approx(0.374, abs=0.001)


def test_rounding_is_no_difference():
    same = {"a": [-11.37, -11.37 + 2e-15, -11.37], "b": [-11.37 - 2e-15, -11.37, -11.37]}
    found = compare(same)
    assert (found.p, found.missing) == (None, "no test applies where no sample varies")
    assert (found.pairs[0].welch, found.pairs[0].tukey) == (None, None)
    assert compare({"a": [0.0, 0.0], "b": [0.0, 0.0]}).p is None
    assert compare({"a": [1e-12, 2e-12], "b": [5e-12, 6e-12]}).p is not None, "small scores may differ by little"


def test_a_single_score_has_no_deviation():
    assert moments([3.0]) == (3.0, None)
    assert moments([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert welch_of_moments((1.0, 0.0, 1), (2.0, 1.0, 100)) is None


def test_what_the_paper_reports():
    assert [len(published_rows(task)) for task in TASKS] == [7, 9, 7, 7, 8, 6]
    best = [published_row(task, "sirl-lb").mean for task in TASKS]
    assert best == [1000, 266.03, 215.44, -8.71, 1026.28, 722.73]
    assert published_tukey("Hopper-v4", "eldt", "sirl-lb") == 0.013
    assert published_tukey("Walker2d-v4", ORDER[1], ORDER[2]) == 0.041
    assert published_row("CartPole-v1", "eldt") is None
    assert published_tukey("CartPole-v1", "eldt", "sirl-lb") is None
    assert published_stars("CartPole-v1", "sirl-lb") == ""
