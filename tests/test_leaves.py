"""A leaf acts on an observation: a kind of our own goes through files, text, predict, lockstep and compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import pytest
from numba.core.caching import NullCache

from sirl.learning.forest import pack
from sirl.model import kinds
from sirl.model.formula import Formula, Sum, Term, compute
from sirl.model.policy import Policy
from sirl.model.tree import Tree
from sirl.rollout import acting, compiled
from sirl.rollout.acting import acts
from sirl.rollout.compiled import CompiledArena
from sirl.rollout.lockstep import LockstepArena
from sirl.rollout.work import PlayOrder
from sirl.simulators.gymnasium import GymnasiumSimulator, make_environment
from sirl.simulators.recipes import inspect, make_recipe


class TwoTermLaw(NamedTuple):
    """For compiled loops."""

    features: np.ndarray
    """(n_leaves, n_components, 2)"""
    gains: np.ndarray
    """(n_leaves, n_components, 2)"""
    bound: np.ndarray
    """(n_leaves,): actions are clipped here."""


class TwoTermRow(msgspec.Struct, forbid_unknown_fields=True):
    two_terms: list[dict[str, float]]


@dataclass(frozen=True, eq=False)
class TwoTermLeaves:
    """Each component of the action is a weighted sum of two features."""

    features: np.ndarray
    gains: np.ndarray
    menu: ClassVar[None] = None
    row: ClassVar[type[msgspec.Struct]] = TwoTermRow

    def __len__(self) -> int:
        return len(self.gains)

    def act(self, leaves, observations):
        rows = np.arange(len(leaves))[:, None]
        (i, j), (a, b) = (np.moveaxis(x[leaves], -1, 0) for x in (self.features, self.gains))
        return np.clip(a * observations[rows, i] + b * observations[rows, j], -0.5, 0.5).astype(np.float32)

    def law(self):
        return TwoTermLaw(self.features, self.gains, np.full(len(self), 0.5))

    def formula(self, leaf):
        pairs = zip(self.features[leaf].tolist(), self.gains[leaf].tolist(), strict=True)
        sums = (Sum(0.0, tuple(Term(g, (f,)) for f, g in zip(*pair, strict=True))) for pair in pairs)
        return Formula(tuple(sums), (-0.5,) * 3, (0.5,) * 3)

    def same(self, one, other):
        return one == other

    def outside(self, task):
        return ""

    def label(self, leaf, task):
        terms = [
            " + ".join(f"{g:g}·{task.features[f]}" for f, g in zip(fs, gs, strict=True))
            for fs, gs in zip(self.features[leaf], self.gains[leaf], strict=True)
        ]
        return "; ".join(f"{name} {text}" for name, text in zip(task.action_names, terms, strict=True))

    def take(self, leaves):
        return TwoTermLeaves(self.features[list(leaves)], self.gains[list(leaves)])

    def rows(self, task):
        return [
            TwoTermRow(
                [{task.features[f]: g for f, g in zip(fs, gs, strict=True)} for fs, gs in zip(*both, strict=True)]
            )
            for both in zip(self.features, self.gains.tolist(), strict=True)
        ]

    @classmethod
    def of_rows(cls, rows, task, menu):
        features = [[[task.features.index(name) for name in terms] for terms in row.two_terms] for row in rows]
        gains = [[list(terms.values()) for terms in row.two_terms] for row in rows]
        return TwoTermLeaves(np.array(features), np.array(gains))


@acts(TwoTermLaw)
def two_terms(law: Any, leaf: int, observation: Any, control: Any) -> None:
    for j in range(len(control)):
        i, k = law.features[leaf, j]
        total = law.gains[leaf, j, 0] * observation[i] + law.gains[leaf, j, 1] * observation[k]
        control[j] = min(max(total, -law.bound[leaf]), law.bound[leaf])


@pytest.fixture
def policy(monkeypatch):
    for loop in (compiled._play, acting.act_each):  # what is kept on disk must not know of a test
        monkeypatch.setattr(loop, "_cache", NullCache())
    monkeypatch.setattr(kinds, "KINDS", [*kinds.KINDS, TwoTermLeaves])
    task = inspect(make_recipe("Hopper-v4")).task
    rng = np.random.default_rng(0)
    features = np.sort(np.array([[rng.choice(11, 2, replace=False) for _ in range(3)] for _ in range(3)]))
    tree = Tree(
        np.round(rng.normal(size=(2, 11)), 2),
        np.round(rng.normal(size=2), 2),
        np.array([[1, ~2], [~0, ~1]], dtype=np.int32),
        TwoTermLeaves(features, np.round(rng.normal(size=(3, 3, 2)), 2)),
    )
    return Policy(task, tree)


def test_a_file_holds_it(policy):
    content = policy.to_json()
    again = Policy.from_json(content)
    assert isinstance(again.tree.leaves, TwoTermLeaves)
    assert again.to_json() == content
    assert b"two_terms" in content
    assert b'"actions"' not in content, "there is no menu to tell of"


def test_a_person_reads_it(policy):
    assert str(policy).count(" leg ") == 3
    assert "·" in str(policy)


def test_its_formula_is_what_it_does(policy):
    observations = np.random.default_rng(1).normal(size=(200, 11))
    reached = zip(policy.tree.walk(observations), observations, strict=True)
    told = [compute(policy.tree.leaves.formula(leaf), x) for leaf, x in reached]
    np.testing.assert_array_equal(np.array(told, np.float32), policy.predict(observations)[0])


def test_it_plays_with_the_same_bits_everywhere(policy):
    """A bare loop with ``predict``, lockstep on Gymnasium, and compiled loops."""
    seeds = np.arange(7, 17)
    order = PlayOrder(pack([policy.tree]), policy.tree.leaves.law(), seeds[None])
    in_loops = CompiledArena("Hopper-v4", policy.task).play(order)
    simulator = GymnasiumSimulator(partial(make_environment, "Hopper-v4"), 3)
    lockstep = LockstepArena(simulator, policy.task).play(order)
    environment = make_environment("Hopper-v4")
    returns = []
    for seed in seeds.tolist():
        observation, _ = environment.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = environment.step(policy.predict(observation)[0])
            total += reward
            over = terminated or truncated
        returns.append(total)
    assert in_loops.returns.tobytes() == lockstep.returns.tobytes() == np.array([returns]).tobytes()
    assert in_loops.lengths.tolist() == lockstep.lengths.tolist()
    assert len(set(returns)) == len(returns)


def test_a_leaf_of_no_known_kind_is_refused(policy):
    broken = policy.to_json().replace(b"two_terms", b"two_turns")
    broken = b"\n".join(line for line in broken.splitlines() if b'"checksum"' not in line)
    with pytest.raises(Exception, match="a leaf needs one of q_values, action, law, scores, two_terms"):
        Policy.from_json(broken)
