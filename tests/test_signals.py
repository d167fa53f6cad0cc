"""Training signals: rewards that are left out or added, and episodes that are cut, in training alone."""

from functools import partial

import numpy as np
import pytest

import sirl
from sirl.errors import SirlError
from sirl.learning.forest import pack
from sirl.model.derived import run as run_program
from sirl.rollout.compiled import CompiledArena
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.work import PlayOrder, Signal
from sirl.simulators.derived import pack_programs
from sirl.simulators.gymnasium import GymnasiumSimulator, make_environment

SMALL = {"seed": 3, "workers": 1, "generations": 3, "contenders": 2, "law_episodes": 2, "validation_episodes": 2}
SHAPING = "0.5*v_x - theta_t**2/(1 + p_z**2)"


def test_what_a_signal_adds_has_the_same_bits_everywhere():
    """A bare loop with ``predict``, lockstep on Gymnasium, compiled loops; some episodes end, some are cut."""
    policy = sirl.train("Hopper-v4", **SMALL, instruments_every=0).champion
    program, seeds = policy.task.program(SHAPING, "shaping"), np.arange(8)
    environment = make_environment("Hopper-v4")
    extra, lengths, ends = [], [], []
    for most in (1000, 12):
        for seed in seeds.tolist():
            observation, _ = environment.reset(seed=seed)
            total, steps, terminated = 0.0, 0, False
            while not terminated and steps < most:
                observation, _, terminated, _, _ = environment.step(policy.predict(observation)[0])
                total += run_program(program, observation.__getitem__, float)
                steps += 1
            extra.append(total + 7.0 if terminated else total)
            lengths.append(steps)
            ends.append(terminated)
    assert any(ends)
    assert not all(ends)
    for arena in (
        CompiledArena("Hopper-v4", policy.task),
        LockstepArena(GymnasiumSimulator(partial(make_environment, "Hopper-v4"), 3), policy.task),
    ):
        found = []
        for most in (1000, 12):
            signal = Signal(pack_programs([program]), 7.0, most)
            found.append(arena.play(PlayOrder(pack([policy.tree]), policy.tree.leaves.law(), seeds[None], signal)))
        assert np.concatenate([f.extra[0] for f in found]).tobytes() == np.array(extra).tobytes()
        assert np.concatenate([f.lengths[0] for f in found]).tolist() == lengths
        arena.close()


@pytest.mark.parametrize(
    ("shaping", "reason"),
    [
        ("", "it ends where a number or a feature is due"),
        ("v_y", "there is no 'v_y'; perhaps 'v_z'"),
        ("1/v_x", r"it divides by v_x, which can be 0 within the bounds"),
        ("v_x +", "it ends where a number or a feature is due"),
        ("v_x v_z", r"'v_z' \(character 5\) comes after its end"),
        ("v_x = 3", r"'=' \(character 5\) comes after its end"),
        ("__import__('os')", "there is no '__import__'"),
    ],
)
def test_a_shaping_that_can_not_be_read_is_refused_at_once(shaping, reason):
    with pytest.raises(SirlError, match=f"^the shaping .* can't be used: {reason}"):
        sirl.Training("Hopper-v4", **SMALL, shaping=shaping)


def test_signals_change_what_is_tuned_for_and_not_what_is_crowned():
    plain, shaped, ended = (
        sirl.train("Hopper-v4", **SMALL | {"generations": 1}, **asked)
        for asked in ({}, {"shaping": "p_z - p_z + 5"}, {"ending_bonus": 40.0})
    )
    steps = plain.history[0].individual.steps / plain.history[0].individual.episodes
    assert shaped.history[0].mean == pytest.approx(plain.history[0].mean + 5 * steps)
    assert ended.history[0].mean == pytest.approx(plain.history[0].mean - 40)
    assert shaped.champion.origin.validation_score < 5 * steps
    last, feared = (
        sirl.train("Hopper-v4", **SMALL | {"generations": 1, "contenders": 1}, ending_bonus=bonus)
        for bonus in (0.0, 40.0)
    )
    assert feared.history[0].mean == last.history[0].mean, "the last contender is tuned for what counts"


def test_episodes_are_cut_while_contenders_race_and_whole_afterwards(tmp_path):
    asked = SMALL | {"generations": 6, "round_steps": 20, "instruments_every": 0}
    run = sirl.train("Swimmer-v4", **asked, out=tmp_path / "run")
    lengths = [record.individual.steps / record.individual.episodes for record in run.history]
    assert lengths[0] == 20
    assert lengths[2] == 1000
    assert sorted(set(lengths)) == [20, 1000]
    assert all(record.validation.steps == 1000 * record.validation.episodes for record in run.history)
    assert (tmp_path / "run" / "config.toml").read_text().count("round_steps = 20") == 1
