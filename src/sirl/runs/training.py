"""The loop that ties evolution, engine and run directory together.

:func:`train` is the library's front door; :class:`Training` is the same in steps, for a command line that
shows what happens, or for a program that wants to look at every generation.
"""

from __future__ import annotations

import inspect as introspection
import math
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym

from sirl import __version__
from sirl.config import CheckpointMinutes, HangLimit, Method, Seed, Settings, Workers, checked, preset_settings
from sirl.engine import Engine, check_engine, make_engine
from sirl.errors import EnvironmentFailure, SirlError, did_you_mean
from sirl.model.policy import Origin, Policy
from sirl.rollout.warm_up import rehearse
from sirl.rollout.work import Arena
from sirl.runs.checkpoints import Checkpoints, to_state
from sirl.runs.directory import Config, Record, RunDirectory, read_config, writable
from sirl.runs.evaluation import Evaluation, evaluate
from sirl.search.evolution import State, first_state, next_generation
from sirl.search.population import make_problem
from sirl.simulators.environments import ArenaRecipe, SimulatorName, choose_backend, in_lockstep, usable_cores
from sirl.simulators.recipes import inspect, make_recipe, named_by_file


class Training:
    """A run that is ready to start: iterate over :meth:`generations`, then ask for :attr:`champion`."""

    def __init__(
        self,
        env: str | Callable[[], gym.Env[Any, Any]],
        *,
        method: Method = "sirl-lb",
        seed: int = 0,
        out: str | Path | None = None,
        workers: int | None = None,
        simulator: SimulatorName = "auto",
        hang_limit: float | None = None,
        features: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        env_options: dict[str, Any] | None = None,
        checkpoint_minutes: float = 0.0,
        engine: Literal["local", "ray"] = "local",
        address: str | None = None,
        **settings: Any,
    ):
        seed = checked("seed", seed, Seed)
        self.workers = checked("workers", workers, Workers) or usable_cores()
        self.hang_limit = checked("hang_limit", hang_limit, HangLimit)
        self.checkpoint_seconds = 60.0 * checked("checkpoint_minutes", checkpoint_minutes, CheckpointMinutes)
        _check_names(settings)
        self._env = env
        recipe = make_recipe(env, env_options)
        self.settings = preset_settings(recipe.name, method).replace(**settings)
        self.task, repeatable = inspect(
            recipe, features, actions, workers=self.workers, hang_limit=self.hang_limit, play=True
        )
        if not repeatable:
            warnings.warn(
                f"{recipe.name} gave two different episodes for one seed and the same actions, so this run can't be "
                "repeated or resumed exactly: let its reset(seed=…) seed all that it draws from.",
                stacklevel=2,
            )
        backend = choose_backend(recipe, simulator)
        self.problem = make_problem(self.task, self.settings, seed, in_lockstep(backend))
        self.config = Config(
            env=recipe.name,
            method=method,
            seed=seed,
            simulator=backend,
            sirl=__version__,
            features=self.task.features,
            actions=self.task.action_names,
            settings=self.settings,
            env_options=recipe.options,
            versions=versions(),
        )
        self.engine, self.address = check_engine(engine, address), address
        self.state = first_state(self.problem)
        self.history: list[Record] = []
        self._checkpointed = -math.inf  # the first generation is kept at once, whatever the minutes
        self.directory = RunDirectory.create(out, self.config) if out is not None else None
        if self.directory is not None:
            self._checkpoints = Checkpoints(self.directory.checkpoints, self.config.digest())
        self._arena = ArenaRecipe(recipe, self.problem.menu, backend, self.settings.max_steps)

    @staticmethod
    def resume(
        path: str | Path,
        env: str | Callable[[], gym.Env[Any, Any]] | None = None,
        *,
        workers: int | None = None,
        hang_limit: float | None = None,
        checkpoint_minutes: float = 0.0,
        engine: Literal["local", "ray"] = "local",
        address: str | None = None,
        generations: int | None = None,
        stop_at: float | None = None,
    ) -> Training:
        """A run of an earlier process that goes on from its last good checkpoint, to the same end.

        Args:
            path: its run directory.
            env: its environment again: the function that makes it if it was not trained on a Gymnasium id, or its id
                if that names a module, which is not imported just because a file says so.
            workers: see :func:`train`.
            hang_limit: see :func:`train`.
            checkpoint_minutes: see :func:`train`.
            engine: see :func:`train`.
            address: see :func:`train`.
            generations: go on to so many, if not to as many as at first.
            stop_at: another goal than at first.
        """
        config = read_config(path)
        changes = {"generations": generations, "stop_at": stop_at}
        settings = config.settings.replace(**{name: value for name, value in changes.items() if value is not None})
        run = Training(
            env or named_by_file(config.env, f"write `sirl train {config.env} --resume {path}`"),
            method=config.method,
            seed=config.seed,
            workers=workers,
            simulator=config.simulator,
            hang_limit=hang_limit,
            features=config.features,
            actions=config.actions,
            env_options=config.env_options,
            checkpoint_minutes=checkpoint_minutes,
            engine=engine,
            address=address,
            **{name: getattr(settings, name) for name in settings.__struct_fields__},
        )
        run.go_on(path)
        return run

    def go_on(self, path: str | Path) -> None:
        """Take up the state of the last good checkpoint in the directory of this same run, and let its files agree."""
        directory, earlier = RunDirectory(Path(path)), read_config(path)
        directory.lock()
        if self.config.digest() != earlier.digest():
            raise SirlError(
                f"{directory.path} holds another run, of another task, seed or settings: give what it was started with."
            )
        current = {"sirl": self.config.sirl, **self.config.versions}
        for name, version in {"sirl": earlier.sirl, **earlier.versions}.items():
            if current.get(name) != version:
                now = current.get(name, "none")
                warnings.warn(
                    f"the run was started with {name} {version} and goes on with {now}: its result may differ.",
                    stacklevel=2,
                )
        kept = Checkpoints(directory.checkpoints, self.config.digest())
        checkpoint, damaged = kept.load_latest(self.problem)
        if checkpoint is None and damaged:  # to start over would cost the champion and the history that are there
            raise SirlError(f"{damaged[0]} There is none: restore one, or train again in another directory.")
        with writable(directory.checkpoints):
            kept.set_damaged_aside()
        self.directory, self._checkpoints = directory, kept
        if checkpoint is not None:
            self.state, self.history = to_state(checkpoint), checkpoint.history
        champion = None if self.state.champion is None else self.champion
        for text in damaged + directory.agree(champion, self.history):
            warnings.warn(text, stacklevel=2)
        directory.configure(self.config)

    def generations(self) -> Iterator[Record]:
        """Run to the end, one generation a turn; what is recorded is safe before it is told."""
        with self._make_engine() as engine:
            try:
                if not self.over and self.engine == "local":  # the machines of a cluster have disks of their own
                    rehearse(self.problem, engine)
                while not self.over:
                    start = time.perf_counter()
                    before = self.state
                    self.state, summary = next_generation(before, self.problem, engine)
                    seconds = time.perf_counter() - start
                    yield self._keep(before, Record.of(summary, self.state.champion, seconds))
            except EnvironmentFailure as failure:
                if self.directory is not None:
                    self.directory.note(f"generation {self.state.generation + 1}", f"{failure}\n{failure.details}")
                raise
            finally:
                if self.directory is not None:
                    self.directory.unlock()

    def _make_engine(self) -> Engine[Arena]:
        return make_engine(self.engine, self._arena, self.workers, self.address, self.hang_limit)

    def _keep(self, before: State, record: Record) -> Record:
        self.history.append(record)
        if self.directory is not None:
            self._checkpoint(self.directory)  # first, so that champion and history are never ahead of what can go on
            if self.state.champion is not before.champion:
                self.directory.crown(self.champion)
            self.directory.add(record)
            if record.broke:
                who = ", ".join(map(str, record.broke))
                self.directory.note(
                    f"generation {record.generation + 1}",
                    f"no fitness for individual {who}: the simulation lost its state under its actions",
                )
        return record

    def _checkpoint(self, directory: RunDirectory) -> None:
        if self.over or time.monotonic() - self._checkpointed >= self.checkpoint_seconds:
            with writable(directory.checkpoints):
                champion = None if self.state.champion is None else self.champion
                self._checkpoints.save(self.state, champion, self.history)
            self._checkpointed = time.monotonic()

    @property
    def over(self) -> bool:
        """There is nothing left to do."""
        return self.state.solved or self.state.generation >= self.settings.generations

    def score(self, episodes: int = 100) -> Evaluation:
        """The champion on unseen episodes of the task as it was trained on."""
        return evaluate(
            self.champion,
            self._env,
            episodes=episodes,
            workers=self.workers,
            hang_limit=self.hang_limit,
            max_steps=self.settings.max_steps,
            env_options=self.config.env_options,
        )

    @property
    def champion(self) -> Policy:
        """The best policy so far."""
        champion = self.state.champion
        if champion is None:
            raise SirlError("there is no champion yet: a generation must end first, with a tree that validates.")
        origin = Origin(
            method=self.config.method,
            seed=self.config.seed,
            generation=champion.generation,
            individual=champion.individual,
            training_score=champion.training_score,
            validation_score=champion.validation_score,
            sirl=__version__,
        )
        return Policy(self.task, self.problem.menu, champion.tree, origin)


def train(
    env: str | Callable[[], gym.Env[Any, Any]],
    *,
    method: Method = "sirl-lb",
    seed: int = 0,
    out: str | Path | None = None,
    workers: int | None = None,
    simulator: SimulatorName = "auto",
    hang_limit: float | None = None,
    features: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    env_options: dict[str, Any] | None = None,
    checkpoint_minutes: float = 0.0,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    on_generation: Callable[[Record], None] | None = None,
    **settings: Any,
) -> Training:
    """Train a policy, and return the run with its ``champion`` and ``history``.

    Args:
        env: a Gymnasium id, or a function that makes an environment.
        method: the preset to start from.
        seed: same seed, same result, on any number of workers.
        out: a new directory for config, history and champion; nothing is written without it.
        workers: how much runs at the same time; all usable cores if not given.
        simulator: "auto" takes MuJoCo itself for the tasks that are its own, Gymnasium for all others.
        hang_limit: seconds after which a stretch of work in an environment counts as hung.
        features: names of the features, in order.
        actions: names of the actions (Discrete) or of the action's components.
        env_options: keyword arguments of the environment.
        checkpoint_minutes: keep a checkpoint so often; 0 keeps one after every generation.
        engine: where the work runs: on this machine, or on a Ray cluster. The result is the same.
        address: of the Ray cluster; "auto" for the one that this machine belongs to.
        on_generation: called with each generation's record.
        settings: any field of :class:`sirl.Settings`, over the preset's.
    """
    run = Training(
        env,
        method=method,
        seed=seed,
        out=out,
        workers=workers,
        simulator=simulator,
        hang_limit=hang_limit,
        features=features,
        actions=actions,
        env_options=env_options,
        checkpoint_minutes=checkpoint_minutes,
        engine=engine,
        address=address,
        **settings,
    )
    for record in run.generations():
        if on_generation is not None:
            on_generation(record)
    return run


def _check_names(settings: dict[str, Any]) -> None:
    """Raise for a keyword that is no setting; it may be a misspelt argument of :func:`train` as well."""
    known = [*Settings.__struct_fields__, *introspection.signature(train).parameters]
    for name in settings:
        if name not in Settings.__struct_fields__:
            raise SirlError(f"there is no setting {name!r}{did_you_mean(name, known) or '; see help(sirl.Settings).'}")


def versions() -> dict[str, str]:
    """What a result is computed with: other versions may give other bits."""
    from importlib.metadata import version

    from llvmlite import binding

    packages = ("numpy", "numba", "gymnasium", "mujoco", "box2d")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "cpu": f"{platform.machine()} {binding.get_host_cpu_name()}",
    }
