"""What several commands ask for, and options that are made from the fields of a record."""

from __future__ import annotations

import argparse
import json
from typing import Any, Literal, get_args, get_origin

import msgspec

from sirl.config import field_types


def add_model(parser: Any) -> None:
    """The policy that a command is about."""
    parser.add_argument("model", metavar="MODEL", help="a model file, a run directory, or paper:TASK")


def add_fields(parser: Any, record: type[msgspec.Struct], leave_out: tuple[str, ...] = ()) -> None:
    """An option for each field of a record; one that is not given is absent, so that its default or preset stays."""
    groups: dict[str, Any] = {}
    defaults = dict(zip(record.__struct_fields__, record.__struct_defaults__, strict=True))
    for name, annotated in field_types(record).items():
        if name in leave_out:
            continue
        meta = annotated.__metadata__[-1]
        section = meta.extra.get("section")
        if section is not None and section not in groups:
            groups[section] = parser.add_argument_group(section)
        text, default = meta.description, defaults[name]
        if isinstance(default, int | float | str) and not isinstance(default, bool):
            text += f" [{default:g}]" if isinstance(default, float) else f" [{default}]"
        how = {"help": text.replace("%", "%%"), "default": argparse.SUPPRESS, **_how(annotated.__origin__)}
        if metavar := meta.extra.get("metavar"):
            how["metavar"] = metavar
        groups.get(section, parser).add_argument("--" + name.replace("_", "-"), **how)


def _how(kind: Any) -> dict[str, Any]:
    """How an option of some type is written."""
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
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
