"""The paper in plain Python: one object a tree, one environment, no arrays, no kernels.

It is what a first implementation of the paper looks like, so speed is measured against it; and since it
draws from the same keys, it is an independent oracle: a generation of it has the same bits as one of ``sirl``.
Nothing here is shared with the package but the settings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from sirl.config import Settings

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15
STREAMS = {"q_values": 4, "scouting": 5, "collaborative": 6, "individual": 7}


def mix(x: int) -> int:
    """The SplitMix64 finalizer."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def fold(key: int, word: int) -> int:
    """The key for a word under a key."""
    return mix(key ^ mix((word * GOLDEN + GOLDEN) % WORD))


def root(seed: int, stream: str, generation: int) -> int:
    """The key of a generation's draws for one purpose."""
    return fold(fold(fold(0, seed), STREAMS[stream]), generation)


def uniform(key: int, counter: int) -> float:
    """A draw in [0, 1)."""
    return (mix((key + (counter + 1) * GOLDEN) % WORD) >> 11) * 2.0**-53


@dataclass
class Leaf:
    """A row of Q-values."""

    q: list[float] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)


@dataclass
class Node:
    """A condition and where it leads."""

    weights: Sequence[float]
    threshold: float
    if_true: Node | Leaf
    if_false: Node | Leaf


def translate(codons: Sequence[int], n_features: int, constants: Sequence[float], zeros: bool = False) -> Node | None:
    """The oblique tree of a genotype, by rewriting a string rule by rule as the paper says; None if invalid."""
    terms = ", ".join(["<const>"] * n_features)
    grammar = {
        "<start>": ["<if>"],
        "<if>": ["Node(<condition>, <action>, <action>)"],
        "<condition>": [f"[{terms}], <const>"],
        "<action>": ["Leaf()", "<if>"],
        "<const>": ["0.0", "<nonzero>"],
        "<nonzero>": [repr(float(c)) for c in constants],
    }
    return rewrite(codons, grammar, zeros)


def translate_orthogonal(codons: Sequence[int], constants: Sequence[Sequence[float]]) -> Node | None:
    """The orthogonal tree of a genotype, feature k compared with one of ``constants[k]``; None if invalid."""
    n = len(constants)
    one_hot = [[1.0 if i == k else 0.0 for i in range(n)] for k in range(n)]
    grammar = {
        "<start>": ["<if>"],
        "<if>": ["Node(<condition>, <action>, <action>)"],
        "<condition>": [f"{one_hot[k]}, <const{k}>" for k in range(n)],
        "<action>": ["Leaf()", "<if>"],
        **{f"<const{k}>": [repr(float(c)) for c in constants[k]] for k in range(n)},
    }
    # <start> and <if> and <action> take a codon each, <condition> chooses the feature, <const> the value.
    return rewrite(codons, grammar, zeros=False)


def rewrite(codons: Sequence[int], grammar: dict[str, list[str]], zeros: bool) -> Node | None:
    """The paper's translation algorithm: the first unexpanded rule takes the next codon."""
    tree = "<start>"
    rule = re.compile("|".join(map(re.escape, grammar)))
    codons = list(codons)
    while (found := rule.search(tree)) is not None:
        if not codons and not zeros:
            return None
        options = grammar[found.group()]
        choice = options[(codons.pop(0) if codons else 0) % len(options)]
        tree = tree[: found.start()] + choice + tree[found.end() :]
    return eval(tree, {"Node": Node, "Leaf": Leaf})


def leaves(node: Node | Leaf) -> list[Leaf]:
    """The leaves of a tree from the first branch to the last."""
    return [node] if isinstance(node, Leaf) else leaves(node.if_true) + leaves(node.if_false)


def walk(node: Node | Leaf, x: Sequence[float]) -> Leaf:
    """The leaf that an observation reaches."""
    while isinstance(node, Node):
        total = 0.0
        for weight, value in zip(node.weights, x, strict=True):
            total += weight * value
        node = node.if_true if total < node.threshold else node.if_false
    return node


def choose(leaf: Leaf, epsilon: float, key: int, counter: int) -> int:
    """ε-greedy, ties broken at random."""
    if epsilon > 0 and uniform(key, counter) < epsilon:
        return math.floor(uniform(key, counter + 1) * len(leaf.q))
    best = max(leaf.q)
    tied = [action for action, value in enumerate(leaf.q) if value == best]
    return tied[0] if len(tied) == 1 else tied[math.floor(uniform(key, counter + 2) * len(tied))]


def learn(tree: Node, x: Any, action: int, reward: float, following: Any, bootstrap: bool, settings: Settings) -> None:
    """Q-learning from one transition."""
    target = reward
    if bootstrap:
        target += settings.discount * max(walk(tree, following).q)
    leaf = walk(tree, x)
    rate = settings.learning_rate
    if settings.learning_rate_rule == "1/visits":
        leaf.visits[action] += 1
        rate = 1.0 / leaf.visits[action]
    leaf.q[action] += rate * (target - leaf.q[action])


def counts(terminated: bool, truncated: bool, settings: Settings) -> bool:
    """Whether the next state's value counts."""
    if settings.bootstrap == "always":
        return True
    return not terminated and (settings.bootstrap == "truncation" or not truncated)


def episode(
    env: gym.Env[Any, Any],
    seed_key: int,
    menu: Sequence[Any],
    act: Callable[[Any, int], int],
    learners: Sequence[Node],
    settings: Settings,
) -> tuple[float, int]:
    """One episode in which ``act`` chooses and all ``learners`` learn; its return and its length."""
    x, _ = env.reset(seed=fold(seed_key, 0) >> 1)
    x = [float(v) for v in x]
    total, steps, done = 0.0, 0, False
    while not done:
        action = act(x, steps)
        following, reward, terminated, truncated, _ = env.step(menu[action])
        following = [float(v) for v in following]
        for tree in learners:
            learn(tree, x, action, float(reward), following, counts(terminated, truncated, settings), settings)
        x, total, steps, done = following, total + float(reward), steps + 1, terminated or truncated
    return total, steps


def individual_phase(
    env: gym.Env[Any, Any], trees: dict[int, Node], menu: Sequence[Any], settings: Settings, key: int, episodes: range
) -> dict[int, list[float]]:
    """Algorithm 3."""
    returns: dict[int, list[float]] = {}
    for number, tree in trees.items():
        returns[number] = []
        for e in episodes:
            episode_key = fold(fold(key, number), e)

            def act(x: Any, step: int, tree: Node = tree, episode_key: int = episode_key) -> int:
                return choose(walk(tree, x), settings.epsilon, episode_key, 3 * step)

            returns[number].append(episode(env, episode_key, menu, act, [tree], settings)[0])
    return returns


def collaborative_phase(
    env: gym.Env[Any, Any],
    trees: list[Node],
    menu: Sequence[Any],
    settings: Settings,
    key: int,
    weights: Sequence[float],
) -> int:
    """Algorithm 2 in each copy; then every leaf becomes the mean of its copies. The steps it took."""
    first = [[(list(leaf.q), list(leaf.visits)) for leaf in leaves(tree)] for tree in trees]
    sums = [[[0.0] * len(q) for q, _ in rows] for rows in first]
    gained = [[list(visits) for _, visits in rows] for rows in first]
    steps = 0
    for copy in range(settings.collaborative_copies):
        for tree, rows in zip(trees, first, strict=True):
            for leaf, (q, visits) in zip(leaves(tree), rows, strict=True):
                leaf.q, leaf.visits = list(q), list(visits)
        for iteration in range(settings.collaborative_iterations):
            episode_key = fold(fold(key, copy), iteration)

            def act(x: Any, step: int, episode_key: int = episode_key) -> int:
                proposals = [
                    choose(walk(tree, x), settings.epsilon, episode_key, 3 * (step * len(trees) + number))
                    for number, tree in enumerate(trees)
                ]
                return vote(proposals, weights, settings.voting, uniform(fold(episode_key, 1), step))

            steps += episode(env, episode_key, menu, act, trees, settings)[1]
        for tree, total, more, rows in zip(trees, sums, gained, first, strict=True):
            for leaf, q, v, (_, before) in zip(leaves(tree), total, more, rows, strict=True):
                q[:] = [a + b for a, b in zip(q, leaf.q, strict=True)]
                v[:] = [a + b - c for a, b, c in zip(v, leaf.visits, before, strict=True)]
    for tree, total, more in zip(trees, sums, gained, strict=True):
        for leaf, q, v in zip(leaves(tree), total, more, strict=True):
            leaf.q, leaf.visits = [value / settings.collaborative_copies for value in q], v
    return steps


def vote(proposals: list[int], weights: Sequence[float], rule: str, chance: float) -> int:
    """One action from many."""
    if rule == "random":
        return proposals[math.floor(chance * len(proposals))]
    if rule == "leader":
        return proposals[max(range(len(weights)), key=lambda tree: weights[tree])]
    votes: dict[int, float] = {}
    for proposal, weight in zip(proposals, weights, strict=True):
        votes[proposal] = votes.get(proposal, 0.0) + weight
    tied = sorted(action for action, total in votes.items() if total == max(votes.values()))
    return tied[math.floor(chance * len(tied))]


def evaluate(
    env: gym.Env[Any, Any],
    genotypes: Sequence[Sequence[int]],
    menu: Sequence[Any],
    constants: Sequence[float],
    settings: Settings,
    seed: int,
    generation: int,
) -> tuple[list[float], dict[int, Node]]:
    """Both phases for a population: fitness of each individual, and the trees that are valid."""
    n_features = int(env.observation_space.shape[0])  # type: ignore[index]
    trees: dict[int, Node] = {}
    for number, codons in enumerate(genotypes):
        tree = translate(codons, n_features, constants, settings.codons_run_out == "zeros")
        if tree is None:
            continue
        trees[number] = tree
        key = fold(root(seed, "q_values", generation), number)
        for row, leaf in enumerate(leaves(tree)):
            draws = [uniform(key, row * len(menu) + a) for a in range(len(menu))]
            leaf.q = [settings.q_low + (settings.q_high - settings.q_low) * u for u in draws]
            leaf.visits = [0] * len(menu)
    weights = [1.0] * len(trees)
    if settings.scouts():
        key = root(seed, "scouting", generation)
        scouted = individual_phase(env, trees, menu, settings, key, range(settings.scouting_episodes))
        weights = ranks([sum(r) / len(r) for r in scouted.values()])
    if settings.collaborative_iterations:
        key = root(seed, "collaborative", generation)
        collaborative_phase(env, list(trees.values()), menu, settings, key, weights)
    key = root(seed, "individual", generation)
    returns = individual_phase(env, trees, menu, settings, key, range(settings.individual_episodes))
    fitness = [-math.inf] * len(genotypes)
    for number, scores in returns.items():
        fitness[number] = sum(scores) / len(scores)
    return fitness, trees


def ranks(scores: list[float]) -> list[float]:
    """The worst 1/n, the best 1."""
    order = sorted(range(len(scores)), key=lambda tree: scores[tree])
    weights = [0.0] * len(scores)
    for rank, tree in enumerate(order, 1):
        weights[tree] = rank / len(scores)
    return weights
