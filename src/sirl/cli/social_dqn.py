"""``sirl social-dqn``: a grid of deep Q-networks that learn together, the ranking, and a tree made from the best."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from sirl.cli.arguments import add_env_option, add_fields, names
from sirl.cli.stopping import Stops, exit_code, stops_on_signals, what_stopped
from sirl.deep.settings import DeepSettings, Method
from sirl.errors import EnvironmentFailure, SirlError, WriteFailure

if TYPE_CHECKING:
    from sirl.deep.grid import Point
    from sirl.deep.records import Result
    from sirl.deep.search import GridSearch
    from sirl.model.policy import Policy

_FIXED = ("grid", "method", "seed", "runs", "compare", "out", "features", "actions", "env_option")
"""Besides the settings, what can't change when a search goes on."""
_STOPS = (KeyboardInterrupt, SystemError, EnvironmentFailure, WriteFailure)
"""What can stop a search that goes on later."""
_EPILOG = """\
axes of the grid, and the paper's values:
  learning_rate=0.001,0.0001  layers=1,3  units=8,16  batch_size=64,128  target_period=100,1000
  discount=0.99; architecture=64x32,128 in place of layers and units

examples:
  sirl social-dqn CartPole-v1
  sirl social-dqn CartPole-v1 --method plain
  sirl social-dqn CartPole-v1 --runs 10 --compare best
  sirl social-dqn Acrobot-v1 --grid units=32,64 --grid layers=2 --voting majority --halving
"""


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "social-dqn",
        help="search a grid of deep Q-networks that learn together, and distil the best into a tree",
        description="All networks of a grid share one stream of episodes by voting, then each goes on alone. Needs "
        "sirl[deep].",
        epilog=_EPILOG,
        usage="sirl social-dqn ENV [options]\n       sirl social-dqn --resume DIR",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("env", metavar="ENV", nargs="?", help="a Gymnasium id with discrete actions")
    parser.add_argument(
        "--grid", action="append", default=[], metavar="AXIS=V,V,…", help="values of an axis [the paper's, see below]"
    )
    parser.add_argument("--method", choices=get_args(Method), help="learn together, or each network alone [social]")
    parser.add_argument("--seed", type=int, metavar="N", help="same seed, same result [0]")
    parser.add_argument("--runs", type=int, metavar="N", help="as many searches, with seeds from --seed on [1]")
    parser.add_argument(
        "--compare",
        choices=("best", "all"),
        help="after each social search a plain one of its best configuration, or of the whole grid; table and figure",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="a new directory [runs/ENV-METHOD-dqn-SEED]; with --runs or --compare, one with a directory for each "
        "search, where those that are there go on [runs/ENV-social-dqn]",
    )
    parser.add_argument("--resume", metavar="DIR", help="go on with the search in this directory, to the same end")
    parser.add_argument(
        "--checkpoint-minutes", type=float, default=1.0, metavar="MIN", help="keep a checkpoint every so often [1]"
    )
    parser.add_argument("--max-leaves", type=int, metavar="N", help="of the distilled tree [8]")
    parser.add_argument(
        "--axis-aligned",
        action="store_true",
        default=None,
        help="conditions of the distilled tree look at one feature each",
    )
    parser.add_argument("--features", type=names, metavar="A,B,…", help="names of the features, in order")
    parser.add_argument("--actions", type=names, metavar="A,B,…", help="names of the actions, in order")
    add_env_option(parser)
    add_fields(parser, DeepSettings)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Search, and print what came of it."""
    from sirl.deep import check_installed

    check_installed()
    if options.env is None and not options.resume:
        raise SirlError("name the task, such as CartPole-v1, or the search to go on with: --resume DIR.")
    with stops_on_signals() as stops:
        if not options.resume and (options.runs is not None or options.compare):
            return _run_many(options, stops)
        search = _resumed(options) if options.resume else _single(options)
        try:
            _play(search, stops)
            _report(search, options)
        except _STOPS as error:
            return _report_stop(error, _go_on(search))
    return 0


def _report_stop(error: BaseException, go_on: str) -> int:
    if isinstance(error, SirlError):
        print(f"sirl: error: {error}\nsirl: to go on: {go_on}", file=sys.stderr)
        return 1
    reason = what_stopped(error)
    print(f"\nsirl: stopped; to go on: {go_on}", file=sys.stderr)
    return exit_code(reason)


def _single(options: argparse.Namespace) -> GridSearch:
    from sirl.runs.directory import fresh_path

    method: Method = options.method or "social"
    seed = options.seed or 0
    return _new(options, method, seed, options.out or fresh_path(f"{_base(options)}-{method}-dqn-{seed}"))


def _base(options: argparse.Namespace) -> str:
    """How the names of directories begin that nobody has named."""
    return f"runs/{options.env.replace('/', '-').replace(':', '-')}"


def _new(
    options: argparse.Namespace, method: Method, seed: int, out: str | Path | None, grid: list[Point] | None = None
) -> GridSearch:
    from sirl.deep.grid import parse_axis
    from sirl.deep.search import GridSearch

    axes = [parse_axis(text) for text in options.grid]
    if len(dict(axes)) < len(axes):
        raise SirlError("--grid names an axis twice: give all of its values at once.")
    return GridSearch(
        options.env,
        grid=grid or dict(axes),
        method=method,
        seed=seed,
        out=out,
        features=options.features,
        actions=options.actions,
        env_options=dict(options.env_option),
        checkpoint_minutes=options.checkpoint_minutes,
        **{name: value for name, value in vars(options).items() if name in DeepSettings.__struct_fields__},
    )


def _resumed(options: argparse.Namespace) -> GridSearch:
    from sirl.deep.search import GridSearch

    given = {name for name in vars(options) if name in DeepSettings.__struct_fields__}
    given |= {name for name in _FIXED if getattr(options, name) not in (None, [])}
    if given:
        raise SirlError(
            f"a search goes on with what it was first asked, so --resume can't be given {', '.join(sorted(given))}: "
            "leave it out, or start a new search."
        )
    return GridSearch.resume(options.resume, options.env, options.checkpoint_minutes)


def _place(search: GridSearch) -> Path:
    assert search.directory is not None  # the command line always gives one
    return search.directory.path


def _play(search: GridSearch, stops: Stops) -> None:
    """Search; a signal stops it after the step that is under way, with a checkpoint."""
    from sirl.cli.progress import show_standings

    config, where = search.config, _place(search)
    over = ", which is finished" if search.directory and search.directory.is_finished else ""
    what = f"{config.method} search of {len(config.grid)} networks on {config.env}"
    print(f"{what}, seed {config.seed} → {where}{over}", flush=True)
    with stops.left_to(search.stop):
        for _ in show_standings(search.episodes()):
            pass


def _go_on(search: GridSearch) -> str:
    named = f"{search.config.env} " if ":" in search.config.env else ""
    return f"sirl social-dqn {named}--resume {_place(search)}"


def _report(search: GridSearch, options: argparse.Namespace) -> None:
    """The ranking, the best network on unseen episodes, and the tree made from it."""
    from sirl.deep.episodes import evaluate
    from sirl.deep.imitation import distil
    from sirl.deep.report import ranking_table
    from sirl.runs.evaluation import evaluate as evaluate_tree

    result, where = search.result, _place(search)
    named = f" --env {search.config.env}" if ":" in search.config.env else ""
    print(f"\n{ranking_table(result)}\n")
    score = evaluate(search.champion)
    print(f"network  {score.mean:.2f} ± {score.std:.2f} on 100 unseen episodes")
    distilled = distil(
        search.champion,
        max_leaves=8 if options.max_leaves is None else options.max_leaves,
        oblique=not options.axis_aligned,
        seed=search.config.seed,
    )
    _keep_tree(distilled.tree, where / "tree.json")
    tree_score = evaluate_tree(distilled.tree, workers=1)
    leaves, counts = distilled.tree.tree.n_leaves, result.episodes
    print(
        f"tree     {tree_score.mean:.2f} ± {tree_score.std:.2f} on the same, {leaves} leaves, does what the network "
        f"would in {distilled.agreement:.1%} of states\n"
        f"cost     {counts.budget:,} episodes and {counts.validation:,} more to choose the champion, "
        f"{result.steps:,} steps, {result.seconds:.0f} s\n\n{distilled.tree}\n\n"
        f"next     sirl evaluate {where}/tree.json{named}\n"
        f"         sirl show {where}/tree.json"
    )


def _keep_tree(tree: Policy, path: Path) -> None:
    """Write a tree; one that a person has edited is kept under another name."""
    from sirl.files import set_aside
    from sirl.model.policy import is_edited
    from sirl.runs.directory import writable

    with writable(path):
        if is_edited(path):
            print(f"note     {path} was edited, and is kept as {set_aside(path, 'before').name}")
        tree.save(path)


def _run_many(options: argparse.Namespace, stops: Stops) -> int:
    """Searches of several seeds; what stops them is told, and how to go on."""
    try:
        _search_all(options, stops)
    except _STOPS as error:
        return _report_stop(error, "give the same command again")
    return 0


def _search_all(options: argparse.Namespace, stops: Stops) -> None:
    """Searches of several seeds, each in a directory of its own; those that are finished are not done again."""
    runs, first = 1 if options.runs is None else options.runs, options.seed or 0
    if runs < 1:
        raise SirlError(f"runs = {runs} is not allowed: give at least 1.")
    base, seeds = Path(options.out or f"{_base(options)}-social-dqn"), range(first, first + runs)
    if options.compare:
        _compare(options, stops, seeds, base)
        return
    for seed in seeds:
        _report(_search(options, stops, options.method or "social", seed, base), options)


def _search(
    options: argparse.Namespace,
    stops: Stops,
    method: Method,
    seed: int,
    base: Path,
    grid: list[Point] | None = None,
) -> GridSearch:
    """A search at its end, which is begun, gone on with, or there already."""
    path = base / f"{method}-{seed}"
    begun = (path / "config.toml").exists()
    search = _new(options, method, seed, None if begun else path, grid)
    if begun:
        search.go_on(path)
    _play(search, stops)
    return search


def _compare(options: argparse.Namespace, stops: Stops, seeds: range, base: Path) -> None:
    """Social against plain searches of the same seeds: table and figure."""
    from sirl.deep.figure import draw
    from sirl.deep.report import compare, comparison_text

    if given := [name for name in ("method", "max_leaves", "axis_aligned") if getattr(options, name) is not None]:
        raise SirlError(f"--compare has both methods and makes no trees: leave out {', '.join(given)}.")
    social: list[Result] = []
    plain: list[Result] = []
    for seed in seeds:
        social.append(_search(options, stops, "social", seed, base).result)
        best = [social[-1].ranking[0].point] if options.compare == "best" else None
        plain.append(_search(options, stops, "plain", seed, base, best).result)
    found = compare(social, plain)
    text = comparison_text(found)
    (base / "comparison.md").write_text(text + "\n", encoding="utf-8")
    draw(found, base / "comparison.svg")
    print(f"\n{text}\n\nsaved in {base}/comparison.md and comparison.svg")
