"""A network's files, and the tree made from a network."""

import itertools
import json

import numpy as np
import pytest

from sirl import deep
from sirl.deep.fitting import fit
from sirl.deep.grid import Point
from sirl.deep.policy import NetworkPolicy, Origin
from sirl.errors import SirlError
from sirl.model.leaves import QLeaves
from sirl.model.menu import Menu
from sirl.simulators.recipes import inspect, make_recipe


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    widths = (4, 5, 2)
    layers = [
        (rng.normal(size=(o, i)).astype(np.float32), rng.normal(size=o).astype(np.float32))
        for i, o in itertools.pairwise(widths)
    ]
    point = Point(learning_rate=1e-3, hidden=(5,), batch_size=64, target_period=100, discount=0.99)
    origin = Origin(method="social", seed=0, number=3, individual_score=1.0, validation_score=None, sirl="0")
    return NetworkPolicy(inspect(make_recipe("CartPole-v1")).task, point, layers, origin)


def test_a_network_comes_back_from_its_files(network, tmp_path):
    network.save(tmp_path)
    again = deep.load(tmp_path)
    observations = np.random.default_rng(1).normal(size=(50, 4))
    np.testing.assert_array_equal(again.q_values(observations), network.q_values(observations))
    np.testing.assert_array_equal(again.predict(observations)[0], network.predict(observations)[0])
    action, state = again.predict(observations[0], state=None)
    assert (action, state) == (network.predict(observations)[0][0], None)
    assert again.point == network.point
    assert again.origin == network.origin
    assert {path.name for path in tmp_path.iterdir()} == {"network.json", "network.safetensors"}


def test_stable_baselines_can_evaluate_a_network(network):
    import gymnasium as gym
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    mean, _ = evaluate_policy(network, Monitor(gym.make("CartPole-v1")), n_eval_episodes=2)
    assert mean >= 1


def test_damage_is_told(network, tmp_path):
    network.save(tmp_path)
    numbers = tmp_path / "network.safetensors"
    numbers.write_bytes(numbers.read_bytes()[:-1] + b"?")
    with pytest.raises(SirlError, match=r"is damaged \(the checksum of network.safetensors does not fit\)"):
        deep.load(tmp_path)
    network.save(tmp_path)
    text = json.loads((tmp_path / "network.json").read_text())
    text["point"]["hidden"] = [6]
    (tmp_path / "network.json").write_text(json.dumps(text))
    with pytest.raises(SirlError, match="layer 0 is missing or of another shape"):
        deep.load(tmp_path)
    with pytest.raises(SirlError, match="has no readable network"):
        deep.load(tmp_path / "nowhere")


@pytest.mark.parametrize("use", [deep.evaluate, deep.distil])
def test_a_network_plays_only_what_fits_and_was_asked_for(use, network, tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    network.save(tmp_path)
    file = tmp_path / "network.json"
    file.write_text(file.read_text().replace('"CartPole-v1"', '"stranger:CartPole-v1"'))
    with pytest.raises(SirlError, match="would import the module 'stranger', and only a file asks for that"):
        use(deep.load(tmp_path))
    with pytest.raises(SirlError, match=r"made for CartPole-v1 and can't play Acrobot-v1 \(4 features against 6\)"):
        use(network, "Acrobot-v1")


def menu_for(values):
    return Menu(np.arange(values.shape[1]), [f"a{i}" for i in range(values.shape[1])])


def imitated(tree, observations, values):
    assert isinstance(tree.leaves, QLeaves)
    return (tree.leaves.choices[tree.walk(observations)] == values.argmax(axis=1)).mean()


def test_an_oblique_split_finds_a_slanted_border():
    observations = np.random.default_rng(0).normal(size=(2000, 3)) * [1.0, 100.0, 0.01]
    gap = observations[:, 0] - 0.02 * observations[:, 1] + 0.3
    values = np.column_stack([gap, -gap])
    assert imitated(fit(observations, values, menu_for(values), 2, oblique=True), observations, values) > 0.98
    assert imitated(fit(observations, values, menu_for(values), 2, oblique=False), observations, values) < 0.9
    weights = fit(observations, values, menu_for(values), 2, oblique=True).weights[0]
    assert weights[2] == 0.0  # it plays no part
    assert weights[1] / weights[0] == pytest.approx(-0.02, rel=0.1)


def test_axis_aligned_splits_find_a_box():
    observations = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    inside = (np.abs(observations) < 0.5).all(axis=1)
    values = np.column_stack([inside, ~inside]).astype(float)
    tree = fit(observations, values, menu_for(values), 6, oblique=False)
    assert imitated(tree, observations, values) > 0.97
    assert (np.count_nonzero(tree.weights, axis=1) == 1).all()


def test_states_in_which_nothing_is_at_stake_do_not_count():
    """Nine states in ten say the opposite, but there the actions are worth the same."""
    rng = np.random.default_rng(0)
    observations = rng.normal(size=(3000, 1))
    matters = rng.random(3000) < 0.1
    gap = np.where(matters, observations[:, 0], -1e-9 * observations[:, 0])
    values = np.column_stack([gap, -gap])
    tree = fit(observations, values, menu_for(values), 2, oblique=False)
    assert imitated(tree, observations[matters], values[matters]) > 0.95


@pytest.mark.parametrize(
    "values", [np.zeros((50, 2)), np.tile([0.0, 1.0], (50, 1))], ids=["no preference", "one action"]
)
def test_nothing_to_tell_apart_is_one_leaf(values):
    tree = fit(np.random.default_rng(0).normal(size=(50, 2)), values, menu_for(values), 8, oblique=True)
    assert tree.n_leaves == 1
    assert tree.leaves.choices[0] == values[0].argmax()
