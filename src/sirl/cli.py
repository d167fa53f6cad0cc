"""The command line: parses, calls, prints. Everything it does is a call of the library.

Heavy imports wait inside the commands, so that help and mistakes answer at once.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from sirl import __version__
from sirl.config import METHODS, Settings
from sirl.errors import EnvironmentFailure, SirlError, did_you_mean

if TYPE_CHECKING:
    from sirl.evaluation import Evaluation
    from sirl.policy import Policy
    from sirl.training import Training

_EPILOG = """\
examples:
  sirl train InvertedPendulum-v4 --stop-at 1000
  sirl train LunarLander-v3 --method sirl-sb --seed 1 --out runs/lander
  sirl evaluate runs/lander --episodes 1000
  sirl show paper:LunarLander
"""


_TRAIN_DEFAULTS: dict[str, Any] = {
    "method": "sirl-lb",
    "seed": 0,
    "simulator": "auto",
    "env_option": [],
    "engine": "local",
}
"""Of the options of ``train`` that are not None if they are not given."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that has no box characters gets question marks
            stream.reconfigure(errors="replace")
    if os.getcwd() not in sys.path:  # for module:Env-v0 with a module of the user's own
        sys.path.append(os.getcwd())
    parser = _parser()
    options = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except SirlError as error:
        print(f"sirl: error: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("sirl: error: memory has run out: use a smaller --population or fewer --workers.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sirl: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `sirl show … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


class _Parser(argparse.ArgumentParser):
    """A parser that says which option was meant."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            first = unknown.split()[0].partition("=")[0]
            known = [name for action in self._actions for name in action.option_strings]
            what = f"there is no option {first}" if first.startswith("-") else f"{first!r} is one argument too many"
            message = f"{what}{did_you_mean(first, known) or f'; see {self.prog} --help.'}"
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        sys.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # A subcommand reports its own unknown options: it knows which ones it has.
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and self.prog.count(" "):
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="sirl",
        description="Train control policies that a person can read.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sirl {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_train(commands)
    _add_evaluate(commands)
    show = commands.add_parser("show", help="print a policy: the tree, and its rules in words", allow_abbrev=False)
    _add_model(show)
    show.set_defaults(command=_show)
    return parser


def _add_train(commands: Any) -> None:
    train = commands.add_parser(
        "train",
        help="train a policy on a task",
        description="Train a policy on any Gymnasium task. Settings not given come from the task's preset for the "
        "method, or from the paper's table, whose values stand in brackets.",
        allow_abbrev=False,
    )
    train.add_argument(
        "env", metavar="ENV", nargs="?", help="a Gymnasium id, such as LunarLander-v3 or my_module:MyEnv-v0"
    )
    train.add_argument("--method", choices=METHODS, default="sirl-lb", help="what to start from [sirl-lb]")
    train.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same result [0]")
    train.add_argument("--out", metavar="DIR", help="a new run directory [runs/ENV-METHOD-SEED]")
    train.add_argument(
        "--workers", type=int, metavar="N", help="how much runs at once; no effect on the result [all cores]"
    )
    train.add_argument(
        "--simulator",
        choices=("auto", "mujoco", "gymnasium"),
        default="auto",
        help="what computes episodes [auto]",
    )
    train.add_argument(
        "--hang-limit",
        type=float,
        metavar="S",
        help="seconds after which an environment in a worker process counts as hung",
    )
    train.add_argument("--features", type=_names, metavar="A,B,…", help="names of the features")
    train.add_argument("--actions", type=_names, metavar="A,B,…", help="names of the actions, or of their components")
    train.add_argument(
        "--env-option",
        type=_env_option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the environment",
    )
    train.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="where work runs: here, or on a Ray cluster [local]"
    )
    train.add_argument("--address", metavar="ADDRESS", help="of the Ray cluster, such as auto [a new one, here]")
    train.add_argument("--resume", metavar="DIR", help="go on with the run in this directory, to the same end")
    train.add_argument(
        "--checkpoint-minutes",
        type=float,
        default=0.0,
        metavar="MIN",
        help="keep a checkpoint every so many minutes; 0: after every generation [0]",
    )
    groups: dict[str, Any] = {}
    for name, kind in get_type_hints(Settings, include_extras=True).items():
        meta = kind.__metadata__[0]
        section = meta.extra["section"]
        group = groups.setdefault(section, train.add_argument_group(section) if section not in groups else None)
        _add_setting(group, name, kind.__origin__, meta.description)
    train.set_defaults(command=_train)


def _add_setting(group: Any, name: str, kind: Any, text: str) -> None:
    """An option for a field of Settings; one that is not given is absent, so that the preset's value stays."""
    default = Settings.__struct_defaults__[Settings.__struct_fields__.index(name)]
    if default is not None:
        text += f" [{default:g}]" if isinstance(default, float) else f" [{default}]"
    how: dict[str, Any] = {"help": text.replace("%", "%%"), "default": argparse.SUPPRESS}
    if get_origin(kind) is Literal:
        how["choices"] = get_args(kind)
    else:
        whole = kind is int or name == "max_steps"
        how |= {"type": int if whole else float, "metavar": "N" if whole else "X"}
    group.add_argument("--" + name.replace("_", "-"), **how)


def _add_evaluate(commands: Any) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="score a policy on unseen episodes",
        description="Score a policy on episodes it has never seen, on Gymnasium.",
        allow_abbrev=False,
    )
    _add_model(evaluate)
    evaluate.add_argument("--env", metavar="ENV", help="another task with the same spaces [the policy's own]")
    evaluate.add_argument("--episodes", type=int, default=100, metavar="N", help="how many [100]")
    evaluate.add_argument("--seed", type=int, default=0, metavar="N", help="which ones [0]")
    evaluate.add_argument("--workers", type=int, metavar="N", help="processes to use [all cores]")
    evaluate.add_argument("--max-steps", type=int, metavar="N", help="cut episodes here")
    evaluate.add_argument(
        "--env-option",
        type=_env_option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the environment",
    )
    evaluate.add_argument("--json", action="store_true", help="print JSON, every episode included")
    evaluate.set_defaults(command=_evaluate)


def _add_model(parser: Any) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file, a run directory, or paper:TASK")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _env_option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _train(options: argparse.Namespace) -> int:
    from sirl.progress import show_progress

    with _shown_warnings(), _stops_on_terminate():
        run = _resumed_run(options) if options.resume else _new_run(options)
        _announce(run)
        try:
            for _ in show_progress(run.generations(), run.settings.generations, run.history):
                pass
            _report(run)
        except (KeyboardInterrupt, EnvironmentFailure) as reason:
            return _report_stop(run, reason)
    return 0


def _new_run(options: argparse.Namespace) -> Training:
    from sirl.runs import fresh_path
    from sirl.training import Training

    if options.env is None:
        raise SirlError("name the task to train on, such as CartPole-v1, or the run to go on with: --resume DIR.")
    settings = {name: value for name, value in vars(options).items() if name in Settings.__struct_fields__}
    base = f"runs/{options.env.replace('/', '-').replace(':', '-')}-{options.method}-{options.seed}"
    return Training(
        options.env,
        method=options.method,
        seed=options.seed,
        out=options.out or fresh_path(base),
        workers=options.workers,
        simulator=options.simulator,
        hang_limit=options.hang_limit,
        features=options.features,
        actions=options.actions,
        env_options=dict(options.env_option),
        checkpoint_minutes=options.checkpoint_minutes,
        engine=options.engine,
        address=options.address,
        **settings,
    )


def _resumed_run(options: argparse.Namespace) -> Training:
    """The run of ``--resume``; what it was asked is in its config.toml and can't be asked anew."""
    from sirl.training import Training

    given = {name for name, value in vars(options).items() if value != _TRAIN_DEFAULTS.get(name)}
    free = {
        "command",
        "resume",
        "workers",
        "hang_limit",
        "checkpoint_minutes",
        "engine",
        "address",
        "generations",
        "stop_at",
    }
    if fixed := sorted(given - free):
        raise SirlError(
            f"a run goes on with what it was first asked, so --resume can't be given {', '.join(fixed)}: leave it out, "
            "or start a new run."
        )
    return Training.resume(
        options.resume,
        workers=options.workers,
        hang_limit=options.hang_limit,
        checkpoint_minutes=options.checkpoint_minutes,
        engine=options.engine,
        address=options.address,
        generations=getattr(options, "generations", None),
        stop_at=getattr(options, "stop_at", None),
    )


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Show our own warnings as the command line shows errors."""
    usual = warnings.formatwarning

    def format_ours(message: Warning | str, category: type[Warning], filename: str, *rest: Any) -> str:
        return f"sirl: warning: {message}\n" if "sirl" in filename else usual(message, category, filename, *rest)

    warnings.formatwarning = format_ours  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.formatwarning = usual


class _Terminated(KeyboardInterrupt):
    """SIGTERM: stop as on Ctrl-C."""


@contextmanager
def _stops_on_terminate() -> Iterator[None]:
    def stop(*_: object) -> NoReturn:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _announce(run: Training) -> None:
    config, settings = run.config, run.settings
    print(
        f"{config.method} on {config.env}, seed {config.seed}: {settings.population} trees, up to "
        f"{_count(settings.generations, 'generation')} of {_count(settings.episodes_per_generation(), 'episode')}, "
        f"{_count(run.workers, 'worker')}, {config.simulator} simulator → {_place(run)}",
        flush=True,
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _place(run: Training) -> str:
    assert run.directory is not None  # the command line always gives one
    return str(run.directory.path)


def _report(run: Training) -> None:
    from sirl.evaluation import evaluate
    from sirl.progress import duration

    policy, history = run.champion, run.history
    print(f"\n{policy}\n")
    try:
        max_steps, env_options = run.settings.max_steps, run.config.env_options
        score = evaluate(policy, workers=run.workers, max_steps=max_steps, env_options=env_options)
    except EnvironmentFailure as failure:
        if run.directory is not None:
            run.directory.note("evaluation", failure)
        raise
    _print_score(policy, score, policy.task.env)
    episodes = sum(r.episodes for r in history)
    checks = sum(r.validation.episodes for r in history)
    print(
        f"cost   {_count(len(history), 'generation')}, {_count(episodes, 'episode')} and {checks:,} more to choose "
        f"the champion, {sum(r.steps for r in history):,} steps, {duration(sum(r.seconds for r in history))}"
    )
    if run.settings.stop_at is not None and not run.state.solved:
        print(f"note   no champion held {run.settings.stop_at:g} yet: raise --generations, or try another --seed")
    where = _place(run)
    print(f"\nnext   sirl show {where}\n       sirl evaluate {where} --episodes 1000")


def _report_stop(run: Training, reason: BaseException) -> int:
    where = _place(run)
    if run.state.champion is None:
        kept = "no generation had ended, so there is no champion yet"
    else:
        kept = f"the champion of {_count(run.state.generation, 'generation')} is kept in {where}/champion.json"
    go_on = f"sirl: to go on: sirl train --resume {where}"
    if isinstance(reason, KeyboardInterrupt):
        print(f"\nsirl: stopped; {kept}.\n{go_on}", file=sys.stderr)
        return 143 if isinstance(reason, _Terminated) else 130
    print(f"sirl: error: {reason}\nsirl: {kept}; what happened is in {where}/log.txt.\n{go_on}", file=sys.stderr)
    return 1


def _evaluate(options: argparse.Namespace) -> int:
    from sirl.evaluation import evaluate
    from sirl.policy import load

    policy = load(options.model)
    env_options, max_steps = _as_trained(options) if options.env is None else ({}, None)
    with redirect_stdout(sys.stderr):  # an environment may print; what is printed here may be read by a program
        score = evaluate(
            policy,
            options.env,
            episodes=options.episodes,
            seed=options.seed,
            workers=options.workers,
            max_steps=options.max_steps if options.max_steps is not None else max_steps,
            env_options=env_options | dict(options.env_option),
        )
    env = options.env or policy.task.env
    if options.json:
        print(
            json.dumps(
                {
                    "model": options.model,
                    "env": env,
                    "seed": options.seed,
                    "mean": score.mean,
                    "std": score.std,
                    "leaves": policy.tree.n_leaves,
                    "depth": policy.tree.depth,
                    "returns": score.returns.tolist(),
                    "lengths": score.lengths.tolist(),
                }
            )
        )
        return 0
    _print_score(policy, score, env)
    if policy.origin.published_score is not None:
        mean, std = policy.origin.published_score
        print(f"paper  {mean:.2f} ± {std:.2f}")
    return 0


def _as_trained(options: argparse.Namespace) -> tuple[dict[str, Any], int | None]:
    """The environment's options and the limit of steps that a run directory was trained with."""
    from sirl.runs import read_config

    if not os.path.exists(os.path.join(options.model, "config.toml")):
        return {}, None
    config = read_config(options.model)
    return config.env_options, config.settings.max_steps


def _print_score(policy: Policy, score: Evaluation, env: str) -> None:
    print(
        f"score  {score.mean:.2f} ± {score.std:.2f} on {_count(len(score.returns), 'unseen episode')} of {env} "
        f"(worst {score.returns.min():.2f}, best {score.returns.max():.2f}, mean length {score.lengths.mean():.0f})\n"
        f"size   {_size(policy)}"
    )


def _size(policy: Policy) -> str:
    leaves = policy.tree.n_leaves
    return f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {policy.tree.depth}"


def _show(options: argparse.Namespace) -> int:
    from sirl.policy import load
    from sirl.reading.text import rules

    policy = load(options.model)
    origin = policy.origin
    print(f"{policy.task.env}: {_size(policy)}")
    facts = [
        origin.method,
        origin.note,
        f"seed {origin.seed}" if origin.seed is not None else "",
        f"generation {origin.generation + 1}" if origin.generation is not None else "",
        f"validated at {origin.validation_score:.2f}" if origin.validation_score is not None else "",
        "paper's score {:.2f} ± {:.2f}".format(*origin.published_score) if origin.published_score else "",
    ]
    if any(facts):
        print(", ".join(fact for fact in facts if fact))
    print(f"\n{policy}\n\n{rules(policy.tree, policy.task.features, policy.menu)}")
    return 0
