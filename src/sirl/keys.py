"""Randomness as an argument: a draw is a function of a key and a counter, and of nothing else.

A key is a 64-bit number folded together from fixed words, for example (seed, stream, generation,
individual, episode). The n-th draw of a key is the n-th output of a SplitMix64 generator that starts at
the key, reached directly. So a result does not depend on who computes it, in which order, or after which
restart. The same functions serve NumPy arrays here and scalars inside the numba kernels.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sirl.jit import part

Key = np.uint64
Keys = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11, _S1 = (np.uint64(s) for s in (30, 27, 31, 11, 1))
_UNIT = 2.0**-53


class Stream(IntEnum):
    """What a key is for; the second word of every key, so that no two purposes share draws."""

    FIRST_GENOTYPES = 0
    SELECTION = 1
    CROSSOVER = 2
    MUTATION = 3
    Q_VALUES = 4
    SCOUTING = 5
    COLLABORATIVE = 6
    INDIVIDUAL = 7
    VALIDATION = 8
    CONFIRMATION = 9
    EVALUATION = 10
    TUNING = 11
    SAMPLING = 12
    SCALING = 13
    NETWORKS = 14
    REPLAY = 15
    DISTILLATION = 16
    BOOTSTRAP = 17
    READING = 18
    SHRINKING = 19
    REPEATS = 30
    SURVIVORS = 31


@part
def _mix(x: Any) -> Any:
    """The SplitMix64 finalizer: a bijection of 64-bit words in which every bit moves every other."""
    x = (x ^ (x >> _S30)) * _MULTIPLIER_1
    x = (x ^ (x >> _S27)) * _MULTIPLIER_2
    return x ^ (x >> _S31)


@part
def fold(key: Any, word: Any) -> Any:
    """The key for ``word`` under ``key``: different words of one key never meet."""
    return _mix(key ^ _mix(np.uint64(word) * _GOLDEN + _GOLDEN))


@part
def draw(key: Any, counter: Any) -> Any:
    """The ``counter``-th random 64-bit word of ``key``."""
    return _mix(key + (np.uint64(counter) + _S1) * _GOLDEN)


@part
def uniform(key: Any, counter: Any) -> Any:
    """The ``counter``-th draw of ``key``, uniform in [0, 1)."""
    return (draw(key, counter) >> _S11) * _UNIT


def root(seed: int, stream: Stream, generation: int) -> Key:
    """The key under which all of a generation's draws for one purpose lie."""
    words = np.array([[seed], [int(stream)], [generation]], dtype=np.uint64)
    key = np.zeros(1, dtype=np.uint64)
    for word in words:
        key = fold_all(key, word)
    return Key(key[0])


def fold_all(key: Keys | Key, words: NDArray[Any]) -> Keys:
    """:func:`fold` for arrays: keys (n,) or one key, words (n,)."""
    return np.asarray(_mix(np.atleast_1d(key) ^ _mix(words.astype(np.uint64) * _GOLDEN + _GOLDEN)))


def uniforms(keys: Keys | Key, counters: NDArray[Any]) -> NDArray[np.float64]:
    """:func:`uniform` for arrays that broadcast against each other."""
    words = _mix(np.atleast_1d(keys) + (counters.astype(np.uint64) + _S1) * _GOLDEN)
    return np.asarray((words >> _S11) * _UNIT)


def normals(keys: Keys | Key, counters: NDArray[Any]) -> NDArray[np.float64]:
    """Standard normal draws (Box-Muller) for arrays that broadcast against each other."""
    radius = np.sqrt(-2.0 * np.log1p(-uniforms(keys, 2 * counters)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniforms(keys, 2 * counters + 1)))


def episode_seeds(episode_keys: Keys) -> NDArray[np.int64]:
    """63-bit seeds for environments, one for each key (n,)."""
    return (fold_all(episode_keys, np.zeros(1, dtype=np.uint64)) >> _S1).astype(np.int64)
