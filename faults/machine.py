"""Random lives of a run directory, by Hypothesis: trained, stopped, killed, damaged, deleted, restored, edited, moved.

python faults/machine.py --sequences 2000

Whatever happens to it, four things hold. A step of ours never leaves less than it found: not of the history, not of the
champion, not of the good checkpoints, not of a model that a person has edited. What can't be done is refused with a
sentence. What goes on to its end has the bytes of a run that nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import hypothesis
import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from sirl import files
from sirl.errors import SirlError
from sirl.model.policy import is_edited
from sirl.runs.checkpoints import Checkpoints
from sirl.runs.directory import Record
from sirl.runs.training import Training

TINY: dict[str, Any] = {
    "method": "sirl-lb",
    "population": 6,
    "generations": 6,
    "genotype_length": 60,
    "codons_run_out": "zeros",
    "individual_episodes": 1,
    "collaborative_copies": 1,
    "collaborative_iterations": 1,
    "candidates": 1,
    "validation_episodes": 1,
    "max_steps": 10,
}
"""Settings of a run that takes some milliseconds."""

STEPS = 14
"""In a life, at most."""

MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
"""Where files are made and synced in no time."""


class KilledError(BaseException):
    """The process ends here: no handler of an error runs, and no file is tidied away."""


class Whole(NamedTuple):
    """A run that nobody disturbed."""

    run: Training
    champions: list[bytes]
    """Of each generation."""
    history: list[Record]


@cache
def whole() -> Whole:
    """That run; it is made once."""
    run = Training("CartPole-v1", workers=1, **TINY)
    champions = [run.champion.to_json() for _ in run.generations()]
    return Whole(run, champions, [untimed(record) for record in run.history])


def untimed(record: Record) -> Record:
    """A line of the history without what differs from run to run."""
    return msgspec.structs.replace(record, seconds=0.0)


class Wealth(NamedTuple):
    """What a run directory holds."""

    history: int
    """Generations in the longest history that is right."""
    champion: int
    """The latest generation that one of the champions is of."""
    checkpoint: int
    """Of the latest good one."""


def wealth_of(path: Path) -> Wealth:
    """What is there, under whatever name."""
    champions = [index + 1 for index, content in enumerate(whole().champions) if content in contents(path, "champion")]
    return Wealth(
        max(map(_right_lines, contents(path, "history")), default=0), max(champions, default=0), good_checkpoint(path)
    )


def contents(path: Path, kind: str) -> list[bytes]:
    """The files of a kind: those in use, and those that were set aside."""
    return [file.read_bytes() for file in path.glob(f"{kind}*")]


def _right_lines(content: bytes) -> int:
    count = 0
    for line, expected in zip(content.splitlines(), whole().history, strict=False):
        try:
            if untimed(msgspec.json.decode(line, type=Record)) != expected:
                break
        except ValueError:
            break
        count += 1
    return count


def good_checkpoint(path: Path) -> int:
    """The generation of the latest good checkpoint."""
    run = whole().run
    found, _ = Checkpoints(path / "checkpoints", run.config.digest()).load_latest(run.search, run.task)
    return 0 if found is None else found.state.generation


class Dying:
    """In place of the module ``os`` in sirl.files: the process is killed at the k-th operation on files."""

    def __init__(self, left: int):
        self.left = left

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        return self._counted(found) if name in ("open", "fsync", "replace", "rename", "fstat", "close") else found

    def _counted(self, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise KilledError
            return function(*arguments)

        return call


class Life(RuleBasedStateMachine):
    """One run directory, and what happens to it."""

    @initialize()
    def begin(self) -> None:
        """A directory for all of it; the run does not exist yet."""
        self.place = Path(tempfile.mkdtemp(prefix="sirl-life-", dir=MEMORY))
        self.path, self.moves = self.place / "run-0", 0
        self.backup = self.place / "backup"
        self.edited: list[bytes] = []

    def teardown(self) -> None:
        """Remove it."""
        if hasattr(self, "place"):
            shutil.rmtree(self.place)

    @rule(generations=st.integers(0, 3), minutes=st.sampled_from([0.0, 60.0]), replace=st.booleans())
    def train(self, generations: int, minutes: float, replace: bool = True) -> None:
        """Begin, or go on, for some generations, and stop."""
        self._run(generations, minutes, replace)

    @rule(operations=st.integers(0, 60), minutes=st.sampled_from([0.0, 60.0]), replace=st.booleans())
    def kill(self, operations: int, minutes: float, replace: bool = True) -> None:
        """Begin, or go on, and be killed before some operation on a file."""
        self._run(TINY["generations"], minutes, replace, Dying(operations))

    def _run(self, generations: int, minutes: float, replace: bool, system: Any = os) -> None:
        champion = self.path / "champion.json"
        # What can't be read, as after damage, is set aside without asking: no run should wait for it.
        before = champion.read_bytes() if champion.exists() else b""
        edited = before if before in self.edited and is_edited(champion) else None
        try:
            self._try_to_run(generations, minutes, replace, system)
        finally:
            if edited is not None and not replace:
                assert champion.read_bytes() == edited, "an edited champion was replaced without asking"

    def _try_to_run(self, generations: int, minutes: float, replace: bool, system: Any) -> None:
        run = None
        with self._nothing_is_lost():
            try:
                with mock.patch.object(files, "os", system), suppress(SirlError, KilledError):
                    run = self._start(minutes, replace)
                    steps = run.generations()
                    for _ in zip(range(generations), steps, strict=False):
                        pass
                    steps.close()
            finally:
                if run is not None and run.directory is not None:
                    run.directory.unlock()  # as the end of the process would

    @contextmanager
    def _nothing_is_lost(self) -> Iterator[None]:
        before, mine = wealth_of(self.path), [text for text in self.edited if text in contents(self.path, "champion")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
        after = wealth_of(self.path)
        assert all(now >= then for now, then in zip(after, before, strict=True)), f"{before} became {after}"
        assert all(text in contents(self.path, "champion") for text in mine), "an edited champion is gone"

    def _start(self, minutes: float, replace: bool = True) -> Training:
        if (self.path / "config.toml").exists():
            return Training.resume(self.path, workers=1, checkpoint_minutes=minutes, replace_edited=replace)
        return Training("CartPole-v1", out=self.path, workers=1, checkpoint_minutes=minutes, **TINY)

    def _pick(self, pattern: str, which: int) -> Path | None:
        found = sorted(self.path.glob(pattern))
        return found[which % len(found)] if found else None

    @rule(pattern=st.sampled_from(["checkpoints/*", "champion.json", "history.jsonl"]), which=st.integers(0, 9))
    def delete(self, pattern: str, which: int) -> None:
        """A file goes."""
        if file := self._pick(pattern, which):
            file.unlink()

    @rule()
    def delete_all_checkpoints(self) -> None:
        """Their directory goes."""
        shutil.rmtree(self.path / "checkpoints", ignore_errors=True)

    @rule(
        pattern=st.sampled_from(["checkpoints/*", "champion.json", "history.jsonl"]),
        which=st.integers(0, 9),
        at=st.floats(0, 1, exclude_max=True),
        cut=st.booleans(),
    )
    def damage(self, pattern: str, which: int, at: float, cut: bool) -> None:
        """A file is cut off, or has one byte changed."""
        file = self._pick(pattern, which)
        if file and (content := file.read_bytes()):
            place = int(at * len(content))
            file.write_bytes(content[:place] + (b"" if cut else bytes([content[place] ^ 1]) + content[place + 1 :]))

    @rule()
    def edit(self) -> None:
        """A person changes the champion by hand, and deletes its checksum."""
        file = self.path / "champion.json"
        if file.exists():
            mine = b"".join(line for line in file.read_bytes().splitlines(True) if b'"checksum"' not in line)
            mine = mine.replace(b'"method": "sirl-lb"', b'"note": "number %d"' % len(self.edited))
            file.write_bytes(mine)
            self.edited.append(mine)

    @rule()
    def back_up(self) -> None:
        """Checkpoints are copied elsewhere."""
        if (self.path / "checkpoints").exists():
            shutil.copytree(self.path / "checkpoints", self.backup, dirs_exist_ok=True)

    @rule(which=st.integers(0, 9))
    def restore(self, which: int) -> None:
        """One of them comes back."""
        found = sorted(self.backup.glob("*.ckpt"))
        if found and (self.path / "checkpoints").exists():
            shutil.copy(found[which % len(found)], self.path / "checkpoints")

    @rule()
    def move(self) -> None:
        """The directory gets another name."""
        if self.path.exists():
            self.moves += 1
            self.path = self.path.rename(self.place / f"run-{self.moves}")

    @rule()
    def finish(self) -> None:
        """Go on to the end: it has the bytes of a run that nobody disturbed, unless a sentence says that it can't."""
        before = {file: file.read_bytes() for file in self.path.rglob("*") if file.is_file()}
        with self._nothing_is_lost():
            try:
                list(self._start(0.0).generations())
            except SirlError:
                assert before == {file: file.read_bytes() for file in self.path.rglob("*") if file.is_file()}
                return
        champion, history = (self.path / "champion.json").read_bytes(), (self.path / "history.jsonl").read_bytes()
        assert champion == whole().champions[-1]
        assert _right_lines(history) == len(history.splitlines()) == TINY["generations"]


def live(sequences: int, seed: int | None = None) -> None:
    """Try so many lives; raises at one that goes wrong, made as short as it can be."""
    settings = hypothesis.settings(
        max_examples=sequences,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=seed is None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    machine = Life if seed is None else hypothesis.seed(seed)(type("SeededLife", (Life,), {}))
    run_state_machine_as_test(machine, settings=settings)


def main() -> None:
    """Live."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    live(options.sequences, options.seed)
    print(json.dumps({"figure": f"0 losses in {options.sequences} sequences of up to {STEPS} steps", "good": True}))


if __name__ == "__main__":
    main()
