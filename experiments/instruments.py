"""What the instruments show of the paper's methods and of ours: the section of docs/results.md, from training on.

python experiments/instruments.py run   --out runs/instruments     # skips what is finished, then writes the table
python experiments/instruments.py table --out runs/instruments     # the table and the figure of what is there
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sirl.config import Method
from sirl.experiments.cells import SCALED, scaled
from sirl.experiments.instruments import instruments
from sirl.experiments.tables import Table, markdown, number
from sirl.experiments.writing import put
from sirl.figures.plots import draw_instruments
from sirl.presets import preset_settings
from sirl.runs.campaign import Job, train_all
from sirl.runs.directory import read_history
from sirl.search.records import Record

TASKS = ("InvertedPendulum-v4", "Reacher-v4")
SCALE = 0.15
"""Of the paper's size: 75 trees, 15 generations."""
EVERY = 3
AVERAGES = {"learning_rate_rule": "1/visits", "q_low": 0.0, "q_high": 0.0}
WAYS: dict[str, tuple[Method, dict[str, Any]]] = {
    "eldt": ("eldt", {}),
    "sirl-lb": ("sirl-lb", {}),
    "sirl-lb, averages": ("sirl-lb", AVERAGES),
    "laws": ("laws", {"generations": 30}),
}
"""The paper's baseline and its method, that with leaves that average what they have seen, and our own."""
PAGE = Path(__file__).parents[1] / "docs" / "results.md"


def run(options: argparse.Namespace) -> None:
    """Train every way on every task with every seed; what is finished is not done again."""
    jobs = [
        Job(task, seed, str(_place(options.out, task, label) / str(seed)), _asked(task, *way))
        for task in TASKS
        for label, way in WAYS.items()
        for seed in range(options.seeds)
    ]
    train_all(jobs, episodes=10, workers=options.workers)
    table(options)


def table(options: argparse.Namespace) -> None:
    """Put the table into docs/results.md, and the figure beside it."""
    groups = [(task, SCALE, label, _histories(options.out, task, label)) for task in TASKS for label in WAYS]
    groups = [group for group in groups if group[3]]
    rows = [[task, label, *_row(histories)] for task, _, label, histories in groups]
    columns = ["task", "method", "runs", "scored twice", "offspring, parents", "survivors: claimed", "worth"]
    note = f"Means over runs ± standard deviation; 75 trees, 15 generations (laws: 30), instruments every {EVERY}."
    put(markdown(Table("instruments", "Instruments", note, columns, rows)), PAGE, "instruments")
    draw_instruments(instruments(groups).as_saved()).save(PAGE.parent / "figures" / "instruments")
    (PAGE.parent / "figures" / "instruments.png").unlink()


def _asked(task: str, method: Method, changes: dict[str, Any]) -> dict[str, Any]:
    settings = preset_settings(task, method)
    if method != "laws":
        settings = scaled(settings, SCALE)
    asked = {name: getattr(settings, name) for name in (*SCALED, "candidates")}
    return asked | {"method": method, "instruments_every": EVERY, "stop_at": None} | changes


def _place(out: Path, task: str, label: str) -> Path:
    return out / task / label.replace(", ", "-")


def _histories(out: Path, task: str, label: str) -> list[list[Record]]:
    done = sorted(_place(out, task, label).glob("*/score.json"), key=lambda path: int(path.parent.name))
    return [read_history(path.parent) for path in done]


def _row(histories: Sequence[Sequence[Record]]) -> list[str]:
    """What the runs of one way show, each run a mean over its generations; of survivors the first and the last."""
    seen = [[record.instruments for record in history] for history in histories]
    cells = [str(len(histories))]
    for name in ("repeat", "heritage"):
        known = [[value for one in run if (value := getattr(one, name)) is not None] for run in seen]
        cells.append(_spread([float(np.mean(values)) for values in known if values]))
    for name in ("claimed", "survivors"):
        known = [[value for one in run if (value := getattr(one, name)) is not None] for run in seen]
        ends = [[values[place] for values in known if values] for place in (0, -1)]
        cells.append(" → ".join(number(float(np.mean(end)), 1) if end else "–" for end in ends))
    return cells


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return f"{number(float(np.mean(values)))} ± {number(float(np.std(values, ddof=min(1, len(values) - 1))))}"


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--out", type=Path, default=Path("runs/instruments"))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--workers", type=int, help="runs at the same time; all usable cores if not given")
    options = parser.parse_args()
    {"run": run, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
