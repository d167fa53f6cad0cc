"""Where the numbers of a law are in the mirror: who does there what it does here has each of them twice."""

from __future__ import annotations

import numpy as np

from sirl.arrays import Ints
from sirl.model.laws import ONE
from sirl.model.mirror import Exchange, Mirror


def extended(exchange: Exchange) -> Exchange:
    """With one more that is the same in the mirror: a threshold, or a constant."""
    return Exchange(np.append(exchange.places, len(exchange.places)), np.append(exchange.signs, 1.0))


def term_images(mirror: Mirror, terms: Ints) -> Exchange:
    """Where each of the terms (n_terms, 2) is in the mirror."""
    places, signs = (np.append(array, last) for array, last in zip(mirror.features, (ONE, 1.0), strict=True))
    found = {(int(a), int(b)): at for at, (a, b) in enumerate(terms)}
    images = [[int(places[f]) for f in term] for term in terms]
    pairs = [(a, b) if b == ONE else (min(a, b), max(a, b)) for a, b in images]
    return Exchange(np.array([found[pair] for pair in pairs]), signs[terms].prod(axis=1))


def law_images(mirror: Mirror, terms: Ints, reference: int | None) -> Exchange:
    """Where each number of a leaf's laws is in the mirror, (n_outputs * (n_terms + 1),)."""
    columns, (outputs, signs) = extended(term_images(mirror, terms)), mirror.actions
    if reference is not None:  # it has no law
        outputs, signs = np.delete(outputs, reference), np.delete(signs, reference)
        outputs = outputs - (outputs > reference)
    width = len(columns.places)
    places = outputs[:, None] * width + columns.places
    return Exchange(places.ravel(), (signs[:, None] * columns.signs).ravel())
