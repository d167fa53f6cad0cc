"""What leaves do inside compiled loops, one function for each kind's law.

``act(law, leaf, observation, control)`` writes what a leaf does on an observation to ``control`` (n_components,), in
loops that numba compiles for each kind of law anew. It has the bits of the kind's own ``act`` in ``model/leaves.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sirl.jit import compiled, implemented, part
from sirl.model.laws import ONE, Affine, Scores
from sirl.model.leaves import Constants


def act(law: Any, leaf: int, observation: Any, control: Any) -> None:  # noqa: ARG001
    """Write what a leaf does on an observation (n_features,) to ``control`` (n_components,)."""
    raise TypeError(law)


acts = implemented(act)
"""``@acts(Law)`` makes a function what leaves with that law do."""


@acts(Constants)
def _constant(law: Any, leaf: int, observation: Any, control: Any) -> None:  # noqa: ARG001
    for component in range(len(control)):
        control[component] = law.values[leaf, component]


@part
def _sum(law: Any, leaf: int, output: int, observation: Any) -> Any:
    """A law's output: the constant, then one term after another."""
    total = law.constants[leaf, output]
    for term in range(law.terms.shape[1]):
        value = law.weights[leaf, output, term] * observation[law.terms[leaf, term, 0]]
        second = law.terms[leaf, term, 1]
        if second != ONE:
            value *= observation[second]
        total += value
    return total


@acts(Affine)
def _steer(law: Any, leaf: int, observation: Any, control: Any) -> None:
    for output in range(len(control)):
        total = _sum(law, leaf, output, observation)
        control[output] = min(max(total, law.low[leaf, output]), law.high[leaf, output])


@acts(Scores)
def _choose(law: Any, leaf: int, observation: Any, control: Any) -> None:
    best, largest = 0, _sum(law, leaf, 0, observation)
    for output in range(1, law.constants.shape[1]):
        total = _sum(law, leaf, output, observation)
        if total > largest:
            best, largest = output, total
    control[0] = law.start[leaf] + best


@compiled
def act_each(law: Any, leaves: Any, observations: Any, actions: Any) -> None:
    """What leaves (n,) do on observations (n, n_features), written to actions (n, n_components)."""
    for i in range(len(leaves)):
        act(law, leaves[i], observations[i], actions[i])


def join(laws: list[Any]) -> Any:
    """The law of the leaves of several trees of one kind, one tree after another."""
    kind = type(laws[0])
    if kind in (Affine, Scores):
        n_terms = max(law.terms.shape[1] for law in laws)
        laws = [_padded(law, n_terms) for law in laws]
    return kind(*(np.concatenate(arrays) for arrays in zip(*laws, strict=True)))


def _padded(law: Any, n_terms: int) -> Any:
    """A law with more terms, whose weights are zero."""
    more = n_terms - law.terms.shape[1]
    terms = np.pad(law.terms, ((0, 0), (0, more), (0, 0)))
    terms[:, n_terms - more :] = 0, ONE
    return law._replace(terms=terms, weights=np.pad(law.weights, ((0, 0), (0, 0), (0, more))))
