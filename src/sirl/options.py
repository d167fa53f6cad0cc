"""What a run takes besides its settings, as one frozen record; the result depends on the method and the seed alone.

A field's text is the command line's help, its type and bounds are checked whenever a record is made.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sirl.config import OF_LAWS, OF_THE_PAPER, Method, Settings, checked, field_types
from sirl.errors import SirlError, did_you_mean

Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Workers = Annotated[int, Meta(ge=1, le=1024)] | None
HangLimit = Annotated[float, Meta(gt=0)] | None
CheckpointMinutes = Annotated[float, Meta(ge=0)]
Episodes = Annotated[int, Meta(ge=1, le=10_000_000)]
Backend = Literal["mujoco", "gymnasium", "envpool"]
SimulatorName = Literal["auto", "mujoco", "gymnasium", "envpool"]

FREE_AT_RESUME = ("workers", "hang_limit", "checkpoint_minutes", "engine", "address")
"""Options that may change when a run goes on: its result does not depend on them."""


def _option(text: str, metavar: str = "", **bounds: float) -> Meta:
    return Meta(description=text, extra={"metavar": metavar}, **bounds)  # type: ignore[call-overload, no-any-return]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is made and where it is computed."""

    method: Annotated[Method, _option("what to start from")] = "laws"
    seed: Annotated[int, _option("same seed, same result, on any number of workers", "N", ge=0, le=2**63 - 1)] = 0
    start: Annotated[
        Any, _option("a policy whose constants are tuned on (laws): a model, a run, paper:TASK or zoo:TASK", "MODEL")
    ] = None
    out: Annotated[Any, _option("a new run directory; nothing is written without it", "DIR")] = None
    workers: Annotated[
        Workers, _option("how much runs at once; no effect on the result (default: all usable cores)", "N")
    ] = None
    simulator: Annotated[
        SimulatorName,
        _option("what computes episodes; auto: mujoco for the tasks that it has, else gymnasium"),
    ] = "auto"
    hang_limit: Annotated[
        HangLimit,
        _option("seconds after which an environment in a worker process counts as hung", "S"),
    ] = None
    features: Annotated[list[str] | None, _option("names of the features, in order", "A,B,…")] = None
    actions: Annotated[
        list[str] | None, _option("names of the actions (Discrete), or of the action's components", "A,B,…")
    ] = None
    derive: Annotated[
        list[str],
        _option(
            "another feature, computed from those there are, such as 'gap = x - 0.5*y**2'; repeat it for more",
            "NAME=FORMULA",
        ),
    ] = []
    mirror: Annotated[
        list[str],
        _option(
            "what changes places in the mirror, such as 'left knee = right knee', or its sign, such as "
            "'theta = -theta'; repeat it for more (default: what the task's preset says)",
            "A=B",
        ),
    ] = []
    env_options: Annotated[dict[str, Any], _option("keyword arguments of the environment", "NAME=VALUE")] = {}
    checkpoint_minutes: Annotated[
        CheckpointMinutes, _option("keep a checkpoint every so many minutes; 0: after every generation", "MIN")
    ] = 0.0
    engine: Annotated[
        Any,
        _option(
            "where work runs: local, ray (a Ray cluster), or a function that makes an engine for a recipe of "
            "arenas; no effect on the result"
        ),
    ] = "local"
    address: Annotated[
        str | None, _option("of the Ray cluster, such as auto (default: a new one, here)", "ADDRESS")
    ] = None

    def __post_init__(self) -> None:
        for name, kind in field_types(Options).items():
            value = getattr(self, name)
            if name in ("features", "actions", "derive", "mirror") and value is not None:
                value = [value] if isinstance(value, str) else list(value)
            msgspec.structs.force_setattr(self, name, checked(name, value, kind))


def split(asked: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Keyword arguments of a run: its options, and changes to its settings."""
    known = [*Options.__struct_fields__, *Settings.__struct_fields__]
    for name in asked:
        if name not in known:
            raise SirlError(f"there is no setting {name!r}{did_you_mean(name, known) or '; see help(sirl.Settings).'}")
    options = {name: value for name, value in asked.items() if name in Options.__struct_fields__}
    return Options(**options), {name: value for name, value in asked.items() if name not in options}


def refuse_unused(asked: dict[str, Any]) -> None:
    """Raise if keyword arguments of a run have a setting that its method does not look at."""
    options, changes = split(asked)
    method = options.method
    laws = method in ("laws", "linear")
    for name in changes:
        section = field_types(Settings)[name].__metadata__[-1].extra["section"]
        if laws and section in OF_THE_PAPER and name not in ("generations", "max_leaves"):
            raise SirlError(
                f"{name} is for the paper's methods, not for {method}: leave it out, or use method sirl-lb."
            )
        if not laws and section in OF_LAWS:
            raise SirlError(f"{name} is for laws, not for {method}: leave it out, or use method laws.")
