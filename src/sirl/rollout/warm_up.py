"""Before the first generation: workers compile the loops that trees play and learn in, each another one.

Else all of them would compile the same loop at the same time. A rehearsal is an order without a single episode. What
is compiled is kept on disk, where the other workers of the machine find it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sirl.config import Settings
from sirl.engine import Engine
from sirl.jit import is_kept
from sirl.keys import Stream, root
from sirl.learning.forest import Forest
from sirl.rollout.phases import collaborate, play, refine
from sirl.rollout.work import Arena, CollaborativeOrder, IndividualOrder, Knowledge, Learning, PlayOrder
from sirl.search.genome import Codons
from sirl.search.grammar import translate
from sirl.search.population import Problem, first_knowledge, make_rule, run_orders


@dataclass(frozen=True)
class Rehearsal:
    """A function that compiles what it needs, and nothing for it to do."""

    function: Callable[[Arena, Any], Any]
    order: Any = None

    label: ClassVar[str] = "the first start"
    """What this order is, for a message."""
    timed: ClassVar[bool] = False
    """Compiling takes as long as it takes, and no environment hangs."""


def rehearse(problem: Problem, engine: Engine[Arena]) -> None:
    """Start all workers of an engine, and let them compile what a generation of the problem needs, or load it."""
    rehearsals = _rehearsals(problem)
    rehearsals += [Rehearsal(_only_start)] * (engine.workers - len(rehearsals))
    run_orders(engine, _run, rehearsals, problem)


def is_rehearsed(problem: Problem) -> bool:
    """Whether what takes long has been compiled before."""
    return is_kept("learn_each" if problem.lockstep else "_learn_alone")


def _run(arena: Arena, rehearsal: Rehearsal) -> None:
    rehearsal.function(arena, rehearsal.order)


def _rehearsals(problem: Problem) -> list[Rehearsal]:
    """What takes longest comes first."""
    settings, one = problem.settings, np.arange(1)
    rule, forest = make_rule(settings), _one_leaf(problem.grammar.n_features)
    q_values = np.zeros((1, len(problem.menu.values)))
    knowledge = Knowledge(q_values, np.zeros(q_values.shape if rule.by_visits else (0, 0), dtype=np.int64))
    learning, key = Learning(rule, np.zeros(0), 0), root(problem.seed, Stream.INDIVIDUAL, 0)
    found = [
        Rehearsal(refine, IndividualOrder(forest, knowledge, one, learning, key)),
        Rehearsal(_make_population, problem),
    ]
    if settings.collaborative_iterations:
        together = CollaborativeOrder(forest, knowledge, one, np.ones(1), settings.voting, learning, key)
        found.insert(0, Rehearsal(collaborate, together))
    if _plays(settings):
        never = np.zeros((1, 0), dtype=np.int64)
        found.append(Rehearsal(play, PlayOrder(forest, problem.menu.values[:1], never)))
    return found


def _plays(settings: Settings) -> bool:
    """Whether trees ever play without learning."""
    return settings.crowning != "training" or settings.stop_at is not None


def _make_population(_: Arena, problem: Problem) -> None:
    """What the driver needs."""
    nobody: Codons = np.zeros((0, problem.settings.genotype_length), dtype=np.int32)
    first_knowledge(*translate(nobody, problem.grammar), problem, 0)


def _only_start(_: Arena, __: None) -> None:
    pass


def _one_leaf(n_features: int) -> Forest:
    """A forest of one tree without a split."""
    splits = np.zeros((0, n_features)), np.zeros(0), np.zeros((0, 2), dtype=np.int32)
    ends = np.array([0, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    return Forest(*splits, np.array([~0], dtype=np.int32), *ends)
