"""Studies of one setting on one task: the cells of each, and what is asked.

``budget``: at one and the same budget, how should it be shared between the collaborative phase (e_c episodes) and the
individual one (e_i a tree)? The paper leaves that to future work. ``voting``: does the rule of the vote matter? The
paper saw no significant difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sirl.config import Settings
from sirl.errors import SirlError
from sirl.experiments.cells import Cell
from sirl.presets import preset_settings

_SEEDS_APART = 1000


class Study(NamedTuple):
    """A question about one setting."""

    title: str
    question: str
    cells: list[Cell]


STUDIES = ("budget", "voting")


def study(name: str, task: str) -> Study:
    """A study on a task."""
    if name == "budget":
        return Study(
            f"Collaborative against individual episodes on {task}",
            "Every way has the same budget; they differ in how much of it each tree plays alone (e_i, of the episodes "
            "that ELDT has) and how much all play together (the rest, population times as many episodes: e_c).",
            _budget(task),
        )
    if name == "voting":
        return Study(
            f"Voting rules on {task}",
            "SIRL-LB with each rule that makes one action of all that are proposed. Leader and weighted votes need to "
            "know who is good, for which every tree plays one more episode a generation.",
            [
                Cell(task, rule, "sirl-lb", {"voting": rule}, first_seed=_SEEDS_APART * number)
                for number, rule in enumerate(("random", "majority", "leader", "weighted"), start=1)
            ],
        )
    raise SirlError(f"there is no study {name!r}: choose from {', '.join(STUDIES)}.")


def _budget(task: str) -> list[Cell]:
    """From all episodes alone, as in ELDT, to one alone and the rest together; population x e_i + e_c is constant."""
    settings: Settings = preset_settings(task, "eldt")
    alone = settings.individual_episodes
    found = []
    for number, e_i in enumerate(np.unique(np.linspace(1, alone, 5).round().astype(int)).tolist(), start=1):
        iterations = settings.population * (alone - e_i) // settings.collaborative_copies
        changes = {"individual_episodes": e_i, "collaborative_iterations": iterations}
        found.append(Cell(task, f"{e_i}-of-{alone}-alone", "sirl-sb", changes, first_seed=_SEEDS_APART * number))
    return found
