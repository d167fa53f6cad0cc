"""Augmented random search, for trees with too many constants for a covariance: H. Mania, A. Guy and B. Recht (2018).

Its version 2 with the best directions (V2-t): antithetic directions, of which the best decide the step, in units of the
spread of their returns. It scales observations; here shapes do, and fold that back into what is printed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.keys import Key, fold_all, normals

_BEST = 0.5
"""Share of the directions that decide."""


class State(NamedTuple):
    """Where the search stands."""

    mean: Floats
    """(n,)"""
    sigma: Floats
    """(1,): how far directions reach; a step is as long."""


def begin(mean: Floats, sigma: float) -> State:
    """A search about a mean (n,)."""
    return State(mean.copy(), np.array([sigma]))


def restricted(state: State, kept: Ints) -> State:
    """The search among some of the constants, at places (n_kept,)."""
    return state._replace(mean=state.mean[kept])


def offspring_for(n: int) -> int:
    """How many offspring n constants are tuned with, half as many directions."""
    return 8 + 2 * int(3 * math.log(n))


def ask(state: State, n_offspring: int, key: Key) -> Floats:
    """Offspring, (n_offspring, n), in pairs that lie opposite of each other."""
    half = (n_offspring + 1) // 2
    draws = normals(fold_all(key, np.arange(half))[:, None], np.arange(len(state.mean)))
    steps = np.stack([draws, -draws], axis=1).reshape(2 * half, -1)[:n_offspring]
    return np.asarray(state.mean + state.sigma[0] * steps)


def tell(state: State, offspring: Floats, scores: Floats) -> State:
    """The search after offspring (n_offspring, n) got their scores (n_offspring,), larger is better (Algorithm 2)."""
    pairs = len(offspring) // 2
    scores = scores[: 2 * pairs].reshape(pairs, 2)
    directions = (offspring[: 2 * pairs : 2] - state.mean) / state.sigma[0]
    best = np.argsort(-scores.max(axis=1), kind="stable")[: max(1, int(_BEST * pairs))]
    spread = float(scores[best].std())
    if spread == 0.0:
        return state
    step = (scores[best, 0] - scores[best, 1]) @ directions[best] / (len(best) * spread)
    return state._replace(mean=state.mean + state.sigma[0] * step)
