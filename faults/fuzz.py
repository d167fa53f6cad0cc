"""A longer fuzz than the suite's: the loaders under atheris, which looks for inputs that reach new code (Linux).

pip install atheris
python faults/fuzz.py model      --seconds 120
python faults/fuzz.py config     --seconds 120
python faults/fuzz.py checkpoint --seconds 120
python faults/fuzz.py history    --seconds 120

A loader returns or raises SirlError; whatever else it does is a finding, and the input that did it is kept.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import atheris
import numpy as np

_COMPILED = [
    "learning.deferred",
    "rollout.compiled",
    "search.grammar",
    "learning.q_learning",
    "keys",
    "learning.voting",
    "simulators.mujoco.world",
    "simulators.mujoco.library",
    "simulators.mujoco",
]

with atheris.instrument_imports(include=["sirl", "tomllib"], exclude=[f"sirl.{name}" for name in _COMPILED]):
    import tomllib  # noqa: F401 - to have it instrumented

    import sirl
    from hostile import SETTINGS, signed
    from sirl.model.policy import Policy
    from sirl.runs.checkpoints import Checkpoints
    from sirl.runs.directory import read_config, read_history
    from sirl.runs.training import Training


def model(_: Training, __: Path, content: bytes) -> None:
    """A model file, which plays and is written again if it loads."""
    policy = Policy.from_json(content)
    one_hot = policy.task.observation == "one-hot"
    policy.predict(np.full(2, policy.task.observation_start) if one_hot else np.zeros((2, policy.task.n_features)))
    assert str(policy)
    assert Policy.from_json(policy.to_json()).to_json() == policy.to_json()


def config(_: Training, place: Path, content: bytes) -> None:
    """What a run was asked to do."""
    (place / "config.toml").write_bytes(content)
    read_config(place).digest()


def checkpoint(run: Training, place: Path, content: bytes) -> None:
    """A checkpoint whose checksum fits."""
    (place / "00000001.ckpt").write_bytes(signed(content))
    found, warned = Checkpoints(place, run.config.digest()).load_latest(run.search, run.task)
    assert (found is None) == bool(warned)


def history(_: Training, place: Path, content: bytes) -> None:
    """Lines of a history."""
    (place / "history.jsonl").write_bytes(content)
    read_history(place)


LOADERS: dict[str, Callable[[Training, Path, bytes], None]] = {
    "model": model,
    "config": config,
    "checkpoint": checkpoint,
    "history": history,
}


def seeds(what: str, run: Path) -> Iterator[bytes]:
    """Good inputs to start from."""
    if what == "model":
        names = ("Hopper", "InvertedPendulum", "LunarLander", "Reacher", "Swimmer", "Walker2d")
        files = [(run / "champion.json").read_bytes(), *(sirl.load(f"paper:{name}").to_json() for name in names)]
        yield from (re.sub(rb' *"checksum".*\n', b"", file) for file in files)
    elif what == "checkpoint":
        yield (run / "checkpoints" / "00000001.ckpt").read_bytes()[81:]
    else:
        yield (run / {"config": "config.toml", "history": "history.jsonl"}[what]).read_bytes()


def main() -> None:
    """Make a small run, take its files as seeds, and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=LOADERS)
    parser.add_argument("--seconds", type=int, default=120)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    work = Path(tempfile.mkdtemp(prefix="sirl-fuzz-"))
    # Few codons, so that a checkpoint is small enough to be mutated everywhere.
    run = sirl.train("CartPole-v1", out=work / "run", **SETTINGS, genotype_length=100, codons_run_out="zeros")
    corpus, place = work / "corpus", work / "place"
    corpus.mkdir()
    place.mkdir()
    for number, content in enumerate(seeds(options.what, work / "run")):
        (corpus / str(number)).write_bytes(content)
    load = LOADERS[options.what]

    def one(content: bytes) -> Any:
        try:
            load(run, place, content)
        except sirl.SirlError as error:
            if not str(error).isprintable():
                raise

    flags = [f"-max_total_time={options.seconds}", "-max_len=65536", "-rss_limit_mb=4000", "-timeout=20"]
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={work}/", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
