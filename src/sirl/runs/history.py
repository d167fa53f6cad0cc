"""A run's history as a table: a notebook shows it, and ``columns`` goes into any data frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from sirl.arrays import Floats
from sirl.search.records import Record

_SHOWN = 20
"""Rows of a long history that a notebook shows: its last ones."""


CURVE_COLUMNS = [
    *("task", "scale", "label", "generation", "n", "episodes"),
    *("best", "best_low", "best_high", "validated", "validated_low", "validated_high"),
]
INSTRUMENTS = ("repeat", "heritage", "claimed", "survivors")
"""What instruments measure, by the names of :class:`sirl.search.records.Instruments`."""


class History(list[Record]):
    """The generations of a run, one record each.

    ``pandas.DataFrame(run.history.columns())`` is the whole table.
    """

    def columns(self) -> dict[str, list[Any]]:
        """Every column by name; nan where a generation had no champion, or an instrument did not measure."""
        champions = [record.champion for record in self]
        return {
            "generation": [record.generation + 1 for record in self],
            "best": [record.best for record in self],
            "mean": [record.mean for record in self],
            "median": [record.median for record in self],
            **{
                name: [_number(getattr(champion, name, None)) for champion in champions]
                for name in ("training_score", "validation_score", "leaves", "depth")
            },
            "episodes": [record.episodes for record in self],
            "validation_episodes": [record.validation.episodes for record in self],
            **{name: [_number(getattr(record.instruments, name)) for record in self] for name in INSTRUMENTS},
            "instruments_episodes": [record.instruments.cost.episodes for record in self],
            "steps": [record.steps for record in self],
            "seconds": [record.seconds for record in self],
        }

    def curve(self, task: str, label: str) -> list[dict[str, str]]:
        """The rows of its curves, as :func:`sirl.figures.plots.draw_curves` takes them: of one run, without bands."""
        rows = curves([(task, 1.0, label, [self])], lambda _: (float("nan"), float("nan")))
        return [dict(zip(CURVE_COLUMNS, map(str, row), strict=True)) for row in rows]

    def _repr_html_(self) -> str:
        columns = self.columns()
        head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
        lines = list(zip(*columns.values(), strict=True))[-_SHOWN:]
        body = "".join(f"<tr>{''.join(f'<td>{value:,.6g}</td>' for value in line)}</tr>" for line in lines)
        cut = f"<caption>the last {_SHOWN} of {len(self)} generations</caption>" if len(self) > _SHOWN else ""
        return f"<table>{cut}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


Group = tuple[str, float, str, Sequence[Sequence[Record]]]
"""Task, scale, label and histories of some runs."""


def curves(groups: Sequence[Group], interval: Callable[[Floats], tuple[float, float]]) -> list[list[Any]]:
    """Rows under :data:`CURVE_COLUMNS`: by generation, means over the runs of each group, with an interval of each.

    A run that ended keeps its last values.
    """
    rows: list[list[Any]] = []
    for task, scale, label, histories in groups:
        longest = max(map(len, histories))
        held = [[*history, *[history[-1]] * (longest - len(history))] for history in histories]
        best = np.maximum.accumulate([[r.best for r in history] for history in held], axis=1)
        validated = np.array([[_number(getattr(r.champion, "validation_score", None)) for r in run] for run in held])
        spent = [np.cumsum([r.episodes for r in history]) for history in histories]
        for g in range(longest):
            episodes = float(np.mean([own[min(g, len(own) - 1)] for own in spent]))
            bands = [
                value
                for column in (best[:, g], validated[:, g])
                for value in (float(column.mean()), *(interval(column) if len(histories) > 1 else [column[0]] * 2))
            ]
            rows.append([task, float(scale), label, g + 1, len(histories), episodes, *map(float, bands)])
    return rows
