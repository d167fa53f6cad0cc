"""Algorithm 1: select, vary, evaluate in two phases, replace, crown; one generation is one pure step.

A ``Problem`` says what is to be solved and how, a frozen ``State`` is what a generation leaves behind. The
engine that the orders of work run on does not change any result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sirl.config import Settings
from sirl.engine import Engine
from sirl.errors import EnvironmentFailure, SirlError
from sirl.forest import Forest, pack
from sirl.genome import Codons, crossover, first_population, mutate, tournament_winners
from sirl.grammar import Grammar, make_grammar, translate
from sirl.kernels import Rule, fill_uniform
from sirl.keys import Stream, episode_seeds, fold_all, root
from sirl.phases import (
    Arena,
    CollaborativeOrder,
    IndividualOrder,
    Knowledge,
    Learning,
    PlayOrder,
    collaborate,
    play,
    refine,
)
from sirl.spaces import Menu, Task, make_menu
from sirl.tree import QLeaves, Tree, simplify
from sirl.voting import weigh

_Order = TypeVar("_Order")
_Result = TypeVar("_Result")


class Problem(NamedTuple):
    """What is to be solved, and how."""

    task: Task
    settings: Settings
    seed: int
    menu: Menu
    grammar: Grammar


class Champion(NamedTuple):
    """The best tree so far."""

    tree: Tree
    generation: int
    individual: int
    training_score: float
    """Mean return of its individual phase: its fitness."""
    validation_score: float | None
    """Mean return on the fresh episodes of its latest validation."""


class State(NamedTuple):
    """What a generation leaves behind."""

    generation: int
    """Generations completed."""
    codons: Codons
    """(population, genotype_length)"""
    fitness: NDArray[np.float64]
    """(population,); -inf for an individual whose codons ran out, or that broke the simulation."""
    champion: Champion | None
    solved: bool
    """The champion has held ``stop_at`` on fresh episodes."""


class Spent(NamedTuple):
    """What a generation cost in one phase."""

    episodes: int = 0
    steps: int = 0

    def plus(self, episodes: int, steps: int) -> Spent:
        """With some more."""
        return Spent(self.episodes + episodes, self.steps + steps)


class Summary(NamedTuple):
    """What a generation was like."""

    generation: int
    best: float
    """Best training score among this generation's offspring."""
    mean: float
    median: float
    invalid: int
    """Individuals whose codons ran out; they count in no score."""
    broke: list[int]
    """Which individuals made the simulation lose its state; they count in no score either."""
    collaborative: Spent
    individual: Spent
    validation: Spent


class _Evaluated(NamedTuple):
    """A population after its two phases."""

    fitness: NDArray[np.float64]
    """(population,); -inf where invalid."""
    forest: Forest
    valid: NDArray[np.int64]
    """(n_trees,): which individual each tree is."""
    knowledge: Knowledge
    collaborative: Spent
    individual: Spent


def make_problem(task: Task, settings: Settings, seed: int) -> Problem:
    """The problem of training on a task."""
    return Problem(task, settings, seed, make_menu(task, settings), make_grammar(task, settings))


def first_state(problem: Problem) -> State:
    """Before the first generation."""
    nobody = np.full(problem.settings.population, -np.inf)
    codons = first_population(problem.settings, root(problem.seed, Stream.FIRST_GENOTYPES, 0))
    return State(0, codons, nobody, None, False)


def next_generation(state: State, problem: Problem, engine: Engine[Arena]) -> tuple[State, Summary]:
    """One turn of the loop of Algorithm 1."""
    offspring = state.codons if state.generation == 0 else _vary(state, problem)
    evaluated = _evaluate(offspring, problem, state.generation, engine)
    champion, proven, validation = _crown(state, evaluated, problem, engine)
    codons, fitness = _replace(state, offspring, proven, problem.settings)
    solved, confirmation = _confirm(champion, problem, state.generation, engine)
    scores = evaluated.fitness[np.isfinite(evaluated.fitness)]
    summary = Summary(
        state.generation,
        float(scores.max()),
        float(scores.mean()),
        float(np.median(scores)),
        len(offspring) - len(evaluated.valid),
        evaluated.valid[np.isneginf(evaluated.fitness[evaluated.valid])].tolist(),
        evaluated.collaborative,
        evaluated.individual,
        validation.plus(*confirmation),
    )
    return State(state.generation + 1, codons, fitness, champion, solved), summary


def _vary(state: State, problem: Problem) -> Codons:
    """Offspring of the population: tournament, one-point crossover, mutation."""

    def key(stream: Stream) -> Any:
        return root(problem.seed, stream, state.generation)

    settings = problem.settings
    winners = tournament_winners(state.fitness, settings, key(Stream.SELECTION))
    crossed = crossover(state.codons[winners], settings, key(Stream.CROSSOVER))
    return mutate(crossed, settings, key(Stream.MUTATION))


def _replace(
    state: State, offspring: Codons, fitness: NDArray[np.float64], settings: Settings
) -> tuple[Codons, NDArray[np.float64]]:
    """The next population: offspring i takes the place of individual i, if it has earned it."""
    if settings.replacement == "generational":
        return offspring, fitness
    better = fitness > state.fitness
    return np.where(better[:, None], offspring, state.codons), np.where(better, fitness, state.fitness)


def _evaluate(codons: Codons, problem: Problem, generation: int, engine: Engine[Arena]) -> _Evaluated:
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
    return _Evaluated(fitness, forest, valid, group.knowledge, group.spent_collaborative, group.spent_individual)


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
        settings = problem.settings
        self.problem, self.generation, self.engine = problem, generation, engine
        self.forest, self.valid = forest, valid
        keys = fold_all(root(problem.seed, Stream.Q_VALUES, generation), valid)
        q_values = np.empty((forest.n_leaves, len(problem.menu.values)))
        fill_uniform(q_values, forest.first_leaf, keys, settings.q_low, settings.q_high)
        by_visits = settings.learning_rate_rule == "1/visits"
        visits = np.zeros(q_values.shape if by_visits else (0, 0), dtype=np.int64)
        self.knowledge = Knowledge(q_values, visits)
        self.rule = Rule(
            settings.learning_rate,
            by_visits,
            settings.discount,
            after_termination=settings.bootstrap == "always",
            after_truncation=settings.bootstrap != "never",
        )
        self.episodes_seen = 0
        self.spent_collaborative = Spent()
        self.spent_individual = Spent()

    def individual(self, stream: Stream, episodes: range) -> NDArray[np.float64]:
        """Every tree plays ``episodes`` alone (Algorithm 3); the returns, (n_trees, n_episodes)."""
        key = root(self.problem.seed, stream, self.generation)
        all_trees = IndividualOrder(self.forest, self.knowledge, self.valid, self._learning(episodes), key)
        # Few parts have many trees in lockstep; two for each worker make up for one that is slower.
        n_parts = 1 if self.engine.workers == 1 else 2 * self.engine.workers
        orders = [all_trees.part(a, b) for a, b in _cut(self.forest.n_trees, n_parts)]
        try:
            results = _map(self.engine, refine, orders, self.problem)
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
            for a, b in _cut(n_copies, self.engine.workers)
        ]
        results = _map(self.engine, collaborate, orders, self.problem)
        # The paper's parallel scheme: each tree becomes the mean of its copies.
        q_values = np.concatenate([r.knowledge.q_values for r in results]).sum(axis=0) / n_copies
        visits = np.concatenate([r.knowledge.visits for r in results])
        gained = (visits - self.knowledge.visits).sum(axis=0)
        self.knowledge = Knowledge(q_values, self.knowledge.visits + gained)
        self.spent_collaborative = self.spent_collaborative.plus(
            n_copies * len(iterations), sum(r.steps for r in results)
        )

    def _find_culprit(self, failure: EnvironmentFailure, orders: Sequence[IndividualOrder]) -> EnvironmentFailure:
        """The failure as it happens to one individual alone, by name, if it happens again."""
        singles = [single for order in orders if order.label == failure.where for single in order.parts()]
        try:
            _map(self.engine, refine, singles, self.problem)
        except EnvironmentFailure as alone:
            if alone.message.startswith(alone.where):
                return alone
            return EnvironmentFailure(f"{alone.where}: {alone.message}", alone.details, alone.where)
        return failure

    def _learning(self, episodes: range) -> Learning:
        settings = self.problem.settings
        seen = self.episodes_seen + np.arange(len(episodes))
        self.episodes_seen += len(episodes)
        epsilons = np.asarray(settings.epsilon * settings.epsilon_decay**seen, dtype=np.float64)
        return Learning(self.rule, epsilons, episodes.start)


def _crown(
    state: State, evaluated: _Evaluated, problem: Problem, engine: Engine[Arena]
) -> tuple[Champion | None, NDArray[np.float64], Spent]:
    """The champion after a generation: by training score (paper), or by validation of the best few.

    Also the fitness that the next generation is to go by, which a validation may correct.
    """
    settings = problem.settings
    fitness = evaluated.fitness
    scores = fitness[evaluated.valid]
    if settings.crowning == "training":
        best = _candidate(evaluated, int(np.argmax(scores)), state.generation, problem.menu)
        if state.champion is None or best.training_score > state.champion.training_score:
            return best, fitness, Spent()
        return state.champion, fitness, Spent()
    order = np.argsort(-scores, kind="stable")[: min(settings.candidates, np.isfinite(scores).sum())]
    contenders = [_candidate(evaluated, int(tree), state.generation, problem.menu) for tree in order]
    if state.champion is not None:
        contenders.insert(0, state.champion)
    seeds = _fresh_seeds(problem, Stream.VALIDATION, state.generation, settings.validation_episodes)
    returns, steps = _play_all([c.tree for c in contenders], seeds, problem, engine)
    means = returns.mean(axis=1)
    # A shorter tree with the same score is the better read; the reigning champion keeps a full tie.
    best_index = max(range(len(contenders)), key=lambda i: (means[i], -contenders[i].tree.n_leaves, -i))
    champion = state.champion
    if np.isfinite(means[best_index]):  # else all of them made the simulation lose its state
        champion = contenders[best_index]._replace(validation_score=float(means[best_index]))
    if settings.luck == "corrected":
        fitness = fitness.copy()
        validated = evaluated.valid[order]
        fitness[validated] = np.minimum(fitness[validated], means[-len(order) :])
    return champion, fitness, Spent(returns.size, steps)


def _all_broke(problem: Problem) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"every tree made the simulation of {problem.task.env} lose its state: its actions are more than the "
        "simulation can follow; narrow the action space or shorten the time step"
    )


def _candidate(evaluated: _Evaluated, tree: int, generation: int, menu: Menu) -> Champion:
    """A tree that may become champion, without the conditions that change nothing."""
    rows = slice(evaluated.forest.first_leaf[tree], evaluated.forest.first_leaf[tree + 1])
    leaves = QLeaves(evaluated.knowledge.q_values[rows].copy())
    individual = int(evaluated.valid[tree])
    score = float(evaluated.fitness[individual])
    simple = simplify(evaluated.forest.tree(tree, leaves), menu)
    return Champion(simple, generation, individual, score, None)


def _confirm(champion: Champion | None, problem: Problem, generation: int, engine: Engine[Arena]) -> tuple[bool, Spent]:
    """Whether the champion holds ``stop_at``: on its validation, and then on episodes that chose nothing."""
    settings = problem.settings
    if settings.stop_at is None or champion is None:
        return False, Spent()
    score = champion.training_score if champion.validation_score is None else champion.validation_score
    if score < settings.stop_at:
        return False, Spent()
    seeds = _fresh_seeds(problem, Stream.CONFIRMATION, generation, settings.confirmation_episodes)
    returns, steps = _play_all([champion.tree], seeds, problem, engine)
    return bool(returns.mean() >= settings.stop_at), Spent(returns.size, steps)


def _fresh_seeds(problem: Problem, stream: Stream, generation: int, n: int) -> NDArray[np.int64]:
    return episode_seeds(fold_all(root(problem.seed, stream, generation), np.arange(n)))


def _play_all(
    trees: Sequence[Tree], seeds: NDArray[np.int64], problem: Problem, engine: Engine[Arena]
) -> tuple[NDArray[np.float64], int]:
    """Returns of every tree on the same episodes, (n_trees, n_episodes), and the steps they took."""
    forest = pack(trees)
    actions = np.concatenate([tree.leaves.actions(problem.menu) for tree in trees])
    orders = [
        PlayOrder(forest, actions, np.tile(seeds[a:b], (len(trees), 1))) for a, b in _cut(len(seeds), engine.workers)
    ]
    results = _map(engine, play, orders, problem)
    steps = sum(int(r.lengths.sum()) for r in results)
    return np.concatenate([r.returns for r in results], axis=1), steps


def _map(
    engine: Engine[Arena], function: Callable[[Arena, _Order], _Result], orders: Sequence[_Order], problem: Problem
) -> list[_Result]:
    """What the engine makes of the orders; the loss of a worker says on which environment."""
    try:
        return engine.map(function, orders)
    except EnvironmentFailure as failure:
        where, message = failure.where, failure.message
        if where and message.startswith(where):
            message = f"{where} of {problem.task.env}{message[len(where) :]}"
        raise EnvironmentFailure(message, failure.details, where) from failure


def _cut(n: int, parts: int) -> list[tuple[int, int]]:
    """Cut n things into at most ``parts`` nearly equal stretches."""
    edges = sorted({n * part // parts for part in range(parts + 1)})
    return list(pairwise(edges))
