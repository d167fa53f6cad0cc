"""Stacked networks against PyTorch's own, one at a time."""

import itertools

import numpy as np
import pytest
import torch

from sirl.deep.crew import Crew, undisturbed
from sirl.deep.grid import make_grid
from sirl.deep.policy import q_values
from sirl.deep.replay import Replay

GRID = {
    "learning_rate": [1e-2, 1e-3],
    "architecture": ["5", "40", "8x20x3"],
    "batch_size": [7, 150],
    "target_period": [2, 5],
}
N_FEATURES, N_ACTIONS = 6, 3


def make_crew(points, seed=0):
    return Crew(points, np.arange(len(points)), seed, N_FEATURES, N_ACTIONS)


def fill_replay(n=400, n_streams=1, seed=0):
    rng = np.random.default_rng(seed)
    replay = Replay(1000, n_streams, N_FEATURES)
    for _ in range(n):
        now, following = rng.normal(size=(2, n_streams, N_FEATURES))
        replay.add(
            now, rng.integers(N_ACTIONS, size=n_streams), rng.normal(size=n_streams), following,
            rng.random(n_streams) < 0.1,
        )  # fmt: skip
    return replay


def torch_network(layers):
    parts = []
    for weights, biases in layers:
        linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
        linear.weight.data, linear.bias.data = torch.from_numpy(weights.copy()), torch.from_numpy(biases.copy())
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def drawn_batches(crew):
    """What each network was given in the crew's last update, without what pads its batch."""
    found = {}
    for desk in crew._desks:
        for place, row in enumerate(desk.group.rows.tolist()):
            size = crew.points[row].batch_size
            found[row] = [torch.from_numpy(column[place, ..., :size].copy()) for column in desk.batch]
    return found


def test_updates_are_those_of_torch():
    """Every network learns what it would with autograd, torch.optim.Adam, the Huber loss and a loop over networks."""
    points = make_grid(GRID)
    crew, replay = make_crew(points), fill_replay()
    models = [torch_network(crew.network(row)) for row in range(len(points))]
    targets = [torch_network(crew.network(row)) for row in range(len(points))]
    optimisers = [torch.optim.Adam(m.parameters(), p.learning_rate) for m, p in zip(models, points, strict=True)]
    streams = np.zeros(len(points), np.int64)
    for update in range(1, 7):
        with undisturbed():
            crew.learn(replay, streams)
        for row, batch in drawn_batches(crew).items():
            inputs, following, actions, rewards, discounts = batch
            with torch.no_grad():
                goal = rewards + discounts * targets[row](following.T).amax(1)
            taken = models[row](inputs.T).gather(1, actions.T).squeeze(1)
            optimisers[row].zero_grad()
            torch.nn.functional.smooth_l1_loss(taken, goal).backward()
            optimisers[row].step()
            if update % points[row].target_period == 0:
                targets[row].load_state_dict(models[row].state_dict())
    for row, model in enumerate(models):
        for ours, theirs in zip(itertools.chain(*crew.network(row)), model.parameters(), strict=True):
            np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=2e-4, atol=2e-6)


def test_padding_stays_zero():
    crew, replay = make_crew(make_grid({"units": [3], "layers": [2]})), fill_replay()
    with undisturbed():
        for _ in range(20):
            crew.learn(replay, np.zeros(len(crew), np.int64))
    for layer in crew._desks[0].online[:-1]:
        assert not layer.weights[:, 3:].any()
        assert not layer.biases[:, 3:].any()


def test_a_network_alone_learns_what_it_learns_in_a_crew():
    points, replay = make_grid(GRID), fill_replay()
    crew = make_crew(points)
    alone = Crew([points[7]], np.array([7]), 0, N_FEATURES, N_ACTIONS)
    with undisturbed():
        for _ in range(20):
            crew.learn(replay, np.zeros(len(crew), np.int64))
            alone.learn(replay, np.zeros(1, np.int64))
    for ours, theirs in zip(itertools.chain(*crew.network(7)), itertools.chain(*alone.network(0)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def test_those_who_stay_know_what_they_knew():
    crew, replay = make_crew(make_grid(GRID)), fill_replay()
    with undisturbed():
        for _ in range(3):
            crew.learn(replay, np.zeros(len(crew), np.int64))
        kept = np.arange(len(crew)) % 3 == 1
        fewer = crew.kept(kept)
        observations = np.random.default_rng(1).normal(size=(len(crew), N_FEATURES))
        np.testing.assert_allclose(fewer.q_values(observations[kept]), crew.q_values(observations)[kept], rtol=1e-5)
        crew.learn(replay, np.zeros(len(crew), np.int64))
        fewer.learn(replay, np.zeros(len(fewer), np.int64))
    for row, number in enumerate(np.flatnonzero(kept)):
        for ours, theirs in zip(
            itertools.chain(*fewer.network(row)), itertools.chain(*crew.network(int(number))), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_every_way_to_ask_gives_the_same_q_values():
    crew = make_crew(make_grid(GRID))
    observation = np.random.default_rng(2).normal(size=N_FEATURES)
    together = crew.q_values(np.tile(observation, (len(crew), 1)))
    for row in range(len(crew)):
        np.testing.assert_allclose(crew.q_values_of(row, observation)[0], together[row], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            q_values(crew.network(row), observation[None])[0], together[row], rtol=1e-5, atol=1e-6
        )


def test_first_weights_follow_from_seed_and_number_alone():
    points = make_grid(GRID)
    whole, part = make_crew(points, seed=5), Crew(points[3:5], np.array([3, 4]), 5, N_FEATURES, N_ACTIONS)
    for ours, theirs in zip(itertools.chain(*whole.network(4)), itertools.chain(*part.network(1)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (make_crew(points, seed=6).network(4)[0][0] != whole.network(4)[0][0]).any()
    assert np.abs(whole.network(4)[0][0]).max() <= N_FEATURES**-0.5


@pytest.mark.parametrize("added", [5, 10, 27])
def test_a_replay_gives_what_is_recent_and_what_is_shared(added):
    shared = fill_replay(3).known()
    shared.rewards[:] = [[-1.0], [-2.0], [-3.0]]
    replay = Replay(10, 2, N_FEATURES, shared)
    for number in range(added):
        zeros = np.zeros((2, N_FEATURES))
        replay.add(zeros, [0, 0], [number, 100 + number], zeros, [False, True])
    crew = make_crew(make_grid({"learning_rate": [1e-3], "layers": [1], "units": [4], "target_period": [9]}))
    seen = [set(), set()]
    with undisturbed():
        for _ in range(20):
            crew.learn(replay, np.array([0, 1]))
            for row, (_, _, _, rewards, discounts) in drawn_batches(crew).items():
                seen[row] |= set(rewards.tolist())
                assert ((discounts == 0) == (rewards >= 100)).all() or (rewards < 0).any()
    recent = set(range(max(0, added - 10), added))
    assert seen[0] == {-1, -2, -3} | recent
    assert seen[1] == {-1, -2, -3} | {100 + number for number in recent}
