"""Our own method: small trees of laws, whose structures compete and whose constants are tuned.

A group of contenders, trees of one leaf and of several, is tuned side by side by CMA-ES, all on the same starts. In
rounds the better half stays and gets the episodes of the others (successive halving), so that a start that leads
nowhere, or a structure that does not pay, costs little. What they come to races for the crown on starts of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sirl import __version__
from sirl.arrays import Floats
from sirl.config import Settings
from sirl.engine import Engine
from sirl.errors import EnvironmentFailure
from sirl.keys import Key, Stream, fold_all, root
from sirl.model.policy import Policy
from sirl.model.policy_file import Origin
from sirl.model.task import Task
from sirl.model.tree import Tree, simplify
from sirl.rollout.arena import Arena
from sirl.rollout.spread import Played, play_all, run_orders
from sirl.search import cma
from sirl.search.champion import confirm, fresh_seeds
from sirl.search.race import Crown, challenge
from sirl.search.records import Cost, Record, Standing
from sirl.search.shapes import Shape, make_terms, term_values
from sirl.simulators.recipes import Recipe
from sirl.simulators.scales import ScaleOrder, observe

_STRUCTURES = (1, 2, 1, 3, 1, 2, 1, 4)
"""Leaves of the contenders, over and over: what is simple gets every second place."""
_CHALLENGE_EVERY = 10
"""Generations between two races for the crown."""


class LawProblem(NamedTuple):
    """What is to be solved, and how."""

    task: Task
    settings: Settings
    method: str
    seed: int
    recipe: Recipe
    """Makes the environment, to see how large its features are."""


class Contender(NamedTuple):
    """A tree that is tuned."""

    number: int
    n_leaves: int
    distribution: cma.State


class State(NamedTuple):
    """What a generation leaves behind."""

    generation: int
    scales: Floats
    """(n_terms,): one over the size of each term; empty before the first generation."""
    contenders: tuple[Contender, ...]
    """Those that are left, the best of the last race first."""
    crown: Crown
    solved: bool

    @property
    def champion(self) -> Policy | None:
        """The best policy so far."""
        return self.crown.champion

    @property
    def trained(self) -> None:
        """See `SearchState.trained`: nobody is crowned by training scores here."""


class Laws(NamedTuple):
    """The search as :class:`~sirl.runs.training.Training` drives it."""

    problem: LawProblem

    def first_state(self) -> State:
        """See `Search.first_state`."""
        make_terms(self.problem.task, False)  # a task that has no laws is refused at once
        return State(0, np.zeros(0), (), Crown(None, np.zeros(0)), False)

    def plan(self) -> str:
        """See `Search.plan`."""
        settings = self.problem.settings
        most = self._most_laws()
        leaves = "a law" if most == 1 else f"up to {most} laws"
        contenders = "one contender" if settings.contenders == 1 else f"{settings.contenders} contenders"
        return f"{contenders} with {leaves} each, tuned for up to {settings.generations:,} generations"

    def warm_up(self, engine: Engine[Arena]) -> None:
        """See `Search.warm_up`: the one loop that is needed is compiled where it is first used."""

    def step(self, state: State, engine: Engine[Arena]) -> tuple[State, Record]:
        """See `Search.step`: ask all contenders, play, tell; now and then a race and a halving."""
        problem = self.problem
        if state.generation == 0:
            state = self._first_contenders(state, engine)
        asked = [self._ask(contender, state) for contender in state.contenders]
        shapes = [self._shape(contender, state) for contender in state.contenders]
        trees = [shape.tree(row) for shape, rows in zip(shapes, asked, strict=True) for row in rows]
        seeds = fresh_seeds(problem, Stream.TUNING, state.generation, problem.settings.law_episodes)
        played = play_all(trees, seeds, problem.task.env, engine)
        scores = self._scores(played)
        told, best, at = [], [], 0
        for contender, rows, shape in zip(state.contenders, asked, shapes, strict=True):
            mine = scores[at : at + len(rows)]
            told.append(contender._replace(distribution=cma.tell(contender.distribution, rows, mine)))
            best.append(shape.tree(rows[int(np.argmax(mine))]))
            at += len(rows)
        contenders, crown, validation = self._judge(state._replace(contenders=tuple(told)), best, engine)
        solved, confirmation = confirm(crown.champion, problem, state.generation, engine)
        finite = scores[np.isfinite(scores)]
        record = Record(
            generation=state.generation,
            best=float(finite.max()),
            mean=float(finite.mean()),
            median=float(np.median(finite)),
            invalid=0,
            collaborative=Cost(),
            individual=Cost(played.returns.size, played.steps),
            validation=validation.plus(confirmation.episodes, confirmation.steps),
            champion=None if crown.champion is None else Standing.of(crown.champion),
        )
        return State(state.generation + 1, state.scales, contenders, crown, solved), record

    def arrays(self, state: State) -> dict[str, Any]:
        """See `Search.arrays`."""
        kept: dict[str, Any] = {"scales": state.scales, "returns": state.crown.returns}
        kept["contenders"] = np.array([[c.number, c.n_leaves] for c in state.contenders], dtype=np.int64).reshape(-1, 2)
        for contender in state.contenders:
            kept |= {f"{contender.number} {name}": a for name, a in contender.distribution._asdict().items()}
        return kept

    def restore(
        self,
        generation: int,
        arrays: dict[str, Any],
        champion: Policy | None,
        solved: bool,
        trained: Policy | None,  # noqa: ARG002
    ) -> State:
        """See `Search.restore`."""
        contenders = []
        for number, n_leaves in arrays["contenders"].tolist():
            distribution = cma.State(*(arrays[f"{number} {name}"] for name in cma.State._fields))
            contenders.append(Contender(number, n_leaves, distribution))
            if not all(np.isfinite(array).all() for array in distribution):
                raise ValueError("a contender is not finite")
        state = State(generation, arrays["scales"], tuple(contenders), Crown(champion, arrays["returns"]), solved)
        if generation and any(self._shape(c, state).n_constants != len(c.distribution.mean) for c in contenders):
            raise ValueError("a contender is of another size")
        return state

    def _first_contenders(self, state: State, engine: Engine[Arena]) -> State:
        problem, settings = self.problem, self.problem.settings
        order = ScaleOrder(problem.recipe, problem.task, root(problem.seed, Stream.SCALING, 0))
        (observations,) = run_orders(engine, observe, [order], problem.task.env)
        with np.errstate(over="ignore", under="ignore"):  # whatever the caller has set: what is too large weighs 0
            values = term_values(observations, make_terms(problem.task, settings.products))
            scales = 1.0 / np.maximum(np.sqrt(np.square(values).mean(axis=0)), 1e-3)
        state = state._replace(scales=scales)
        contenders = []
        for number in range(settings.contenders):
            n_leaves = min(_STRUCTURES[number % len(_STRUCTURES)], self._most_laws())
            shape = self._shape(Contender(number, n_leaves, cma.begin(np.zeros(1), 1.0)), state)
            sigma = settings.law_sigma / np.sqrt(len(shape.terms) + 1)
            contenders.append(Contender(number, n_leaves, cma.begin(np.zeros(shape.n_constants), float(sigma))))
        return state._replace(contenders=tuple(contenders))

    def _most_laws(self) -> int:
        """Of the largest contender; a law between two choices is a condition, and has two leaves."""
        settings, task = self.problem.settings, self.problem.task
        leaves_each = 2 if task.action == "discrete" and len(task.action_names) == 2 else 1
        most = settings.max_laws if settings.max_leaves is None else settings.max_leaves // leaves_each
        return max(1, min(settings.max_laws, most))

    def _shape(self, contender: Contender, state: State) -> Shape:
        terms = make_terms(self.problem.task, self.problem.settings.products)
        return Shape(self.problem.task, contender.n_leaves, terms, state.scales)

    def _ask(self, contender: Contender, state: State) -> Floats:
        n = self.problem.settings.offspring or cma.offspring_for(len(contender.distribution.mean))
        key = root(self.problem.seed, Stream.SAMPLING, state.generation)
        return cma.ask(contender.distribution, n, Key(fold_all(key, np.array([contender.number]))[0]))

    def _scores(self, played: Played) -> Floats:
        """What is tuned for: the mean return, without what is earned by merely being alive."""
        signal = played.returns - self.problem.settings.alive_bonus * played.lengths
        scores = np.asarray(signal.mean(axis=1))
        finite = np.isfinite(scores)
        if not finite.any():
            raise EnvironmentFailure(
                f"every law made the simulation of {self.problem.task.env} lose its state: its actions are more than "
                "the simulation can follow; narrow the action space or shorten the time step"
            )
        return np.where(finite, scores, scores[finite].min() - 1.0)

    def _judge(
        self, state: State, best: list[Tree], engine: Engine[Arena]
    ) -> tuple[tuple[Contender, ...], Crown, Cost]:
        """Race and halve, if it is time: the contenders that stay, and the crown."""
        done, settings = state.generation + 1, self.problem.settings
        halves = done in _halvings(settings)
        if not halves and done % _CHALLENGE_EVERY and done < settings.generations:
            return state.contenders, state.crown, Cost()
        means = [self._shape(c, state).tree(c.distribution.mean) for c in state.contenders]
        challengers = [self._policy(tree, state) for tree in [*means, *best]]
        crown, scores, cost = challenge(state.crown, challengers, self.problem, engine)
        contenders = state.contenders
        if halves:
            both = np.maximum(scores[: len(means)], scores[len(means) :])
            order = np.argsort(-both, kind="stable")[: (len(contenders) + 1) // 2]
            contenders = tuple(contenders[i] for i in sorted(order.tolist()))
        return contenders, crown, cost

    def _policy(self, tree: Tree, state: State) -> Policy:
        problem = self.problem
        origin = Origin(method=problem.method, seed=problem.seed, generation=state.generation, sirl=__version__)
        return Policy(problem.task, simplify(tree), origin)


def _halvings(settings: Settings) -> list[int]:
    """After which generations the worse half leaves: every round costs about as many episodes as the others."""
    rounds = 1 + max(0, settings.contenders - 1).bit_length()
    unit = settings.generations / (2**rounds - 1)
    return [max(1, round(unit * (2**r - 1))) for r in range(1, rounds)]
