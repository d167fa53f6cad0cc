"""Every engine keeps one contract; worker processes moreover survive what environments do to them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from sirl.engine import Engine, local, local_engine
from sirl.engine.base import ClosedError
from sirl.engine.local import InProcess, Threads
from sirl.engine.processes import Processes
from sirl.errors import EnvironmentFailure, SirlError

ENGINES: dict[str, Callable[[Callable[[], Any]], Engine[Any]]] = {
    "in process": InProcess,
    "threads": lambda context: Threads(context, workers=2),
    "processes": lambda context: Processes(context, workers=2),
}
every_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES.keys())
parallel_engines = pytest.mark.parametrize(
    "make", [ENGINES["threads"], ENGINES["processes"]], ids=["threads", "processes"]
)


@pytest.fixture(autouse=True)
def _workers_do_not_import_pytest() -> Iterator[None]:
    """Send this module's functions by value, because a worker that imports pytest is slow to start."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@dataclass
class Diary:
    """Lines that threads and processes append to one file."""

    path: Path

    def write(self, line: object) -> None:
        with self.path.open("a") as file:
            file.write(f"{line}\n")

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def wait_for(self, line: str) -> None:
        wait_until(lambda: line in self.lines())


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


class Context:
    """A context that writes down where it lives and when it is closed."""

    def __init__(self, diary: Diary):
        self.home = f"{os.getpid()}/{threading.get_ident()}"
        self.diary = diary
        diary.write(f"made {self.home}")

    def close(self) -> None:
        assert self.home == f"{os.getpid()}/{threading.get_ident()}"
        self.diary.write(f"closed {self.home}")


def wait_until(predicate: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not predicate():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


def nothing() -> None:
    """The context of functions that need none."""


def double(_: None, item: int) -> int:
    return 2 * item


# The contract of every engine


@every_engine
def test_results_come_in_the_order_of_the_items(make: Any) -> None:
    with make(nothing) as engine:
        assert engine.map(double, range(20)) == list(range(0, 40, 2))
        assert engine.map(double, []) == []


@parallel_engines
def test_results_come_in_order_when_items_end_in_another(make: Any, diary: Diary) -> None:
    def work(_: None, item: int) -> int:
        if item == 0:
            diary.wait_for("item 1 has ended")
        if item == 1:
            diary.write("item 1 has ended")
        return item

    with make(nothing) as engine:
        assert engine.map(work, range(5)) == list(range(5))


@every_engine
def test_a_worker_makes_its_context_once_and_closes_it(make: Any, diary: Diary) -> None:
    with make(lambda: Context(diary)) as engine:
        assert diary.lines() == []
        homes = [home for _ in range(3) for home in engine.map(lambda context, _: context.home, range(8))]
        made = diary.lines()
        assert len(made) <= engine.workers
        assert sorted(f"made {home}" for home in set(homes)) == sorted(made)
    assert sorted(diary.lines()[len(made) :]) == sorted(line.replace("made", "closed") for line in made)


@every_engine
def test_a_context_that_fails_to_close_does_no_harm(make: Any) -> None:
    class Stubborn:
        def close(self) -> None:
            raise RuntimeError("no")

    with make(Stubborn) as engine:
        assert engine.map(lambda _, item: item, [1]) == [1]


@every_engine
def test_a_context_that_cannot_be_made_raises(make: Any) -> None:
    def broken() -> None:
        raise LookupError("no such world")

    with make(broken) as engine, pytest.raises(LookupError, match="no such world"):
        engine.map(double, [1])


@every_engine
def test_an_exception_stops_the_map_and_the_engine_goes_on(make: Any, diary: Diary) -> None:
    def work(_: None, item: int) -> None:
        diary.write(item)
        if item == 3:
            raise ValueError(f"item {item}")
        time.sleep(0.01)

    with make(nothing) as engine:
        with pytest.raises(ValueError, match="item 3"):
            engine.map(work, range(200))
        assert len(diary.lines()) < 200
        assert engine.map(double, [4]) == [8]


@parallel_engines
def test_the_first_item_that_fails_is_reported_even_if_a_later_one_fails_sooner(make: Any, diary: Diary) -> None:
    def work(_: None, item: int) -> None:
        if item == 0:
            diary.wait_for("item 1 fails")
        diary.write(f"item {item} fails")
        raise ValueError(f"item {item}")

    with make(nothing) as engine, pytest.raises(ValueError, match="item 0"):
        engine.map(work, range(2))


@every_engine
def test_errors_of_this_package_arrive_as_they_were(make: Any) -> None:
    def work(_: None, error: SirlError) -> None:
        raise error

    with make(nothing) as engine:
        with pytest.raises(SirlError) as mistake:
            engine.map(work, [SirlError("population = -1.")])
        assert str(mistake.value) == "population = -1."
        with pytest.raises(EnvironmentFailure) as failure:
            engine.map(work, [EnvironmentFailure("the reward is NaN.", "line 7")])
        assert str(failure.value) == "the reward is NaN."
        assert failure.value.details == "line 7"


@every_engine
def test_close_can_be_repeated_and_ends_the_work(make: Any) -> None:
    engine = make(nothing)
    assert engine.map(double, [1]) == [2]
    engine.close()
    engine.close()
    with pytest.raises(ClosedError):
        engine.map(double, [1])


@parallel_engines
def test_ctrl_c_starts_no_other_item_and_is_passed_on(make: Any, diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "GRACE", 0.1)
    driver = os.getpid()

    def work(_: None, item: int) -> None:
        diary.write(f"started {item} in {os.getpid()}")
        if item == 1:
            wait_until(lambda: len(diary.lines()) == 2)
            os.kill(driver, signal.SIGINT)
        diary.wait_for("released")

    with make(nothing) as engine:
        with pytest.raises(KeyboardInterrupt):
            engine.map(work, range(10))
        pids = {int(line.split()[-1]) for line in diary.lines()}
        begin = time.monotonic()
        if pids == {driver}:
            diary.write("released")
    assert time.monotonic() - begin < 1.5
    assert len([line for line in diary.lines() if line.startswith("started")]) == 2
    assert not any(is_alive(pid) for pid in pids - {driver})


@pytest.mark.parametrize(
    ("workers", "timeout", "expected"),
    [(1, None, InProcess), (2, None, Processes), (1, 60.0, Processes)],
)
def test_local_engine_takes_the_least_that_does(workers: int, timeout: float | None, expected: type) -> None:
    with local_engine(nothing, workers, timeout) as engine:
        assert type(engine) is expected
        assert engine.workers == workers


# What worker processes survive


@dataclass
class Labelled:
    label: str


def test_an_item_whose_process_is_killed_runs_again(diary: Diary) -> None:
    def work(_: None, item: int) -> int:
        if item == 2 and len(diary.lines()) < 2:
            diary.write("killed")
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with Processes(nothing, workers=2) as engine:
        assert engine.map(work, range(6)) == list(range(6))
    assert diary.lines() == ["killed", "killed"]


def test_an_item_that_always_ends_its_process_fails_with_its_name(diary: Diary) -> None:
    def work(_: None, item: Labelled) -> None:
        if item.label == "individuals 4-7":
            diary.write("exits")
            os._exit(3)

    items = [Labelled("individuals 0-3"), Labelled("individuals 4-7")]
    with Processes(nothing, workers=2, attempts=2) as engine:
        with pytest.raises(EnvironmentFailure, match=r"^individuals 4-7 .* 2 times.* exit code 3"):
            engine.map(work, items)
        assert engine.map(lambda _, item: item.label, items[:1]) == ["individuals 0-3"]
    assert diary.lines() == ["exits", "exits"]


def test_a_segmentation_fault_tells_where_it_happened() -> None:
    def read_address_zero(_: None, __: int) -> None:
        ctypes.string_at(0)

    with Processes(nothing, workers=1, attempts=1) as engine:
        with pytest.raises(EnvironmentFailure, match="SIGSEGV") as caught:
            engine.map(read_address_zero, [0])
        assert "read_address_zero" in caught.value.details


def sleep_in_python(_: None, __: int) -> None:
    time.sleep(1000)


def sleep_with_the_gil(_: None, __: int) -> None:
    ctypes.PyDLL(None).sleep(1000)


@pytest.mark.parametrize("hang", [sleep_in_python, sleep_with_the_gil])
def test_an_item_that_hangs_is_ended_and_tells_where(hang: Any) -> None:
    with Processes(nothing, workers=1, timeout=0.3) as engine:
        with pytest.raises(EnvironmentFailure, match=r"item 0 .* 0\.3 seconds.*--hang-limit") as caught:
            engine.map(hang, [0])
        assert hang.__name__ in caught.value.details
        assert engine.map(double, [1]) == [2]


@dataclass(frozen=True)
class Untimed:
    timed = False


def take_longer_than_the_limit(_: None, __: Any) -> str:
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
    return "done"


def test_an_item_may_be_exempt_from_the_limit() -> None:
    with Processes(nothing, workers=1, timeout=0.1) as engine:
        assert engine.map(take_longer_than_the_limit, [Untimed()]) == ["done"]
        with pytest.raises(EnvironmentFailure, match="--hang-limit"):
            engine.map(take_longer_than_the_limit, [0])


def fork_helper() -> int:
    pid = os.fork()  # it holds the channel open
    if pid == 0:
        time.sleep(1000)
    return pid


def start_helper() -> int:
    return subprocess.Popen(["sleep", "1000"]).pid


@pytest.mark.parametrize("start", [fork_helper, start_helper])
def test_what_an_environment_started_ends_with_its_process(start: Callable[[], int], diary: Diary) -> None:
    def work(_: None, __: int) -> None:
        diary.write(start())
        os._exit(1)

    with (
        Processes(nothing, workers=1, attempts=1) as engine,
        pytest.raises(EnvironmentFailure, match="exit code 1"),
    ):
        engine.map(work, [0])
    helper = int(diary.lines()[0])
    wait_until(lambda: not is_alive(helper))


def start_all(diary: Diary) -> None:
    """Start processes in a session of their own, in a group of their own, and as a daemon."""
    diary.write(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)
    diary.write(subprocess.Popen(["sleep", "1000"], process_group=0).pid)
    if not os.fork():
        os.setsid()
        diary.write(os.fork() or os.execlp("sleep", "sleep", "1000"))
        os._exit(0)
    wait_until(lambda: len(diary.lines()) == 3)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems can't tell whose child an orphan was")
@pytest.mark.parametrize("ending", ["returns", "exits", "crashes", "hangs"])
def test_whatever_an_environment_started_ends_with_its_process(ending: str, diary: Diary) -> None:
    def work(_: None, __: int) -> None:
        start_all(diary)
        {"returns": int, "exits": lambda: os._exit(1), "crashes": os.abort, "hangs": lambda: time.sleep(1000)}[ending]()

    timeout = 5.0 if ending == "hangs" else None
    with Processes(nothing, workers=1, timeout=timeout, attempts=1) as engine:
        if ending == "returns":
            engine.map(work, [0])
        else:
            with pytest.raises(EnvironmentFailure, match=r"exit code 1|SIGABRT|--hang-limit"):
                engine.map(work, [0])
    assert len(diary.lines()) == 3
    wait_until(lambda: not any(is_alive(int(pid)) for pid in diary.lines()))


def test_a_process_that_an_environment_forked_gives_no_answers() -> None:
    def work(_: None, item: int) -> tuple[int, bool]:
        return item, os.fork() == 0

    with Processes(nothing, workers=1) as engine:
        assert engine.map(work, range(8)) == [(item, False) for item in range(8)]


def test_time_in_which_everything_was_stopped_is_no_hanging(tmp_path: Path, diary: Diary) -> None:
    limit, go_on = 3.0, tmp_path / "go on"
    script = tmp_path / "script.py"
    script.write_text(f"""
import os, time
from sirl.engine.processes import Processes

def work(context, item):
    with open({str(diary.path)!r}, "a") as file:
        file.write(f"{{os.getppid()}}\\n{{os.getpid()}}\\n")
    while not os.path.exists({str(go_on)!r}):
        time.sleep(0.01)
    return "done"

with Processes(lambda: None, workers=1, timeout={limit}) as engine:
    print(*engine.map(work, [0]))
""")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as driver:
        wait_until(lambda: len(diary.lines()) == 2)
        pids = [driver.pid, *map(int, diary.lines())]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(limit + 0.5)
        go_on.touch()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        assert driver.communicate(timeout=20)[0] == "done\n"


def test_restarts_leak_no_file_descriptors(diary: Diary) -> None:
    def work(_: None, item: int) -> None:
        diary.write(item)
        if len(diary.lines()) % 5:
            os._exit(1)

    with Processes(nothing, workers=1, attempts=5) as engine:
        engine.map(double, [0])
        before = len(os.listdir("/dev/fd"))
        engine.map(work, [0])
        assert len(os.listdir("/dev/fd")) == before
    assert len(diary.lines()) == 5


def test_environments_may_print(capfd: pytest.CaptureFixture[str]) -> None:
    def work(_: None, item: int) -> int:
        print("from Python")
        os.write(1, b"from C\n")
        return item

    with Processes(nothing, workers=1) as engine:
        assert engine.map(work, [1, 2]) == [1, 2]
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == "from Python\nfrom C\n" * 2


def test_an_exception_carries_the_traceback_of_its_worker() -> None:
    def step_out_of_bounds(_: None, item: int) -> None:
        raise IndexError(item)

    with Processes(nothing, workers=1) as engine, pytest.raises(IndexError) as caught:
        engine.map(step_out_of_bounds, [0])
    assert "in step_out_of_bounds" in caught.value.__notes__[0]


class TwoArgumentsError(Exception):
    """Pickles, but cannot be unpickled, as many exceptions in the wild."""

    def __init__(self, one: str, two: str):
        super().__init__(f"{one} and {two}")


def test_an_exception_that_cannot_travel_is_told_in_words() -> None:
    def work(_: None, __: int) -> None:
        raise TwoArgumentsError("salt", "pepper")

    with Processes(nothing, workers=1) as engine:
        with pytest.raises(EnvironmentFailure, match="TwoArgumentsError: salt and pepper") as caught:
            engine.map(work, [0])
        assert "in work" in caught.value.details
        with pytest.raises(TypeError, match="pickle"):
            engine.map(lambda _, __: threading.Lock(), [0])


def test_a_factory_that_cannot_travel_is_refused_with_the_fix() -> None:
    lock = threading.Lock()
    with pytest.raises(SirlError, match="--workers 1"):
        Processes(lambda: lock, workers=1)


def test_workers_find_the_modules_of_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_module.py").write_text("def triple(context, item):\n    return 3 * item\n")
    monkeypatch.syspath_prepend(tmp_path)
    from users_module import triple  # type: ignore[import-not-found]

    with Processes(nothing, workers=1) as engine:
        assert engine.map(triple, [5]) == [15]


def test_numerical_libraries_take_one_thread_each() -> None:
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    with Processes(nothing, workers=1) as engine:
        assert engine.map(lambda _, variable: os.environ[variable], variables) == ["1", "1", "1"]


def test_a_script_needs_no_main_guard_and_may_use_its_own_classes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
from sirl.engine.processes import Processes

class World:
    gravity = 10

class Result:
    def __init__(self, value):
        self.value = value

class Failed(Exception):
    pass

def fail(world, item):
    raise Failed(item)

with Processes(lambda: World(), workers=2) as engine:
    results = engine.map(lambda world, item: Result(world.gravity * item), [1, 2, 3])
    print([result.value for result in results if isinstance(result, Result)])
    try:
        engine.map(fail, [7])
    except Failed as error:
        print("failed", error)
""")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=20)
    assert (run.stdout, run.stderr) == ("[10, 20, 30]\nfailed 7\n", "")


def test_no_process_is_left_when_the_driver_is_killed(tmp_path: Path, diary: Diary) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"""
import ctypes, os, subprocess, sys, time
from sirl.engine.processes import Processes

def work(context, item):
    helper = subprocess.Popen(["sleep", "1000"], start_new_session=sys.platform == "linux")
    with open({str(diary.path)!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n{{helper.pid}}\\n")
    if item == 0:
        time.sleep(1000)
    ctypes.PyDLL(None).sleep(1000)  # holds the GIL, so that no other thread of the worker can act

with Processes(lambda: None, workers=2) as engine:
    engine.map(work, [0, 1])
""")
    with subprocess.Popen([sys.executable, script]) as driver:
        wait_until(lambda: len(diary.lines()) == 4)
        pids = [int(line) for line in diary.lines()]
        assert all(is_alive(pid) for pid in pids)
        driver.kill()
    wait_until(lambda: not any(is_alive(pid) for pid in pids), seconds=5.0)
