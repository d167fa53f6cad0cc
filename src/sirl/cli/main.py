"""The command line: what can be asked, and how mistakes are answered. The commands are in ``commands.py``.

That module is imported when a command runs, and numba with it, so that help and mistakes answer at once.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from sirl import __version__
from sirl.cli import social_dqn
from sirl.config import METHODS, Settings
from sirl.errors import SirlError, did_you_mean

_EPILOG = """\
examples:
  sirl train InvertedPendulum-v4 --stop-at 1000
  sirl train LunarLander-v3 --method sirl-sb --seed 1 --out runs/lander
  sirl evaluate runs/lander --episodes 1000
  sirl show paper:LunarLander
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that has no box characters gets question marks
            stream.reconfigure(errors="replace")
    if os.getcwd() not in sys.path:  # for module:Env-v0 with a module of the user's own
        sys.path.append(os.getcwd())
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], int] = options.command
        if isinstance(options.command, str):
            from sirl.cli import commands

            command = getattr(commands, options.command)
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
    except OSError as error:  # such as output that goes to a full disk
        print(f"sirl: error: the system refuses ({error.strerror or error}): give it what it lacks.", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


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
    show.set_defaults(command="show")
    _add_bench(commands)
    social_dqn.add(commands)
    return parser


def _add_train(commands: Any) -> None:
    train = commands.add_parser(
        "train",
        help="train a policy on a task",
        description="Train a policy on any Gymnasium task. Settings not given come from the task's preset for the "
        "method, or from the paper's table, whose values stand in brackets.",
        usage="sirl train ENV [options]\n       sirl train --resume DIR",
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
        choices=("auto", "mujoco", "gymnasium", "envpool"),
        default="auto",
        help="what computes episodes; auto: mujoco for the tasks that it has, else gymnasium [auto]",
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
    train.set_defaults(command="train")


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
    evaluate.set_defaults(command="evaluate")


def _add_bench(commands: Any) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure how fast it is on this machine",
        description="Measure speed against raw physics, Gymnasium and plain Python, in turns on the same work. The "
        "full form takes the better part of an hour; close what else runs.",
        allow_abbrev=False,
    )
    bench.add_argument(
        "--only",
        type=_names,
        metavar="A,B,…",
        help="sections: raw, phases, profile, gymnasium, plain, generations, runs, growth, startup [all]",
    )
    bench.add_argument("--quick", action="store_true", help="a few minutes instead, and rougher")
    bench.add_argument("--out", default="runs/bench", metavar="DIR", help="for bench.json and bench.md [runs/bench]")
    bench.add_argument("--plain", metavar="FILE", help="tests/plain.py of a checkout, for the section plain")
    bench.set_defaults(command="bench")


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
