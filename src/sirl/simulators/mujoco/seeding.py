"""The first draws of NumPy's default generator, for many seeds at once.

Gymnasium starts an episode from ``np.random.default_rng(seed)``. Making that object costs more than several
steps of a light simulation, so the same arithmetic (``SeedSequence``, then PCG64) is done here for a whole row
of seeds; the tests compare it with NumPy bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sirl.jit import compiled, part

_U32 = np.uint32
_INIT_A, _MULT_A = _U32(0x43B0D7E5), _U32(0x931E8875)
_INIT_B, _MULT_B = _U32(0x8B51F9DD), _U32(0x58F38DED)
_MIX_L, _MIX_R = _U32(0xCA01F9DD), _U32(0x4973F715)
_XSHIFT = _U32(16)

_U64 = np.uint64
_PCG_HIGH, _PCG_LOW = _U64(2549297995355413924), _U64(4865540595714422341)
_LOW_HALF, _HALF = _U64(0xFFFFFFFF), _U64(32)
_ONE, _S11, _S58, _S63 = _U64(1), _U64(11), _U64(58), _U64(63)


@compiled
def first_uniforms(seeds: Any, n: int) -> Any:
    """The first ``n`` draws in [0, 1) of ``default_rng(seed)`` for each of the seeds (m,), 0 to 2**63 - 1; (m, n)."""
    out = np.empty((len(seeds), n))
    words = np.empty(8, dtype=np.uint32)
    for row in range(len(seeds)):
        _generate_state(_U64(seeds[row]), words)
        w = words.astype(np.uint64)
        state_high, state_low = w[0] | (w[1] << _HALF), w[2] | (w[3] << _HALF)
        inc_high, inc_low = w[4] | (w[5] << _HALF), w[6] | (w[7] << _HALF)
        inc_high, inc_low = (inc_high << _ONE) | (inc_low >> _S63), (inc_low << _ONE) | _ONE
        # PCG64's seeding: one step from zero, add the initial state, one step more.
        high, low = _add(inc_high, inc_low, state_high, state_low)
        high, low = _step(high, low, inc_high, inc_low)
        for i in range(n):
            high, low = _step(high, low, inc_high, inc_low)
            turn = high >> _S58
            word = high ^ low
            word = (word >> turn) | (word << ((_U64(64) - turn) & _S63))
            out[row, i] = (word >> _S11) * 2.0**-53
    return out


@part
def _generate_state(seed: Any, words: Any) -> None:
    """``SeedSequence(seed).generate_state(8, uint32)``, written to ``words`` (8,)."""
    pool = np.zeros(4, dtype=np.uint32)
    pool[0], pool[1] = _U32(seed & _LOW_HALF), _U32(seed >> _HALF)
    constant = _INIT_A
    for i in range(4):
        pool[i], constant = _hash(pool[i], constant, _MULT_A)
    for source in range(4):
        for target in range(4):
            if source != target:
                hashed, constant = _hash(pool[source], constant, _MULT_A)
                mixed = _U32(_U32(_MIX_L * pool[target]) - _U32(_MIX_R * hashed))
                pool[target] = mixed ^ (mixed >> _XSHIFT)
    constant = _INIT_B
    for i in range(8):
        words[i], constant = _hash(pool[i % 4], constant, _MULT_B)


@part
def _hash(value: Any, constant: Any, multiplier: Any) -> Any:
    value = _U32(value ^ constant)
    constant = _U32(constant * multiplier)
    value = _U32(value * constant)
    return _U32(value ^ (value >> _XSHIFT)), constant


@part
def _add(high: Any, low: Any, more_high: Any, more_low: Any) -> Any:
    total = low + more_low
    return high + more_high + (_ONE if total < low else _U64(0)), total


@part
def _step(high: Any, low: Any, inc_high: Any, inc_low: Any) -> Any:
    """A step of PCG's 128-bit linear congruential generator, in two halves."""
    a_high, a_low = low >> _HALF, low & _LOW_HALF
    b_high, b_low = _PCG_LOW >> _HALF, _PCG_LOW & _LOW_HALF
    low_low, cross_1, cross_2 = a_low * b_low, a_high * b_low, a_low * b_high
    middle = (low_low >> _HALF) + (cross_1 & _LOW_HALF) + (cross_2 & _LOW_HALF)
    carry = a_high * b_high + (cross_1 >> _HALF) + (cross_2 >> _HALF) + (middle >> _HALF)
    new_high = carry + high * _PCG_LOW + low * _PCG_HIGH
    return _add(new_high, low * _PCG_LOW, inc_high, inc_low)
