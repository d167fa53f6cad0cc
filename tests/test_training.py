"""One seed, one result; and training learns."""

import hashlib
from importlib.util import find_spec

import pytest

import sirl

SMALL = {
    "method": "sirl-lb",
    "population": 30,
    "generations": 3,
    "individual_episodes": 2,
    "collaborative_copies": 3,
    "collaborative_iterations": 3,
    "candidates": 3,
    "validation_episodes": 4,
}


def digest(env="InvertedPendulum-v4", **options):
    run = sirl.train(env, **SMALL | options)
    history = [(r.best, r.mean, r.median, r.collaborative, r.individual, r.validation, r.champion) for r in run.history]
    return hashlib.sha256(run.champion.to_json()).hexdigest(), history


def test_a_mujoco_run_is_the_same_on_any_number_of_workers_and_on_gymnasium():
    first = digest(workers=1)
    assert digest(workers=1) == first
    assert digest(workers=2) == first
    assert digest(workers=5) == first
    assert digest(workers=2, simulator="gymnasium") == first


def test_a_python_task_is_the_same_on_any_number_of_workers():
    first = digest("CartPole-v1", workers=1)
    assert digest("CartPole-v1", workers=2) == first


@pytest.mark.skipif(not find_spec("envpool"), reason="EnvPool has wheels for Linux on x86-64 alone")
def test_a_run_on_envpool_is_the_same_on_any_number_of_workers():
    first = digest("LunarLander-v3", workers=1, simulator="envpool")
    assert digest("LunarLander-v3", workers=3, simulator="envpool") == first


def test_other_seeds_give_other_results():
    assert digest(workers=1, seed=1)[0] != digest(workers=1, seed=0)[0]


def test_the_champions_file_is_the_champion(tmp_path):
    run = sirl.train("CartPole-v1", out=tmp_path / "run", workers=1, **SMALL)
    assert (tmp_path / "run" / "champion.json").read_bytes() == run.champion.to_json()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cartpole_is_learned(seed):
    run = sirl.train("CartPole-v1", method="sirl-lb", seed=seed, stop_at=490)
    assert sirl.evaluate(run.champion, episodes=100).mean >= 475


@pytest.mark.parametrize("menu", ["one-joint", "joint"])
def test_both_menus_train_on_several_joints(menu):
    run = sirl.train("Swimmer-v4", menu=menu, bins=3, max_steps=50, **SMALL)
    assert len(run.champion.tree.leaves.menu.values) == (6 if menu == "one-joint" else 9)
    assert run.history[-1].individual.steps == run.history[-1].individual.episodes * 50
