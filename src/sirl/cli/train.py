"""``sirl train``: a run from its start, or from its last checkpoint, to its score."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sirl.cli.arguments import add_env_option, add_fields
from sirl.cli.printing import count, fine, print_score, width
from sirl.cli.stopping import exit_code, stops_on_signals, what_stopped
from sirl.config import Settings
from sirl.errors import EnvironmentFailure, SirlError, WriteFailure
from sirl.options import Options, refuse_unused

if TYPE_CHECKING:
    from sirl.reading.playing import Stage
    from sirl.runs.training import Training


def add(commands: Any) -> None:
    """What can be asked."""
    parser = commands.add_parser(
        "train",
        help="train a policy on a task",
        description="Train a policy on any Gymnasium task. Settings not given come from the task's preset for the "
        "method, or from the paper's table, whose values stand in brackets.",
        usage="sirl train ENV [options]\n       sirl train --resume DIR",
        allow_abbrev=False,
    )
    parser.add_argument(
        "env", metavar="ENV", nargs="?", help="a Gymnasium id, such as LunarLander-v3 or my_module:MyEnv-v0"
    )
    parser.add_argument("--resume", metavar="DIR", help="go on with the run in this directory, to the same end")
    parser.add_argument(
        "--replace-edited",
        action="store_true",
        help="with --resume: go on although the champion was edited; the edited one is kept under another name",
    )
    parser.add_argument(
        "--prune", choices=("visits", "reward"), help="prune the champion at the end, into champion-pruned.json"
    )
    parser.add_argument("--report", action="store_true", help="write report.html into the run at its end")
    add_fields(parser, Options, leave_out=("env_options",))
    add_env_option(parser)
    add_fields(parser, Settings)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Train a policy, or go on with a run."""
    from sirl.cli.progress import show_progress

    with stops_on_signals():
        run = _make_run(options)
        _announce(run)
        try:
            for _ in show_progress(run.generations(), run.settings.generations, run.history):
                pass
            _report(run)
            if options.prune:
                _prune(run, options.prune)
            if options.report:
                _write_page(run)
        except (KeyboardInterrupt, SystemError, EnvironmentFailure, WriteFailure) as error:
            return _report_stop(run, what_stopped(error))
    return 0


def _make_run(options: Namespace) -> Training:
    from sirl.runs.directory import fresh_path
    from sirl.runs.training import Training

    asked = {
        name: value
        for name, value in vars(options).items()
        if name not in ("run", "env", "resume", "replace_edited", "env_option", "report", "prune")
    }
    if options.env_option:
        asked["env_options"] = dict(options.env_option)
    if options.resume:
        replace = options.replace_edited or _may_replace(Path(options.resume))
        return Training.resume(options.resume, options.env, replace_edited=replace, **asked)
    if options.replace_edited:
        raise SirlError("--replace-edited goes with --resume DIR: add that, or leave it out.")
    if options.env is None:
        raise SirlError("name the task to train on, such as CartPole-v1, or the run to go on with: --resume DIR.")
    method, seed = (asked.get(name, getattr(Options(), name)) for name in ("method", "seed"))
    refuse_unused(asked)
    base = f"runs/{options.env.replace('/', '-').replace(':', '-')}-{method}-{seed}"
    return Training(options.env, **{"out": fresh_path(base)} | asked)


def _may_replace(path: Path) -> bool:
    """Whether somebody at the terminal lets the run put its own champion in the place of an edited one."""
    from sirl.runs.directory import RunDirectory

    edited = RunDirectory(path).edited()
    if not edited or not sys.stdin.isatty():
        return False
    try:
        answer = input(f"{edited[0]} was edited. Keep it under another name and go on with the run's own? [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def _announce(run: Training) -> None:
    config = run.config
    print(
        f"{config.method} on {config.env}, seed {config.seed}: {run.search.plan()}, "
        f"{count(run.workers, 'worker')}, {config.simulator} simulator → {_place(run)}",
        flush=True,
    )
    if run.options.engine == "local" and not run.arena.is_warm:
        print("compiling the loops for the first time, which takes some seconds", flush=True)


def _place(run: Training) -> str:
    assert run.directory is not None  # the command line always gives one
    return str(run.directory.path)


def _report(run: Training) -> None:
    from sirl.cli.progress import duration
    from sirl.model.text import draw_tree

    policy, history = run.champion, run.history
    print(fine(f"\n{draw_tree(policy.tree, policy.task, width())}\n"))
    try:
        score = run.score()
    except EnvironmentFailure as failure:
        if run.directory is not None:
            run.directory.note("evaluation", f"{failure}\n{failure.details}")
        raise
    print_score(policy, score, policy.task.env)
    _print_front(run)
    episodes = sum(r.episodes for r in history)
    checks = sum(r.validation.episodes for r in history)
    looks = sum(r.instruments.cost.episodes for r in history)
    more = f", {looks:,} more for instruments" if looks else ""
    print(
        f"cost   {count(len(history), 'generation')}, {count(episodes, 'episode')} and {checks:,} more to choose the "
        f"champion{more}, {sum(r.steps for r in history):,} steps, {duration(sum(r.seconds for r in history))}"
    )
    if run.settings.stop_at is not None and not run.state.solved:
        print(f"note   no champion held {run.settings.stop_at:g} yet: raise --generations, or try another --seed")
    where = _place(run)
    named = f"--env {run.config.env} " if ":" in run.config.env else ""
    print(
        f"\nnext   sirl show {where}\n       sirl report {where}{' ' + named.strip() if named else ''}\n"
        f"       sirl evaluate {where} {named}--episodes 1000"
    )


def _print_front(run: Training) -> None:
    """Score against size, which one was chosen, and what a larger one would gain."""
    from sirl.search.front import gain, n_numbers

    front, chosen = run.state.front, n_numbers(run.champion.tree)
    if len(front) < 2:
        return
    rows = [f"{p.size} numbers {p.score:.2f}{' (chosen)' if p.size == chosen else ''}" for p in front]
    print(f"front  {'; '.join(rows)}: {_place(run)}/front")
    one = next(p for p in front if p.size == chosen)
    if larger := next((p for p in front if p.size > chosen), None):
        more, error = gain(one, larger)
        print(
            f"       {larger.size} numbers would gain {more:.2f} (standard error {error:.2f}) on the run's own starts; "
            "--prefer-small says what may be lost"
        )


def _stage(run: Training) -> Stage:
    """Where the champion plays as it was trained."""
    from sirl.reading.playing import Stage

    return Stage(run.champion, run.config.env, workers=run.workers)


def _prune(run: Training, by: str) -> None:
    from sirl.cli.arguments import keep
    from sirl.cli.prune import prune

    asked = Namespace(by=by, least=None, tolerance=None, max_leaves=None, episodes=100, model=_place(run), out=None)
    with _stage(run) as place:
        smaller = prune(asked, run.champion, place)
    if smaller is not None:
        keep(smaller, asked, "pruned")


def _write_page(run: Training) -> None:
    from sirl.cli import report
    from sirl.cli.printing import provenance
    from sirl.reading.report import Effort

    with _stage(run) as place:
        out = Path(_place(run)) / "report.html"
        report.write(run.champion, place, run.history, provenance(run.champion), Effort(), out)


def _report_stop(run: Training, reason: BaseException) -> int:
    where = _place(run)
    if run.state.champion is None:
        kept = "no generation had ended, so there is no champion yet"
    else:
        kept = f"the champion of {count(run.state.generation, 'generation')} is kept in {where}/champion.json"
    named = f"{run.config.env} " if ":" in run.config.env else ""
    go_on = f"sirl: to go on: sirl train {named}--resume {where}"
    if isinstance(reason, KeyboardInterrupt):
        print(f"\nsirl: stopped; {kept}.\n{go_on}", file=sys.stderr)
        return exit_code(reason)
    if isinstance(reason, WriteFailure):
        print(f"sirl: error: {reason}\nsirl: what was written before is kept.\n{go_on}", file=sys.stderr)
        return 1
    print(f"sirl: error: {reason}\nsirl: {kept}; what happened is in {where}/log.txt.\n{go_on}", file=sys.stderr)
    return 1
