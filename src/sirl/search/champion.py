"""The champion: who has earned the crown, and whether it holds what was asked for."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sirl import __version__
from sirl.arrays import Floats, Seeds
from sirl.config import Settings
from sirl.engine import Engine
from sirl.keys import Stream, episode_seeds, fold_all, root
from sirl.model.policy import Policy
from sirl.model.policy_file import DEEPEST, Origin
from sirl.model.task import Task
from sirl.model.tree import simplify
from sirl.rollout.arena import Arena
from sirl.rollout.spread import play_all
from sirl.search.population import Evaluated, Problem
from sirl.search.records import Cost


class Asked(Protocol):
    """What every search is asked for."""

    @property
    def task(self) -> Task:
        """What is to be played."""
        ...

    @property
    def settings(self) -> Settings:
        """How."""
        ...

    @property
    def seed(self) -> int:
        """Which of all runs it is."""
        ...


def best_trained(reigning: Policy | None, evaluated: Evaluated, problem: Problem, generation: int) -> Policy | None:
    """Who has the best training score of all generations so far: the paper's champion."""
    scores = evaluated.fitness[evaluated.valid]
    if reigning is not None and scores.max() <= _training_score(reigning):
        return reigning
    best = _candidate(evaluated, int(scores.argmax()), generation, problem)
    return best if best.tree.depth <= DEEPEST else reigning


def crown(
    champion: Policy | None, evaluated: Evaluated, problem: Problem, generation: int, engine: Engine[Arena]
) -> tuple[Policy | None, Floats, Cost]:
    """The champion after a generation: by training score (paper), or by validation of the best few.

    Also the fitness that the next generation is to go by, which a validation may correct.
    """
    settings, fitness = problem.settings, evaluated.fitness
    if settings.crowning == "training":
        return best_trained(champion, evaluated, problem, generation), fitness, Cost()
    scores = fitness[evaluated.valid]
    order = np.argsort(-scores, kind="stable")[: min(settings.candidates, np.isfinite(scores).sum())]
    candidates = [_candidate(evaluated, int(tree), generation, problem) for tree in order]
    contenders = candidates if champion is None else [champion, *candidates]
    seeds = fresh_seeds(problem, Stream.VALIDATION, generation, settings.validation_episodes)
    played = play_all([c.tree for c in contenders], seeds, problem.task.env, engine)
    means = played.returns.mean(axis=1)
    # A shorter tree with the same score is the better read; the reigning champion keeps a full tie. A tree that made
    # the simulation lose its state has no mean, and one too deep for a file can't be kept.
    fit = [i for i, c in enumerate(contenders) if np.isfinite(means[i]) and c.tree.depth <= DEEPEST]
    if fit:
        best_index = max(fit, key=lambda i: (means[i], -contenders[i].tree.n_leaves, -i))
        champion = contenders[best_index].scored(validation_score=float(means[best_index]))
    if settings.luck == "corrected":
        fitness = fitness.copy()
        validated = evaluated.valid[order]
        fitness[validated] = np.minimum(fitness[validated], means[-len(order) :])
    return champion, fitness, Cost(played.returns.size, played.steps)


def _candidate(evaluated: Evaluated, tree: int, generation: int, problem: Problem) -> Policy:
    """A tree that may become champion, without the conditions that change nothing."""
    individual = int(evaluated.valid[tree])
    origin = Origin(
        method=problem.method,
        seed=problem.seed,
        generation=generation,
        individual=individual,
        training_score=float(evaluated.fitness[individual]),
        sirl=__version__,
    )
    return Policy(problem.task, simplify(evaluated.tree(tree, problem.menu)), origin)


def _training_score(policy: Policy) -> float:
    score = policy.origin.training_score
    return -np.inf if score is None else score


def confirm(champion: Policy | None, problem: Asked, generation: int, engine: Engine[Arena]) -> tuple[bool, Cost]:
    """Whether the champion holds ``stop_at``: on its validation, and then on episodes that chose nothing."""
    settings = problem.settings
    if settings.stop_at is None or champion is None:
        return False, Cost()
    validated = champion.origin.validation_score
    if (_training_score(champion) if validated is None else validated) < settings.stop_at:
        return False, Cost()
    seeds = fresh_seeds(problem, Stream.CONFIRMATION, generation, settings.confirmation_episodes)
    played = play_all([champion.tree], seeds, problem.task.env, engine)
    return bool(played.returns.mean() >= settings.stop_at), Cost(played.returns.size, played.steps)


def fresh_seeds(problem: Asked, stream: Stream, generation: int, n: int) -> Seeds:
    """Seeds of the first n episodes of a generation for one purpose."""
    return episode_seeds(fold_all(root(problem.seed, stream, generation), np.arange(n)))
