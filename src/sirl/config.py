"""Every setting, as one frozen record, with the paper's hyperparameter table as defaults.

A field's text is the command line's help, its bounds are checked whenever a record is made.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from sirl.errors import SirlError, did_you_mean

Method = Literal["laws", "linear", "sirl-lb", "sirl-sb", "eldt"]
METHODS: tuple[Method, ...] = get_args(Method)

MaxSteps = Annotated[int, Meta(ge=1, le=10_000_000)] | None


def _setting(section: str, text: str, **bounds: float) -> Meta:
    return Meta(description=text, extra={"section": section}, **bounds)  # type: ignore[call-overload, no-any-return]


_EVOLUTION, _LEARNING, _SOCIAL = "Grammatical evolution", "Q-learning", "Social learning"
_ACTIONS, _CHAMPION, _EPISODES, _LAWS = "Actions", "Champion", "Episodes", "Laws (methods laws and linear)"
_CROWNING, _INSTRUMENTS = "Champion (the paper's methods)", "Instruments"
OF_THE_PAPER, OF_LAWS = (_EVOLUTION, _LEARNING, _SOCIAL, _ACTIONS, _CROWNING), (_LAWS,)
"""Sections of settings that only some methods look at."""
_BIG = 10_000_000
_FAR = 1e100
"""Sums and differences of numbers up to here are finite, over any run."""
_MOST_CODONS = 100_000_000
"""Codons of a whole population: 400 MB, and twice as much for a moment while they are drawn."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a training run does; everything that its result depends on but the task and the seed."""

    population: Annotated[int, _setting(_EVOLUTION, "trees in the population", ge=2, le=_BIG)] = 500
    generations: Annotated[int, _setting(_EVOLUTION, "generations to run", ge=1, le=_BIG)] = 100
    genotype_length: Annotated[int, _setting(_EVOLUTION, "codons in a genotype", ge=10, le=1_000_000)] = 1000
    codon_limit: Annotated[int, _setting(_EVOLUTION, "codons are drawn uniformly below this", ge=2, le=2**31 - 1)] = (
        40_000
    )
    grammar: Annotated[
        Literal["oblique", "orthogonal"],
        _setting(_EVOLUTION, "splits weigh all features (oblique) or look at one (orthogonal)"),
    ] = "oblique"
    constant_low: Annotated[float, _setting(_EVOLUTION, "smallest constant of a split", ge=-_FAR, le=_FAR)] = -10.0
    constant_high: Annotated[float, _setting(_EVOLUTION, "largest constant of a split", ge=-_FAR, le=_FAR)] = 10.0
    constant_step: Annotated[float, _setting(_EVOLUTION, "step between constants", gt=0)] = 0.1
    codons_run_out: Annotated[
        Literal["invalid", "zeros"],
        _setting(_EVOLUTION, "a genotype too short for its tree is invalid, or goes on with zeros"),
    ] = "invalid"
    max_leaves: Annotated[
        Annotated[int, Meta(ge=2, le=_BIG)] | None,
        _setting(_EVOLUTION, "trees with more leaves are invalid, and no contenders (default: no limit)"),
    ] = None
    tournament: Annotated[int, _setting(_EVOLUTION, "individuals in a selection tournament", ge=1, le=_BIG)] = 2
    crossover_probability: Annotated[
        float, _setting(_EVOLUTION, "chance that a pair of parents is crossed at one point", ge=0, le=1)
    ] = 0.1
    mutation_probability: Annotated[float, _setting(_EVOLUTION, "chance that an individual is mutated", ge=0, le=1)] = (
        0.9
    )
    mutation_rate: Annotated[
        float, _setting(_EVOLUTION, "chance that a codon of a mutated individual changes", ge=0, le=1)
    ] = 0.05
    replacement: Annotated[
        Literal["elitist", "re-evaluated", "generational"],
        _setting(
            _EVOLUTION,
            "offspring i replaces individual i if strictly better (elitist), the same after both are evaluated "
            "(re-evaluated, at twice the cost), or always (generational)",
        ),
    ] = "elitist"

    luck: Annotated[
        Literal["kept", "corrected"],
        _setting(
            _EVOLUTION,
            "a tree that validates below its training score keeps that as its fitness (paper), or gets the lower one",
        ),
    ] = "kept"

    q_low: Annotated[float, _setting(_LEARNING, "fresh Q-values are uniform from here", ge=-_FAR, le=_FAR)] = -1.0
    q_high: Annotated[float, _setting(_LEARNING, "fresh Q-values are uniform up to here", ge=-_FAR, le=_FAR)] = 1.0
    discount: Annotated[float, _setting(_LEARNING, "discount factor gamma", ge=0, le=1)] = 0.9
    learning_rate: Annotated[float, _setting(_LEARNING, "learning rate alpha", ge=0, le=1)] = 0.1
    learning_rate_rule: Annotated[
        Literal["constant", "1/visits"],
        _setting(_LEARNING, "alpha is constant, or one over the visits of the leaf's action"),
    ] = "constant"
    epsilon: Annotated[float, _setting(_LEARNING, "chance that a leaf explores", ge=0, le=1)] = 0.05
    epsilon_decay: Annotated[
        float, _setting(_LEARNING, "epsilon is multiplied by this after every episode", ge=0, le=1)
    ] = 1.0
    bootstrap: Annotated[
        Literal["truncation", "always", "never"],
        _setting(_LEARNING, "at which ends of an episode the next state's value still counts"),
    ] = "truncation"

    individual_episodes: Annotated[
        int, _setting(_SOCIAL, "episodes that each tree plays alone, e_i", ge=1, le=_BIG)
    ] = 5
    collaborative_copies: Annotated[
        int, _setting(_SOCIAL, "shared environments side by side, e_p", ge=1, le=100_000)
    ] = 10
    collaborative_iterations: Annotated[
        int, _setting(_SOCIAL, "collaborative episodes in each copy, i; 0 is ELDT", ge=0, le=_BIG)
    ] = 100
    voting: Annotated[
        Literal["random", "majority", "leader", "weighted"],
        _setting(_SOCIAL, "how proposed actions become one"),
    ] = "random"
    scouting_episodes: Annotated[
        int,
        _setting(_SOCIAL, "episodes alone first that rank the trees for leader and weighted votes", ge=1, le=_BIG),
    ] = 1
    rounds: Annotated[
        int, _setting(_SOCIAL, "times that the two phases alternate in a generation", ge=1, le=10_000)
    ] = 1

    bins: Annotated[int, _setting(_ACTIONS, "values of each joint of a continuous action", ge=2, le=1001)] = 7
    menu: Annotated[
        Literal["one-joint", "joint"],
        _setting(_ACTIONS, "an action moves one joint, or all of them at once (few joints only)"),
    ] = "one-joint"
    action_scale: Annotated[
        Literal["bounds", "raw"],
        _setting(_ACTIONS, "continuous values span the action's bounds, or [-1, 1] as they are"),
    ] = "bounds"

    contenders: Annotated[
        int,
        _setting(_LAWS, "trees of laws that are tuned side by side; the worse half leaves in rounds", ge=1, le=1024),
    ] = 8
    max_laws: Annotated[int, _setting(_LAWS, "laws of the largest contender, one in each leaf", ge=1, le=64)] = 3
    products: Annotated[bool, _setting(_LAWS, "laws weigh products of two features too")] = False
    ignore: Annotated[
        str | None, _setting(_LAWS, "features that laws do not weigh, by name or pattern, such as l_*, c_1")
    ] = None
    law_episodes: Annotated[int, _setting(_LAWS, "episodes for each law, the same for all", ge=1, le=_BIG)] = 4
    law_sigma: Annotated[float, _setting(_LAWS, "first step of CMA-ES, where outputs are about 1", gt=0, le=100)] = 1.0
    offspring: Annotated[
        Annotated[int, Meta(ge=4, le=_BIG)] | None,
        _setting(_LAWS, "laws that a contender tries in a generation (default: by the number of its constants)"),
    ] = None
    sharing: Annotated[
        bool, _setting(_LAWS, "the last contender of a round takes over the laws of the best and one of the second")
    ] = True
    shrinking: Annotated[
        float,
        _setting(_LAWS, "share of the generations in which numbers that matter least are left out", ge=0, le=0.9),
    ] = 0.4
    prefer_small: Annotated[
        float,
        _setting(_LAWS, "share of the best score that may be lost for a policy with fewer numbers", ge=0, le=1),
    ] = 0.01
    mirrored: Annotated[
        bool, _setting(_LAWS, "laws do in the mirror what they do here, where the task has a mirror (--mirror)")
    ] = True
    alive_bonus: Annotated[
        float, _setting(_LAWS, "reward a step that is left out in training; it counts in every score", ge=-1e9, le=1e9)
    ] = 0.0
    ending_bonus: Annotated[
        float,
        _setting(
            _LAWS,
            "reward for an end before the time limit that is left out while several contenders are tuned",
            ge=-1e9,
            le=1e9,
        ),
    ] = 0.0
    shaping: Annotated[
        str | None,
        _setting(_LAWS, "reward a step that is added in training, a formula of features such as 0.1*v_x - theta**2"),
    ] = None
    round_steps: Annotated[
        MaxSteps,
        _setting(_LAWS, "cut episodes here while several contenders are tuned; the last one plays whole ones"),
    ] = None

    crowning: Annotated[
        Literal["validation", "training"],
        _setting(_CROWNING, "the champion has the best validated score, or the best training score (paper)"),
    ] = "validation"
    candidates: Annotated[int, _setting(_CROWNING, "best trees of a generation to validate", ge=1, le=_BIG)] = 5
    validation_episodes: Annotated[
        int, _setting(_CHAMPION, "fresh episodes for each candidate, the same for all", ge=1, le=_BIG)
    ] = 20
    stop_at: Annotated[
        float | None, _setting(_CHAMPION, "stop when the champion's mean on fresh episodes reaches this")
    ] = None
    confirmation_episodes: Annotated[
        int, _setting(_CHAMPION, "further fresh episodes that a stop must also hold on", ge=1, le=_BIG)
    ] = 100

    instruments_every: Annotated[
        int,
        _setting(
            _INSTRUMENTS,
            "after every so many generations, learn and play again to see how repeatable scores are and what the "
            "survivors are worth; 0: never",
            ge=0,
            le=_BIG,
        ),
    ] = 25

    max_steps: Annotated[
        MaxSteps,
        _setting(_EPISODES, "cut episodes here (default: the environment's own limit)"),
    ] = None

    def __post_init__(self) -> None:
        for name, kind in field_types(Settings).items():
            msgspec.structs.force_setattr(self, name, checked(name, getattr(self, name), kind))
        if self.population * self.genotype_length > _MOST_CODONS:
            raise SirlError(
                f"population = {self.population} times genotype_length = {self.genotype_length} is more than "
                f"{_MOST_CODONS} codons: lower one of them."
            )
        if self.tournament > self.population:
            raise SirlError(
                f"tournament = {self.tournament} must not exceed population = {self.population}: lower tournament."
            )
        if not self.constant_low < self.constant_high:
            raise SirlError(
                f"constant_low = {self.constant_low} must lie below constant_high = {self.constant_high}: swap them."
            )
        if (self.constant_high - self.constant_low) / self.constant_step > 1e6:
            raise SirlError(
                f"constant_step = {self.constant_step} cuts the range of constants into more than a million "
                "values; take a larger step."
            )
        if self.q_low > self.q_high:
            raise SirlError(f"q_low = {self.q_low} must not lie above q_high = {self.q_high}: swap them.")
        if self.rounds > self.individual_episodes:
            raise SirlError(
                f"rounds = {self.rounds} must not exceed individual_episodes = {self.individual_episodes}: "
                "lower rounds or raise individual_episodes."
            )
        if self.candidates > self.population:
            raise SirlError(
                f"candidates = {self.candidates} must not exceed population = {self.population}: lower candidates."
            )

    def replace(self, **changes: Any) -> Settings:
        """These settings with some changed; a misspelt name is told apart from a bad value."""
        known = list(self.__struct_fields__)
        for name in changes:
            if name not in known:
                raise SirlError(f"there is no setting {name!r}{did_you_mean(name, known) or '.'}")
        return msgspec.structs.replace(self, **changes)

    def episodes_per_generation(self) -> int:
        """The paper's budget of one generation: p·e_i + e_p·i, plus what a scouted vote adds."""
        scouting = self.scouting_episodes if self.scouts() else 0
        return (
            self.population * (self.individual_episodes + scouting)
            + self.collaborative_copies * self.collaborative_iterations
        )

    def scouts(self) -> bool:
        """Whether the trees play alone before they first vote."""
        return self.collaborative_iterations > 0 and self.voting in ("leader", "weighted")


@cache
def field_types(record: type[msgspec.Struct]) -> dict[str, Any]:
    """What each field of a record takes, with its text and bounds."""
    return get_type_hints(record, include_extras=True)


def checked(name: str, value: Any, kind: Any) -> Any:
    """``value`` as ``kind`` has it; raise if it is of another type, or lies outside the bounds."""
    plain = value.item() if getattr(value, "ndim", None) == 0 else value  # a number of NumPy's
    try:
        converted = msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise SirlError(f"{name} = {plain!r} is not allowed: give {_expected(error, plain, kind)}") from None
    if isinstance(converted, float) and not math.isfinite(converted):
        raise SirlError(f"{name} = {plain!r} is not allowed: give a finite number.")
    return converted


def _expected(error: msgspec.ValidationError, value: Any, kind: Any) -> str:
    """What a setting takes, in words."""
    choices = next((get_args(k) for k in get_args(kind) if get_origin(k) is Literal), ())
    if choices:
        return f"one of {', '.join(choices)}{did_you_mean(str(value), list(choices)) or '.'}"
    expected = str(error).replace("`", "").removeprefix("Expected ").partition(", got")[0]
    words = {"int": "a whole number", "float": "a number", " | null": "", ">=": "of at least", "<=": "of at most"}
    for code, word in (words | {" > 0.0": " above 0", ".0": ""}).items():
        expected = expected.replace(code, word)
    return f"{expected}."
