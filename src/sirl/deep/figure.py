"""The paper's figure: learning curves of social against plain deep Q-learning, and the episodes of a search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sirl.deep.report import Comparison
from sirl.errors import SirlError

_COLOURS = {"Social DQN": "#c0392b", "DQN": "#2c5aa0"}


def draw(found: Comparison, path: Path) -> None:
    """Write the figure as SVG."""
    try:
        import matplotlib
    except ImportError:
        raise SirlError("a figure needs matplotlib: run `pip install 'sirl[deep]'`.") from None
    matplotlib.use("svg")
    with matplotlib.rc_context({"svg.hashsalt": "sirl", "svg.fonttype": "none", "path.simplify_threshold": 1.0}):
        from matplotlib import pyplot as plt

        figure, (curves, bars) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(3, 1))
        _draw_curves(curves, found)
        _draw_bars(bars, found)
        figure.tight_layout()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _draw_curves(axes: Any, found: Comparison) -> None:
    for curve in (found.plain, found.social):
        episodes = np.arange(1, len(curve.mean) + 1)
        axes.plot(episodes, curve.mean, color=_COLOURS[curve.label], label=curve.label, linewidth=1)
        axes.fill_between(episodes, curve.low, curve.high, color=_COLOURS[curve.label], alpha=0.2, linewidth=0)
    axes.set_title(f"{found.env}, {found.n_runs} runs, mean and 95 % interval")
    axes.set_xlabel("episode")
    axes.set_ylabel("return")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")


def _draw_bars(axes: Any, found: Comparison) -> None:
    counts = {"Social DQN": found.social_episodes, "DQN": found.plain_episodes}
    bars = axes.bar(list(counts), list(counts.values()), color=[_COLOURS[label] for label in counts])
    axes.bar_label(bars, [f"{count:,}" for count in counts.values()])
    axes.margins(y=0.1)
    axes.set_title("episodes of a search")
