"""Before the first generation: workers compile the loops that trees play and learn in, each another one.

Else all of them would compile the same loop at the same time. A warm-up is a real order, on an arena whose episodes end
after a step. What is compiled is kept on disk, where the other workers of the machine find it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sirl.config import Settings
from sirl.engine import Engine
from sirl.keys import Stream, root
from sirl.learning.forest import Forest
from sirl.learning.q_learning import Rule, Table
from sirl.model.leaves import Constants
from sirl.rollout.arena import Arena, collaborative, individual, play
from sirl.rollout.spread import run_orders
from sirl.rollout.work import CollaborativeOrder, IndividualOrder, Learning, PlayOrder
from sirl.search.genome import Codons
from sirl.search.grammar import translate
from sirl.search.instruments import are_used
from sirl.search.population import Problem, first_table


@dataclass(frozen=True)
class _WarmUp:
    """A function that compiles what it needs, and next to nothing for it to do."""

    function: Callable[[Arena, Any], Any]
    order: Any = None

    label: ClassVar[str] = "the first start"
    """What this order is, for a message."""
    timed: ClassVar[bool] = False
    """Compiling takes as long as it takes, and no environment hangs."""


def warm_up(problem: Problem, engine: Engine[Arena]) -> None:
    """Start all workers of an engine, and let them compile what a generation of the problem needs, or load it."""
    orders = _orders(problem)
    orders += [_WarmUp(_only_start)] * (engine.workers - len(orders))
    run_orders(engine, _run, orders, problem.task.env)


def _run(arena: Arena, order: _WarmUp) -> None:
    brief = arena.brief()
    order.function(brief, order.order)
    brief.close()


def _orders(problem: Problem) -> list[_WarmUp]:
    """What takes longest comes first."""
    settings, one, menu = problem.settings, np.arange(1), problem.menu.values
    rule, forest = Rule.of(settings), _one_leaf(problem.grammar.n_features)
    q_values = np.zeros((1, len(menu)))
    table = Table.of(q_values, np.zeros(q_values.shape if rule.by_visits else (0, 0), dtype=np.int64))
    learning, key = Learning(rule, menu, np.zeros(1), 0), root(problem.seed, Stream.INDIVIDUAL, 0)
    found = [
        _WarmUp(individual, IndividualOrder(forest, table, one, learning, key)),
        _WarmUp(_make_population, problem),
    ]
    if settings.collaborative_iterations:
        together = CollaborativeOrder(forest, table, one, np.ones(1), settings.voting, learning, key)
        found.insert(0, _WarmUp(collaborative, together))
    if _plays(settings):
        law = Constants(menu[:1].reshape(1, -1))
        found.append(_WarmUp(play, PlayOrder(forest, law, np.zeros((1, 1), dtype=np.int64))))
    return found


def _plays(settings: Settings) -> bool:
    """Whether trees ever play without learning."""
    return settings.crowning != "training" or settings.stop_at is not None or are_used(settings)


def _make_population(_: Arena, problem: Problem) -> None:
    """What the driver needs."""
    nobody: Codons = np.zeros((0, problem.settings.genotype_length), dtype=np.int32)
    first_table(*translate(nobody, problem.grammar), problem, 0)


def _only_start(_: Arena, __: None) -> None:
    pass


def _one_leaf(n_features: int) -> Forest:
    """A forest of one tree without a split."""
    splits = np.zeros((0, n_features)), np.zeros(0), np.zeros((0, 2), dtype=np.int32)
    ends = np.array([0, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    return Forest(*splits, np.array([~0], dtype=np.int32), *ends)
