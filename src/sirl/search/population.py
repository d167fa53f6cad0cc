"""A population in one generation: it learns in two phases, and every tree gets its fitness.

The work of a phase is cut into orders, an engine runs them anywhere, and their results are put together in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sirl.config import Settings
from sirl.engine import Engine
from sirl.errors import EnvironmentFailure, SirlError, WorkFailure
from sirl.keys import Stream, fold_all, root
from sirl.learning.forest import Forest, pack
from sirl.learning.q_learning import Rule, fill_uniform
from sirl.learning.voting import ELECTING, weigh
from sirl.model.task import Menu, Task, make_menu
from sirl.model.tree import Tree
from sirl.rollout.phases import collaborate, play, refine
from sirl.rollout.work import Arena, CollaborativeOrder, IndividualOrder, Knowledge, Learning, PlayOrder
from sirl.search.genome import Codons
from sirl.search.grammar import Grammar, make_grammar, translate

_Order = TypeVar("_Order")
_Result = TypeVar("_Result")


class Problem(NamedTuple):
    """What is to be solved, and how."""

    task: Task
    settings: Settings
    seed: int
    menu: Menu
    grammar: Grammar
    lockstep: bool
    """A worker's episodes share the cost of a call, so that few large orders are best; else many small ones are."""


def make_problem(task: Task, settings: Settings, seed: int, lockstep: bool = True) -> Problem:
    """The problem of training on a task."""
    return Problem(task, settings, seed, make_menu(task, settings), make_grammar(task, settings), lockstep)


class Spent(NamedTuple):
    """What a generation cost in one phase."""

    episodes: int = 0
    steps: int = 0

    def plus(self, episodes: int, steps: int) -> Spent:
        """With some more."""
        return Spent(self.episodes + episodes, self.steps + steps)


class Evaluated(NamedTuple):
    """A population after its two phases."""

    fitness: NDArray[np.float64]
    """(population,); -inf where invalid."""
    forest: Forest
    valid: NDArray[np.int64]
    """(n_trees,): which individual each tree is."""
    knowledge: Knowledge
    collaborative: Spent
    individual: Spent


def evaluate_all(codons: Codons, problem: Problem, generation: int, engine: Engine[Arena]) -> Evaluated:
    """Both phases for a population, ``rounds`` times in turn."""
    settings = problem.settings
    forest, valid = translate(codons, problem.grammar)
    if not len(valid):
        raise SirlError(
            f"no genotype of {settings.genotype_length} codons reaches to the end of a tree for "
            f"{problem.task.n_features} features: raise genotype_length or use codons_run_out = 'zeros'."
        )
    group = _Group(problem, generation, engine, forest, valid)
    scores = None
    returns = []
    if settings.scouts():
        scores = group.individual(Stream.SCOUTING, range(settings.scouting_episodes)).mean(axis=1)
    for iterations, episodes in _rounds(settings):
        if iterations:
            group.collaborative(iterations, weigh(scores, settings.voting, forest.n_trees))
        returns.append(group.individual(Stream.INDIVIDUAL, episodes))
        scores = returns[-1].mean(axis=1)
    fitness = np.full(len(codons), -np.inf)
    fitness[valid] = np.concatenate(returns, axis=1).mean(axis=1)
    if not np.isfinite(fitness).any():
        raise _all_broke(problem)
    return Evaluated(fitness, forest, valid, group.knowledge, group.spent_collaborative, group.spent_individual)


def first_knowledge(forest: Forest, valid: NDArray[np.int64], problem: Problem, generation: int) -> Knowledge:
    """What leaves know before they have learned anything; ``valid`` (n_trees,): which individual each tree is."""
    settings = problem.settings
    keys = fold_all(root(problem.seed, Stream.Q_VALUES, generation), valid)
    q_values = np.empty((forest.n_leaves, len(problem.menu.values)))
    fill_uniform(q_values, forest.first_leaf, keys, settings.q_low, settings.q_high)
    by_visits = settings.learning_rate_rule == "1/visits"
    return Knowledge(q_values, np.zeros(q_values.shape if by_visits else (0, 0), dtype=np.int64))


def make_rule(settings: Settings) -> Rule:
    """How Q-values are to move."""
    return Rule(
        settings.learning_rate,
        settings.learning_rate_rule == "1/visits",
        settings.discount,
        after_termination=settings.bootstrap == "always",
        after_truncation=settings.bootstrap != "never",
    )


def _rounds(settings: Settings) -> list[tuple[range, range]]:
    """The collaborative iterations and the individual episodes of each round, as even as can be."""

    def share(total: int) -> list[range]:
        edges = [total * r // settings.rounds for r in range(settings.rounds + 1)]
        return [range(a, b) for a, b in pairwise(edges)]

    return list(zip(share(settings.collaborative_iterations), share(settings.individual_episodes), strict=True))


class _Group:
    """The trees of one generation while they learn: cuts phases into orders and puts results together."""

    def __init__(
        self,
        problem: Problem,
        generation: int,
        engine: Engine[Arena],
        forest: Forest,
        valid: NDArray[np.int64],
    ):
        self.problem, self.generation, self.engine = problem, generation, engine
        self.forest, self.valid = forest, valid
        self.knowledge = first_knowledge(forest, valid, problem, generation)
        self.rule = make_rule(problem.settings)
        self.episodes_seen = 0
        self.spent_collaborative = Spent()
        self.spent_individual = Spent()

    def individual(self, stream: Stream, episodes: range) -> NDArray[np.float64]:
        """Every tree plays ``episodes`` alone (Algorithm 3); the returns, (n_trees, n_episodes)."""
        key = root(self.problem.seed, stream, self.generation)
        all_trees = IndividualOrder(self.forest, self.knowledge, self.valid, self._learning(episodes), key)
        # More parts than workers make up for a worker that is slower.
        orders = [all_trees.part(a, b) for a, b in _cut(self.forest.n_trees, self._parts(2, 4))]
        try:
            results = run_orders(self.engine, refine, orders, self.problem)
        except EnvironmentFailure as failure:
            raise self._find_culprit(failure, orders) from failure
        self.knowledge = Knowledge(
            np.concatenate([r.knowledge.q_values for r in results]),
            np.concatenate([r.knowledge.visits for r in results]),
        )
        returns = np.concatenate([r.returns for r in results])
        self.spent_individual = self.spent_individual.plus(returns.size, sum(r.steps for r in results))
        return returns

    def collaborative(self, iterations: range, weights: NDArray[np.float64]) -> None:
        """All trees play ``iterations`` together in each copy (Algorithm 2); then leaves are averaged."""
        settings = self.problem.settings
        n_copies = settings.collaborative_copies
        learning = self._learning(iterations)
        orders = [
            CollaborativeOrder(
                self.forest,
                self.knowledge,
                np.arange(a, b),
                weights,
                settings.voting,
                learning,
                root(self.problem.seed, Stream.COLLABORATIVE, self.generation),
            )
            for a, b in _cut(n_copies, self._parts(1, 8 if settings.voting in ELECTING else 1))
        ]
        results = run_orders(self.engine, collaborate, orders, self.problem)
        # The paper's parallel scheme: each tree becomes the mean of its copies.
        q_values = np.concatenate([r.knowledge.q_values for r in results]).sum(axis=0) / n_copies
        visits = np.concatenate([r.knowledge.visits for r in results])
        gained = (visits - self.knowledge.visits).sum(axis=0)
        self.knowledge = Knowledge(q_values, self.knowledge.visits + gained)
        self.spent_collaborative = self.spent_collaborative.plus(
            n_copies * len(iterations), sum(r.steps for r in results)
        )

    def _parts(self, in_lockstep: int, otherwise: int) -> int:
        """Into how many orders a phase is cut, by how many for each worker are good."""
        workers = self.engine.workers
        return 1 if workers == 1 else workers * (in_lockstep if self.problem.lockstep else otherwise)

    def _find_culprit(self, failure: EnvironmentFailure, orders: Sequence[IndividualOrder]) -> EnvironmentFailure:
        """The failure as it happens to one individual alone, by name, if it happens again."""
        singles = [single for order in orders if order.label == failure.where for single in order.parts()]
        try:
            run_orders(self.engine, refine, singles, self.problem)
        except EnvironmentFailure as culprit:
            culprit.alone = True
            return culprit
        return failure

    def _learning(self, episodes: range) -> Learning:
        settings = self.problem.settings
        seen = self.episodes_seen + np.arange(len(episodes))
        self.episodes_seen += len(episodes)
        with np.errstate(under="ignore"):  # whatever the caller has set: it may become 0
            epsilons = np.asarray(settings.epsilon * settings.epsilon_decay**seen, dtype=np.float64)
        return Learning(self.rule, epsilons, episodes.start)


def _all_broke(problem: Problem) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"every tree made the simulation of {problem.task.env} lose its state: its actions are more than the "
        "simulation can follow; narrow the action space or shorten the time step"
    )


def play_all(
    trees: Sequence[Tree], seeds: NDArray[np.int64], problem: Problem, engine: Engine[Arena]
) -> tuple[NDArray[np.float64], int]:
    """Returns of every tree on the same episodes, (n_trees, n_episodes), and the steps they took."""
    forest = pack(trees)
    actions = np.concatenate([tree.leaves.actions(problem.menu) for tree in trees])
    orders = [
        PlayOrder(forest, actions, np.tile(seeds[a:b], (len(trees), 1))) for a, b in _cut(len(seeds), engine.workers)
    ]
    results = run_orders(engine, play, orders, problem)
    steps = sum(int(r.lengths.sum()) for r in results)
    return np.concatenate([r.returns for r in results], axis=1), steps


def run_orders(
    engine: Engine[Arena], function: Callable[[Arena, _Order], _Result], orders: Sequence[_Order], problem: Problem
) -> list[_Result]:
    """What the engine makes of the orders; work that is lost gets to know of which environment it was."""
    try:
        return engine.map(function, orders)
    except WorkFailure as failure:
        failure.env = problem.task.env
        raise


def _cut(n: int, parts: int) -> list[tuple[int, int]]:
    """Cut n things into at most ``parts`` nearly equal stretches."""
    edges = sorted({n * part // parts for part in range(parts + 1)})
    return list(pairwise(edges))
