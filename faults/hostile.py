"""Files that a stranger made to do harm: each is refused with a sentence, or does nothing (for faults.py; Linux).

python faults/hostile.py DIR        # the last line is the result, as JSON

An audit hook of Python watches what loading them does: no file may be made, changed or removed outside of the
directory of the cases, no process started, nothing unpickled, and the module that one of them names not imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import pickle
import resource
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import sirl
from sirl import jit
from sirl.cli import main as cli
from sirl.runs.checkpoints import Checkpoint
from sirl.runs.directory import read_history
from sirl.runs.training import Training
from watched import SMALL

SETTINGS = SMALL | {"generations": 1, "workers": 1}
MEMORY = 4 * 10**9
"""Bytes of address space in which all of it must do."""
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
SCRIPT = "<script>alert(1)</script>"


class Bomb:
    """What a pickle does when it is loaded."""

    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/sirl-was-here",)


class Case(NamedTuple):
    """A hostile file, and what a user would do with it."""

    name: str
    use: Callable[[Path], None]
    path: Path


def models(good: bytes) -> Iterator[tuple[str, bytes]]:
    """Model files: foreign, deep, huge, contradictory, and with things in their names."""
    bomb = pickle.dumps(Bomb())
    yield from {
        "pickle": bomb,
        "pickle 0": pickle.dumps(Bomb(), 0),
        "pickle after JSON": good + bomb,
        "pickle in a string": json.dumps({"format": bomb.decode("latin1")}).encode(),
        "zip": b"PK\x03\x04" + bytes(1000),
        "python": b"import os; os.system('touch /tmp/sirl-was-here')",
        "yaml": b"!!python/object/apply:os.system ['touch /tmp/sirl-was-here']",
        "npy": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "gzip": b"\x1f\x8b\x08" + bytes(1000),
        "nothing": b"",
        "zeros": bytes(10**6),
        "ones": b"1" * 10**6,
        "utf-16": good.decode().encode("utf-16"),
        "surrogates": b'{"format": "\\ud800"}',
        "overlong": b'{"format": "\xc0\xaf"}',
        "byte order mark": b"\xef\xbb\xbf" + good,
    }.items()
    for depth in (500, 10_000, 1_000_000):
        yield f"lists {depth} deep", b"[" * depth + b"]" * depth
        yield f"objects {depth} deep", b'{"tree":' * depth + b"1" + b"}" * depth
        head = good[: good.index(b'"tree"')].replace(b'"checksum"', b'"checksum": null, "x"')
        yield f"a tree {depth} deep", head + b'"tree": ' + b'{"if_true": ' * depth + b"{}" + b"}" * depth
        yield f"an unknown field {depth} deep", b'{"format": "sirl policy", "x": ' + b"[" * depth + b"]" * depth + b"}"
    numbers = [
        10**30,
        -(10**30),
        10**4000,
        1e308,
        -1e308,
        5e-324,
        -1,
        2**63,
        2**64,
        True,
        None,
        "1",
        [],
        {},
        [1e308] * 3,
    ]
    places: list[tuple[str, ...]] = [
        ("schema",), ("tree", "threshold"), ("tree", "weights", "x"), ("task", "observation_start"),
        ("task", "action_low"), ("origin", "generation"), ("origin", "seed"), ("actions", "values"),
    ]  # fmt: skip
    for place in places:
        for number in numbers:
            yield f"{'.'.join(place)} = {str(number)[:12]}", _with(good, place, number)
    for text in (
        ESCAPE,
        SCRIPT,
        "../../etc/passwd",
        "/etc/passwd",
        "a\0b",
        "$(reboot)",
        "%s%n{0.__class__}",
        "x" * 10**6,
    ):
        yield f"env {text[:9]!r}", _with(good, ("task", "env"), text)
        yield f"a feature {text[:9]!r}", _with(good, ("task", "features"), [text, "v", "theta", "omega"])
        yield f"an action {text[:9]!r}", _with(good, ("actions", "names"), [text, "right"])
        yield f"a note {text[:9]!r}", _with(good, ("origin", "note"), text)
        yield f"a field {text[:9]!r}", _with(good, (text,), 1)
    for dtype in ("object", "O", "U10", "void", "int64, int64", "datetime64[s]", "complex128", ">f8", "f" * 1000):
        yield f"dtype {dtype[:12]}", _with(good, ("task", "action_dtype"), dtype)
    many = [f"f{i}" for i in range(100_000)]
    wide = _with(good, ("task", "features"), many)
    wide = _with(wide, ("task", "feature_low"), [None] * len(many))
    wide = _with(wide, ("task", "feature_high"), [None] * len(many))
    yield "100,000 features", _with(wide, ("tree", "weights"), dict.fromkeys(many, 1.0))
    chain: dict[str, Any] = {"action": 0}
    for _ in range(290):
        chain = {"weights": {}, "threshold": 0, "if_true": chain, "if_false": {"action": 0}}
    yield "290 conditions on 100,000 features", _with(wide, ("tree",), chain)
    yield "a million actions", _with(good, ("actions", "values"), [0] * 10**6)
    yield "a million names", _with(good, ("actions", "names"), ["a"] * 10**6)
    yield "a number of a million digits", good.replace(b'"schema": 1', b'"schema": ' + b"9" * 10**6)
    yield "a key twice", good.replace(b'"schema": 1', b'"schema": 1, "schema": 99')
    yield "no checksum, other tree", _with(good, ("tree",), {"action": 1})


def configs(good: str) -> Iterator[tuple[str, bytes]]:
    """What a stranger may write into config.toml."""
    for name, line in {
        "a module to import": 'env = "sirl_hostile_module:CartPole-v1"',
        "a path as env": 'env = "../../CartPole-v1"',
        "escapes in env": 'env = "\\u001b[2J"',
        "no string as env": "env = 7",
        "env of a megabyte": f'env = "{"x" * 10**6}"',
    }.items():
        yield name, good.replace('env = "CartPole-v1"', line).encode()
    for name, value in {
        "negative": "-1", "zero": "0", "huge": "1" + "0" * 30, "of 5000 digits": "9" * 5000, "NaN": "nan",
        "text": '"7"', "a list": "[1]", "a table": "{a = 1}", "infinite": "inf", "a date": "1979-05-27",
        "all the memory": "10000000",
    }.items():  # fmt: skip
        yield f"population {name}", good.replace("population = 20", f"population = {value}").encode()
        yield f"seed {name}", good.replace("seed = 0", f"seed = {value}").encode()
    yield "deep lists", (good + "\n[env_options]\na = " + "[" * 5000 + "]" * 5000).encode()
    yield "deep tables", ("[" + ".".join(["a"] * 5000) + "]\n" + good).encode()
    yield "unknown keys", ("evil = 1\n" + good).encode()
    yield "not UTF-8", b"\xff\xfe" + good.encode()
    yield "two megabytes", good.encode() + b"#" * 2 * 10**6
    yield "an option that no environment has", (good + '\n[env_options]\n__class__ = "os.system"\n').encode()
    yield "pickle", pickle.dumps(Bomb())


def changed_checkpoints(good: Checkpoint) -> Iterator[tuple[str, bytes]]:
    """Checkpoints whose checksum fits, as whoever makes one can see to."""
    plain: dict[str, Any] = msgspec.to_builtins(good, builtin_types=(bytes,))

    def packed(**changes: Any) -> bytes:
        return signed(msgspec.msgpack.encode(plain | changes))

    def array(dtype: str = "<i4", shape: Any = (20, 1000), data: bytes = bytes(80_000)) -> dict[str, Any]:
        return {"dtype": dtype, "shape": shape, "data": data}

    yield "pickle", signed(pickle.dumps(Bomb()))
    yield "bare pickle", pickle.dumps(Bomb())
    for kind, head in {
        "list": b"\xdd",
        "map": b"\xdf",
        "bytes": b"\xc6",
        "text": b"\xdb",
        "extension": b"\xc9",
    }.items():
        yield f"a {kind} that claims 4 GB", signed(head + b"\xff\xff\xff\xff" + b"\x01")
        yield f"a history that claims 4 GB of {kind}", signed(b"\x81\xa7history" + head + b"\xff\xff\xff\xff" + b"\x01")
    yield "100,000 lists deep", signed(b"\x91" * 100_000 + b"\x01")
    for name, codons in {
        "a huge shape": array(shape=(10**9, 10**9)),
        "a negative shape": array(shape=(-20, -1000)),
        "an overflowing shape": array(shape=(2**62, 4, 5000)),
        "another population": array(shape=(10, 1000), data=bytes(40_000)),
        "short codons": array(shape=(20, 1), data=bytes(80)),
        "no dimension": array(shape=(), data=bytes(4)),
        "objects": array(dtype="|O"),
        "negative codons": array(data=b"\xff" * 80_000),
        "huge codons": array(data=b"\x7f" * 80_000),
        "no data": array(data=b""),
        "a dtype of a megabyte": array(dtype="<i4" * 300_000),
    }.items():
        yield f"codons: {name}", packed(arrays=plain["arrays"] | {"codons": codons})
    for name, fitness in {"NaN": b"\xff" * 160, "short": bytes(8), "none": b""}.items():
        yield (
            f"fitness: {name}",
            packed(arrays=plain["arrays"] | {"fitness": array("<f8", (len(fitness) // 8,), fitness)}),
        )
    for generation in (-1, 0, 7, 2**62, "1", None):
        yield f"generation {generation}", packed(generation=generation)
    other = sirl.load("paper:LunarLander").to_json()
    for name, champion in {
        "a pickle": pickle.dumps(Bomb()),
        "of another task": other,
        "broken": b"{",
        "with other features": _with(good.policies["champion"], ("task", "features"), ["x", "v", "theta", "phi"]),
        "wider": _with(good.policies["champion"], ("task", "env"), "Acrobot-v1"),
    }.items():
        yield f"champion {name}", packed(policies=good.policies | {"champion": champion})
    yield "schema 99", packed(schema=99)
    yield "another run's", packed(config="0" * 64)
    yield "history of text", packed(history=["x"])
    yield "a long history", packed(history=plain["history"] * 10_000)


def signed(payload: bytes) -> bytes:
    """A checkpoint with a checksum that fits."""
    return b"sirl checkpoint\n" + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def _with(content: bytes, place: tuple[str, ...], value: Any) -> bytes:
    """A model file with a value at some place, and no checksum."""
    file = json.loads(content)
    file.pop("checksum", None)
    at = file
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with _any_digits():
        return json.dumps(file).encode()


@contextlib.contextmanager
def _any_digits() -> Iterator[None]:
    usual = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(usual)


def directories(run: Path, place: Path, outside: Path) -> Iterator[tuple[str, Path]]:
    """Run directories with links that lead out, pipes, devices and files of impossible size."""
    secret, elsewhere = outside / "secret", outside / "elsewhere"
    for name, target in {
        "config.toml": secret, "champion.json": secret, "history.jsonl": secret, ".lock": secret, "log.txt": secret,
        ".champion.json.part": secret, ".config.toml.part": secret, ".history.jsonl.part": secret,
        "checkpoints/00000002.ckpt": secret, "checkpoints/.00000002.ckpt.part": secret, "checkpoints": elsewhere,
    }.items():  # fmt: skip
        path = shutil.copytree(run, place / f"link {name.replace('/', ' ')}")
        for victim in [path / name] if name != "checkpoints" else []:
            victim.unlink(missing_ok=True)
        if name == "checkpoints":
            shutil.rmtree(path / name)
        (path / name).symlink_to(target)
        yield f"{name} is a link that leads out", path
    for name in ("config.toml", "champion.json", "history.jsonl", "checkpoints/00000009.ckpt"):
        for kind in ("pipe", "device", "terabyte", "directory"):
            path = shutil.copytree(run, place / f"{kind} {name.replace('/', ' ')}")
            victim = path / name
            victim.unlink(missing_ok=True)
            if kind == "pipe":
                os.mkfifo(victim)
            elif kind == "device":
                victim.symlink_to("/dev/zero")
            elif kind == "directory":
                victim.mkdir()
            else:
                with victim.open("wb") as file:
                    file.truncate(10**12)
            yield f"{name} is a {kind}", path
    for name in ("../../evil.ckpt", "\x1b[2J.ckpt", "-rf.ckpt", "99999999999999999999.ckpt", ".ckpt"):
        path = shutil.copytree(run, place / f"ckpt {name!r}".replace("/", " "))
        (path / "checkpoints" / name.replace("/", "\u2215")).write_bytes(pickle.dumps(Bomb()))
        yield f"a checkpoint called {name!r}", path


def show(path: Path) -> None:
    """Look at a model."""
    _command("show", str(path))


def evaluate(path: Path) -> None:
    """Play a model."""
    _command("evaluate", str(path), "--episodes", "1", "--workers", "1")


def resume(path: Path) -> None:
    """Go on with a run for another generation, and look at what it has."""
    Training.resume(path, workers=1, generations=2).generations().close()
    list(Training.resume(path, workers=1, generations=2).generations())
    read_history(path)
    _command("show", str(path))


def read(path: Path) -> None:
    """Read a history."""
    read_history(path)


def _command(*arguments: str) -> None:
    """A command; its errors become a SirlError, so that all cases are counted alike."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(list(arguments))
    text = out.getvalue() + err.getvalue()
    assert all(c.isprintable() or c == "\n" for c in text), "it reaches the terminal"
    if code:
        assert err.getvalue().count("\n") == 1, "it takes more than a sentence"
        raise sirl.SirlError(err.getvalue())


def histories(good: bytes) -> Iterator[tuple[str, bytes]]:
    """Lines of history.jsonl."""
    yield "deep", b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    yield "pickle", pickle.dumps(Bomb())
    yield "a long number", good.replace(b'"generation":0', b'"generation":' + b"9" * 100_000)
    yield "a list", b"[]\n"
    yield "one line of 10 MB", b'"' + b"x" * 10**7 + b'"'


def make_cases(work: Path, outside: Path) -> Iterator[Case]:
    """Every case, its files written."""
    run = work / "run"
    good = sirl.train("CartPole-v1", out=run, **SETTINGS)
    model, text = good.champion.to_json(), (run / "config.toml").read_text()
    state = msgspec.msgpack.decode((run / "checkpoints/00000001.ckpt").read_bytes()[81:], type=Checkpoint)
    for number, (name, content) in enumerate(models(model)):
        path = work / f"model-{number}.json"
        path.write_bytes(content)
        yield Case(f"model: {name}", show, path)
    for env in ("sirl_hostile_module:CartPole-v1", "CartPole-v1", "LunarLander-v3", "../CartPole-v1", "os:CartPole-v1"):
        path = work / f"model-{env.replace('/', '-')}.json"
        path.write_bytes(_with(model, ("task", "env"), env))
        yield Case(f"model: played on {env}", evaluate, path)
    for kind, file, contents, use in (
        ("config", "config.toml", configs(text), resume),
        ("checkpoint", "checkpoints/00000001.ckpt", changed_checkpoints(state), resume),
        ("history", "history.jsonl", histories((run / "history.jsonl").read_bytes()), read),
    ):
        for number, (name, content) in enumerate(contents):
            path = shutil.copytree(run, work / f"{kind}-{number}")
            (path / file).write_bytes(content)
            yield Case(f"{kind}: {name}", use, path)
    for name, path in directories(run, work, outside):
        yield Case(f"directory: {name}", resume, path)


class Watch:
    """The audit hook: what happens outside of the directories that may be used."""

    def __init__(self, *allowed: Path):
        self.allowed = tuple(str(path) for path in allowed)
        self.seen: list[str] = []
        self.on = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of an event that must not happen."""
        if not self.on:
            return
        if event in (
            "os.system",
            "subprocess.Popen",
            "os.exec",
            "os.posix_spawn",
            "pickle.find_class",
            "socket.connect",
        ):
            self.seen.append(event)
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            self._check(event, arguments[0])
        if event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.symlink"):
            self._check(event, arguments[0])

    def _check(self, event: str, path: Any) -> None:
        if isinstance(path, str) and not os.path.realpath(os.path.dirname(path)).startswith(self.allowed):
            self.seen.append(f"{event} {path}")


def main() -> None:
    """Use every file as its finder would; print what came of it."""
    work = Path(sys.argv[1]).resolve()
    outside = work.parent / (work.name + "-outside")
    shutil.rmtree(outside, ignore_errors=True)
    (outside / "elsewhere").mkdir(parents=True)
    (outside / "secret").write_text("secret")
    (outside / "elsewhere" / "00000001.ckpt").write_text("not yours")
    (work / "sirl_hostile_module.py").touch()
    sys.path.append(str(work))
    cases = list(make_cases(work, outside))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    watch = Watch(work, jit._directory())  # where what numba compiles is kept
    sys.addaudithook(watch)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts, slowest, bad = {"refused": 0, "inert": 0}, 0.0, []
    for case in cases:
        begin, watch.seen, watch.on = time.monotonic(), [], True
        try:
            case.use(case.path)
            how = "inert"
        except sirl.SirlError:
            how = "refused"
        except BaseException as error:
            how = f"{type(error).__name__}: {error}"
        watch.on = False
        if "sirl_hostile_module" in sys.modules:
            watch.seen.append("the stranger's module is imported")
        slowest = max(slowest, time.monotonic() - begin)
        if watch.seen:
            how = ", ".join(watch.seen)
        if how in counts:
            counts[how] += 1
        else:
            bad.append(f"{case.name}: {how}")
        print(f"{case.name}: {how} ({time.monotonic() - begin:.2f} s)", flush=True)
    untouched = (outside / "secret").read_text() == "secret" and os.listdir(outside / "elsewhere") == ["00000001.ckpt"]
    if not untouched or Path("/tmp/sirl-was-here").exists():
        bad.append("something outside was touched")
    shutil.rmtree(outside)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    print(json.dumps({"files": len(cases), **counts, "slowest": slowest, "megabytes": more, "bad": bad}))


if __name__ == "__main__":
    main()
