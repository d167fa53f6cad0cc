"""The zoo: the best small policy of each task that was trained here, and a card for each; ``sirl.load("zoo:…")``."""

from __future__ import annotations

from importlib import resources

import msgspec


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a policy of the zoo."""

    env: str
    score: float
    std: float
    """Mean and standard deviation of the return over unseen episodes."""
    episodes: int
    """How many."""
    size: int
    """Numbers in it."""
    leaves: int
    trained_episodes: int
    trained_steps: int
    seconds: float
    """Of the run that it comes from, on one core."""
    seeds: list[float]
    """What each seed of the same command came to, on 100 unseen episodes; the best on validation is here."""
    command: str


def cards() -> dict[str, Card]:
    """All cards, by the policy's name."""
    content = (resources.files("sirl.zoo") / "cards.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, Card])
