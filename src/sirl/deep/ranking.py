"""Who is best: the ranking by individual episodes, and the champion by fresh ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sirl.deep.episodes import seeds_of
from sirl.deep.grid import Point
from sirl.deep.play import Play
from sirl.deep.policy import Arrays
from sirl.deep.records import Config, Counts, Left, Ranked, Result
from sirl.errors import SirlError
from sirl.keys import Stream, root, uniforms

_RESAMPLES = 2000


def conclude(
    config: Config,
    play: Play,
    score: Callable[[Arrays, NDArray[np.int64]], float],
    *,
    collaborative: list[float],
    left: list[Left],
    scouted: int,
    steps: int,
    seconds: float,
) -> Result:
    """The result of a search.

    Args:
        config: what was asked.
        play: the individual phase, at its end.
        score: a network's mean return on episodes with these seeds.
        collaborative: see :class:`Result`.
        left: see :class:`Result`.
        scouted: episodes of scouting.
        steps: see :class:`Result`.
        seconds: see :class:`Result`.
    """
    if not play.finished:
        raise SirlError("all networks diverged to NaN: use smaller values of learning_rate.")
    settings = config.settings
    returns = {number: play.returns[number] for number in sorted(play.finished)}
    last = {number: np.array(values[-settings.individual_episodes :]) for number, values in returns.items()}
    seeds = seeds_of(root(config.seed, Stream.VALIDATION, 0), settings.validation_episodes)
    candidates = sorted(last, key=lambda number: -last[number].mean())[: settings.candidates]
    validated = {number: score(play.finished[number], seeds) for number in candidates}
    return Result(
        env=config.env,
        method=config.method,
        seed=config.seed,
        ranking=rank(config.grid, last, validated),
        champion=max(candidates, key=lambda number: validated[number]),
        collaborative=collaborative,
        individual=returns,
        left=left,
        episodes=Counts(
            collaborative=len(collaborative),
            individual=sum(map(len, play.returns.values())),
            scouting=scouted,
            validation=len(seeds) * len(candidates),
        ),
        steps=steps,
        seconds=seconds,
    )


def rank(grid: list[Point], last: dict[int, NDArray[np.float64]], validated: dict[int, float]) -> list[Ranked]:
    """The ranking, best first, from each network's last returns (n,) and the candidates' validation scores."""
    ranking = []
    for number in sorted(last, key=lambda number: -last[number].mean()):
        low, high = interval(last[number])
        ranking.append(
            Ranked(
                number=number,
                point=grid[number],
                score=float(last[number].mean()),
                low=low,
                high=high,
                validation_score=validated.get(number),
            )
        )
    return ranking


def interval(values: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of the mean of ``values`` (n,), by the bootstrap."""
    draws = uniforms(root(seed, Stream.BOOTSTRAP, 0), np.arange(_RESAMPLES * len(values)))
    means = values[(draws * len(values)).astype(np.int64)].reshape(_RESAMPLES, -1).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
