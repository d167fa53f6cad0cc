"""CMA-ES as two pure functions over a frozen state: N. Hansen, "The CMA Evolution Strategy: A Tutorial" (2016).

The equation numbers are the tutorial's. There are packages for it, but in none is the random state a part of what can
be kept: here draws come from keys and a state is a few arrays, so a run that was stopped goes on bit for bit.
``tests/test_cma.py`` compares the update with that of the package ``cmaes``.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from sirl.arrays import Floats, Ints
from sirl.keys import Key, fold_all, normals


class State(NamedTuple):
    """Where a search distribution stands; n is the number of constants that are tuned."""

    mean: Floats
    """(n,)"""
    sigma: Floats
    """(1,): the step size."""
    covariance: Floats
    """(n, n)"""
    path: Floats
    """(n,): of the mean, for the covariance."""
    step_path: Floats
    """(n,): of the mean where all directions are alike, for the step size."""
    generation: Floats
    """(1,)"""


class _Rates(NamedTuple):
    """What depends on the number of constants and offspring alone."""

    weights: Floats
    """(offspring,), the best first; negative for the worse half."""
    mu_eff: float
    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float
    expected_norm: float


def begin(mean: Floats, sigma: float) -> State:
    """A round distribution about a mean (n,)."""
    n = len(mean)
    return State(mean.copy(), np.array([sigma]), np.eye(n), np.zeros(n), np.zeros(n), np.zeros(1))


def restricted(state: State, kept: Ints) -> State:
    """The distribution of some of the constants, at places (n_kept,)."""
    covariance = state.covariance[np.ix_(kept, kept)]
    paths = state.path[kept], state.step_path[kept]
    return State(state.mean[kept], state.sigma, covariance, *paths, state.generation)


def extended(state: State, mean: Floats, source: Ints) -> State:
    """A distribution about a mean (n,) whose numbers come from places ``source`` (n,) of a state, -1 where new.

    It is twice as wide, and knows the directions of the state by half: the other half, of each number for itself, lets
    two that come from the same place part.
    """
    known = source >= 0
    covariance = np.eye(len(mean)) * np.diag(state.covariance).mean()
    covariance[np.ix_(known, known)] = state.covariance[np.ix_(source[known], source[known])]
    covariance = (covariance + np.diag(np.diag(covariance))) / 2
    return begin(mean, 2 * float(state.sigma[0]))._replace(covariance=covariance)


def offspring_for(n: int) -> int:
    """How many offspring n constants are usually tuned with (eq. 48)."""
    return 4 + int(3 * math.log(n))


def ask(state: State, n_offspring: int, key: Key) -> Floats:
    """Offspring, (n_offspring, n) (eqs. 38-40)."""
    n = len(state.mean)
    draws = normals(fold_all(key, np.arange(n_offspring))[:, None], np.arange(n))
    basis, scales = _eigen(state.covariance)
    return np.asarray(state.mean + state.sigma[0] * (draws * scales) @ basis.T)


def tell(state: State, offspring: Floats, scores: Floats) -> State:
    """The distribution after offspring (n_offspring, n) got their scores (n_offspring,), larger is better."""
    n, sigma = len(state.mean), state.sigma[0]
    rates = _rates(n, len(offspring))
    steps = (offspring[np.argsort(-scores, kind="stable")] - state.mean) / sigma
    basis, scales = _eigen(state.covariance)
    white = basis @ np.diag(1.0 / scales) @ basis.T
    n_parents = len(offspring) // 2
    drift = rates.weights[:n_parents] @ steps[:n_parents]  # eq. 41
    mean = state.mean + sigma * drift  # eq. 42
    c = rates.c_sigma
    step_path = (1 - c) * state.step_path + math.sqrt(c * (2 - c) * rates.mu_eff) * (white @ drift)  # eq. 43
    norm = float(np.linalg.norm(step_path))
    sigma = sigma * math.exp(min(1.0, c / rates.d_sigma * (norm / rates.expected_norm - 1)))  # eq. 44
    generation = state.generation + 1
    stalled = norm / math.sqrt(1 - (1 - c) ** (2 * generation[0])) >= (1.4 + 2 / (n + 1)) * rates.expected_norm
    h_sigma = 0.0 if stalled else 1.0
    c = rates.c_c
    path = (1 - c) * state.path + h_sigma * math.sqrt(c * (2 - c) * rates.mu_eff) * drift  # eq. 45
    lengths = np.square(steps @ white.T).sum(axis=1) + 1e-8
    weights = np.where(rates.weights >= 0, rates.weights, rates.weights * n / lengths)  # eq. 46
    kept = 1 + rates.c_1 * (1 - h_sigma) * c * (2 - c) - rates.c_1 - rates.c_mu * rates.weights.sum()
    covariance = kept * state.covariance + rates.c_1 * np.outer(path, path) + rates.c_mu * (steps.T * weights) @ steps
    return State(mean, np.array([sigma]), (covariance + covariance.T) / 2, path, step_path, generation)  # eq. 47


def _eigen(covariance: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis (n, n) and the length of each axis (n,)."""
    values, basis = np.linalg.eigh(covariance)
    return basis, np.sqrt(np.maximum(values, 1e-16))


@cache
def _rates(n: int, n_offspring: int) -> _Rates:
    """The tutorial's table 1."""
    raw = math.log((n_offspring + 1) / 2) - np.log(np.arange(1, n_offspring + 1))  # eq. 49
    half = n_offspring // 2
    mu_eff = float(raw[:half].sum() ** 2 / np.square(raw[:half]).sum())
    mu_eff_minus = float(raw[half:].sum() ** 2 / np.square(raw[half:]).sum())
    c_1 = 2 / ((n + 1.3) ** 2 + mu_eff)  # eq. 57
    c_mu = min(1 - c_1 - 1e-8, 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) ** 2 + mu_eff))  # eq. 58
    bound = min(1 + c_1 / c_mu, 1 + 2 * mu_eff_minus / (mu_eff + 2), (1 - c_1 - c_mu) / (n * c_mu))  # eqs. 50-52
    positive, negative = raw[raw > 0].sum(), np.abs(raw[raw < 0]).sum()
    weights = np.where(raw >= 0, raw / positive, bound * raw / negative)  # eq. 53
    c_sigma = (mu_eff + 2) / (n + mu_eff + 5)  # eq. 55
    d_sigma = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (n + 1)) - 1) + c_sigma
    c_c = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n)  # eq. 56
    expected_norm = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))
    return _Rates(weights, mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu, expected_norm)
