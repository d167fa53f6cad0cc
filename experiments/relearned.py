"""Does the paper's learning find the leaves of the paper's own trees? The section of docs/results.md, from the start.

Copies of a printed tree's conditions take their places among random trees, as if a first generation had drawn them,
and go through both phases with the settings of SIRL-LB: as the paper has them; with as many collaborative episodes one
after another, and not in ten environments side by side; and with leaves that average what they have seen.

python experiments/relearned.py run      # skips what is kept in results/goals/relearned.csv; then as `table`
python experiments/relearned.py table    # results/goals/relearned.csv → docs/results.md
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np

import sirl
from sirl.engine import local_engine
from sirl.experiments.cells import FULL, SCALED
from sirl.experiments.cost import ON_ENVPOOL
from sirl.experiments.paper import IN_SEQUENCE, TASKS
from sirl.experiments.reproduce import cells
from sirl.experiments.tables import comma_separated, number, read_rows
from sirl.experiments.writing import put, write_files
from sirl.keys import Stream
from sirl.learning.forest import pack
from sirl.rollout.spread import play_all
from sirl.search.champion import fresh_seeds
from sirl.search.evolution import Evolution
from sirl.search.grammar import translate
from sirl.search.population import learn

HOME = Path(__file__).parents[1]
KEPT, PAGE = HOME / "results" / "goals" / "relearned.csv", HOME / "docs" / "results.md"
COPIES, EPISODES = 50, 20
AVERAGES = {"learning_rate_rule": "1/visits", "q_low": 0.0, "q_high": 0.0}
WAYS = {"paper": "as in the paper", "sequence": "one episode after another", "averages": "averages"}
COLUMNS = ["task", "way", "seed", "printed", "learned", "best", "as_good", "copies", "random", "among_best"]


def relearn(env: str, way: str, seed: int, workers: int | None) -> list[str]:
    """One generation with copies of the printed tree: what they and the others come to."""
    (cell,) = cells([env], [IN_SEQUENCE], envpool=True)
    sequence = {name: getattr(cell.settings(FULL), name) for name in SCALED}
    changes = {"paper": {}, "sequence": sequence, "averages": AVERAGES}[way]
    run = sirl.Training(env, method=cell.method, seed=seed, workers=workers, simulator=cell.simulator, **changes)
    assert isinstance(run.search, Evolution)
    problem, printed = run.search.problem, sirl.load(f"paper:{env.split('-v')[0]}")
    others, _ = translate(run.search.first_state().codons[COPIES:], problem.grammar)
    trees = [others.tree(i, printed.tree.leaves) for i in range(others.n_trees)]
    forest = pack([printed.tree] * COPIES + trees)
    seeds = fresh_seeds(problem, Stream.VALIDATION, 0, EPISODES)
    with local_engine(run.arena, run.workers) as engine:
        found = learn(forest, np.arange(forest.n_trees), problem, 0, engine)
        learned = [found.tree(copy, problem.menu) for copy in range(COPIES)]
        own = play_all([printed.tree], seeds, env, engine).returns.mean()
        scores = play_all(learned, seeds, env, engine).returns.mean(axis=1)
    order = np.argsort(-found.fitness, kind="stable")[:COPIES]
    values = [own, scores.mean(), scores.max(), found.fitness[:COPIES].mean(), found.fitness[COPIES:].mean()]
    own, mean, best, copies, random = (f"{value:.2f}" for value in values)
    as_good = str(int((scores >= values[0] - 0.1 * abs(values[0])).sum()))
    return [env, way, str(seed), own, mean, best, as_good, copies, random, str(int((order < COPIES).sum()))]


def run(options: argparse.Namespace) -> None:
    """One generation of each task and seed; what is kept is not done again."""
    kept = {tuple(row[name] for name in COLUMNS[:3]): [row[name] for name in COLUMNS] for row in _rows()}
    for key in [(env, way, str(seed)) for env in TASKS for way in WAYS for seed in range(options.seeds)]:
        if options.env in (None, key[0]) and key not in kept:
            kept[key] = relearn(key[0], key[1], int(key[2]), options.workers)
            rows = sorted(kept.values(), key=lambda row: (TASKS.index(row[0]), [*WAYS].index(row[1]), int(row[2])))
            write_files(KEPT.parent, {KEPT.name: comma_separated(COLUMNS, rows)})
    table(options)


def table(_: argparse.Namespace) -> None:
    """Put what is kept into docs/results.md."""
    put(relearned_text(), PAGE, "relearned")


def relearned_text() -> str:
    """A table of what is kept, one line a task and way: means over the seeds, and what differs most by seed."""
    head = ["task", "learning", "printed tree", f"its {COPIES} copies, learned", "best copy", "as good, by seed"]
    lines = [[*head, "fitness of copies", "of random trees", f"copies among the {COPIES} fittest"]]
    for env, way in product(TASKS, WAYS):
        rows = [row for row in _rows() if (row["task"], row["way"]) == (env, way)]
        if rows:
            mean = {name: float(np.mean([float(row[name]) for row in rows])) for name in COLUMNS[3:]}
            shown = [number(mean[name], 1) for name in ("printed", "learned")]
            shown += [number(max(float(row["best"]) for row in rows), 1), ", ".join(row["as_good"] for row in rows)]
            shown += [number(mean[name], 1) for name in ("copies", "random", "among_best")]
            where = f"{env} (EnvPool)" if env in ON_ENVPOOL else env
            lines.append([f"{where}, {len(rows)} seeds", WAYS[way], *shown])
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])


def _rows() -> list[dict[str, str]]:
    return read_rows(KEPT) if KEPT.exists() else []


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--env", help="only this task")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    {"run": run, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
