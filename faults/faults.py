"""What a run survives, measured: one row of the table in docs/trust.md a command (Linux).

python faults/faults.py all   --out runs/faults           # an hour on two cores
python faults/faults.py disk  --out runs/faults           # one row
python faults/faults.py table --out runs/faults           # the tables of docs/trust.md
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import io
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import sirl
from sirl import files
from sirl.cli import main as cli
from sirl.engine import make_engine
from sirl.model.policy import Policy
from sirl.runs.checkpoints import Checkpoints
from sirl.runs.directory import read_history
from sirl.runs.training import Training
from watched import SMALL, Watched, flags, go_on, handles_of, memory_of, outcome

HERE = Path(__file__).parent


class Trial(NamedTuple):
    """What a measurement gets."""

    times: int
    work: Path
    """A directory for its files."""
    rng: random.Random
    deadline: float
    """No further turn begins after this, on the monotonic clock."""

    def turns(self) -> Iterator[int]:
        """The numbers of the turns."""
        for number in range(self.times):
            if time.monotonic() < self.deadline:
                yield number


def driver(trial: Trial) -> dict[str, Any]:
    """SIGKILL of the driver: with two workers at a random moment, and in turn, with one, while a file is written."""
    begin = time.monotonic()
    whole = _whole(trial.work)
    seconds = time.monotonic() - begin
    times, identical, left, writing = 0, 0, 0, 0
    for number in trial.turns():
        times += 1
        path = trial.work / f"killed-{number}"
        command = ("train", "CartPole-v1", "--out", path, "--workers", 2 - number % 2, *flags(SMALL))
        run = Watched(*command)
        if number % 2:
            _wait_for_a_write(run, path, trial.rng.randrange(1, 25))
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.process.wait(trial.rng.uniform(0, seconds))
        run.kill()
        writing += any(path.rglob(".*.part"))
        left += run.left_after(5)
        code, _, err = go_on(path, *command, workers=1).end()
        identical += code == 0 and outcome(path) == whole
        print(number, code, "identical" if outcome(path) == whole else f"differs: {err}", flush=True)
        shutil.rmtree(path)
    return {
        "times": times,
        "identical": identical,
        "half-written file found": writing,
        "processes left": left,
        "figure": f"{identical} of {times} byte-identical ({writing} were hit while a file was half written), "
        f"{left} processes left after 5 s",
        "good": identical == times >= 50 and left == 0,
    }


def _whole(work: Path, settings: dict[str, Any] = SMALL, env: str = "CartPole-v1") -> Any:
    """The outcome of a run that nothing stopped."""
    code, _, err = Watched("train", env, "--out", work / "whole", "--workers", 2, *flags(settings)).end()
    assert code == 0, err
    return outcome(work / "whole")


def _wait_for_a_write(run: Watched, path: Path, count: int) -> None:
    """Return in the middle of the ``count``-th write that is seen, or at the end of the run."""
    before: set[str] = set()
    while run.running():
        parts = {name for place in (path, path / "checkpoints") for name in _names(place) if name.endswith(".part")}
        count -= len(parts - before)
        if count <= 0:
            return
        before = parts


def _names(place: Path) -> list[str]:
    try:
        return os.listdir(place)
    except OSError:
        return []


def worker(trial: Trial) -> dict[str, Any]:
    """SIGKILL of a random worker every 2 s, in runs that take long enough.

    Less often on a machine so busy that a worker takes longer to start: none would ever be done.
    """
    settings = SMALL | {"generations": 10, "individual_episodes": 3}
    whole = _whole(trial.work, settings, "Acrobot-v1")
    begin = time.monotonic()
    Watched("train", "Acrobot-v1", "--out", trial.work / "short", *flags(settings | {"generations": 1})).end()
    pause = max(2.0, (time.monotonic() - begin) / 4)  # driver, workers, both again for the score
    kills, identical = 0, 0
    for number in range(trial.times):
        path = trial.work / f"worker-{number}"
        run = Watched("train", "Acrobot-v1", "--out", path, "--workers", 2, *flags(settings))
        ended: list[tuple[int, str, str]] = []
        reader = threading.Thread(target=lambda: ended.append(run.end(7200)))  # noqa: B023 - within the turn
        reader.start()
        while reader.is_alive():
            reader.join(pause)
            kills += reader.is_alive() and run.kill_a_worker(trial.rng)
        code, _, err = ended[0]
        identical += code == 0 and outcome(path) == whole
        print(number, kills, code, err, flush=True)
    return {
        "times": trial.times,
        "kills": kills,
        "identical": identical,
        "figure": f"{identical} of {trial.times} runs finish with identical bytes, {kills} workers killed, one every "
        f"{pause:.0f} s",
        "good": identical == trial.times and kills > 0,
    }


def node(trial: Trial) -> dict[str, Any]:
    """A node of a Ray cluster killed at a random moment of a run, and another one added."""
    import ray
    from ray.cluster_utils import Cluster

    settings = SMALL | {"generations": 4}
    here = sirl.train("CartPole-v1", workers=1, **settings).champion.to_json()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    times, identical, seconds = 0, 0, 5.0

    def lose_one(delay: float) -> None:
        time.sleep(delay)
        cluster.remove_node(nodes.pop(trial.rng.randrange(len(nodes))), allow_graceful=False)
        lost.append(time.monotonic())

    def replace_it(*_: object) -> None:
        if lost and len(nodes) < 3:
            nodes.append(cluster.add_node(num_cpus=1))

    while times < trial.times and time.monotonic() < trial.deadline:
        lost: list[float] = []
        thread = threading.Thread(target=lose_one, args=[trial.rng.uniform(0, 0.9 * seconds)])
        begin = time.monotonic()
        thread.start()
        there = sirl.train("CartPole-v1", engine="ray", on_generation=replace_it, **settings)
        end = time.monotonic()
        thread.join()
        replace_it()
        seconds = min(seconds, end - begin)  # a loss makes a run longer
        same, at_work = there.champion.to_json() == here, lost[0] < end
        times += at_work
        identical += at_work and same
        print(times, round(end - begin, 1), at_work, same, flush=True)
        assert same or at_work
    ray.shutdown()
    cluster.shutdown()
    return {
        "times": times,
        "identical": identical,
        "figure": f"{identical} of {times} identical",
        "good": identical == times >= 20,
    }


def damaged_files(trial: Trial) -> dict[str, Any]:
    """Checkpoints and models, cut off or with one bit flipped at random."""
    run = sirl.train("CartPole-v1", workers=1, out=trial.work / "run", **SMALL)
    newest = sorted((trial.work / "run" / "checkpoints").iterdir())[-1]
    good = {"checkpoint": newest.read_bytes(), "model": run.champion.to_json()}
    place = trial.work / "damaged"
    place.mkdir()
    detected, harmless, unnoticed = 0, 0, 0
    for number in range(trial.times):
        kind = ("checkpoint", "model")[number % 2]
        content, at = good[kind], trial.rng.randrange(len(good[kind]))
        bad = content[:at] if trial.rng.random() < 0.5 else flipped(content, at, trial.rng.randrange(8))
        (place / newest.name).write_bytes(bad)
        if kind == "checkpoint":
            found, warnings = Checkpoints(place, run.config.digest()).load_latest(run.search, run.task)
            noticed, same = found is None and len(warnings) == 1, False
        else:
            noticed, same = _loads(place / newest.name, good["model"])
        detected += noticed
        harmless += same
        unnoticed += not (noticed or same)
    return {
        "times": trial.times,
        "detected": detected,
        "same content": harmless,
        "unnoticed": unnoticed,
        "figure": f"{detected} of {trial.times} detected, {harmless} with the very same content (a line's end, 1E-05), "
        f"{unnoticed} unnoticed, 0 tracebacks",
        "good": unnoticed == 0,
    }


def flipped(content: bytes, at: int, bit: int) -> bytes:
    """The content with one bit of one byte changed."""
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def _loads(path: Path, good: bytes) -> tuple[bool, bool]:
    """Whether a model is refused, and whether it holds what the good one does."""
    try:
        return False, Policy.from_json(path.read_bytes()).to_json() == good
    except sirl.SirlError:
        return True, False


class FullDisk:
    """In place of the module ``os`` in sirl.files: the disk is full from the k-th operation on that needs room."""

    def __init__(self, room: float):
        self.room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def use(self) -> None:
        """Take some room, if there is any."""
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open(self, path: Any, how: int, *rest: Any) -> int:
        """To make a file takes room."""
        if how & os.O_CREAT:
            self.use()
        return os.open(path, how, *rest)

    def fdopen(self, descriptor: int, mode: str) -> Any:
        """To write takes room; half of what does not fit is written."""
        return _FullFile(os.fdopen(descriptor, mode), self)

    def fsync(self, descriptor: int) -> None:
        """Some file systems look for room only now."""
        self.use()
        os.fsync(descriptor)

    def replace(self, *paths: Any) -> None:
        """A name takes room."""
        self.use()
        os.replace(*paths)


class _FullFile(contextlib.AbstractContextManager[Any]):
    def __init__(self, file: Any, disk: FullDisk):
        self._file, self._disk = file, disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, content: bytes) -> None:
        try:
            self._disk.use()
        except OSError:
            self._file.write(content[: len(content) // 2])
            raise
        self._file.write(content)


def disk(trial: Trial) -> dict[str, Any]:
    """Disk full at the k-th operation, for every k of a short run, then room again."""
    settings = SMALL | {"generations": trial.times}
    sirl.train("CartPole-v1", workers=1, out=trial.work / "whole", **settings)
    whole, kept, k = outcome(trial.work / "whole"), 0, 0
    while True:
        path = trial.work / f"full-{k}"
        code, err = run_on_full_disk(k, path, settings)
        if code == 0:
            break
        told = code == 1 and "No space left on device" in err and "Traceback" not in err
        if (path / "config.toml").exists():
            run = Training.resume(path, workers=1)
        else:
            run = Training("CartPole-v1", workers=1, out=path, **settings)
        list(run.generations())
        kept += told and outcome(path) == whole
        print(k, code, err.replace(str(trial.work), "")[:110], outcome(path) == whole, flush=True)
        k += 1
    return {
        "operations": k,
        "kept": kept,
        "figure": f"{kept} of {k}: one sentence, the last good state kept, a resume ends with identical bytes",
        "good": kept == k > 0,
    }


def run_on_full_disk(room: int, path: Path, settings: dict[str, Any]) -> tuple[int, str]:
    """The command line on a disk that has room for so many operations: exit code and errors."""
    arguments = ["train", "CartPole-v1", "--out", str(path), "--workers", "1", *flags(settings)]
    with mock.patch.object(files, "os", FullDisk(room)):
        return call(arguments)


def call(arguments: list[str]) -> tuple[int, str]:
    """The command line in this process: exit code and errors."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = cli.main(arguments)
        except SystemExit as leave:
            code = int(leave.code or 0)
    return code, err.getvalue()


BITS = {
    "method": "sirl-lb",
    "population": 30,
    "generations": 3,
    "individual_episodes": 1,
    "collaborative_copies": 3,
    "collaborative_iterations": 2,
    "candidates": 2,
    "validation_episodes": 4,
}


def bits(trial: Trial) -> dict[str, Any]:
    """InvertedPendulum on every way to run it."""
    cases: list[dict[str, Any]] = [
        {"simulator": simulator, "workers": workers, "hash_seed": hash_seed}
        for simulator in ("mujoco", "gymnasium")
        for workers in (1, 2, 3, 8)
        for hash_seed in (0, 4242)
    ]
    cases += [
        {"simulator": simulator, "workers": 3, "shuffled": shuffle}
        for simulator in ("mujoco", "gymnasium")
        for shuffle in (1, 2)
    ]
    cases += [{"simulator": "gymnasium", "workers": 2, "started_by": kind} for kind in ("fork", "spawn")]
    cases += [{"simulator": simulator, "workers": 1, "stopped_after": 1} for simulator in ("mujoco", "gymnasium")]
    cases += [
        {"simulator": "gymnasium", "engine": "ray", "workers": 1, "hash_seed": 7},
        {"simulator": "mujoco", "engine": "ray", "workers": 2, "shuffled": 3},
        {"simulator": "gymnasium", "engine": "ray", "workers": 3, "stopped_after": 2},
    ]
    hashes = []
    for number, case in enumerate(cases):
        path = trial.work / f"bits-{number}"
        case = {"hash_seed": number, **case}
        environment = os.environ | {"PYTHONHASHSEED": str(case.pop("hash_seed"))}
        command = [sys.executable, str(HERE / "faults.py"), "combination", "--out", str(path)]
        subprocess.run([*command, "--case", json.dumps(case)], env=environment, check=True, stdout=subprocess.DEVNULL)
        champion, history = outcome(path)
        hashes.append(hashlib.sha256(champion + repr(history).encode()).hexdigest())
        print(case, hashes[-1][:12], flush=True)
    n_hashes = len(set(hashes))
    return {
        "combinations": len(cases),
        "hashes": n_hashes,
        "figure": f"{n_hashes} hash over {len(cases)} combinations",
        "good": n_hashes == 1,
    }


def combination(path: Path, case: dict[str, Any]) -> None:
    """One way to run ``bits``, in a process of its own."""
    started_by = case.pop("started_by", None)
    if started_by is None:
        _combine(path, **case)
        return
    process = multiprocessing.get_context(started_by).Process(target=_combine, args=(path,), kwargs=case)
    process.start()
    process.join()


def _combine(
    path: Path,
    simulator: str,
    workers: int,
    engine: str = "local",
    shuffled: int | None = None,
    stopped_after: int | None = None,
) -> None:
    if engine == "ray":
        import ray

        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error")
    how: dict[str, Any] = {"workers": workers, "engine": engine}
    if shuffled is not None:
        how["engine"] = lambda arena: Shuffled(make_engine(engine, arena, workers, None), random.Random(shuffled))
    run = Training("InvertedPendulum-v4", simulator=simulator, out=path, **how, **BITS)
    if stopped_after is not None:
        generations = run.generations()
        for _ in range(stopped_after):
            next(generations)
        generations.close()
        run = Training.resume(path, **how)
    list(run.generations())


class Shuffled:
    """An engine that gets its items in another order than they were given."""

    def __init__(self, engine: Any, rng: random.Random):
        self.engine, self.workers, self._rng = engine, engine.workers, rng

    def map(self, function: Any, items: Any) -> list[Any]:
        """As the engine, in a random order."""
        order = list(range(len(items)))
        self._rng.shuffle(order)
        results = self.engine.map(function, [items[i] for i in order])
        return [result for _, result in sorted(zip(order, results, strict=True), key=lambda pair: pair[0])]

    def __enter__(self) -> Shuffled:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()


FIRE = r"faulty:Faulty-v0 raised RuntimeError: the motor is on fire in {}; fix the environment"
DIED = r"\w.* of faulty:Faulty-v0 ended its worker process 3 times, last with {}: "
HUNG = r"\w.* of faulty:Faulty-v0 was ended after 5 seconds without a result: its environment hangs, or --hang-limit"
OUTCOMES = {
    "raise in make": FIRE.format("make"),
    "raise in reset": FIRE.format("reset"),
    "raise in step": FIRE.format("step"),
    "raise in close": None,
    "NaN observation": "faulty:Faulty-v0 returned NaN in observation feature 0; fix the environment",
    "infinite observation": "faulty:Faulty-v0 returned inf in observation feature 0; fix the environment",
    "NaN reward": "faulty:Faulty-v0 returned NaN in reward; fix the environment",
    "infinite reward": "faulty:Faulty-v0 returned inf in reward; fix the environment",
    "huge reward": r"faulty:Faulty-v0 returned 1e\+308 as reward, too large to add up; fix the environment",
    "endless": "faulty:Faulty-v0 never ended an episode, not in 100000 steps; set --max-steps",
    "hang": HUNG,
    "hang in native code": HUNG,
    "exit": "faulty:Faulty-v0 raised SystemExit: 0 in step; fix the environment",
    "hard exit": DIED.format("exit code 3") + "its environment exits instead of raising an exception",
    "segmentation fault": DIED.format("SIGSEGV") + "native code of its environment crashed",
    "memory": "faulty:Faulty-v0 raised MemoryError in step; fix the environment",
    "killed by the kernel": DIED.format("SIGKILL").replace("3", r"\d+")
    + "memory has probably run out, so use fewer --workers",
}
"""The first sentence that the command line says; None: the run goes to its end."""


def environments(trial: Trial) -> dict[str, Any]:
    """Faulty environments: each ends as OUTCOMES says, leaves no process, and goes on once it is mended."""
    mended = None
    right, said, mend = 0, {}, {"FAULTY_IS_MENDED": "1"}
    for fault, expected in {"none": None, **OUTCOMES}.items():
        path = trial.work / fault.replace(" ", "-")
        limit = 5 if fault.startswith("hang") else 300
        settings = SMALL | {"generations": 1}
        start = ("train", "faulty:Faulty-v0", "--env-option", f"fault={fault}", "--out", path, *flags(settings))
        run = Watched(*start, "--workers", 1, "--hang-limit", limit, cwd=HERE)
        code, _, err = run.end()
        ok = not run.left_after(5) and "Traceback" not in err
        if expected is None:
            ok &= code == 0
        else:
            ok &= code == 1 and re.search(f"^sirl: error: {expected}", err, re.M) is not None
            ok &= f"to go on: sirl train faulty:Faulty-v0 --resume {path}" in err and (path / "log.txt").exists()
            again = Watched("train", "faulty:Faulty-v0", "--resume", path, "--workers", 1, environment=mend, cwd=HERE)
            ok &= again.end()[0] == 0
        if mended is None:
            mended = outcome(path)
        else:
            ok &= outcome(path) == mended
            right += ok
            said[fault] = next((s[13:] for s in err.splitlines() if s.startswith("sirl: error: ")), "the run ends well")
        print(fault, ok, err.splitlines()[:1], flush=True)
    right += _diverging(trial)
    said["MuJoCo loses its state"] = "the run goes on; the individual has no fitness, and log.txt names it"
    return {
        "faults": len(said),
        "right": right,
        "said": said,
        "figure": f"{right} of {len(said)} with the documented outcome, resumed to identical bytes once mended",
        "good": right == len(said),
    }


def _diverging(trial: Trial) -> bool:
    """Whether a run gets along with physics that break down: by log and history, and with finite numbers alone."""
    path = trial.work / "diverging"
    run = Watched("train", "faulty:Exploding-v0", "--out", path, "--workers", 1, *flags(SMALL), cwd=HERE)
    code, _, err = run.end()
    history = read_history(path)
    ok = code == 0 and "Traceback" not in err and not run.left_after(5) and any(record.broke for record in history)
    log = (path / "log.txt").read_text(encoding="utf-8")
    for record in history:
        ok &= bool(np.isfinite([record.best, record.mean, record.median]).all())
        if record.broke:
            ok &= f"generation {record.generation + 1}: no fitness for individual {record.broke[0]}" in log
    print("MuJoCo loses its state", ok, err.splitlines()[:1], flush=True)
    return ok


def lives(trial: Trial) -> dict[str, Any]:
    """Random lives of a run directory, by Hypothesis; one that goes wrong is made short, and printed."""
    return _script("machine.py", "--sequences", trial.times)


def system_calls(trial: Trial) -> dict[str, Any]:
    """Every call on the files of a tiny run fails in turn, ``times`` calls apart."""
    return _script("calls.py", "--step", trial.times)


def power(trial: Trial) -> dict[str, Any]:
    """Power losses in the middle of a tiny run, replayed."""
    return _script("power.py", "--times", trial.times)


def _script(name: str, *arguments: object) -> dict[str, Any]:
    """What a script of this directory finds: the last line that it prints."""
    command = [sys.executable, str(HERE / name), *map(str, arguments)]
    child = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    result: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return result


def hostile_files(trial: Trial) -> dict[str, Any]:
    """Files that a stranger made to do harm, read under an audit hook and a limit of memory."""
    result = _script("hostile.py", trial.work)
    harmless = result["refused"] + result["inert"]
    result["figure"] = (
        f"{harmless} of {result['files']} refused ({result['refused']}) or inert ({result['inert']}), slowest "
        f"{result['slowest']:.1f} s, at most {result['megabytes']:.0f} MB more memory"
    )
    return result | {"good": harmless == result["files"] >= 200}


def memory(trial: Trial) -> dict[str, Any]:
    """Resident memory and open files over ``times`` generations, after the first tenth."""
    settings = SMALL | {"generations": trial.times, "individual_episodes": 1}
    run = Watched("train", "CartPole-v1", "--out", trial.work / "long", "--workers", 2, *flags(settings))
    assert run.process.stdout is not None
    rows: list[tuple[float, ...]] = []
    for line in run.process.stdout:
        if found := re.match(r"generation (\d+)/", line):
            if not rows:
                workers = run.workers()
            rows.append((int(found[1]), memory_of([run.process.pid]), memory_of(workers), handles_of(run.process.pid)))
    run.end()
    n, mine, theirs, handles = np.array(rows[len(rows) // 10 :]).T
    slope = [100 * float(np.polyfit(n, megabytes, 1)[0]) for megabytes in (mine, theirs)]
    return {
        "generations": trial.times,
        "driver, MB per 100 generations": slope[0],
        "workers, MB per 100 generations": slope[1],
        "driver, MB at the end": float(mine[-1]),
        "open files, first and last": [int(handles[0]), int(handles[-1])],
        "figure": f"{slope[0]:.3f} MB per 100 generations in the driver, {slope[1]:.3f} in its two workers together; "
        f"{int(handles[0])} open files at first, {int(handles[-1])} at last",
        "good": max(slope) < 1,
    }


def checkpoint(trial: Trial) -> dict[str, Any]:
    """Share of a run's time that goes into its files, at the paper's size, at first and after 1000 generations."""
    settings = {"method": "sirl-lb", "generations": trial.times}
    run = Training("InvertedPendulum-v4", out=trial.work / "paper", workers=2, **settings)
    keep, spent = run._keep, []

    def timed(*arguments: Any) -> Any:
        begin = time.perf_counter()
        record = keep(*arguments)
        spent.append(time.perf_counter() - begin)
        return record

    run._keep = timed  # type: ignore[method-assign]
    seconds = [record.seconds for record in run.generations()]
    assert run.directory is not None
    late = (run.history * 1000)[:1000]
    begin = time.perf_counter()
    for _ in range(20):
        run._checkpoints.save(run.search, run.state, late)
    late_save = (time.perf_counter() - begin) / 20
    generation, save = float(np.median(seconds[1:])), float(np.median(spent[1:]))  # the first loads what is compiled
    shares = [100 * save / generation, 100 * late_save / generation]
    return {
        "generation, s": generation,
        "files of a generation, s": save,
        "checkpoint after 1000 generations, s": late_save,
        "shares, %": shares,
        "figure": f"{shares[0]:.2f} % (median generation {generation:.1f} s, its files {1000 * save:.0f} ms); "
        f"{shares[1]:.2f} % after 1000 generations",
        "good": max(shares) < 2,
    }


ROWS: dict[str, tuple[Callable[[Trial], dict[str, Any]], int, str, str]] = {
    "driver": (driver, 50, "SIGKILL of the driver at random moments, then resume", "50 of 50 byte-identical, 0 left"),
    "worker": (
        worker,
        2,
        "SIGKILL of a random worker every 2 s, or as soon as one can have started",
        "finishes, identical bytes",
    ),
    "node": (node, 20, "Ray: a node killed mid-generation", "20 of 20 identical"),
    "files": (damaged_files, 1000, "checkpoint or model cut off or flipped at random", "1000 of 1000, 0 tracebacks"),
    "disk": (disk, 2, "disk full at the k-th write, every k", "last good state kept for every k"),
    "lives": (lives, 2000, "a run directory trained, killed, damaged, deleted, restored, edited, moved", "0 losses"),
    "calls": (system_calls, 1, "every system call on a run's files failed in turn", "0 tracebacks, 0 losses"),
    "power": (power, 500, "power loss: what was not synced dropped or reordered", "0 losses of what was told"),
    "bits": (bits, 1, "worker count × engine × order × hash seed × stop", "one hash over at least 24 combinations"),
    "environments": (environments, 1, "faulty environments", "all with the documented outcome"),
    "hostile": (hostile_files, 1, "hostile files", "200 of 200 refused or inert"),
    "memory": (memory, 1000, "memory over 1000 generations", "under 1 MB per 100 generations"),
    "checkpoint": (checkpoint, 6, "cost of checkpointing", "under 2 % of a run's time"),
}
"""By name: the measurement, how often, what happens, and the goal."""


def measure(name: str, out: Path, times: int | None, seed: int, minutes: float) -> None:
    """Measure a row, in a directory that is removed afterwards, and keep the result."""
    function, usual, *_ = ROWS[name]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sirl-faults-") as work:
        result = function(Trial(times or usual, Path(work), random.Random(seed), begin + 60 * minutes))
    result["seconds"] = round(time.monotonic() - begin)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(result, indent=1))
    print(f"{name}: {result['figure']}", flush=True)


def table(out: Path) -> None:
    """Print the tables of docs/trust.md."""
    print("| fault | goal | measured |\n|---|---|---|")
    for name, (_, _, fault, goal) in ROWS.items():
        if (out / f"{name}.json").exists():
            result = json.loads((out / f"{name}.json").read_text())
            print(f"| {fault} | {goal} | {result['figure']}{'' if result['good'] else ' (**falls short**)'} |")
    if (out / "environments.json").exists():
        print("\n| the environment | what `sirl train` says |\n|---|---|")
        for fault, said in json.loads((out / "environments.json").read_text())["said"].items():
            print(f"| {fault} | {said} |")


def main() -> None:
    """Parse and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*ROWS, "all", "table", "combination"))
    parser.add_argument("--out", type=Path, default=Path("runs/faults"))
    parser.add_argument("--times", type=int, help="how often, if not as often as the table says")
    parser.add_argument("--minutes", type=float, default=1000, help="after which driver and node begin no further turn")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.what == "table":
        table(options.out)
    elif options.what == "combination":
        combination(options.out, options.case)
    else:
        for name in ROWS if options.what == "all" else [options.what]:
            measure(name, options.out, options.times, options.seed, options.minutes)


if __name__ == "__main__":
    main()
