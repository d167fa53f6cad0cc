"""Codons to trees: the paper's grammar, and its translation algorithm.

========== ======================================== ==========================================
rule       oblique                                  orthogonal
========== ======================================== ==========================================
start      if                                       if
if         Node(condition, action, action)          Node(condition, action, action)
condition  const·x1 + … + const·xN < const          x1 < const1 | … | xN < constN
action     Leaf | if                                Leaf | if
const      0 | nonzero                              (k-th) one of feature k's constants
nonzero    one of the constants
========== ======================================== ==========================================

The leftmost unexpanded rule takes the next codon, modulo its number of options; a rule with one option
takes a codon too. So a tree is written in pre-order: condition, then the branch where it holds, then the
other one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.config import Settings
from sirl.jit import compiled
from sirl.learning.forest import Forest
from sirl.model.task import Task
from sirl.search.genome import Codons


class Grammar(NamedTuple):
    """What the kernels need to know of a grammar."""

    orthogonal: bool
    constants: NDArray[np.float64]
    """The values of ``nonzero``, (1, n_constants); orthogonal: of each feature, (n_features, n_constants)."""
    n_features: int
    zeros_at_end: bool
    """Codons that run out are taken to be zeros; else the individual is invalid."""


def make_grammar(task: Task, settings: Settings) -> Grammar:
    """The grammar that the settings name, for the task's features."""
    steps = round((settings.constant_high - settings.constant_low) / settings.constant_step)
    constants = np.round(settings.constant_low + settings.constant_step * np.arange(steps + 1), 10)
    orthogonal = settings.grammar == "orthogonal"
    rows = [constants]
    if orthogonal:
        rows = [_between(low, high, constants) for low, high in _feature_bounds(task)]
    return Grammar(orthogonal, np.stack(rows), task.n_features, settings.codons_run_out == "zeros")


def _feature_bounds(task: Task) -> list[tuple[float | None, float | None]]:
    return list(zip(task.feature_low, task.feature_high, strict=True))


def _between(low: float | None, high: float | None, constants: NDArray[np.float64]) -> NDArray[np.float64]:
    """As many constants as the settings give, spread over a feature's bounds where it has them."""
    if low is None or high is None or low >= high:
        return constants
    return np.linspace(low, high, len(constants))


def translate(codons: Codons, grammar: Grammar, max_leaves: int | None = None) -> tuple[Forest, NDArray[np.int64]]:
    """The trees of the genotypes (n, length) that are valid, and which individuals these are."""
    everyone = np.arange(len(codons))
    nothing = np.zeros(len(codons) + 1, dtype=np.int32)
    sizes = _expand_all(codons, everyone, grammar, _room(grammar, nothing, nothing))
    valid = np.flatnonzero((sizes > 0) & (sizes < (np.inf if max_leaves is None else max_leaves)))
    first_split = np.concatenate([[0], np.cumsum(sizes[valid])]).astype(np.int32)
    first_leaf = (first_split + np.arange(len(first_split))).astype(np.int32)
    forest = _room(grammar, first_split, first_leaf)
    _expand_all(codons, valid, grammar, forest)
    return forest, valid


def _room(grammar: Grammar, first_split: NDArray[np.int32], first_leaf: NDArray[np.int32]) -> Forest:
    """A forest of that many splits and leaves, not written yet."""
    n_splits = int(first_split[-1])
    return Forest(
        np.zeros((n_splits, grammar.n_features)),
        np.zeros(n_splits),
        np.zeros((n_splits, 2), dtype=np.int32),
        first_split[:-1].copy(),
        first_split,
        first_leaf,
    )


@compiled
def _expand_all(codons: Any, individuals: Any, grammar: Grammar, forest: Forest) -> Any:
    """Write the trees of the individuals (n,) if the forest has room for them; splits of each, 0 if invalid, (n,)."""
    sizes = np.empty(len(individuals), dtype=np.int64)
    for tree in range(len(individuals)):
        start, stop = int(forest.first_split[tree]), int(forest.first_split[tree + 1])
        sizes[tree] = _expand(
            codons[individuals[tree]],
            grammar,
            forest.weights[start:stop],
            forest.thresholds[start:stop],
            forest.children[start:stop],
            start,
            int(forest.first_leaf[tree]),
        )
    return sizes


@compiled
def _expand(
    codons: Any, grammar: Grammar, weights: Any, thresholds: Any, children: Any, split_0: int, leaf_0: int
) -> int:
    """Translate one genotype (the paper's translation algorithm); the number of splits, 0 if invalid.

    Writes the tree if there is room, (n_splits, …); with empty arrays it only counts. Children are
    numbered from ``split_0`` and ``leaf_0``.
    """
    writes = len(thresholds) > 0
    length = len(codons)
    limit = length if not grammar.zeros_at_end else 2**62
    pending = np.empty(length + 3, dtype=np.int64)  # action rules not yet expanded: 2·split + side
    n_pending, n_leaves = 0, 0
    n_splits: Any = np.int64(0)  # of one type from the start, or numba compiles the condition twice
    at = 1  # codon 0 expands <start>
    parent = -1
    while True:
        expand_if = True
        if parent >= 0:  # <action>: Leaf | <if>
            if at >= limit:
                return 0
            codon = codons[at] if at < length else 0
            at += 1
            expand_if = codon % 2 == 1
            if writes:
                child = split_0 + n_splits if expand_if else ~(leaf_0 + n_leaves)
                children[parent // 2, parent % 2] = child
        if expand_if:
            at = _condition(codons, at + 1, limit, grammar, weights, thresholds, n_splits, writes)
            if at < 0:
                return 0
            pending[n_pending] = 2 * n_splits + 1
            pending[n_pending + 1] = 2 * n_splits
            n_pending += 2
            n_splits += 1
        else:
            n_leaves += 1
        if n_pending == 0:
            return int(n_splits)
        n_pending -= 1
        parent = pending[n_pending]


@compiled
def _condition(
    codons: Any,
    at: int,
    limit: int,
    grammar: Grammar,
    weights: Any,
    thresholds: Any,
    split: int,
    writes: bool,
) -> int:
    """Expand <condition> from codon ``at`` on; the position of the next codon, -1 if they run out."""
    length = len(codons)
    n_constants = grammar.constants.shape[1]
    if grammar.orthogonal:
        if at + 1 >= limit:
            return -1
        feature = (codons[at] if at < length else 0) % grammar.n_features
        constant = (codons[at + 1] if at + 1 < length else 0) % n_constants
        if writes:
            weights[split, feature] = 1.0
            thresholds[split] = grammar.constants[feature, constant]
        return at + 2
    at += 1  # <condition> has one option
    for term in range(grammar.n_features + 1):
        if at >= limit:
            return -1
        value = 0.0
        nonzero = (codons[at] if at < length else 0) % 2 == 1
        at += 1
        if nonzero:
            if at >= limit:
                return -1
            value = grammar.constants[0, (codons[at] if at < length else 0) % n_constants]
            at += 1
        if writes:
            if term < grammar.n_features:
                weights[split, term] = value
            else:
                thresholds[split] = value
    return at
