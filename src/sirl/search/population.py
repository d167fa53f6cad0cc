"""A population in one generation: it learns in two phases, and every tree gets its fitness.

The work of a phase is cut into orders, an engine runs them anywhere, and their results are put together in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.config import Settings
from sirl.engine import Engine
from sirl.errors import EnvironmentFailure, SirlError
from sirl.keys import Stream, fold_all, root
from sirl.learning.forest import Forest
from sirl.learning.q_learning import Rule, Table, fresh_table
from sirl.learning.voting import weigh
from sirl.model.leaves import QLeaves
from sirl.model.menu import Menu, make_menu
from sirl.model.task import Task
from sirl.model.tree import Tree
from sirl.rollout.arena import Arena, Cuts, collaborative, individual
from sirl.rollout.spread import cut, run_orders
from sirl.rollout.work import CollaborativeOrder, IndividualOrder, Learning
from sirl.search.genome import Codons
from sirl.search.grammar import Grammar, make_grammar, translate
from sirl.search.records import Cost


class Problem(NamedTuple):
    """What is to be solved, and how."""

    task: Task
    settings: Settings
    method: str
    """What the settings go by."""
    seed: int
    menu: Menu
    grammar: Grammar
    cuts: Cuts
    """Into how many orders the phases are cut."""


def make_problem(task: Task, settings: Settings, method: str, seed: int, cuts: Cuts = Cuts(1, 1)) -> Problem:  # noqa: B008
    """The problem of training on a task."""
    return Problem(task, settings, method, seed, make_menu(task, settings), make_grammar(task, settings), cuts)


class Evaluated(NamedTuple):
    """A population after its two phases."""

    fitness: Floats
    """(population,); -inf where invalid."""
    forest: Forest
    valid: Ints
    """(n_trees,): which individual each tree is."""
    table: Table
    collaborative: Cost
    individual: Cost

    def tree(self, index: int, menu: Menu) -> Tree:
        """One of the trees, with what it has learned."""
        rows = slice(self.forest.first_leaf[index], self.forest.first_leaf[index + 1])
        return self.forest.tree(index, QLeaves(self.table.q_values[rows].copy(), menu))


def evaluate_all(codons: Codons, problem: Problem, generation: int, engine: Engine[Arena]) -> Evaluated:
    """Both phases for the trees that a population stands for."""
    settings = problem.settings
    forest, valid = translate(codons, problem.grammar, settings.max_leaves)
    if not len(valid):
        raise SirlError(
            f"no genotype of {settings.genotype_length} codons reaches to the end of a tree for "
            f"{problem.task.n_features} features: raise genotype_length or use codons_run_out = 'zeros'."
        )
    evaluated = learn(forest, valid, problem, generation, engine)
    fitness = np.full(len(codons), -np.inf)
    fitness[valid] = evaluated.fitness
    return evaluated._replace(fitness=fitness)


def learn(forest: Forest, valid: Ints, problem: Problem, generation: int, engine: Engine[Arena]) -> Evaluated:
    """Both phases for trees, ``rounds`` times in turn; ``valid`` (n_trees,): which individual each of them is.

    The fitness is that of the trees, (n_trees,).
    """
    settings = problem.settings
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
    fitness = np.concatenate(returns, axis=1).mean(axis=1)
    if not np.isfinite(fitness).any():
        raise _all_broke(problem)
    return Evaluated(fitness, forest, valid, group.table, group.collaborative_cost, group.individual_cost)


def first_table(forest: Forest, valid: Ints, problem: Problem, generation: int) -> Table:
    """What leaves know before they have learned anything; ``valid`` (n_trees,): which individual each tree is."""
    keys = fold_all(root(problem.seed, Stream.Q_VALUES, generation), valid)
    return fresh_table(forest, len(problem.menu.values), keys, problem.settings)


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
        valid: Ints,
    ):
        self.problem, self.generation, self.engine = problem, generation, engine
        self.forest, self.valid = forest, valid
        self.table = first_table(forest, valid, problem, generation)
        self.rule = Rule.of(problem.settings)
        self.episodes_seen = 0
        self.collaborative_cost = Cost()
        self.individual_cost = Cost()

    def individual(self, stream: Stream, episodes: range) -> Floats:
        """Every tree plays ``episodes`` alone (Algorithm 3); the returns, (n_trees, n_episodes)."""
        key = root(self.problem.seed, stream, self.generation)
        all_trees = IndividualOrder(self.forest, self.table, self.valid, self._learning(episodes), key)
        # More parts than workers make up for a worker that is slower.
        orders = [all_trees.part(a, b) for a, b in cut(self.forest.n_trees, self._parts(self.problem.cuts.individual))]
        try:
            results = run_orders(self.engine, individual, orders, self.problem.task.env)
        except EnvironmentFailure as failure:
            raise self._find_culprit(failure, orders) from failure
        self.table = Table(*map(np.concatenate, zip(*(r.table for r in results), strict=True)))
        returns = np.concatenate([r.returns for r in results])
        self.individual_cost = self.individual_cost.plus(returns.size, sum(r.steps for r in results))
        return returns

    def collaborative(self, iterations: range, weights: Floats) -> None:
        """All trees play ``iterations`` together in each copy (Algorithm 2); then leaves are averaged."""
        settings = self.problem.settings
        n_copies = settings.collaborative_copies
        learning = self._learning(iterations)
        orders = [
            CollaborativeOrder(
                self.forest,
                self.table,
                np.arange(a, b),
                weights,
                settings.voting,
                learning,
                root(self.problem.seed, Stream.COLLABORATIVE, self.generation),
            )
            for a, b in cut(n_copies, self._parts(self.problem.cuts.collaborative))
        ]
        results = run_orders(self.engine, collaborative, orders, self.problem.task.env)
        # The paper's parallel scheme: each tree becomes the mean of its copies.
        q_values = np.concatenate([r.tables.q_values for r in results]).sum(axis=0) / n_copies
        visits = np.concatenate([r.tables.visits for r in results])
        gained = (visits - self.table.visits).sum(axis=0)
        self.table = Table.of(q_values, self.table.visits + gained)
        self.collaborative_cost = self.collaborative_cost.plus(
            n_copies * len(iterations), sum(r.steps for r in results)
        )

    def _parts(self, for_each_worker: int) -> int:
        """Into how many orders a phase is cut."""
        return 1 if self.engine.workers == 1 else self.engine.workers * for_each_worker

    def _find_culprit(self, failure: EnvironmentFailure, orders: Sequence[IndividualOrder]) -> EnvironmentFailure:
        """The failure as it happens to one individual alone, by name, if it happens again."""
        singles = [single for order in orders if order.label == failure.where for single in order.parts()]
        try:
            run_orders(self.engine, individual, singles, self.problem.task.env)
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
        return Learning(self.rule, self.problem.menu.values, epsilons, episodes.start)


def _all_broke(problem: Problem) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"every tree made the simulation of {problem.task.env} lose its state: its actions are more than the "
        "simulation can follow; narrow the action space or shorten the time step"
    )
