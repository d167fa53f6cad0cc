"""A run's history as a table: a notebook shows it, and ``columns`` goes into any data frame."""

from __future__ import annotations

from html import escape
from itertools import accumulate
from typing import Any

from sirl.search.records import Record

_SHOWN = 20
"""Rows of a long history that a notebook shows: its last ones."""


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
        columns = self.columns()
        best = list(accumulate(columns["best"], max))
        rows = zip(columns["generation"], best, columns["validation_score"], strict=True)
        return [
            {"task": task, "label": label, "n": "1", "generation": str(generation)}
            | dict.fromkeys(("best", "best_low", "best_high"), str(value))
            | dict.fromkeys(("validated", "validated_low", "validated_high"), str(validated))
            for generation, value, validated in rows
        ]

    def _repr_html_(self) -> str:
        columns = self.columns()
        head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
        lines = list(zip(*columns.values(), strict=True))[-_SHOWN:]
        body = "".join(f"<tr>{''.join(f'<td>{value:,.6g}</td>' for value in line)}</tr>" for line in lines)
        cut = f"<caption>the last {_SHOWN} of {len(self)} generations</caption>" if len(self) > _SHOWN else ""
        return f"<table>{cut}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
