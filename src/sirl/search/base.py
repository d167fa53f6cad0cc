"""What a search is to those who run one: a first state, and a step from one generation to the next."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from sirl.engine import Engine
from sirl.model.policy import Policy
from sirl.rollout.arena import Arena
from sirl.search.front import Front
from sirl.search.records import Record


class SearchState(Protocol):
    """What a generation leaves behind; the rest is the search's own affair."""

    @property
    def generation(self) -> int:
        """Generations completed."""
        ...

    @property
    def champion(self) -> Policy | None:
        """The best policy so far."""
        ...

    @property
    def solved(self) -> bool:
        """The champion has held what was asked for."""
        ...

    @property
    def trained(self) -> Policy | None:
        """Who has the best training score so far, which is the paper's champion; None where a search has none."""
        ...

    @property
    def front(self) -> Front:
        """Policies from the smallest to the best; empty where a search has none."""
        ...


State = TypeVar("State", bound=SearchState)


class Search(Protocol[State]):
    """A way to look for policies, in pure steps: the same state gives the same next one, on any engine."""

    def first_state(self) -> State:
        """Before the first generation."""
        ...

    def step(self, state: State, engine: Engine[Arena]) -> tuple[State, Record]:
        """The next generation, and what it was like."""
        ...

    def plan(self) -> str:
        """What a generation does, for whoever is to wait for it."""
        ...

    def warm_up(self, engine: Engine[Arena]) -> None:
        """Let the workers compile what a step needs."""
        ...

    def arrays(self, state: State) -> dict[str, Any]:
        """What a checkpoint keeps of a state in arrays, by name, besides generation and solved."""
        ...

    def policies(self, state: State) -> dict[str, Policy | None]:
        """What it keeps in policies, by name."""
        ...

    def restore(self, generation: int, solved: bool, arrays: dict[str, Any], policies: dict[str, Policy]) -> State:
        """The state again; raises ValueError or KeyError for one that no run of this search comes to."""
        ...
