"""A policy on unseen episodes of Gymnasium, with what its decisions cost: every return, length and complexity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import msgspec
import numpy as np

from sirl.arrays import Ints
from sirl.errors import SirlError
from sirl.files import read_plain, write_atomically
from sirl.keys import Stream, episode_seeds, fold_all, root
from sirl.model.policy import Policy, load
from sirl.reading.complexity import decision_costs
from sirl.reading.playing import sum_visits
from sirl.reading.prune import prune_by_visits
from sirl.runs.directory import writable
from sirl.runs.evaluation import Evaluation, evaluate
from sirl.simulators.gymnasium import make_environment

CROWNINGS = ("training", "validation")
"""How a champion is chosen: as the paper does, by training score, or on fresh episodes."""
_FILES = {"training": "champion-training.json", "validation": "champion.json"}
_LARGEST = 10**8
_PRUNING_SEED = 1
"""Of episodes that decide what is pruned: others than those that score."""


class Played(msgspec.Struct, frozen=True):
    """A policy's unseen episodes, one number each; and its leaves."""

    returns: list[float]
    lengths: list[int]
    macs: list[int]
    """Multiply-accumulates."""
    leaves: int


class Champion(msgspec.Struct, frozen=True):
    """A champion as it is, and pruned by visits."""

    whole: Played
    pruned: Played


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """What the champions of a run do on unseen episodes: unseen.json of its directory."""

    episodes: int
    training: Champion
    validation: Champion

    def __post_init__(self) -> None:
        """Refuse lists that have not one number for each episode."""
        for played in (self.training.whole, self.training.pruned, self.validation.whole, self.validation.pruned):
            if {len(played.returns), len(played.lengths), len(played.macs)} != {self.episodes}:
                raise ValueError(f"its lists have not one number for each of {self.episodes} episodes")

    def of(self, crowning: str) -> Champion:
        """The champion that was crowned in this way."""
        return self.training if crowning == "training" else self.validation


def play(policy: Policy, episodes: int, seed: int = 0) -> Played:
    """Play ``episodes`` in this process; the same ones, with the same returns, as :func:`sirl.evaluate`."""
    found, leaves = _watch(policy, episodes, seed)
    costs = decision_costs(policy.tree, policy.task)
    macs = [int(costs[reached].sum()) for reached in leaves]
    return Played(found.returns.tolist(), found.lengths.tolist(), macs, policy.tree.n_leaves)


def play_champion(policy: Policy, episodes: int) -> Champion:
    """Play a champion as it is, and as it is after pruning; what is pruned is decided on other episodes."""
    whole = play(policy, episodes)
    _, leaves = _watch(policy, max(2, episodes // 5), _PRUNING_SEED)
    counts = np.bincount(np.concatenate(leaves), minlength=policy.tree.n_leaves)
    tree = prune_by_visits(policy.tree, sum_visits(policy.tree, counts, len(leaves))).tree
    same = tree.n_leaves == policy.tree.n_leaves
    return Champion(whole, whole if same else play(Policy(policy.task, tree, policy.origin), episodes))


def _watch(policy: Policy, episodes: int, seed: int) -> tuple[Evaluation, list[Ints]]:
    """Episodes, and for each the leaf that made each decision, (length,)."""
    notes: dict[int, list[Any]] = {}
    env = policy.task.env
    found = evaluate(policy, lambda: _Noting(make_environment(env), notes), episodes=episodes, seed=seed, workers=1)
    starts = episode_seeds(fold_all(root(seed, Stream.EVALUATION, 0), np.arange(episodes)))
    seen = [policy.task.rows(np.array(notes[int(start)][:-1])) for start in starts]  # nobody decides on the last one
    return found, [policy.tree.walk(rows) for rows in seen]


class _Noting(gym.Wrapper[Any, Any, Any, Any]):
    """Notes what is observed, by the seed of the episode."""

    def __init__(self, env: gym.Env[Any, Any], notes: dict[int, list[Any]]):
        super().__init__(env)
        self._notes = notes
        self._episode: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode = [np.array(observation)]
        if seed is not None:
            self._notes[int(seed)] = self._episode
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._episode.append(np.array(observation))
        return observation, reward, terminated, truncated, info


def champion(directory: Path, crowning: str) -> Policy:
    """A run's champion, crowned in one way or the other; they are one where the search knows no training scores."""
    path = directory / _FILES[crowning]
    return load(path if path.exists() else directory)


def play_champions(directory: Path, episodes: int) -> None:
    """Play both champions of a run that has ended, and keep what they do."""
    validated, trained = (champion(directory, crowning) for crowning in ("validation", "training"))
    first = play_champion(validated, episodes)
    second = first if _same(validated, trained) else play_champion(trained, episodes)
    content = msgspec.json.encode(Unseen(episodes=episodes, training=second, validation=first))
    with writable(directory / "unseen.json"):
        write_atomically(directory / "unseen.json", content + b"\n")


def _same(one: Policy, other: Policy) -> bool:
    """Whether two champions of a run are one and the same tree."""
    who = [(policy.origin.generation, policy.origin.individual) for policy in (one, other)]
    return who[0] == who[1] and None not in who[0]


def read_unseen(directory: Path) -> Unseen | None:
    """What the champions of a run did; None before they have played."""
    file = directory / "unseen.json"
    try:
        return msgspec.json.decode(read_plain(file, _LARGEST), type=Unseen)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SirlError(f"{file} can't be read ({error}): remove it, and its champions play again.") from None
