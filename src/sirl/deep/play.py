"""Episodes that networks learn from: all of them in one stream by voting, or each in one of its own.

One loop serves the collaborative phase, the individual phase, the plain grid search and a single DQN. In a step every
stream advances by one transition, and every network makes one update. A network that diverges is set aside, and the
rest goes on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.deep.crew import Crew
from sirl.deep.policy import Arrays
from sirl.deep.records import Config, Standing
from sirl.deep.replay import Replay
from sirl.deep.settings import DeepSettings
from sirl.errors import EnvironmentFailure, SirlError
from sirl.jit import compiled
from sirl.keys import Key, Keys, episode_seeds, fold_all, uniforms
from sirl.learning.q_learning import DRAWS_PER_CHOICE, choose
from sirl.learning.voting import ELECTING, count
from sirl.simulators import Simulator, Step

_VOTE = np.array([2**40])
"""Which draws of an episode decide votes; no network has this number."""


class Ended(NamedTuple):
    """An episode that is over."""

    stream: int
    """The network that played it, or 0 if all did."""
    episode_return: float


class Play:
    """One phase under way.

    Args:
        crew: who plays and learns.
        replay: what they learn from; its streams are those of the phase.
        simulator: where episodes run, with a slot for each stream.
        actions: what the environment is given for each choice, (n_actions,).
        settings: of the run.
        key: of the phase.
        n_episodes: of each stream.
        together: all networks share one stream.
        steps: that the networks have lived through before.
    """

    def __init__(
        self,
        crew: Crew,
        replay: Replay,
        simulator: Simulator,
        actions: NDArray[np.int64],
        settings: DeepSettings,
        key: Key,
        n_episodes: int,
        together: bool,
        steps: int = 0,
    ):
        self.crew, self.replay, self.simulator, self.settings = crew, replay, simulator, settings
        self.actions, self.n_episodes, self.together, self.steps = actions, n_episodes, together, steps
        self.weights = np.ones(len(crew))
        """How much each network's vote counts, (n,)."""
        self.streams = np.zeros(1, np.int64) if together else crew.ids
        """Number of each stream that still runs, (n_streams,)."""
        self.returns: dict[int, list[float]] = {int(stream): [] for stream in self.streams}
        """Of each stream's finished episodes."""
        self.taken: list[list[int]] = [[] for _ in self.streams]
        """Choices in the episode under way: with its seed, all that its state depends on."""
        self.finished: dict[int, Arrays] = {}
        """Networks that have played all their episodes."""
        self.diverged: dict[int, int] = {}
        """Networks that came to NaN, and after how many steps."""
        self._keys = fold_all(key, self.streams)
        self._slots = np.arange(len(self.streams), dtype=np.int32)
        self._score = np.zeros(len(self.streams))
        self._observations = np.empty((len(self.streams), crew.n_features))
        self._begin(np.arange(len(self.streams)))

    @property
    def is_over(self) -> bool:
        """Whether every stream has had its episodes."""
        return not len(self.streams)

    @property
    def epsilon(self) -> float:
        """The chance to explore, by now."""
        gone = min(self.steps / self.settings.exploration_steps, 1.0) if self.settings.exploration_steps else 1.0
        return 1.0 + gone * (self.settings.epsilon - 1.0)

    def step(self) -> list[Ended]:
        """Advance every stream by one transition and every network by one update; episodes that ended."""
        choices = self._vote() if self.together else self._choose()
        if self.is_over:  # the last network has diverged
            return []
        out = self.simulator.step(self._slots, self.actions[choices])
        self.replay.add(self._observations, choices, out.rewards, out.observations, out.terminated)
        self.steps += 1
        if self.replay.size >= self.settings.learning_starts:
            self.crew.learn(self.replay, self._sources())
        for taken, choice in zip(self.taken, choices.tolist(), strict=True):
            taken.append(choice)
        self._score += out.rewards
        self._observations = out.observations
        return self._end(out)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Go on with these networks (n,) alone."""
        self.crew, self.weights = self.crew.kept(rows), self.weights[rows]
        if not self.together:
            self.streams, self._keys, self._slots = self.streams[rows], self._keys[rows], self._slots[rows]
            self._score, self._observations = self._score[rows], self._observations[rows]
            self.taken = [taken for taken, stays in zip(self.taken, rows, strict=True) if stays]
            self.replay.keep(rows)
        self._set_voter_keys()

    def rewind(self, taken: list[list[int]]) -> None:
        """Bring each stream to where it was in its episode after these choices."""
        self._begin(np.arange(len(self.streams)))
        for place, choices in enumerate(taken):
            slot = self._slots[place : place + 1]
            for choice in choices:
                out = self.simulator.step(slot, self.actions[[choice]])
                self._observations[place] = out.observations[0]
                self._score[place] += out.rewards[0]
        self.taken = taken

    def _sources(self) -> NDArray[np.int64]:
        """The stream of the replay that each network learns from, (n,)."""
        return np.zeros(len(self.crew), np.int64) if self.together else np.arange(len(self.crew))

    def _choose(self) -> NDArray[np.int64]:
        """A choice of each network for its own stream (n_streams,)."""
        q_values = self.crew.q_values(self._observations)
        sound = _are_finite(q_values)
        if not sound.all():
            self._set_aside(sound)
            q_values = q_values[sound]
        steps = np.array([len(taken) for taken in self.taken], np.int64)
        return np.asarray(_propose(q_values, self.epsilon, self._voter_keys, steps))

    def _vote(self) -> NDArray[np.int64]:
        """One choice of all networks (1,): Algorithm 2, "Voting".

        It is the group that explores, after the vote: what each voter would try is lost in a majority.
        """
        first = len(self.taken[0]) * DRAWS_PER_CHOICE
        explore, action, chance = uniforms(self._vote_key, np.arange(first, first + DRAWS_PER_CHOICE))
        if explore < self.epsilon:
            return np.array([int(action * self.crew.n_actions)])
        while True:
            if self.settings.voting in ELECTING:
                voters = ELECTING[self.settings.voting](self.weights, np.array([chance]))
                q_values = self.crew.q_values_of(int(voters[0]), self._observations[0])
            else:
                voters = np.arange(len(self.crew))
                q_values = self.crew.q_values(np.repeat(self._observations, len(voters), axis=0))
            sound = _are_finite(q_values)
            if sound.all():
                break
            kept = np.ones(len(self.crew), np.bool_)
            kept[voters[~sound]] = False
            self._set_aside(kept)
        proposals = q_values.argmax(axis=1)
        if self.settings.voting in ELECTING:
            return np.asarray(proposals)
        return np.array([count(proposals.astype(np.int32), self.weights, self.crew.n_actions, chance)])

    def _set_aside(self, sound: NDArray[np.bool_]) -> None:
        """Drop the networks that have diverged, all that are not ``sound`` (n,)."""
        self.diverged |= dict.fromkeys(self.crew.ids[~sound].tolist(), self.steps)
        if self.together and not sound.any():
            raise SirlError(
                f"all networks diverged to NaN, the last in step {self.steps:,}: use smaller values of learning_rate."
            )
        self.keep(sound)

    def _end(self, out: Step) -> list[Ended]:
        """Count the episodes that are over, begin the next ones, and let go of streams that have none left."""
        if out.broken is not None and out.broken.any():
            raise EnvironmentFailure("the simulation lost its state: its actions are more than it can follow")
        over = np.flatnonzero(out.terminated | out.truncated)
        if not over.size:
            return []
        ended = [Ended(int(self.streams[s]), float(self._score[s])) for s in over]
        for stream, episode_return in ended:
            self.returns[stream].append(episode_return)
        more = np.array([len(self.returns[int(self.streams[s])]) < self.n_episodes for s in over])
        self._begin(over[more])
        if not more.all():
            self._finish(over[~more])
        return ended

    def _finish(self, done: NDArray[np.int64]) -> None:
        """Keep what the networks of streams ``done`` have learned, and go on without them."""
        if self.together:
            self.streams = self.streams[:0]
            return
        self.finished |= {int(self.streams[row]): self.crew.network(row) for row in done.tolist()}
        self.keep(~np.isin(np.arange(len(self.streams)), done))

    def _begin(self, begins: NDArray[np.int64]) -> None:
        """Start the next episode of the streams at these places (n,)."""
        if begins.size:
            keys = self._episode_keys()[begins]
            self._observations[begins] = self.simulator.reset(self._slots[begins], episode_seeds(keys))
            self._score[begins] = 0.0
            for place in begins.tolist():
                self.taken[place] = []
            self._set_voter_keys()

    def _episode_keys(self) -> Keys:
        """The key of each stream's episode under way, (n_streams,)."""
        return fold_all(self._keys, np.array([len(self.returns[int(stream)]) for stream in self.streams]))

    def _set_voter_keys(self) -> None:
        """Keys for each network's choices in the episode under way, and for the votes."""
        keys = self._episode_keys()
        self._voter_keys = fold_all(keys, self.crew.ids + 1)
        self._vote_key = fold_all(keys[:1], _VOTE)


def standing(play: Play, config: Config, shared: list[float], n_left: int, seconds: float) -> Standing:
    """Where a search stands.

    Args:
        play: the phase under way.
        config: what was asked.
        shared: returns of the collaborative phase, if that is over.
        n_left: networks that left before this phase, or in it by halving.
        seconds: since the search began.
    """
    recent = [value for returns in play.returns.values() for value in returns[-10:]]
    own = 0 if play.together else sum(map(len, play.returns.values()))
    n_going = len(config.grid) - n_left
    return Standing(
        "collaborative" if play.together else "individual",
        (len(play.returns[0]) if play.together else len(shared)) + own,
        config.individual_episodes * n_going + config.collaborative_episodes,
        n_going - len(play.diverged),
        float(np.mean(recent)) if recent else float("nan"),
        seconds,
    )


def _are_finite(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(rows).all(axis=1))


@compiled
def _propose(q_values: Any, epsilon: float, keys: Any, steps: Any) -> Any:
    """An ε-greedy choice of each network (n,), as leaves make it."""
    choices = np.empty(len(q_values), np.int64)
    for i in range(len(q_values)):
        choices[i] = choose(q_values[i], epsilon, keys[i], steps[i] * DRAWS_PER_CHOICE)
    return choices
