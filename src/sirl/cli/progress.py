"""What a person sees while a run is under way: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from sirl.deep.records import Standing
from sirl.search.records import Record


def show_progress(records: Iterable[Record], generations: int, history: list[Record]) -> Iterator[None]:
    """Show each generation as it ends, when it is in the history already; one turn a generation."""
    show = _live if sys.stdout.isatty() else _plain
    return show(records, generations, history)


def _plain(records: Iterable[Record], generations: int, history: list[Record]) -> Iterator[None]:
    for record in records:
        standing = f"{describe(history)}  {time_left(history, generations)}"
        print(f"generation {record.generation + 1}/{generations}  {standing}", flush=True)
        yield


def _live(records: Iterable[Record], generations: int, history: list[Record]) -> Iterator[None]:
    bar = Progress(
        SpinnerColumn(),
        TextColumn("generation {task.completed:.0f}/{task.total:.0f}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    task = bar.add_task("", total=generations, completed=len(history))
    with Live(bar, console=Console()) as display:
        for _ in records:
            bar.update(task, completed=len(history), description=time_left(history, generations))
            # On a line of its own: with the bar it would not fit into 80 columns.
            display.update(Group(bar, Text(describe(history))))
            yield


def show_standings(standings: Iterable[Standing]) -> Iterator[None]:
    """Show where a grid search stands: a live bar on a terminal, a line now and then elsewhere."""
    if sys.stdout.isatty():
        with Progress() as bar:
            task = bar.add_task("")
            for standing in standings:
                bar.update(task, total=standing.total, completed=standing.done, description=_line(standing))
                yield
        return
    shown = -1
    for standing in standings:
        if standing.done * 20 // standing.total > shown:
            shown = standing.done * 20 // standing.total
            print(f"{standing.done:,}/{standing.total:,} episodes  {_line(standing)}", flush=True)
        yield


def _line(standing: Standing) -> str:
    return f"{standing.phase}  {standing.networks} networks  return {standing.recent:.1f}  {standing.seconds:.0f} s"


def describe(history: list[Record]) -> str:
    """Where a run stands, in one line."""
    last = history[-1]
    parts = [f"best {last.best:.1f}", f"mean {last.mean:.1f}"]
    if last.champion is not None:
        score = last.champion.validation_score
        shown = last.champion.training_score if score is None else score
        leaves = last.champion.leaves
        parts.append(f"champion {shown:.1f} ({leaves} {'leaf' if leaves == 1 else 'leaves'})")
    episodes = sum(r.episodes for r in history)
    return "  ".join([*parts, f"{episodes:,} episodes", f"{last.steps / max(last.seconds, 1e-3):,.0f} steps/s"])


def time_left(history: list[Record], generations: int) -> str:
    """How long the run will still take if nothing stops it before, or how long it took."""
    recent = history[-5:]
    left = (generations - len(history)) * sum(r.seconds for r in recent) / len(recent)
    return f"{duration(left)} left at most" if left else f"{duration(sum(r.seconds for r in history))} in all"


def duration(seconds: float) -> str:
    """A time span such as 3:05 or 2:03:05."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
