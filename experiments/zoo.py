"""The zoo: from runs of several seeds (experiments/goals.py) the best policy of a task, and its card.

python experiments/zoo.py add            # every task that has finished runs in runs/goals/laws; then as `table`
python experiments/zoo.py table          # the cards → docs/results.md
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import msgspec
import numpy as np

from sirl.experiments.tables import spread
from sirl.experiments.writing import put
from sirl.model.policy import load
from sirl.model.text import draw_tree
from sirl.runs.campaign import read_finished
from sirl.runs.directory import read_config
from sirl.runs.evaluation import evaluate
from sirl.search.front import n_numbers
from sirl.zoo import Card, cards

HOME = Path(__file__).parents[1]
ZOO, PAGE = HOME / "src" / "sirl" / "zoo", HOME / "docs" / "results.md"


def add(runs: Path, episodes: int) -> None:
    """Put the best of each task's runs into the zoo, if it is better than what is there."""
    known = cards()
    for env in sorted({read_config(path.parent).env for path in runs.glob("*/score.json")}):
        finished = sorted(path.parent for path in runs.glob(f"{env}-*/score.json"))
        results = [read_finished(path) for path in finished]
        scores = [result.champion.origin.validation_score for result in results]
        best = int(np.argmax([-np.inf if score is None else score for score in scores]))
        policy, history = results[best].champion, results[best].history
        score = evaluate(policy, env, episodes=episodes)
        name = env.split("-v")[0]
        if name in known and known[name].score >= score.mean:
            continue
        config = read_config(finished[best])
        words = ["sirl", "train", env, "--seed", str(config.seed)]
        words += [] if config.method == "laws" else ["--method", config.method]
        words += [word for line in config.derive or [] for word in ("--derive", line)]
        words += ["--simulator", "envpool"] if config.simulator == "envpool" else []
        words += [] if config.settings.stop_at is None else ["--stop-at", f"{config.settings.stop_at:g}"]
        known[name] = Card(
            env=env,
            score=score.mean,
            std=score.std,
            episodes=episodes,
            size=n_numbers(policy.tree),
            leaves=policy.tree.n_leaves,
            trained_episodes=sum(r.episodes for r in history),
            trained_steps=sum(r.steps for r in history),
            seconds=round(sum(r.seconds for r in history), 1),
            seeds=[result.score.mean for result in results],
            command=shlex.join(words),
        )
        policy.save(ZOO / f"{name}.json")
        (ZOO / "cards.json").write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
        print(f"zoo:{name}  {score.mean:.2f} ± {score.std:.2f}")


def table() -> None:
    """Put the cards, and each law written out, into docs/results.md."""
    put(cards_text(), PAGE, "zoo")


def cards_text() -> str:
    """A table of the cards, and each law written out."""
    lines = [
        "| policy | score on unseen episodes | numbers | leaves | episodes of training | steps | command |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, card in sorted(cards().items()):
        score = f"{spread(card.score, card.std)} ({card.episodes:,})"
        cost = f"{card.trained_episodes:,} | {card.trained_steps:,}"
        lines.append(f"| `zoo:{name}` | {score} | {card.size} | {card.leaves} | {cost} | `{card.command}` |")
    for name in sorted(cards()):
        policy = load(f"zoo:{name}")
        lines += ["", f"`zoo:{name}`", "", "```", draw_tree(policy.tree, policy.task, 110), "```"]
    return "\n".join(lines)


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("add", "table"))
    parser.add_argument("runs", type=Path, nargs="?", default=Path("runs/goals/laws"))
    parser.add_argument("--episodes", type=int, default=1000)
    options = parser.parse_args()
    if options.what == "add":
        add(options.runs, options.episodes)
    table()


if __name__ == "__main__":
    main()
