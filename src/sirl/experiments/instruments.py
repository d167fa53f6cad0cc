"""What the instruments of many runs show, by generation and over whole runs: functions from histories to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sirl.experiments.report import Rows
from sirl.runs.history import INSTRUMENTS
from sirl.search.records import Record

Histories = Sequence[Sequence[Record]]


def instruments(groups: Sequence[tuple[str, float, str, Histories]]) -> Rows:
    """Means over the runs of each group that measured something in a generation; nan where none did."""
    rows: list[list[Any]] = []
    for task, _, label, histories in groups:
        for generation in range(max(map(len, histories))):
            here = [history[generation].instruments for history in histories if generation < len(history)]
            means = [_mean([getattr(one, name) for one in here]) for name in INSTRUMENTS]
            if not np.isnan(means).all():
                rows.append([task, label, generation + 1, len(here), *means])
    return Rows("instruments", ["task", "label", "generation", "n", *INSTRUMENTS], rows)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")
