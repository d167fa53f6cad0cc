"""Our own method: small trees of laws, whose structures compete and whose constants are tuned.

1. A group of contenders, trees of one leaf and of several, is tuned side by side by CMA-ES, all on the same starts.
2. In rounds the better half stays and gets the episodes of the others (successive halving). What was found spreads: the
   last of them takes over the laws of the best and one of the second, and has to show what the further leaf is worth.
3. Products of features, if asked for, join in once the laws have found their feet.
4. At last the numbers that matter least are left out, a few at a time, and the others tuned on: the front of score
   against size, of which the champion is the smallest that is as good as the best.

What is crowned has earned it on starts of its own, by the true return.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sirl import __version__
from sirl.arrays import Floats, Seeds
from sirl.config import Settings
from sirl.engine import Engine
from sirl.keys import Key, Stream, fold_all, root
from sirl.model.policy import Policy
from sirl.model.policy_file import Origin
from sirl.model.task import Task
from sirl.model.tree import Tree, simplify
from sirl.rollout.arena import Arena
from sirl.rollout.spread import play_all, run_orders
from sirl.search.champion import confirm, fresh_seeds
from sirl.search.contenders import (
    Contender,
    first_contenders,
    halve,
    is_wide,
    largest,
    leave_out,
    leaves_each,
    make_schedule,
    widen,
)
from sirl.search.front import Front, Point, choose, gain, with_point
from sirl.search.instruments import Tuned, look_at_laws
from sirl.search.race import MOST, challenge, play_on
from sirl.search.records import Cost, Record, Standing
from sirl.search.shapes import Frame
from sirl.search.signals import Worth, make_signal, play_for
from sirl.search.terms import ignored_features, make_terms, term_values
from sirl.simulators.recipes import Recipe
from sirl.simulators.scales import ScaleOrder, observe

_CHALLENGE_EVERY = 10
"""Generations between two races for the crown."""
_HOLDS = 0.05
"""Share of the best score that may be lost before fewer numbers are left out at a time."""


class LawProblem(NamedTuple):
    """What is to be solved, and how."""

    task: Task
    settings: Settings
    method: str
    seed: int
    recipe: Recipe
    """Makes the environment, to see how large its features are."""
    start: Policy | None = None
    """Where the first contender begins; None: like the others, from nothing."""


class State(NamedTuple):
    """What a generation leaves behind."""

    generation: int
    scales: Floats
    """(n_terms,): one over the size of each term; empty before the first generation."""
    contenders: tuple[Contender, ...]
    """Those that are left."""
    held: Contender | None
    """While numbers are left out: the smallest that still did well."""
    share: float
    """Of the numbers, how many are left out next."""
    best: Point | None
    """Who wears the crown."""
    front: Front
    champion: Policy | None
    solved: bool

    @property
    def trained(self) -> None:
        """See `SearchState.trained`: nobody is crowned by training scores here."""


class Laws(NamedTuple):
    """The search as :class:`~sirl.runs.training.Training` drives it."""

    problem: LawProblem

    def first_state(self) -> State:
        """See `Search.first_state`."""
        self._unscaled()  # what can't be tuned is refused at once,
        make_signal(self.problem, 1)  # and so is what can't be tuned for
        return State(0, np.zeros(0), (), None, 0.3, None, (), None, False)

    def plan(self) -> str:
        """See `Search.plan`."""
        settings, first = self.problem.settings, self._unscaled()
        contenders = "one contender" if settings.contenders == 1 else f"{settings.contenders} contenders"
        shape = largest(first, settings)
        n = shape.n_leaves // leaves_each(shape.frame)
        laws = "one law" if n == 1 else f"{n} laws" if settings.contenders == 1 else f"up to {n} laws each"
        widest = shape if self._is_given(first[0]) and len(first) == 1 else shape.widened()
        wide = f" ({widest.size} constants are too many for CMA-ES: augmented random search)" if is_wide(widest) else ""
        return f"{contenders} with {laws}, tuned for up to {settings.generations:,} generations{wide}"

    def warm_up(self, engine: Engine[Arena]) -> None:
        """See `Search.warm_up`: the one loop that is needed is compiled where it is first used."""

    def step(self, state: State, engine: Engine[Arena]) -> tuple[State, Record]:
        """See `Search.step`: ask all contenders, play, tell; now and then a race, and what follows from it."""
        problem, schedule = self.problem, make_schedule(self.problem.settings)
        if state.generation == 0:
            state = self._first_contenders(state, engine)
        worth = partial(play_for, make_signal(problem, len(state.contenders)), problem, engine)
        state, best, born, training = self._tune(state, worth)
        validation, done = Cost(), state.generation + 1
        raced = done % _CHALLENGE_EVERY == 0 or done in schedule.events
        if raced:
            state, opening, spent = self._race(state, best, engine)
            validation = validation.plus(spent.episodes, spent.steps)
            for _ in range(schedule.halvings.count(done)):
                contenders, order = halve(state.contenders, opening, problem.settings)
                state, opening, best = state._replace(contenders=contenders), opening[order], [best[i] for i in order]
            if done == schedule.widening:
                wider = (c if self._is_given(c) else widen(c, problem.settings) for c in state.contenders)
                state = state._replace(contenders=tuple(wider))
            if done in schedule.shrinkings:
                state, tried, spent = self._shrink(state, best, engine)
                validation = validation.plus(spent.episodes, spent.steps)
                training = training.plus(tried.episodes, tried.steps)
        state = self._crown(state)
        solved, confirmation = confirm(state.champion if raced else None, problem, state.generation, engine)
        if solved and not state.front and state.best is not None:
            state = state._replace(front=(state.best,))
        record = Record(
            generation=state.generation,
            best=float(born.scores.max()),
            mean=float(born.scores.mean()),
            median=float(np.median(born.scores)),
            invalid=0,
            collaborative=Cost(),
            individual=training,
            validation=validation.plus(confirmation.episodes, confirmation.steps),
            champion=None if state.champion is None else Standing.of(state.champion),
            silent=born.silent,
            instruments=look_at_laws(born, self._means(state), worth, problem, state.generation, engine),
        )
        return state._replace(generation=done, solved=solved), record

    def arrays(self, state: State) -> dict[str, Any]:
        """See `Search.arrays`."""
        kept: dict[str, Any] = {"scales": state.scales, "share": np.array([state.share])}
        kept["contenders"] = np.array([c.number for c in state.contenders], dtype=np.int64)
        for contender in state.contenders:
            kept |= contender.arrays(str(contender.number))
        if state.held is not None:
            kept |= state.held.arrays("held") | {"held": np.array([state.held.number])}
        points = {f"front {i}": point for i, point in enumerate(state.front)} | {"best": state.best}
        return kept | {f"{name} returns": p.returns for name, p in points.items() if p is not None}

    def policies(self, state: State) -> dict[str, Policy | None]:
        """See `Search.policies`."""
        front = {f"front {i}": point.policy for i, point in enumerate(state.front)}
        return {"champion": state.champion, "best": None if state.best is None else state.best.policy, **front}

    def restore(self, generation: int, solved: bool, arrays: dict[str, Any], policies: dict[str, Policy]) -> State:
        """See `Search.restore`."""
        frame = self._frame(arrays["scales"])
        contenders = tuple(Contender.of(n, arrays, str(n), frame) for n in arrays["contenders"].tolist())
        held = Contender.of(int(arrays["held"][0]), arrays, "held", frame) if "held" in arrays else None
        points = {n: Point(p, arrays[f"{n} returns"]) for n, p in policies.items() if n != "champion"}
        front = tuple(points[f"front {i}"] for i in range(len(points) - ("best" in points)))
        share, champion = float(arrays["share"][0]), policies.get("champion")
        return State(generation, arrays["scales"], contenders, held, share, points.get("best"), front, champion, solved)

    def _frame(self, scales: Floats) -> Frame:
        task, settings = self.problem.task, self.problem.settings
        return Frame(task, make_terms(task, settings.products), scales, ignored_features(task, settings.ignore))

    def _unscaled(self) -> tuple[Contender, ...]:
        """The first contenders, before it is known how large features are."""
        problem = self.problem
        frame = self._frame(np.ones(len(make_terms(problem.task, problem.settings.products))))
        return first_contenders(frame, problem.settings, problem.start)

    def _is_given(self, contender: Contender) -> bool:
        """Whether it was not made from nothing: it keeps to the numbers that it has."""
        return self.problem.start is not None and contender.number == 0

    def _first_contenders(self, state: State, engine: Engine[Arena]) -> State:
        problem = self.problem
        order = ScaleOrder(problem.recipe, problem.task, root(problem.seed, Stream.SCALING, 0))
        (observations,) = run_orders(engine, observe, [order], problem.task.env)
        with np.errstate(over="ignore", under="ignore"):  # whatever the caller has set: what is too large weighs 0
            values = term_values(observations, make_terms(problem.task, problem.settings.products))
            scales = 1.0 / np.maximum(np.sqrt(np.square(values).mean(axis=0)), 1e-3)
        scales = self._frame(scales).tied(scales)
        contenders = first_contenders(self._frame(scales), problem.settings, problem.start)
        return state._replace(scales=scales, contenders=contenders)

    def _tune(self, state: State, worth: Worth) -> tuple[State, list[Tree], Tuned, Cost]:
        """One generation of each contender: the best tree of each, and all trees with their scores."""
        problem = self.problem
        key = root(problem.seed, Stream.SAMPLING, state.generation)
        asked = []
        for contender in state.contenders:
            own = Key(fold_all(key, np.array([contender.number]))[0])
            asked.append(contender.ask(problem.settings.offspring, own))
        trees = [c.shape.tree(row) for c, rows in zip(state.contenders, asked, strict=True) for row in rows]
        seeds = fresh_seeds(problem, Stream.TUNING, state.generation, problem.settings.law_episodes)
        scores, cost, silent = worth(trees, seeds)
        told, best, at = [], [], 0
        for contender, rows in zip(state.contenders, asked, strict=True):
            mine = scores[at : at + len(rows)]
            told.append(contender.tell(rows, mine))
            best.append(trees[at + int(np.argmax(mine))])
            at += len(rows)
        born = Tuned(trees, scores, seeds, self._means(state), [len(rows) for rows in asked], silent)
        return state._replace(contenders=tuple(told)), best, born, cost

    def _means(self, state: State) -> list[Tree]:
        """What every contender has come to."""
        return [c.shape.tree(c.distribution.mean) for c in state.contenders]

    def _race(self, state: State, best: list[Tree], engine: Engine[Arena]) -> tuple[State, Floats, Cost]:
        """Race for the crown; also the returns of each contender on the first starts, (n, validation_episodes)."""
        means = self._means(state)
        challengers = [self._policy(tree, state) for tree in [*means, *best]]
        champion = state.best
        if champion is None and self.problem.start is not None:  # what is given reigns until something is better
            champion = Point(self._policy(self.problem.start.tree, state), np.zeros(0))
        champion, opening, cost = challenge(champion, challengers, self.problem, engine)
        both = opening.reshape(2, len(means), -1)
        better = both.mean(axis=2).argmax(axis=0)
        return state._replace(best=champion), both[better, np.arange(len(means))], cost

    def _shrink(self, state: State, best: list[Tree], engine: Engine[Arena]) -> tuple[State, Cost, Cost]:
        """Put the contender on the front, and leave out what it misses least; costs of training and of validation."""
        problem, contender = self.problem, state.contenders[0]
        point, spent = self._point(state, contender, best[0], engine)
        front = with_point(state.front, point)
        if state.best is not None:
            crowned, more = play_on(state.best, self._front_seeds(), problem, engine)
            state, front = state._replace(best=crowned), with_point(front, crowned)
            spent = spent.plus(more.episodes, more.steps)
        lost, error = gain(point, front[-1])
        holds = lost <= max(_HOLDS * abs(front[-1].score), 2 * error)
        if holds or state.held is None:
            state = state._replace(held=contender)
        else:
            contender, state = state.held, state._replace(share=state.share / 2)
        state = state._replace(front=front)
        if state.generation + 1 == problem.settings.generations or contender.shape.size == 1:
            return state._replace(contenders=(contender,)), Cost(), spent
        mean, n = contender.distribution.mean, contender.shape.size
        trees = [contender.shape.tree(np.where(np.arange(n) == place, 0.0, mean)) for place in range(n)]
        seeds = fresh_seeds(problem, Stream.SHRINKING, state.generation, problem.settings.validation_episodes)
        played = play_all(trees, seeds, problem.task.env, engine)
        smaller = leave_out(contender, played.returns.mean(axis=1), state.share)
        return state._replace(contenders=(smaller,)), Cost(played.returns.size, played.steps), spent

    def _point(self, state: State, contender: Contender, best: Tree, engine: Engine[Arena]) -> tuple[Point, Cost]:
        """What a contender has come to, its mean or its best, after both have played as much as all on the front."""
        trees = [simplify(contender.shape.tree(contender.distribution.mean)), simplify(best)]
        played = play_all(trees, self._front_seeds(), self.problem.task.env, engine)
        better = int(played.returns.mean(axis=1).argmax())
        point = Point(self._policy(trees[better], state), played.returns[better])
        return point, Cost(played.returns.size, played.steps)

    def _front_seeds(self) -> Seeds:
        """All starts that a race for the crown can go on to."""
        return fresh_seeds(self.problem, Stream.VALIDATION, 0, MOST * self.problem.settings.validation_episodes)

    def _crown(self, state: State) -> State:
        """Let the smallest policy that is as good as the best be the champion."""
        if state.best is None:
            return state
        chosen = choose(state.front, state.best, self.problem.settings.prefer_small)
        return state._replace(champion=chosen.policy.scored(validation_score=chosen.score))

    def _policy(self, tree: Tree, state: State) -> Policy:
        problem = self.problem
        origin = Origin(method=problem.method, seed=problem.seed, generation=state.generation, sirl=__version__)
        return Policy(problem.task, simplify(tree), origin)
