"""The social grid search, and the plain one as its baseline: phases in order, then the ranking.

    all networks start from their own first weights
    social: collaborative phase, all networks in one stream of episodes by voting, each learning from every transition
    individual phase, each network in a stream of its own, learning on
    rank by the mean return of the last individual episodes; validate the best on fresh episodes; crown the best of them

The plain grid search is the same without the collaborative phase, with as many individual episodes as a network of the
social one has seen in all. :func:`train` is the front door; :class:`GridSearch` is the same in steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from sirl import __version__
from sirl.config import checked
from sirl.deep import checkpoint, directory
from sirl.deep.crew import Crew, undisturbed
from sirl.deep.episodes import inspect_discrete, make_simulator, play_greedily, seeds_of
from sirl.deep.grid import Point, check_memory, make_grid
from sirl.deep.play import Ended, Play, standing
from sirl.deep.policy import Arrays, NetworkPolicy, Origin, load
from sirl.deep.ranking import conclude
from sirl.deep.records import Config, Left, Result, Standing
from sirl.deep.replay import Replay
from sirl.deep.settings import Method, make_settings
from sirl.errors import SirlError
from sirl.keys import Stream, root
from sirl.learning.voting import weigh
from sirl.options import CheckpointMinutes, Seed
from sirl.runs.tasks import as_made
from sirl.simulators.recipes import make_recipe, named_by_file


class GridSearch:
    """A search that is ready to start: iterate over :meth:`episodes`, then ask for :attr:`result`.

    The ``grid`` has lists of values by axis (:func:`sirl.deep.make_grid`), the paper's where not given; ``method`` is
    social, or plain for the baseline in which each network is alone from the start. The same seed gives the same result
    on the same machine. ``out`` is a new directory, without which nothing is written; ``settings`` are fields of
    :class:`sirl.deep.DeepSettings`.
    """

    def __init__(
        self,
        env: str | Callable[[], gym.Env[Any, Any]],
        *,
        grid: Mapping[str, Sequence[Any]] | Sequence[Point] | None = None,
        method: Method = "social",
        seed: int = 0,
        out: str | Path | None = None,
        features: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        env_options: dict[str, Any] | None = None,
        checkpoint_minutes: float = 1.0,
        **settings: Any,
    ):
        self.recipe, self.settings = make_recipe(env, env_options), make_settings(**settings)
        self.task = as_made(inspect_discrete(self.recipe, features, actions), self.recipe, self.settings.max_steps)
        self.config = Config(
            env=self.recipe.name,
            method=checked("method", method, Method),
            seed=checked("seed", seed, Seed),
            grid=make_grid(grid) if isinstance(grid, Mapping) or grid is None else list(grid),
            settings=self.settings,
            features=self.task.features,
            actions=self.task.action_names,
            env_options=self.recipe.options,
            versions={"sirl": __version__, "torch": str(torch.__version__), "numpy": np.__version__},
        )
        shape = self.task.n_features, len(self.task.action_names)
        streams = 1 if self.config.is_social else len(self.config.grid)
        check_memory(self.config.grid, *shape, self.settings.replay_size, streams)
        self.directory = directory.create(out, self.config) if out is not None else None
        self._checkpoint_seconds = 60.0 * checked("checkpoint_minutes", checkpoint_minutes, CheckpointMinutes)
        self._kept_at = time.monotonic()
        self._stop: type[BaseException] | None = None
        self._finished: Result | None = None
        self._actions = np.arange(len(self.task.action_names)) + int(self.task.action_low[0])
        self._collaborative: list[float] = []
        self._left: list[Left] = []
        self._rounds_begun = self._scouted = self._steps = 0
        self._seconds = 0.0
        crew = Crew(self.config.grid, np.arange(len(self.config.grid)), self.config.seed, *shape)
        self._play = self._begin(crew, together=self.config.is_social)

    @property
    def result(self) -> Result:
        """The ranking and all that led to it, once :meth:`episodes` has come to its end."""
        if self._finished is None:
            raise SirlError("the search is not at its end: iterate over episodes() first.")
        return self._finished

    def episodes(self) -> Iterator[Standing]:
        """Play to the end; a turn after every episode, or a few that end in the same step."""
        if self._finished is not None:  # by an earlier process
            return
        if self._play.together:
            yield from self._collaborate()
            self._part()
        while not self._play.is_over:
            yield from self._advance()
        self._finished = self._finish()
        if self.directory is not None:
            directory.write_result(self.directory, self.result, self.champion)
        if self._stop is not None:
            raise self._stop

    def stop(self, reason: type[BaseException]) -> bool:
        """Stop soon, as the handler of a signal may ask: whether that is new.

        After the step that is under way :meth:`episodes` writes a checkpoint, and raises ``reason``; scouting and
        validation come to their end first.
        """
        is_new, self._stop = self._stop is None, reason
        return is_new

    def network(self, number: int) -> NetworkPolicy:
        """A network of a finished search, as it came out of its individual phase."""
        ranked = next((entry for entry in self.result.ranking if entry.number == number), None)
        if ranked is None or number not in self._play.finished:
            raise SirlError(f"network {number} is not kept: take the champion, or a ranked one of a search made here.")
        origin = Origin(
            method=self.config.method,
            seed=self.config.seed,
            number=number,
            individual_score=ranked.score,
            validation_score=ranked.validation_score,
            sirl=__version__,
        )
        return NetworkPolicy(self.task, ranked.point, self._play.finished[number], origin)

    @property
    def champion(self) -> NetworkPolicy:
        """The best network."""
        return self.network(self.result.champion)

    def _collaborate(self) -> Iterator[Standing]:
        """The collaborative phase, cut into rounds where scores are asked for (Algorithm 2)."""
        rounds = self.settings.rounds if self.settings.scouts() else 1
        ends = np.linspace(0, self.settings.collaborative_episodes, rounds + 1).astype(int)[1:]
        shared = self._play.returns[0]
        for number, end in enumerate(ends.tolist()):
            if number == self._rounds_begun:
                if self.settings.scouts():
                    self._scout(number)
                self._rounds_begun += 1
            while len(shared) < end:
                yield from self._advance()
        self._collaborative = shared

    def _advance(self) -> Iterator[Standing]:
        """Play until an episode ends; then is a time to look, and to keep what there is."""
        began = time.monotonic()
        ended: list[Ended] = []
        with undisturbed():
            while not (ended or self._play.is_over or self._stop):
                self._steps += len(self._play.streams)
                ended = self._play.step()
        self._seconds += time.monotonic() - began
        yield standing(self._play, self.config, self._collaborative, len(self._left), self._seconds)
        if self._play.is_over:
            return
        due = time.monotonic() - self._kept_at >= self._checkpoint_seconds
        if self.directory is not None and (due or self._stop):
            self._keep(self.directory)
        if self._stop is not None:
            raise self._stop

    def _begin(self, crew: Crew, together: bool, replay: Replay | None = None, steps: int = 0) -> Play:
        """A phase from its first episode on."""
        n_streams = 1 if together else len(crew)
        stream = Stream.COLLABORATIVE if together else Stream.INDIVIDUAL
        return Play(
            crew,
            replay or Replay(self.settings.replay_size, n_streams, crew.n_features),
            make_simulator(self.recipe, n_streams, self.settings.max_steps),
            self._actions,
            self.settings,
            root(self.config.seed, stream, 0),
            self.config.collaborative_episodes if together else self.config.individual_episodes,
            together,
            steps,
        )

    def _part(self) -> None:
        """From the collaborative to the individual phase: each network takes along what all have seen."""
        play = self._play
        play.simulator.close()
        self._note_diverged()
        replay = Replay(self.settings.replay_size, len(play.crew), play.crew.n_features, play.replay.known())
        self._play = self._begin(play.crew, False, replay, play.steps)

    def _note_diverged(self) -> None:
        self._left += [Left(number=n, why="diverged", steps=steps) for n, steps in self._play.diverged.items()]

    def _scout(self, number: int) -> None:
        """Score each network on greedy episodes of its own: for votes that go by it, and to drop the worse half."""
        play, settings = self._play, self.settings
        seeds = seeds_of(root(self.config.seed, Stream.SCOUTING, number), settings.scouting_episodes)
        rows = range(len(play.crew))
        scores = np.array([self._score(play.crew.network(row), seeds) for row in rows])
        self._scouted += len(seeds) * len(rows)
        if settings.halving and number and len(rows) > 1:
            kept = np.zeros(len(rows), np.bool_)
            kept[np.argsort(-scores, kind="stable")[: -(-len(rows) // 2)]] = True
            self._left += [Left(number=n, why="halved", steps=play.steps) for n in play.crew.ids[~kept].tolist()]
            play.keep(kept)
            scores = scores[kept]
        play.weights = weigh(scores, settings.voting, len(play.crew))

    def _score(self, layers: Arrays, seeds: NDArray[np.int64]) -> float:
        """Mean return of greedy episodes; what has diverged is worse than all."""
        if not all(np.isfinite(part).all() for layer in layers for part in layer):
            return -np.inf
        return play_greedily(self.recipe, layers, self._actions, seeds, self.settings.max_steps).mean

    def _finish(self) -> Result:
        """Rank, validate the best, and crown the best of these."""
        self._play.simulator.close()
        self._note_diverged()
        return conclude(
            self.config,
            self._play,
            self._score,
            collaborative=self._collaborative,
            left=self._left,
            scouted=self._scouted,
            steps=self._steps,
            seconds=round(self._seconds, 2),
        )

    def _keep(self, place: directory.Directory) -> None:
        """Write a checkpoint."""
        checkpoint.save(
            place.checkpoint,
            self._play,
            config=self.config.digest(),
            rounds_begun=self._rounds_begun,
            collaborative=self._collaborative,
            left=self._left,
            scouted=self._scouted,
            transitions=self._steps,
            seconds=self._seconds,
        )
        self._kept_at = time.monotonic()

    @staticmethod
    def resume(
        path: str | Path, env: str | Callable[[], gym.Env[Any, Any]] | None = None, checkpoint_minutes: float = 1.0
    ) -> GridSearch:
        """A search in the directory ``path`` goes on to the same end; ``env`` again if it is a function or module's."""
        config = directory.read_config(path)
        search = GridSearch(
            env or named_by_file(config.env, f"write `sirl social-dqn {config.env} --resume {path}`"),
            grid=config.grid,
            method=config.method,
            seed=config.seed,
            features=config.features,
            actions=config.actions,
            env_options=config.env_options,
            checkpoint_minutes=checkpoint_minutes,
            **msgspec.structs.asdict(config.settings),
        )
        search.go_on(path)
        return search

    def go_on(self, path: str | Path) -> None:
        """Take up the last checkpoint in the directory of this same search, or its result if it is finished."""
        self.directory = directory.reopen(path, self.config)
        if self.directory.is_finished:
            self._finished = directory.read_result(path)
            self._play.finished = {self._finished.champion: load(path).layers}
            return
        if (kept := checkpoint.load(self.directory.checkpoint, self.config.digest())) is None:
            return
        facts = kept.facts
        crew = kept.crew(self.config.grid, self.config.seed, self.task.n_features, len(self._actions))
        self._play = self._begin(crew, facts.together)
        kept.bring(self._play)
        self._rounds_begun, self._scouted, self._steps = facts.rounds_begun, facts.scouted, facts.transitions
        self._collaborative, self._left, self._seconds = facts.collaborative, facts.left, facts.seconds


def train(env: str | Callable[[], gym.Env[Any, Any]], **options: Any) -> GridSearch:
    """Search a grid of deep Q-networks from start to end; the options are those of :class:`GridSearch`."""
    search = GridSearch(env, **options)
    for _ in search.episodes():
        pass
    return search
