"""The commands of the command line: each calls the library and prints what came of it."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from sirl.cli.progress import duration, show_progress
from sirl.config import Settings
from sirl.errors import EnvironmentFailure, SirlError, WriteFailure
from sirl.model.policy import Policy, load
from sirl.model.text import rules
from sirl.rollout.warm_up import is_rehearsed
from sirl.runs import evaluation
from sirl.runs.directory import fresh_path, read_config
from sirl.runs.evaluation import Evaluation
from sirl.runs.training import Training

_TRAIN_DEFAULTS: dict[str, Any] = {
    "method": "sirl-lb",
    "seed": 0,
    "simulator": "auto",
    "env_option": [],
    "engine": "local",
}
"""Of the options of ``train`` that are not None if they are not given."""

_STOPPING = 5.0
"""Seconds in which a run that was told to stop does so; to be told again in the midst of that could break it off."""


def train(options: Namespace) -> int:
    """Train a policy, or go on with a run."""
    with _stops_on_signals():
        run = _resumed_run(options) if options.resume else _new_run(options)
        _announce(run)
        try:
            for _ in show_progress(run.generations(), run.settings.generations, run.history):
                pass
            _report(run)
        except (KeyboardInterrupt, EnvironmentFailure, WriteFailure) as reason:
            return _report_stop(run, reason)
    return 0


def _new_run(options: Namespace) -> Training:
    if options.env is None:
        raise SirlError("name the task to train on, such as CartPole-v1, or the run to go on with: --resume DIR.")
    settings = {name: value for name, value in vars(options).items() if name in Settings.__struct_fields__}
    base = f"runs/{options.env.replace('/', '-').replace(':', '-')}-{options.method}-{options.seed}"
    return Training(
        options.env,
        method=options.method,
        seed=options.seed,
        out=options.out or fresh_path(base),
        workers=options.workers,
        simulator=options.simulator,
        hang_limit=options.hang_limit,
        features=options.features,
        actions=options.actions,
        env_options=dict(options.env_option),
        checkpoint_minutes=options.checkpoint_minutes,
        engine=options.engine,
        address=options.address,
        **settings,
    )


def _resumed_run(options: Namespace) -> Training:
    """The run of ``--resume``; what it was asked is in its config.toml and can't be asked anew."""
    given = {name for name, value in vars(options).items() if value != _TRAIN_DEFAULTS.get(name)}
    free = {
        "command",
        "env",
        "resume",
        "workers",
        "hang_limit",
        "checkpoint_minutes",
        "engine",
        "address",
        "generations",
        "stop_at",
    }
    if fixed := sorted(given - free):
        raise SirlError(
            f"a run goes on with what it was first asked, so --resume can't be given {', '.join(fixed)}: leave it out, "
            "or start a new run."
        )
    return Training.resume(
        options.resume,
        options.env,
        workers=options.workers,
        hang_limit=options.hang_limit,
        checkpoint_minutes=options.checkpoint_minutes,
        engine=options.engine,
        address=options.address,
        generations=getattr(options, "generations", None),
        stop_at=getattr(options, "stop_at", None),
    )


class _Terminated(KeyboardInterrupt):
    """SIGTERM: stop as on Ctrl-C."""


@contextmanager
def _stops_on_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM stop what is under way; those that follow soon after the first say nothing new."""
    last = -math.inf

    def stop(number: int, _: object) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > _STOPPING:
            last = now
            raise _Terminated if number == signal.SIGTERM else KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    usual = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _announce(run: Training) -> None:
    config, settings = run.config, run.settings
    print(
        f"{config.method} on {config.env}, seed {config.seed}: {settings.population} trees, up to "
        f"{_count(settings.generations, 'generation')} of {_count(settings.episodes_per_generation(), 'episode')}, "
        f"{_count(run.workers, 'worker')}, {config.simulator} simulator → {_place(run)}",
        flush=True,
    )
    if run.engine == "local" and not is_rehearsed(run.problem):
        print("compiling the loops for the first time, which takes some seconds", flush=True)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _place(run: Training) -> str:
    assert run.directory is not None  # the command line always gives one
    return str(run.directory.path)


def _report(run: Training) -> None:
    policy, history = run.champion, run.history
    print(f"\n{policy}\n")
    try:
        score = run.score()
    except EnvironmentFailure as failure:
        if run.directory is not None:
            run.directory.note("evaluation", f"{failure}\n{failure.details}")
        raise
    _print_score(policy, score, policy.task.env)
    episodes = sum(r.episodes for r in history)
    checks = sum(r.validation.episodes for r in history)
    print(
        f"cost   {_count(len(history), 'generation')}, {_count(episodes, 'episode')} and {checks:,} more to choose "
        f"the champion, {sum(r.steps for r in history):,} steps, {duration(sum(r.seconds for r in history))}"
    )
    if run.settings.stop_at is not None and not run.state.solved:
        print(f"note   no champion held {run.settings.stop_at:g} yet: raise --generations, or try another --seed")
    where = _place(run)
    named = f"--env {run.config.env} " if ":" in run.config.env else ""
    print(f"\nnext   sirl show {where}\n       sirl evaluate {where} {named}--episodes 1000")


def _report_stop(run: Training, reason: BaseException) -> int:
    where = _place(run)
    if run.state.champion is None:
        kept = "no generation had ended, so there is no champion yet"
    else:
        kept = f"the champion of {_count(run.state.generation, 'generation')} is kept in {where}/champion.json"
    named = f"{run.config.env} " if ":" in run.config.env else ""
    go_on = f"sirl: to go on: sirl train {named}--resume {where}"
    if isinstance(reason, KeyboardInterrupt):
        print(f"\nsirl: stopped; {kept}.\n{go_on}", file=sys.stderr)
        return 143 if isinstance(reason, _Terminated) else 130
    if isinstance(reason, WriteFailure):
        print(f"sirl: error: {reason}\nsirl: what was written before is kept.\n{go_on}", file=sys.stderr)
        return 1
    print(f"sirl: error: {reason}\nsirl: {kept}; what happened is in {where}/log.txt.\n{go_on}", file=sys.stderr)
    return 1


def evaluate(options: Namespace) -> int:
    """Score a policy."""
    policy = load(options.model)
    env_options, max_steps = _as_trained(options) if options.env in (None, policy.task.env) else ({}, None)
    with redirect_stdout(sys.stderr):  # an environment may print; what is printed here may be read by a program
        score = evaluation.evaluate(
            policy,
            options.env,
            episodes=options.episodes,
            seed=options.seed,
            workers=options.workers,
            max_steps=options.max_steps if options.max_steps is not None else max_steps,
            env_options=env_options | dict(options.env_option),
        )
    env = options.env or policy.task.env
    if options.json:
        print(
            json.dumps(
                {
                    "model": options.model,
                    "env": env,
                    "seed": options.seed,
                    "mean": score.mean,
                    "std": score.std,
                    "leaves": policy.tree.n_leaves,
                    "depth": policy.tree.depth,
                    "returns": score.returns.tolist(),
                    "lengths": score.lengths.tolist(),
                }
            )
        )
        return 0
    _print_score(policy, score, env)
    if policy.origin.published_score is not None:
        mean, std = policy.origin.published_score
        print(f"paper  {mean:.2f} ± {std:.2f}")
    return 0


def _as_trained(options: Namespace) -> tuple[dict[str, Any], int | None]:
    """The environment's options and the limit of steps that a run directory was trained with."""
    if not (Path(options.model) / "config.toml").exists():
        return {}, None
    config = read_config(options.model)
    return config.env_options, config.settings.max_steps


def _print_score(policy: Policy, score: Evaluation, env: str) -> None:
    print(
        f"score  {score.mean:.2f} ± {score.std:.2f} on {_count(len(score.returns), 'unseen episode')} of {env} "
        f"(worst {score.returns.min():.2f}, best {score.returns.max():.2f}, mean length {score.lengths.mean():.0f})\n"
        f"size   {_size(policy)}"
    )


def _size(policy: Policy) -> str:
    leaves = policy.tree.n_leaves
    return f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {policy.tree.depth}"


def show(options: Namespace) -> int:
    """Print a policy."""
    policy = load(options.model)
    origin = policy.origin
    print(f"{policy.task.env}: {_size(policy)}")
    facts = [
        origin.method,
        origin.note,
        f"seed {origin.seed}" if origin.seed is not None else "",
        f"generation {origin.generation + 1}" if origin.generation is not None else "",
        f"validated at {origin.validation_score:.2f}" if origin.validation_score is not None else "",
        "paper's score {:.2f} ± {:.2f}".format(*origin.published_score) if origin.published_score else "",
    ]
    if any(facts):
        print(", ".join(fact for fact in facts if fact))
    print(f"\n{policy}\n\n{rules(policy.tree, policy.task.features, policy.menu)}")
    return 0


def bench(options: Namespace) -> int:
    """Measure speed."""
    from sirl.benchmarking.sections import run

    run(options.only, options.quick, Path(options.out), options.plain)
    print(f"saved in {options.out}/bench.json and bench.md")
    return 0
