"""What several commands ask for, and options that are made from the fields of a record."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import msgspec

from sirl.config import field_types

if TYPE_CHECKING:
    from sirl.model.policy import Policy
    from sirl.reading.playing import Stage


def add_model(parser: Any) -> None:
    """The policy that a command is about."""
    parser.add_argument("model", metavar="MODEL", help="a model file, a run directory, paper:TASK or zoo:TASK")


def add_playing(parser: Any, episodes: int | None = None, what: str = "") -> None:
    """Where a command plays its policy, and how many episodes unless it is always one."""
    parser.add_argument("--env", metavar="ENV", help="another task with the same spaces [the policy's own]")
    if episodes is not None:
        parser.add_argument("--episodes", type=int, default=episodes, metavar="N", help=f"{what} [{episodes}]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which episodes [0]")
    parser.add_argument("--workers", type=int, metavar="N", help="processes to use [all cores]")
    parser.add_argument("--max-steps", type=int, metavar="N", help="cut episodes here")
    add_env_option(parser)


def playing(options: argparse.Namespace, policy: Policy) -> dict[str, Any]:
    """What :func:`add_playing` asked: how an environment is made, given options over those of training."""
    trained = (policy.task.env_options or {}) if options.env in (None, policy.task.env) else {}
    return {
        "env": options.env,
        "seed": options.seed,
        "workers": options.workers,
        "max_steps": options.max_steps,
        "env_options": trained | dict(options.env_option),
    }


def stage(options: argparse.Namespace, policy: Policy) -> Stage:
    """Where a command plays its policy."""
    from sirl.reading.playing import Stage

    return Stage(policy, **playing(options, policy))


def free_path(model: str, how: str, ending: str = "json") -> Path:
    """Where a command writes what it made of a model: beside it, under a name that is not taken."""
    from sirl.model.policy import is_built_in

    path = Path(f"{model.partition(':')[2]}.{ending}" if is_built_in(model) else model)
    if path.is_dir():
        path = path / "champion.json"
    free, number = path.with_name(f"{path.stem}-{how}.{ending}"), 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}-{how}-{number}.{ending}")
    return free


def keep(policy: Policy, options: argparse.Namespace, how: str) -> None:
    """Write a changed policy where it was asked, or beside the one that it comes from, and say so."""
    from sirl.runs.directory import writable

    out = Path(options.out) if options.out else free_path(options.model, how)
    with writable(out):
        policy.save(out)
    print(f"written to {out}", file=sys.stderr if getattr(options, "json", False) else sys.stdout)


def add_fields(parser: Any, record: type[msgspec.Struct], leave_out: tuple[str, ...] = ()) -> None:
    """An option for each field of a record; one that is not given is absent, so that its default or preset stays."""
    groups: dict[str, Any] = {}
    defaults = dict(zip(record.__struct_fields__, record.__struct_defaults__, strict=True))
    for name, annotated in field_types(record).items():
        if name in leave_out:
            continue
        meta = annotated.__metadata__[-1]
        extra: dict[str, Any] = meta.extra or {}
        section = extra.get("section", "")
        if section and section not in groups:
            groups[section] = parser.add_argument_group(section)
        text, default = meta.description, defaults[name]
        if isinstance(default, int | float | str) and not isinstance(default, bool):
            text += f" [{default:g}]" if isinstance(default, float) else f" [{default}]"
        how = {"help": text.replace("%", "%%"), "default": argparse.SUPPRESS, **_how(annotated.__origin__)}
        if metavar := extra.get("metavar"):
            how["metavar"] = metavar
        groups.get(section, parser).add_argument("--" + name.replace("_", "-"), **how)


def _how(kind: Any) -> dict[str, Any]:
    """How an option of some type is written."""
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if kind == list[str]:
        return {"action": "append"}
    plain = str(kind)
    if "list" in plain:
        return {"type": names}
    if "int" in plain:
        return {"type": int, "metavar": "N"}
    return {"type": float, "metavar": "X"} if "float" in plain else {}


def add_env_option(parser: Any) -> None:
    """Arguments of the environment."""
    parser.add_argument(
        "--env-option",
        type=env_option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the environment",
    )


def names(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",")]


def env_option(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as JSON where it is."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
