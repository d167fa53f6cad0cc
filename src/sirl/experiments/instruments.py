"""What the instruments of many runs show, by generation and over whole runs: functions from histories to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sirl.experiments.report import Rows
from sirl.runs.history import INSTRUMENTS, Group
from sirl.search.records import Record


def instruments(groups: Sequence[Group]) -> Rows:
    """Means over the runs of each group, in generations in which one of them measured; nan where none did."""
    rows: list[list[Any]] = []
    for task, _, label, histories in groups:
        for generation in range(max(map(len, histories))):
            means = [_mean(histories, generation, name) for name in INSTRUMENTS]
            if not np.isnan(means).all():
                rows.append([task, label, generation + 1, len(histories), *means])
    return Rows("instruments", ["task", "label", "generation", "n", *INSTRUMENTS], rows)


def _mean(histories: Sequence[Sequence[Record]], generation: int, name: str) -> float:
    """Of what was measured in a generation; a run that ended keeps what it measured last."""
    going = [history[generation] for history in histories if generation < len(history)]
    known = [value for record in going if (value := getattr(record.instruments, name)) is not None]
    if not known:
        return float("nan")
    over = [history for history in histories if generation >= len(history)]
    earlier = [[getattr(record.instruments, name) for record in history] for history in over]
    last = [next((value for value in reversed(values) if value is not None), None) for values in earlier]
    return float(np.mean([*known, *(value for value in last if value is not None)]))
