"""A crown that is earned: champion and challengers play the same starts, and all that they have played counts.

Starts are the same in the whole run, so the reigning champion's returns are kept and never played again. A challenger
plays a few of them, then as many again for as long as it may still win; it is crowned when it is better on the same
starts with confidence. So the champion never falls below what it has shown.
"""

from __future__ import annotations

import numpy as np

from sirl.arrays import Floats, Ints, Seeds
from sirl.engine import Engine
from sirl.keys import Stream
from sirl.model.policy import Policy
from sirl.rollout.arena import Arena
from sirl.rollout.spread import play_all
from sirl.search.champion import Asked, fresh_seeds
from sirl.search.front import Point
from sirl.search.records import Cost

_CONFIDENT = 1.64
"""Standard errors: 95 %, one-sided."""
MOST = 8
"""A race goes on to so many times the episodes that it begins with."""


def challenge(
    champion: Point | None, challengers: list[Policy], problem: Asked, engine: Engine[Arena]
) -> tuple[Point | None, Floats, Cost]:
    """Race challengers against the champion; also what each got on the first starts, (n, validation_episodes)."""
    first = problem.settings.validation_episodes
    returns = np.zeros((len(challengers), 0))
    alive, cost, opening = np.arange(len(challengers)), Cost(), returns
    most = first * MOST
    while alive.size and returns.shape[1] < most:
        n = returns.shape[1]
        seeds = fresh_seeds(problem, Stream.VALIDATION, 0, max(first, 2 * n))
        if champion is not None:
            champion, spent = play_on(champion, seeds, problem, engine)
            cost = cost.plus(spent.episodes, spent.steps)
        played = play_all([challengers[i].tree for i in alive], seeds[n:], problem.task.env, engine)
        cost = cost.plus(played.returns.size, played.steps)
        returns = np.concatenate([returns, played.returns], axis=1)
        if n == 0:
            opening = returns
        alive, returns = _still_running(alive, returns, champion)
    best = _winner(returns, champion)
    if best is None or not np.isfinite(returns[best]).all():
        return champion, opening, cost
    return Point(challengers[alive[best]], returns[best]), opening, cost


def play_on(point: Point, seeds: Seeds, problem: Asked, engine: Engine[Arena]) -> tuple[Point, Cost]:
    """A policy after it has played all of these starts, of which it knows the first."""
    known = len(point.returns)
    if known >= len(seeds):
        return point, Cost()
    played = play_all([point.policy.tree], seeds[known:], problem.task.env, engine)
    return point._replace(returns=np.concatenate([point.returns, played.returns[0]])), Cost(
        played.returns.size, played.steps
    )


def _still_running(alive: Ints, returns: Floats, champion: Point | None) -> tuple[Ints, Floats]:
    """Who may still win: the better half, without those that are clearly worse than the champion."""
    keep = np.argsort(-returns.mean(axis=1), kind="stable")[: max(1, (len(alive) + 1) // 2)]
    if champion is not None:
        gains = returns[keep] - champion.returns[: returns.shape[1]]
        keep = keep[gains.mean(axis=1) + _CONFIDENT * _error(gains) >= 0]
    return alive[keep], returns[keep]


def _winner(returns: Floats, champion: Point | None) -> int | None:
    """Which of those that are left has earned the crown, if any."""
    if not len(returns):
        return None
    best = int(np.argmax(returns.mean(axis=1)))
    if champion is None:
        return best
    gain = returns[best : best + 1] - champion.returns[: returns.shape[1]]
    return best if gain.mean() > _CONFIDENT * _error(gain)[0] else None


def _error(gains: Floats) -> Floats:
    """The standard error of the mean of each row."""
    return np.asarray(gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1]) if gains.shape[1] > 1 else gains.std(axis=1))
