"""Instruments look and change nothing; what they show is what it says."""

import msgspec
import numpy as np
import pytest
from gymnasium import spaces
from scipy import stats

import sirl
from conftest import Tiny
from sirl.cli.main import main
from sirl.experiments.gallery import draw_runs
from sirl.experiments.instruments import instruments
from sirl.search.evolution import _vary
from sirl.search.instruments import rank_correlation
from sirl.search.records import Cost, Instruments, Record

SMALL = {
    "method": "sirl-lb",
    "population": 30,
    "generations": 4,
    "individual_episodes": 2,
    "collaborative_copies": 2,
    "collaborative_iterations": 3,
    "candidates": 2,
    "validation_episodes": 3,
    "workers": 1,
}
LAWS = {
    "method": "laws",
    "generations": 4,
    "contenders": 4,
    "law_episodes": 2,
    "validation_episodes": 3,
    "max_steps": 30,
    "workers": 1,
}


def test_a_rank_correlation_is_spearmans():
    generator = np.random.default_rng(0)
    one, other = generator.integers(0, 6, size=(2, 40)).astype(float)  # many ties
    assert rank_correlation(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
    one[3], other[7] = -np.inf, -np.inf
    both = np.isfinite(one) & np.isfinite(other)
    assert rank_correlation(one, other) == pytest.approx(stats.spearmanr(one[both], other[both]).statistic)


@pytest.mark.parametrize("other", [[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, -np.inf, -np.inf]])
def test_what_has_no_ranks_has_no_correlation(other):
    assert rank_correlation(np.arange(4.0), np.array(other)) is None


def without(history):
    return [msgspec.structs.replace(record.timed(0), instruments=Instruments()) for record in history]


@pytest.mark.parametrize("settings", [SMALL, SMALL | {"crowning": "training"}, LAWS])
def test_they_change_nothing_and_are_counted_apart(settings):
    blind, seeing = (sirl.train("InvertedPendulum-v4", instruments_every=n, **settings) for n in (0, 2))
    assert seeing.champion.to_json() == blind.champion.to_json()
    assert without(seeing.history) == without(blind.history)
    assert [r.episodes for r in seeing.history] == [r.episodes for r in blind.history]
    spent = [r.instruments.cost.episodes for r in seeing.history]
    assert [n > 0 for n in spent] == [False, True, False, True]
    assert all(r.instruments.cost == Cost() and r.instruments.repeat is None for r in blind.history)
    assert all(s.steps >= b.steps for s, b in zip(seeing.history, blind.history, strict=True))


@pytest.mark.parametrize("settings", [SMALL, LAWS])
def test_a_resumed_run_has_the_same_ones_on_any_workers(settings, tmp_path):
    asked = settings | {"instruments_every": 2}
    whole = sirl.train("InvertedPendulum-v4", **asked)
    run = sirl.Training("InvertedPendulum-v4", out=tmp_path / "run", **asked)
    for record in run.generations():
        if record.generation == 2:
            break
    again = sirl.Training.resume(tmp_path / "run", workers=2)
    for _ in again.generations():
        pass
    assert [r.timed(0) for r in again.history] == [r.timed(0) for r in whole.history]
    assert whole.history[3].instruments.survivors is not None


def test_an_old_history_still_reads():
    line = (
        b'{"generation":0,"best":1.0,"mean":0.5,"median":0.5,"invalid":0,"collaborative":{"episodes":1,"steps":2},'
        b'"individual":{"episodes":3,"steps":4},"validation":{"episodes":5,"steps":6},"champion":null,"seconds":0.1}'
    )
    record = msgspec.json.decode(line, type=Record)
    assert record.instruments == Instruments()
    assert record.steps == 12


def test_offspring_are_told_from_the_parent_of_their_first_codons():
    run = sirl.Training("CartPole-v1", **SMALL | {"mutation_probability": 0.0, "crossover_probability": 1.0})
    state = run.search.first_state()._replace(generation=1, fitness=np.arange(30.0))
    offspring, fitness = _vary(state, run.search.problem)
    heads = {tuple(row[:1]): i for i, row in enumerate(state.codons.tolist())}
    assert len(heads) == 30
    assert fitness.tolist() == [float(heads[tuple(row[:1])]) for row in offspring.tolist()]


def test_heritage_is_known_from_the_second_generation_on_without_a_cost():
    history = sirl.train("InvertedPendulum-v4", **SMALL).history
    assert [r.instruments.heritage is None for r in history] == [True, False, False, False]
    assert all(r.instruments.cost == Cost() for r in history)


def test_averages_make_scores_more_repeatable_than_the_last_visits():
    asked = SMALL | {"population": 300, "generations": 1, "individual_episodes": 3, "collaborative_iterations": 100}
    averages = {"learning_rate_rule": "1/visits", "q_low": 0.0, "q_high": 0.0}
    paper, ours = (sirl.train("InvertedPendulum-v4", instruments_every=1, **asked | more) for more in ({}, averages))
    assert ours.history[0].instruments.repeat > 0.15 + paper.history[0].instruments.repeat


class Same(Tiny):
    """An environment in which every episode begins and goes on in the same way."""

    def __init__(self):
        super().__init__(spaces.Box(-1, 1, (1,)), spaces.Box(-1, 1, (1,)), behave=self._behave)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.array([0.5], dtype=np.float32), {}

    def _behave(self, _):
        return np.array([0.5], dtype=np.float32), -float(abs(self.last_action[0] - 0.3)), False, self.steps == 5, {}


def test_what_does_not_depend_on_chance_is_repeatable_and_worth_what_it_is():
    run = sirl.train(Same, instruments_every=1, **LAWS | {"generations": 2, "contenders": 1, "max_laws": 1})
    last = run.history[-1].instruments
    assert last.repeat == pytest.approx(1.0)
    assert last.heritage is None, "all have one parent"
    (contender,) = run.state.contenders
    action = contender.shape.tree(contender.distribution.mean).act(np.array([[0.5]]))
    assert last.survivors == pytest.approx(-5 * abs(float(np.clip(action, -1, 1).ravel()[0]) - 0.3), abs=1e-5)
    assert last.cost.episodes == run.history[-1].individual.episodes + 2 + 10, "again, parent, survivor"


def test_survivors_claim_what_they_were_selected_for():
    run = sirl.train("InvertedPendulum-v4", instruments_every=4, **SMALL | {"codons_run_out": "zeros"})
    fitness = run.state.fitness[1::2]
    assert run.history[-1].instruments.claimed == pytest.approx(fitness[np.isfinite(fitness)].mean())


def test_one_individual_in_two_is_enough():
    run = sirl.train("InvertedPendulum-v4", instruments_every=1, **SMALL | {"population": 2, "tournament": 1})
    assert all(r.instruments.repeat is None for r in run.history), "one offspring has no rank"


def test_they_are_shown(tmp_path, capsys):
    flags = [text for name, value in SMALL.items() for text in ("--" + name.replace("_", "-"), str(value))]
    out = tmp_path / "run"
    assert main(["train", "InvertedPendulum-v4", *flags, "--instruments-every", "2", "--out", str(out)]) == 0
    assert "more for instruments" in capsys.readouterr().out
    assert set(draw_runs([str(out)])) >= {"curves", "instruments"}
    history = sirl.runs.history.History(sirl.runs.directory.read_history(out))
    assert np.isnan(history.columns()["repeat"]).tolist() == [True, False, True, False]
    rows = instruments([("task", 1.0, "label", [history, history])]).as_saved()
    assert [row["generation"] for row in rows] == ["2", "3", "4"]
    assert float(rows[0]["survivors"]) == history[1].instruments.survivors


def test_a_run_that_ended_keeps_what_it_measured_last():
    def history(*repeats):
        return [
            Record(
                **dict.fromkeys(("best", "mean", "median"), 0.0),
                generation=generation,
                invalid=0,
                **dict.fromkeys(("collaborative", "individual", "validation"), Cost()),
                champion=None,
                instruments=Instruments(repeat=repeat),
            )
            for generation, repeat in enumerate(repeats)
        ]

    groups = [("task", 1.0, "label", [history(0.2, 0.8, None), history(0.2, 0.4, None, 0.6)])]
    rows = instruments(groups).as_saved()
    assert [(row["generation"], row["n"], float(row["repeat"])) for row in rows] == [
        ("1", "2", 0.2),
        ("2", "2", pytest.approx(0.6)),
        ("4", "2", pytest.approx(0.7)),
    ]
