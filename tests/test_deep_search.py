"""A grid search as a user meets it: what it counts, what it repeats, what it survives."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from conftest import Tiny
from sirl import deep
from sirl.deep.directory import read_result
from sirl.deep.play import Play
from sirl.deep.report import compare
from sirl.deep.search import GridSearch
from sirl.errors import SirlError
from sirl.model.policy import load

GRID = {"learning_rate": [1e-3, 1e-2], "layers": [1, 2], "units": [4], "batch_size": [8, 16], "target_period": [10]}
SMALL = {
    "grid": GRID,
    "collaborative_episodes": 6,
    "individual_episodes": 3,
    "rounds": 3,
    "scouting_episodes": 1,
    "learning_starts": 20,
    "validation_episodes": 2,
    "candidates": 2,
}


def same(a, b):
    """Two results but for wall time."""
    names = ("ranking", "champion", "collaborative", "individual", "left", "episodes", "steps")
    facts = [[getattr(search.result, name) for name in names] for search in (a, b)]
    weights = [[part.tobytes() for layer in search.champion.layers for part in layer] for search in (a, b)]
    return facts[0] == facts[1] and weights[0] == weights[1]


def test_a_social_search_counts_what_the_paper_counts():
    search = deep.train("CartPole-v1", **SMALL)
    result = search.result
    assert result.episodes.collaborative == len(result.collaborative) == 6
    assert result.episodes.individual == 8 * 3
    assert result.episodes.budget == 30
    assert result.episodes.validation == 4
    assert sorted(entry.number for entry in result.ranking) == list(range(8))
    scores = [entry.score for entry in result.ranking]
    assert scores == sorted(scores, reverse=True)
    assert result.ranking[0].low <= scores[0] <= result.ranking[0].high
    assert result.steps == sum(result.collaborative) + sum(map(sum, result.individual.values()))  # 1 a step


def test_a_plain_search_gives_every_network_as_many_episodes():
    result = deep.train("CartPole-v1", method="plain", **SMALL).result
    assert result.collaborative == []
    assert result.episodes.budget == 8 * (6 + 3)
    assert result.ranking[0].score == np.mean(result.individual[result.ranking[0].number][-3:])


def test_a_single_plain_dqn_is_a_plain_search_of_one_point():
    one = {name: values[:1] for name, values in GRID.items()}
    result = deep.train("CartPole-v1", method="plain", **SMALL | {"grid": one}).result
    assert len(result.ranking) == 1
    assert result.episodes.budget == 9


@pytest.mark.parametrize("voting", ["random", "majority", "leader", "weighted"])
def test_one_seed_one_result(voting):
    searches = [deep.train("CartPole-v1", voting=voting, seed=seed, **SMALL) for seed in (3, 3, 4)]
    assert same(searches[0], searches[1])
    assert not same(searches[0], searches[2])
    assert searches[0].result.episodes.scouting == (3 * 8 if voting in ("leader", "weighted") else 0)


def test_halving_drops_the_worse_half_in_every_round_but_the_first():
    result = deep.train("CartPole-v1", halving=True, **SMALL).result
    assert [left.why for left in result.left] == ["halved"] * 6
    assert len(result.ranking) == 2
    assert result.episodes.scouting == 8 + 8 + 4


@pytest.mark.parametrize("method", ["social", "plain"])
@pytest.mark.parametrize("stop_after", [2, 7, 11])
def test_a_search_that_was_stopped_ends_as_one_that_was_not(method, stop_after, tmp_path):
    options = SMALL | {"method": method, "voting": "weighted", "halving": method == "social", "seed": 1}
    whole = deep.train("CartPole-v1", **options)
    search = GridSearch("CartPole-v1", out=tmp_path / "run", checkpoint_minutes=0, **options)
    for turn, _ in enumerate(search.episodes()):
        if turn == stop_after:
            break
    search.directory.lock.unlock()
    resumed = GridSearch.resume(tmp_path / "run", checkpoint_minutes=0)
    for _ in resumed.episodes():
        pass
    assert same(resumed, whole)
    assert read_result(tmp_path / "run").ranking == whole.result.ranking
    assert not (tmp_path / "run" / "checkpoint").exists()
    resumed.directory.lock.unlock()
    finished = GridSearch.resume(tmp_path / "run")
    assert list(finished.episodes()) == []
    assert same(finished, whole)
    with pytest.raises(SirlError, match="is not kept: take the champion"):
        finished.network(next(number for number in range(8) if number != whole.result.champion))


class Enough(KeyboardInterrupt):
    """A reason to stop."""


@pytest.mark.parametrize("method", ["social", "plain"])
@pytest.mark.parametrize("stop_after", [0, 3, 6, 8], ids=["start", "midway", "end of a phase", "alone"])
def test_a_stop_keeps_what_was_earned_to_the_step(method, stop_after, tmp_path, monkeypatch):
    options = SMALL | {"method": method, "voting": "weighted", "seed": 1}
    whole = deep.train("CartPole-v1", **options)
    search = GridSearch("CartPole-v1", out=tmp_path / "run", checkpoint_minutes=1000, **options)
    turns = search.episodes()
    for _ in range(stop_after):
        next(turns)
    usual, played = Play.step, []

    def stopped(self):
        ended = usual(self)
        played.append(self.steps)
        if len(played) == 3:
            assert search.stop(Enough)
        return ended

    monkeypatch.setattr(Play, "step", stopped)
    with pytest.raises(Enough):
        list(turns)
    assert not search.stop(KeyboardInterrupt)
    monkeypatch.setattr(Play, "step", usual)
    search.directory.lock.unlock()
    resumed = GridSearch.resume(tmp_path / "run")
    assert resumed._play.steps == played[-1]
    for _ in resumed.episodes():
        pass
    assert same(resumed, whole)


def test_a_stop_at_the_end_of_a_phase_is_heard_in_the_next(tmp_path):
    whole = deep.train("CartPole-v1", **SMALL)
    search = GridSearch("CartPole-v1", out=tmp_path / "run", checkpoint_minutes=1000, **SMALL)
    turns = search.episodes()
    for _ in range(6):
        next(turns)
    assert search.stop(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        list(turns)
    search.directory.lock.unlock()
    resumed = GridSearch.resume(tmp_path / "run")
    for _ in resumed.episodes():
        pass
    assert same(resumed, whole)


def test_a_damaged_checkpoint_is_told(tmp_path):
    search = GridSearch("CartPole-v1", out=tmp_path / "run", checkpoint_minutes=0, **SMALL)
    steps = search.episodes()
    next(steps), next(steps)
    search.directory.lock.unlock()
    path = tmp_path / "run" / "checkpoint"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(SirlError, match=r"checkpoint is damaged \(its checksum does not fit\)"):
        GridSearch.resume(tmp_path / "run")


@pytest.mark.parametrize("voting", ["random", "majority"])
def test_a_network_that_diverges_is_dropped_and_the_rest_goes_on(voting, monkeypatch):
    spoil_at(monkeypatch, step=15, numbers=[2, 5])
    result = deep.train("CartPole-v1", voting=voting, **SMALL | {"collaborative_episodes": 20}).result
    assert {(left.number, left.why) for left in result.left} == {(2, "diverged"), (5, "diverged")}
    assert sorted(entry.number for entry in result.ranking) == [0, 1, 3, 4, 6, 7]
    assert all(left.steps >= 15 for left in result.left)


def test_a_network_that_diverges_alone_is_listed_too(monkeypatch):
    spoil_at(monkeypatch, step=15, numbers=[0])
    result = deep.train("CartPole-v1", method="plain", **SMALL).result
    assert [(left.number, left.why) for left in result.left] == [(0, "diverged")]
    assert len(result.ranking) == 7


@pytest.mark.parametrize("method", ["social", "plain"])
def test_that_all_networks_diverge_is_told(method, monkeypatch):
    spoil_at(monkeypatch, step=15, numbers=range(8))
    with pytest.raises(SirlError, match=r"^all networks diverged to NaN.*: use smaller values of learning_rate\.$"):
        deep.train("CartPole-v1", method=method, **SMALL)


def test_a_comparison_tells_whose_best_network_diverged_alone(monkeypatch):
    social = deep.train("CartPole-v1", seed=3, **SMALL).result
    spoil_at(monkeypatch, step=15, numbers=[social.ranking[0].number])
    plain = deep.train("CartPole-v1", seed=3, method="plain", **SMALL).result
    with pytest.raises(SirlError, match=r"of seed 3, did not come to the end of the plain one.*: compare other seeds"):
        compare([social], [plain])


def spoil_at(monkeypatch, step, numbers):
    """Let networks come to NaN."""
    usual = Play.step

    def spoiled(self):
        if self.steps == step:
            for desk in self.crew._desks:
                for place, row in enumerate(desk.group.rows.tolist()):
                    if self.crew.ids[row] in numbers:
                        desk.online[-1].biases[place] = float("nan")
        return usual(self)

    monkeypatch.setattr(Play, "step", spoiled)


@pytest.mark.parametrize(
    "observation", [spaces.Box(-1, 1, (3,), np.float64), spaces.Discrete(4, start=2)], ids=["box", "discrete"]
)
def test_any_task_with_discrete_actions(observation):
    search = deep.train(lambda: Tiny(observation, spaces.Discrete(3, start=-1)), **SMALL)
    action, _ = search.champion.predict(observation.sample())
    assert action in (-1, 0, 1)
    assert search.result.collaborative[0] == int(search.result.collaborative[0])


def test_continuous_actions_are_refused_with_advice():
    with pytest.raises(SirlError, match=r"^Pendulum-v1 has box actions.*: use `sirl train Pendulum-v1`"):
        deep.train("Pendulum-v1", **SMALL)


def test_an_option_of_the_environment_may_hold_nothing(register, tmp_path):
    """TOML has no null, not in a list either."""
    search = GridSearch(
        register(lambda gears: Tiny()), out=tmp_path / "run", env_options={"gears": [1, None, [None, 2]]}, **SMALL
    )
    search.directory.lock.unlock()
    assert GridSearch.resume(tmp_path / "run").config.env_options == {"gears": [1, [2]]}


def test_a_network_and_its_tree_know_how_their_environment_was_made(register, tmp_path):
    """Any object is an option; what a file can't hold stands there as Python shows it."""
    env = register(lambda size, act: Tiny(spaces.Box(-1, 1, (act(range(size)),))))
    search = deep.train(env, env_options={"size": 3, "act": len}, max_steps=4, out=tmp_path / "run", **SMALL)
    assert deep.evaluate(search.champion, episodes=2).lengths.tolist() == [4, 4]
    tree = deep.distil(search.champion, max_leaves=2, rounds=1, validation_episodes=2).tree
    tree.save(tmp_path / "tree.json")
    for task in (deep.load(tmp_path / "run").task, load(tmp_path / "tree.json").task):
        assert (task.env_options, task.max_steps) == ({"size": 3, "act": repr(len)}, 4)


def test_a_directory_that_is_taken(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SirlError, match="already exists and is not empty"):
        GridSearch("CartPole-v1", out=tmp_path, **SMALL)


class Signs(gym.Env):
    """Twenty steps; a point for the action that has the sign of the first feature."""

    observation_space, action_space = spaces.Box(-1, 1, (2,)), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.seen = 0, self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.seen, {}

    def step(self, action):
        reward = float(action == (self.seen[0] > 0))
        self.steps, self.seen = self.steps + 1, self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.seen, reward, False, self.steps == 20, {}


def test_networks_learn_together_and_become_a_tree():
    """On unseen episodes of a task with a known best answer: 20 is perfect, 10 is chance."""
    search = deep.train(
        Signs,
        grid={"learning_rate": [3e-3, 1e-2], "architecture": [8, 16], "batch_size": [32], "target_period": [50]},
        collaborative_episodes=60, individual_episodes=3, exploration_steps=500, learning_starts=50,
    )  # fmt: skip
    assert np.mean(search.result.collaborative[:10]) < 14
    assert deep.evaluate(search.champion, Signs, episodes=50).mean > 19
    distilled = deep.distil(search.champion, Signs, rounds=3, validation_episodes=10)
    assert distilled.tree.tree.n_leaves <= 4
    assert distilled.agreement > 0.95
    tree_score = np.mean([play(distilled.tree, Signs(), seed) for seed in range(50)])
    assert tree_score > 19


def play(policy, env, seed):
    observation, _ = env.reset(seed=10_000 + seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy.predict(observation)[0])
        total, over = total + reward, terminated or truncated
    return total
