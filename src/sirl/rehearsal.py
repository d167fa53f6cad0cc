"""Before the first generation: workers compile the loops that a run needs, each another one.

Else all of them would compile the same loop at the same time. A rehearsal is an order without a single episode. What
is compiled is kept on disk, where the other workers of a machine find it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sirl.engine import Engine
from sirl.forest import Forest
from sirl.genome import Codons
from sirl.grammar import translate
from sirl.keys import Stream, root
from sirl.orders import Arena, CollaborativeOrder, IndividualOrder, Learning, PlayOrder
from sirl.phases import collaborate, play, refine
from sirl.population import Problem, first_knowledge, make_rule, run_orders


class Rehearsal(NamedTuple):
    """A function that compiles what it needs, and nothing for it to do."""

    function: Callable[[Arena, Any], Any]
    order: Any

    @property
    def label(self) -> str:
        """What it takes, for a message."""
        return "the first environment"


def rehearse(problem: Problem, engine: Engine[Arena]) -> None:
    """Compile what a generation of the problem needs, or load it, on the workers of an engine."""
    run_orders(engine, _run, _rehearsals(problem), problem)


def _run(arena: Arena, rehearsal: Rehearsal) -> None:
    rehearsal.function(arena, rehearsal.order)


def _rehearsals(problem: Problem) -> list[Rehearsal]:
    """What takes longest comes first."""
    settings, one = problem.settings, np.arange(1)
    forest = _one_leaf(problem.grammar.n_features)
    knowledge = first_knowledge(forest, one, problem, 0)
    learning = Learning(make_rule(settings), np.zeros(0), 0)
    key = root(problem.seed, Stream.INDIVIDUAL, 0)
    together = CollaborativeOrder(forest, knowledge, one, np.ones(1), settings.voting, learning, key)
    return [
        *([Rehearsal(collaborate, together)] if settings.collaborative_iterations else []),
        Rehearsal(refine, IndividualOrder(forest, knowledge, one, learning, key)),
        Rehearsal(_translate, problem),
        Rehearsal(play, PlayOrder(forest, problem.menu.values[:1], np.zeros((1, 0), dtype=np.int64))),
    ]


def _translate(_: Arena, problem: Problem) -> None:
    nobody: Codons = np.zeros((0, problem.settings.genotype_length), dtype=np.int32)
    translate(nobody, problem.grammar)


def _one_leaf(n_features: int) -> Forest:
    """A forest of one tree without a split."""
    ends = np.array([0, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    splits = np.zeros((0, n_features)), np.zeros(0), np.zeros((0, 2), dtype=np.int32)
    return Forest(*splits, np.array([~0], dtype=np.int32), *ends)
