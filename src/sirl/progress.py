"""What a person sees while a run is under way: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from sirl.runs import Record


def show_progress(records: Iterable[Record], generations: int) -> Iterator[None]:
    """Show each generation as it ends; one turn a generation."""
    show = _live if sys.stdout.isatty() else _plain
    return show(records, generations)


def _plain(records: Iterable[Record], generations: int) -> Iterator[None]:
    history: list[Record] = []
    for record in records:
        history.append(record)
        print(f"generation {record.generation + 1}/{generations}  {describe(history, generations)}", flush=True)
        yield


def _live(records: Iterable[Record], generations: int) -> Iterator[None]:
    columns = (
        SpinnerColumn(),
        TextColumn("generation {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    history: list[Record] = []
    with Progress(*columns, console=Console()) as display:
        task = display.add_task("first generation", total=generations)
        for record in records:
            history.append(record)
            display.update(task, advance=1, description=describe(history, generations))
            yield


def describe(history: list[Record], generations: int) -> str:
    """The state of a run in one line."""
    last = history[-1]
    episodes = sum(r.episodes for r in history)
    parts = [f"best {last.best:.1f}", f"mean {last.mean:.1f}"]
    if last.champion is not None:
        score = last.champion.validation_score
        shown = last.champion.training_score if score is None else score
        parts.append(f"champion {shown:.1f} ({last.champion.leaves} leaves)")
    parts += [f"{episodes:,} episodes", f"{last.steps / max(last.seconds, 1e-3):,.0f} steps/s"]
    recent = history[-5:]
    left = (generations - len(history)) * sum(r.seconds for r in recent) / len(recent)
    parts.append(f"{duration(left)} left at most" if left else f"{duration(sum(r.seconds for r in history))}")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """A time span such as 3:05 or 2:03:05."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
