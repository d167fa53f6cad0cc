"""Derived features where episodes run: behind a simulator in lockstep, and inside compiled loops, with the same bits.

The third place is ``Task.extended``, which serves ``predict``. All three run the same program step by step, and no
compiler may join a multiplication and an addition that stand in different steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sirl.arrays import Floats, Ints, Seeds
from sirl.jit import implemented, part
from sirl.model.derived import ADD, DIVIDE, FEATURE, MULTIPLY, NEGATE, NUMBER, POWER, SUBTRACT, Program
from sirl.model.task import Task
from sirl.simulators import Ids, Simulator, Step


class Programs(NamedTuple):
    """The programs of all derived features one after another, for compiled loops."""

    codes: Ints
    """(n_steps,)"""
    values: Floats
    """(n_steps,)"""
    ends: Ints
    """(n_derived,): where the program of each ends."""
    stack: Floats
    """(depth,): room to compute in."""


class Nothing(NamedTuple):
    """No programs: of a type of its own, so that loops where nothing is derived are compiled as if nothing could be."""

    none: int = 0


def make_programs(task: Task | None) -> Programs | Nothing:
    """The programs of a task; without one, or where nothing is derived, there is nothing to do."""
    if task is None or not task.derived:
        return Nothing()
    return pack_programs([definition.program for definition in task.definitions])


def pack_programs(programs: Sequence[Program]) -> Programs:
    """Programs for compiled loops."""
    steps = [step for program in programs for step in program]
    return Programs(
        np.array([step.code for step in steps], dtype=np.int64),
        np.array([step.value for step in steps], dtype=np.float64),
        np.cumsum([len(program) for program in programs], dtype=np.int64),
        np.zeros(max(len(program) for program in programs)),
    )


def derive(programs: Any, row: Any) -> None:  # noqa: ARG001
    """Write the derived features of an observation, the last of ``row`` (n_features,)."""
    raise TypeError(programs)


_derives = implemented(derive)


@_derives(Nothing)
def _derive_nothing(programs: Any, row: Any) -> None:
    pass


@_derives(Programs)
def _derive_all(programs: Any, row: Any) -> None:
    step, first = 0, len(row) - len(programs.ends)
    for number in range(len(programs.ends)):
        row[first + number] = _run(programs, step, programs.ends[number], row)
        step = programs.ends[number]


@part
def _run(programs: Programs, start: int, end: int, row: Any) -> Any:
    """What the steps from ``start`` to ``end`` come to."""
    stack, top = programs.stack, -1
    for step in range(start, end):
        code, value = programs.codes[step], programs.values[step]
        if code == FEATURE:
            top += 1
            stack[top] = row[int(value)]
        elif code == NUMBER:
            top += 1
            stack[top] = value
        elif code == NEGATE:
            stack[top] = -stack[top]
        elif code == POWER:
            base = stack[top]
            for _ in range(int(value) - 1):
                stack[top] = stack[top] * base
        else:
            top -= 1
            if code == ADD:
                stack[top] = stack[top] + stack[top + 1]
            elif code == SUBTRACT:
                stack[top] = stack[top] - stack[top + 1]
            elif code == MULTIPLY:
                stack[top] = stack[top] * stack[top + 1]
            elif code == DIVIDE:
                stack[top] = stack[top] / stack[top + 1]
    return stack[0]


def added(programs: Any, row: Any) -> Any:  # noqa: ARG001
    """What the one program there is comes to on an observation (n_features,); 0 if there is none."""
    raise TypeError(programs)


_adds = implemented(added)


@_adds(Nothing)
def _add_nothing(programs: Any, row: Any) -> Any:  # noqa: ARG001
    return 0.0


@_adds(Programs)
def _add_one(programs: Any, row: Any) -> Any:
    return _run(programs, 0, programs.ends[0], row)


def deriving(simulator: Simulator, task: Task) -> Simulator:
    """A simulator of a task whose observations come with all its derived features."""
    return _Deriving(simulator, task) if task.derived else simulator


class _Deriving:
    """A simulator that gives more features than the one that it stands before."""

    def __init__(self, simulator: Simulator, task: Task):
        self._simulator, self._task = simulator, task
        self.n_slots = simulator.n_slots

    def expect(self, seeds: Seeds) -> None:
        """See `Simulator.expect`."""
        self._simulator.expect(seeds)

    def reset(self, ids: Ids, seeds: Seeds) -> Floats:
        """See `Simulator.reset`."""
        return self._task.extended(self._simulator.reset(ids, seeds))

    def step(self, ids: Ids, actions: NDArray[np.generic]) -> Step:
        """See `Simulator.step`."""
        out = self._simulator.step(ids, actions)
        return out._replace(observations=self._task.extended(out.observations))

    def close(self) -> None:
        """See `Simulator.close`."""
        self._simulator.close()
