"""Work over an engine: cut into orders, run anywhere, put together in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

from sirl.arrays import Seeds
from sirl.engine import Engine
from sirl.errors import WorkFailure
from sirl.learning.forest import pack
from sirl.model.tree import Tree
from sirl.rollout.acting import join
from sirl.rollout.arena import Arena, play
from sirl.rollout.work import RETURN, PlayOrder, PlayResult, Signal

_Order = TypeVar("_Order")
_Result = TypeVar("_Result")


def play_all(
    trees: Sequence[Tree], seeds: Seeds, env: str, engine: Engine[Arena], signal: Signal = RETURN
) -> PlayResult:
    """Every tree on the same episodes with ``seeds`` (n_episodes,), each worker its share."""
    forest, law = pack(trees), join([tree.leaves.law() for tree in trees])
    if len(trees) < 4 * engine.workers:
        parts = [(forest, law, len(trees), seeds[a:b]) for a, b in cut(len(seeds), engine.workers)]
        axis = 1
    else:
        parts, axis = [], 0
        for a, b in cut(len(trees), engine.workers if engine.workers == 1 else 4 * engine.workers):
            rows = slice(forest.first_leaf[a], forest.first_leaf[b])
            parts.append((forest.part(a, b), type(law)(*(array[rows] for array in law)), b - a, seeds))
    orders = [PlayOrder(some, acts, np.tile(starts, (n, 1)), signal) for some, acts, n, starts in parts]
    results = run_orders(engine, play, orders, env)
    return PlayResult(*(np.concatenate(arrays, axis=axis) for arrays in zip(*results, strict=True)))


def run_orders(
    engine: Engine[Arena], function: Callable[[Arena, _Order], _Result], orders: Sequence[_Order], env: str
) -> list[_Result]:
    """What the engine makes of the orders; work that is lost gets to know of which environment it was."""
    try:
        return engine.map(function, orders)
    except WorkFailure as failure:
        failure.env = env
        raise


def cut(n: int, parts: int) -> list[tuple[int, int]]:
    """Cut n things into at most ``parts`` nearly equal stretches."""
    edges = sorted({n * part // parts for part in range(parts + 1)})
    return list(pairwise(edges))
