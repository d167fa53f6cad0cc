"""The loop that ties a search, an engine and a run directory together.

:func:`train` is the library's front door; :class:`Training` is the same in steps, for a command line that
shows what happens, or for a program that wants to look at every generation.
"""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
from msgspec.structs import replace

from sirl import __version__
from sirl.config import Method, Settings
from sirl.engine import Engine, check_engine, make_engine
from sirl.errors import EnvironmentFailure, SirlError
from sirl.figures.drawing import Drawing
from sirl.figures.plots import draw_curves
from sirl.model.policy import Policy, load
from sirl.options import FREE_AT_RESUME, refuse_unused, split
from sirl.presets import preset_settings
from sirl.rollout.arena import Arena
from sirl.rollout.recipe import ArenaRecipe
from sirl.runs.checkpoints import Checkpoints
from sirl.runs.directory import Config, RunDirectory, Score, read_config, writable
from sirl.runs.evaluation import Evaluation, evaluate
from sirl.runs.history import History
from sirl.runs.tasks import look
from sirl.runs.versions import both, changes, versions
from sirl.search.base import Search, SearchState
from sirl.search.evolution import Evolution
from sirl.search.laws import LawProblem, Laws
from sirl.search.population import make_problem
from sirl.search.records import Record
from sirl.simulators.environments import choose_backend, usable_cores
from sirl.simulators.recipes import Recipe, make_recipe, named_by_file

Environment = str | Callable[[], gym.Env[Any, Any]]


class Training:
    """A run that is ready to start: iterate over :meth:`generations`, then ask for :attr:`champion`.

    Args:
        env: a Gymnasium id, or a function that makes an environment.
        asked: fields of :class:`sirl.options.Options`, and of :class:`sirl.Settings` over the preset's.
    """

    def __init__(self, env: Environment, **asked: Any):
        self.options, changes = split(asked)
        options = self.options
        self.workers = options.workers or usable_cores()
        if not callable(options.engine):
            check_engine(options.engine, options.address)
        self._env = env
        recipe = make_recipe(env, options.env_options)
        self.settings = preset_settings(recipe.name, options.method).replace(**changes)
        _check_method(options.method, self.settings)
        self.task = look(recipe, options, self.settings, self.workers)
        backend = choose_backend(recipe, options.simulator)
        self.arena = ArenaRecipe(recipe, self.task, backend, self.settings.max_steps)
        start = None if options.start is None else self._load_start(options.start)
        self.search = self._make_search(recipe, start)
        self.config = Config(
            env=recipe.name,
            method=options.method,
            seed=options.seed,
            simulator=backend,
            sirl=__version__,
            features=self.task.features[: self.task.n_observed],
            actions=self.task.action_names,
            settings=self.settings,
            start="" if start is None else hashlib.sha256(start.to_json()).hexdigest(),
            env_options=recipe.options,
            versions=versions(),
            derive=self.task.derived,
            mirror=self.task.mirror,
        )
        self.state: SearchState = self.search.first_state()
        self.history = History()
        self._checkpointed = -math.inf  # the first generation is kept at once, whatever the minutes
        self.directory = None if options.out is None else RunDirectory.create(options.out, self.config, start)
        if self.directory is not None:
            self._checkpoints = Checkpoints(self.directory.checkpoints, self.config.digest())

    def _load_start(self, start: Any) -> Policy:
        """The policy to start from, given itself or by its name."""
        if self.options.method not in ("laws", "linear"):
            raise SirlError(f"--method {self.options.method} starts from nothing: leave out --start, or use laws.")
        policy = start if isinstance(start, Policy) else load(start)
        theirs, ours = ([d.program for d in task.definitions] for task in (policy.task, self.task))
        other = "" if theirs == ours else "its derived features are others, so give the same --derive"
        if reason := policy.mismatch(self.task) or other:
            raise SirlError(f"{start} can't be started from on {self.task.env}: {reason}.")
        if self.options.method == "linear" and policy.tree.n_splits:
            raise SirlError(f"{start} is not linear, but a tree: use --method laws.")
        return policy

    def _make_search(self, recipe: Recipe, start: Policy | None) -> Search[Any]:
        task, settings, options = self.task, self.settings, self.options
        if options.method in ("laws", "linear"):
            return Laws(LawProblem(task, settings, options.method, options.seed, recipe, start))
        return Evolution(make_problem(task, settings, options.method, options.seed, self.arena.kind.cuts))

    @staticmethod
    def resume(
        path: str | Path, env: Environment | None = None, *, replace_edited: bool = False, **asked: Any
    ) -> Training:
        """A run of an earlier process that goes on from its last good checkpoint, to the same end.

        Args:
            path: its run directory.
            env: its environment again: the function that makes it if it was not trained on a Gymnasium id, or its id
                if that names a module, which is not imported just because a file says so.
            replace_edited: go on although somebody edited its champion, which is kept under another name.
            asked: options that no result depends on (workers, hang_limit, checkpoint_minutes, engine, address);
                ``generations`` to go on to another number of them, ``stop_at`` for another goal.
        """
        if fixed := sorted(set(asked) - {*FREE_AT_RESUME, "generations", "stop_at"}):
            raise SirlError(
                f"a run goes on with what it was first asked, so --resume can't be given {', '.join(fixed)}: leave it "
                "out, or start a new run."
            )
        config = read_config(path)
        asked_for = asked.get("generations")
        if config.method in ("laws", "linear") and asked_for not in (None, config.settings.generations):
            raise SirlError(
                f"when laws race, grow and shrink is laid out over all of a run's {config.settings.generations} "
                f"generations, so it can't go on to {asked_for}: start a new run from its champion with --start {path}."
            )
        first = {name: getattr(config, name) for name in ("method", "seed", "simulator", "features", "actions")}
        settings = {name: getattr(config.settings, name) for name in config.settings.__struct_fields__}
        run = Training(
            env or named_by_file(config.env, f"write `sirl train {config.env} --resume {path}`"),
            **first,
            derive=config.derive or [],
            mirror=config.mirror or [],
            start=Path(path) / "start.json" if config.start else None,
            env_options=config.env_options,
            **settings | {name: value for name, value in asked.items() if value is not None},
        )
        run.go_on(path, replace_edited)
        return run

    def go_on(self, path: str | Path, replace_edited: bool = False) -> None:
        """Take up the state of the last good checkpoint in the directory of this same run, and let its files agree."""
        directory, earlier = RunDirectory(Path(path)), read_config(path)
        directory.lock()
        if self.config.digest() != earlier.digest():
            raise SirlError(
                f"{directory.path} holds another run, of another task, seed or settings: give what it was started with."
            )
        if (edited := directory.edited()) and not replace_edited:
            raise SirlError(
                f"{edited[0]} was edited, and the run would put its own champion in its place: copy it elsewhere, or "
                "add --replace-edited (in Python replace_edited=True), which keeps it under another name."
            )
        before, now = ({"sirl": config.sirl, **config.versions} for config in (earlier, self.config))
        for text in changes(before, now):
            warnings.warn(text, stacklevel=2)
        kept = Checkpoints(directory.checkpoints, self.config.digest())
        loaded, damaged = kept.load_latest(self.search, self.task)
        if loaded is None and damaged:  # to start over would cost the champion and the history that are there
            raise SirlError(f"{damaged[0]} There is none: restore one, or train again in another directory.")
        with writable(directory.checkpoints):
            kept.set_damaged_aside()
        self.directory, self._checkpoints = directory, kept
        if loaded is not None:
            self.state, self.history = loaded.state, History(loaded.history)
            directory.keep_front(self.state.front)
            now = before if self.over else both(before, now)
        for text in damaged + directory.agree(self.state.champion, self.state.trained, self.history):
            warnings.warn(text, stacklevel=2)
        self.config = replace(self.config, sirl=now.pop("sirl"), versions=now)
        directory.configure(self.config)

    def generations(self) -> Iterator[Record]:
        """Run to the end, one generation a turn; what is recorded is safe before it is told."""
        with self._make_engine() as engine:
            try:
                if not self.over and self.options.engine == "local":  # the machines of a cluster have their own disks
                    self.search.warm_up(engine)
                while not self.over:
                    start, before = time.perf_counter(), self.state
                    self.state, record = self.search.step(before, engine)
                    yield self._keep(before, record.timed(time.perf_counter() - start))
                self._warn_of_no_signal()
            except EnvironmentFailure as failure:
                if self.directory is not None:
                    self.directory.note(f"generation {self.state.generation + 1}", f"{failure}\n{failure.details}")
                raise
            finally:
                if self.directory is not None:
                    self.directory.unlock()

    def _warn_of_no_signal(self) -> None:
        """Tell if no episode of the run came to anything."""
        if all(record.silent for record in self.history):
            what = f"every episode of {self.config.env} returned 0"
            warnings.warn(f"{what}, so there was nothing to learn from: check its reward.", stacklevel=3)

    def _make_engine(self) -> Engine[Arena]:
        options = self.options
        if callable(options.engine):
            engine: Engine[Arena] = options.engine(self.arena)
            return engine
        return make_engine(options.engine, self.arena, self.workers, options.address, options.hang_limit)

    def _keep(self, before: SearchState, record: Record) -> Record:
        self.history.append(record)
        if self.directory is not None:
            self._checkpoint(self.directory)  # first, so that champion and history are never ahead of what can go on
            if self.state.champion is not before.champion:
                self.directory.crown(self.champion)
            if self.state.trained is not None and self.state.trained is not before.trained:
                self.directory.crown_trained(self.state.trained)
            if self.state.front is not before.front:
                self.directory.keep_front(self.state.front)
            self.directory.add(record)
            if record.broke:
                who = ", ".join(map(str, record.broke))
                self.directory.note(
                    f"generation {record.generation + 1}",
                    f"no fitness for individual {who}: the simulation lost its state under its actions",
                )
        return record

    def _checkpoint(self, directory: RunDirectory) -> None:
        due = time.monotonic() - self._checkpointed >= 60.0 * self.options.checkpoint_minutes
        if self.over or due:
            with writable(directory.checkpoints):
                self._checkpoints.save(self.search, self.state, self.history)
            self._checkpointed = time.monotonic()

    @property
    def over(self) -> bool:
        """There is nothing left to do."""
        return self.state.solved or self.state.generation >= self.settings.generations

    @property
    def champion(self) -> Policy:
        """The best policy so far."""
        if self.state.champion is None:
            raise SirlError("there is no champion yet: a generation must end first, with a tree that validates.")
        return self.state.champion

    def plot(self) -> Drawing:
        """Its curves so far: a notebook shows them, ``save(path)`` keeps them as SVG and PNG."""
        if not self.history:
            raise SirlError("there is nothing to draw yet: a generation must end first.")
        return draw_curves(self.history.curve(self.config.env, self.config.method))

    def score(self, episodes: int = 100) -> Evaluation:
        """The champion on unseen episodes of the task as it was trained on; kept in the run directory."""
        found = evaluate(
            self.champion,
            self._env,
            episodes=episodes,
            workers=self.workers,
            hang_limit=self.options.hang_limit,
        )
        if self.directory is not None:
            self.directory.keep_score(Score(episodes, found.mean, found.std, found.returns.tolist()))
        return found


def train(env: Environment, *, on_generation: Callable[[Record], None] | None = None, **asked: Any) -> Training:
    """Train a policy, and return the run with its ``champion`` and ``history``.

    Args:
        env: a Gymnasium id, or a function that makes an environment.
        on_generation: called with each generation's record.
        asked: how the run is made and where it is computed, any field of :class:`sirl.Options` (method, seed, out,
            workers, simulator, hang_limit, features, actions, derive, env_options, checkpoint_minutes, engine,
            address); and any field of :class:`sirl.Settings`, over the preset's.
    """
    refuse_unused(asked)
    run = Training(env, **asked)
    for record in run.generations():
        if on_generation is not None:
            on_generation(record)
    return run


def _check_method(method: Method, settings: Settings) -> None:
    if method == "eldt" and settings.collaborative_iterations:
        raise SirlError(
            f"collaborative_iterations = {settings.collaborative_iterations} is not ELDT, which has no collaborative "
            "phase: leave it out, or use --method sirl-lb."
        )
    if method == "linear" and (settings.max_laws > 1 or settings.products):
        what = "products = True" if settings.products else f"max_laws = {settings.max_laws}"
        raise SirlError(f"{what} is not linear, which is one law of features: leave it out, or use --method laws.")
