"""How fast networks learn as one batch, and whether they learn what Stable-Baselines3's learn.

    python experiments/deep.py speed  --out runs/deep
    python experiments/deep.py stable --out runs/deep --seeds 5

Each prints a Markdown table and writes it to ``--out``; ``experiments/into_docs.py`` puts it into docs/deep.md. Times
are CPU seconds of one thread, taken in turns, so that what else the machine does matters little. ``stable`` needs the
extra ``test``.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sirl.deep.crew import Crew, undisturbed
from sirl.deep.episodes import make_simulator
from sirl.deep.grid import Point, make_grid
from sirl.deep.play import Play
from sirl.deep.ranking import interval
from sirl.deep.replay import Replay
from sirl.deep.settings import make_settings
from sirl.keys import Stream, root
from sirl.simulators.environments import make_recipe

ENV, N_FEATURES, N_ACTIONS = "CartPole-v1", 4, 2


def begin(points: list[Point], seed: int = 0, **settings: object) -> Play:
    """All of these networks in one stream, without an end."""
    crew = Crew(points, np.arange(len(points)), seed, N_FEATURES, N_ACTIONS)
    simulator = make_simulator(make_recipe(ENV), 1, None)
    choices = np.arange(N_ACTIONS)
    key = root(seed, Stream.COLLABORATIVE, 0)
    return Play(crew, Replay(50_000, 1, N_FEATURES), simulator, choices, make_settings(**settings), key, 10**9, True)


def in_turns(works: dict[str, Callable[[], None]], rounds: int, repeats: int) -> dict[str, float]:
    """Median CPU microseconds of each work, which take turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            began = time.process_time()
            for _ in range(repeats):
                work()
            times[name].append((time.process_time() - began) / repeats * 1e6)
    return {name: float(np.median(values)) for name, values in times.items()}


def speed(options: argparse.Namespace) -> str:
    """Whole steps, and updates alone."""
    grid = make_grid()
    alone = {point.hidden: point for point in grid if point.batch_size == 128 and point.target_period == 100}
    plays = {"32 networks, random vote": begin(grid), "32 networks, majority": begin(grid, voting="majority")}
    plays |= {f"one network, {'x'.join(map(str, hidden))}": begin([point]) for hidden, point in alone.items()}
    with undisturbed():
        for play in plays.values():
            for _ in range(700):
                play.step()
        steps = in_turns({name: play.step for name, play in plays.items()}, options.rounds, 300)
        crew = plays["32 networks, random vote"].crew
        replay = plays["32 networks, random vote"].replay
        streams = np.zeros(len(grid), np.int64)
        singles = [Crew([point], np.array([n]), 0, N_FEATURES, N_ACTIONS) for n, point in enumerate(grid)]

        def batched() -> None:
            crew.learn(replay, streams)

        def one_by_one() -> None:
            for single in singles:
                single.learn(replay, streams[:1])

        updates = in_turns({"batched": batched, "loop": one_by_one}, options.rounds, 30)
    updates |= in_turns({"autograd": _loop_of_modules(grid, replay)}, max(options.rounds // 3, 3), 5)
    mean_alone = np.mean([time for name, time in steps.items() if name.startswith("one")])
    rows = ["| a step: environment, choice, update | CPU µs | ÷ one network (mean of four shapes) |", "|---|---|---|"]
    rows += [f"| {name} | {time:,.0f} | {time / mean_alone:.2f} |" for name, time in steps.items()]
    rows += ["", "| one update of all 32 networks | CPU µs | ÷ batched |", "|---|---|---|"]
    labels = {
        "batched": "batched by shape",
        "loop": "the same code, one network after another",
        "autograd": "32 `torch.nn` modules with autograd and `torch.optim.Adam`, one after another",
    }
    rows += [f"| {labels[name]} | {time:,.0f} | {time / updates['batched']:.1f} |" for name, time in updates.items()]
    return "\n".join(rows)


def _loop_of_modules(grid: list[Point], replay: Replay) -> Callable[[], None]:
    """The usual way: a Python loop over models, each with an optimiser of its own."""
    torch.set_num_threads(1)
    columns = [torch.from_numpy(column[:, 0].copy()) for column in replay.known()]
    observations, following, actions, rewards, final = columns

    def model(point: Point) -> torch.nn.Module:
        widths = (N_FEATURES, *point.hidden, N_ACTIONS)
        parts = [part for i, o in itertools.pairwise(widths) for part in (torch.nn.Linear(i, o), torch.nn.ReLU())]
        return torch.nn.Sequential(*parts[:-1])

    models = [(model(point), model(point), point) for point in grid]
    optimisers = [torch.optim.Adam(m.parameters(), point.learning_rate) for m, _, point in models]

    def update() -> None:
        for (online, target, point), optimiser in zip(models, optimisers, strict=True):
            drawn = torch.randint(len(rewards), (point.batch_size,))
            with torch.no_grad():
                future = target(following[drawn]).amax(1) * ~final[drawn]
            taken = online(observations[drawn]).gather(1, actions[drawn, None]).squeeze(1)
            loss = torch.nn.functional.smooth_l1_loss(taken, rewards[drawn] + point.discount * future)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return update


def stable(options: argparse.Namespace) -> str:
    """One DQN alone, ours and Stable-Baselines3's, with the same hyperparameters and as many steps."""
    point = Point(learning_rate=1e-3, hidden=(16, 16, 16), batch_size=128, target_period=1000, discount=0.99)
    makers = {"sirl": _ours, "stable-baselines3": _theirs}
    rows = [
        f"| {point}, {options.steps:,} steps, {options.seeds} seeds | episodes | mean return, second half | last 10 "
        "episodes | by seed | CPU s a run |",
        "|---|---|---|---|---|---|",
    ]
    for name, make in makers.items():
        began = time.process_time()
        runs = [make(point, seed, options.steps) for seed in range(options.seeds)]
        seconds = (time.process_time() - began) / options.seeds
        halves = np.array([_second_half(returns) for returns in runs])
        lasts = np.array([returns[-10:].mean() for returns in runs])
        low, high = interval(lasts)
        rows.append(
            f"| {name} | {np.mean([len(r) for r in runs]):.0f} | {halves.mean():.1f} | {lasts.mean():.1f} "
            f"({low:.1f} to {high:.1f}) | {', '.join(f'{last:.0f}' for last in lasts)} | {seconds:.0f} |"
        )
    return "\n".join(rows)


def _second_half(returns: NDArray[np.float64]) -> float:
    """Mean return of the episodes in the second half of all steps; on CartPole a return is a length."""
    return float(returns[np.cumsum(returns) > returns.sum() / 2].mean())


def _ours(point: Point, seed: int, steps: int) -> NDArray[np.float64]:
    play = begin([point], seed)
    with undisturbed():
        for _ in range(steps):
            play.step()
    return np.array(play.returns[0])


def _theirs(point: Point, seed: int, steps: int) -> NDArray[np.float64]:
    import gymnasium as gym
    from stable_baselines3 import DQN
    from stable_baselines3.common.monitor import Monitor

    torch.set_num_threads(1)
    env = Monitor(gym.make(ENV))
    settings = make_settings()
    DQN(
        "MlpPolicy",
        env,
        learning_rate=point.learning_rate,
        buffer_size=settings.replay_size,
        learning_starts=settings.learning_starts,
        batch_size=point.batch_size,
        gamma=point.discount,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=point.target_period,
        exploration_fraction=settings.exploration_steps / steps,
        exploration_final_eps=settings.epsilon,
        max_grad_norm=1e9,
        policy_kwargs={"net_arch": list(point.hidden)},
        seed=seed,
        device="cpu",
    ).learn(steps)
    return np.array(env.get_episode_rewards())


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "stable"))
    parser.add_argument("--out", type=Path, default=Path("runs/deep"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args()
    text = {"speed": speed, "stable": stable}[options.what](options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{options.what}.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
