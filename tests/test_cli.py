"""The command line as a user meets it: what it prints, what it leaves behind, how it refuses."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sirl
from conftest import TINY, TINY_FLAGS, Tiny
from sirl.cli import main as cli
from sirl.cli import progress
from sirl.cli.stopping import stops_on_signals, what_stopped
from sirl.runs.directory import read_config, read_history
from sirl.search import evolution


def test_training_from_the_first_line_to_the_last(sirl_command):
    code, out, err = sirl_command("train", "CartPole-v1", *TINY_FLAGS)
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if not line.startswith("compiling the loops")]
    assert lines[0] == (
        "sirl-lb on CartPole-v1, seed 0: 20 trees, up to 2 generations of 22 episodes, 1 worker, gymnasium simulator "
        "→ runs/CartPole-v1-sirl-lb-0"
    )
    for number, line in enumerate(lines[1:3], start=1):
        assert re.fullmatch(
            rf"generation {number}/2  best [\d.]+  mean [\d.]+  champion [\d.]+ \(\d+ leaves\)  [\d,]+ episodes  "
            r"[\d,]+ steps/s  \d+:\d\d( left at most| in all)",
            line,
        )
    policy = sirl.load("runs/CartPole-v1-sirl-lb-0")
    assert str(policy) in out
    assert re.search(r"^score  [\d.]+ ± [\d.]+ on 100 unseen episodes of CartPole-v1 \(worst .*\)$", out, re.MULTILINE)
    assert re.search(r"^size   \d+ leaves, depth \d+$", out, re.MULTILINE)
    assert re.search(
        r"^cost   2 generations, \d+ episodes and \d+ more to choose the champion, .* steps, \d+:\d\d$",
        out,
        re.MULTILINE,
    )
    assert "next   sirl show runs/CartPole-v1-sirl-lb-0\n" in out
    assert {file.name for file in Path("runs/CartPole-v1-sirl-lb-0").iterdir()} == {
        ".lock", "champion-training.json", "champion.json", "checkpoints", "config.toml", "history.jsonl", "score.json",
    }  # fmt: skip
    assert read_config("runs/CartPole-v1-sirl-lb-0").settings.population == 20
    assert len(read_history("runs/CartPole-v1-sirl-lb-0")) == 2


def test_a_second_run_takes_another_directory(sirl_command, register):
    env = register(Tiny)
    for _ in range(2):
        assert sirl_command("train", env, *TINY_FLAGS).code == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["Tiny-v0-sirl-lb-0", "Tiny-v0-sirl-lb-0-2"]


def test_a_goal_that_is_reached_and_one_that_is_not(sirl_command, register):
    env = register(Tiny)
    code, out, _ = sirl_command("train", env, "--stop-at", "-5", *TINY_FLAGS)
    assert code == 0
    assert "generation 1/2" in out
    assert "generation 2/2" not in out
    assert "no champion held" not in out
    assert (
        "note   no champion held 99 yet: raise --generations"
        in sirl_command("train", env, "--stop-at", "99", *TINY_FLAGS).out
    )


def test_names_and_options_from_the_command_line(sirl_command, register):
    env = register(lambda size=2: Tiny(spaces.Box(-1, 1, (size,))))
    names = ["--features", "height, speed, heat", "--actions", "brake,go", "--env-option", "size=3"]
    assert sirl_command("train", env, "--out", "run", *names, *TINY_FLAGS).code == 0
    policy = sirl.load("run")
    assert policy.task.features == ["height", "speed", "heat"]
    assert policy.tree.leaves.menu.names == ["brake", "go"]
    for model in ("run", "run/champion.json"):  # both know the options that its environment needs
        assert sirl_command("evaluate", model, "--episodes", 2).code == 0
    assert "3 features against 4" in sirl_command("evaluate", "run", "--episodes", 2, "--env-option", "size=4").err


def test_a_policy_is_scored_as_it_was_trained(tmp_path):
    asked = {"method": "linear", "generations": 2, "contenders": 1, "law_episodes": 1, "validation_episodes": 2}
    run = sirl.train("Pendulum-v1", **asked, workers=1, max_steps=5, env_options={"g": 1.0})
    run.champion.save(tmp_path / "saved.json")
    for policy in (run.champion, sirl.load(tmp_path / "saved.json")):
        score = partial(sirl.evaluate, policy, episodes=3, workers=1)
        assert score().lengths.tolist() == [5] * 3
        assert score(max_steps=7).lengths.tolist() == [7] * 3
        assert score().mean == score(env_options={"g": 1.0}).mean != score(env_options={}).mean


def test_evaluate(sirl_command):
    code, out, err = sirl_command("evaluate", "paper:InvertedPendulum", "--episodes", 3)
    assert (code, err) == (0, "")
    assert out == (
        "score  1000.00 ± 0.00 on 3 unseen episodes of InvertedPendulum-v4 "
        "(worst 1000.00, best 1000.00, mean length 1000)\n"
        "size   2 leaves, depth 1\n"
        "paper  1000.00 ± 0.00\n"
    )


def test_evaluate_elsewhere_as_json(sirl_command, register):
    pole = register(lambda: gym.make("InvertedPendulum-v5"), "Pole-v0")
    _, out, _ = sirl_command(
        "evaluate", "paper:InvertedPendulum", "--env", pole, "--episodes", 2, "--max-steps", 9, "--json"
    )
    assert json.loads(out) == {
        "model": "paper:InvertedPendulum", "env": "Pole-v0", "seed": 0, "mean": 9.0, "std": 0.0, "leaves": 2,
        "depth": 1, "returns": [9.0, 9.0], "lengths": [9, 9],
    }  # fmt: skip
    text = sirl_command("evaluate", "paper:InvertedPendulum", "--env", pole, "--episodes", 1, "--max-steps", 9).out
    assert "on 1 unseen episode of Pole-v0" in text


def test_show(sirl_command):
    code, out, err = sirl_command("show", "paper:InvertedPendulum", "--episodes", "0")
    assert (code, err) == (0, "")
    assert out == (
        "InvertedPendulum-v4: 2 leaves, depth 1, 4 weights\n"
        "paper, printed for InvertedPendulum-v2, paper's score 1000.00 ± 0.00\n"
        "\n"
        "if 0.0446·(x + 3.05·v) + theta + 0.334·omega > -0.0567\n"
        "├─ yes → push +0.67\n"
        "└─ no  → push -1\n"
        "\n"
        "push +0.67\n"
        "  when 0.0446·(x + 3.05·v) + theta + 0.334·omega > -0.0567\n"
        "push -1\n"
        "  when 0.0446·(x + 3.05·v) + theta + 0.334·omega ≤ -0.0567\n"
    )


@pytest.mark.parametrize("command", ["train", "evaluate", "show", None])
def test_help_lists_everything(command, sirl_command):
    code, out, _ = sirl_command(*[command] if command else [], "--help")
    assert code == 0
    expected = {
        "train": ["--seed", "--out", *("--" + name.replace("_", "-") for name in sirl.Settings.__struct_fields__)],
        "evaluate": ["MODEL", "--episodes", "--json", "--env"],
        "show": ["MODEL", "paper:TASK"],
        None: ["train", "evaluate", "show", "examples:"],
    }[command]
    assert all(re.search(rf"(?<!\S){re.escape(word)}(?!\w)", out) for word in expected)


def test_a_terminal_without_box_characters(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert cli.main(["show", "paper:LunarLander"]) == 0
    sys.stdout.flush()
    assert b"fire main engine" in raw.getvalue()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["train", "CartPole-v7"], "no environment is registered as 'CartPole-v7'; did you mean 'CartPole-v1'?"),
        (["train", "Zzz-v0"], "no environment is registered as 'Zzz-v0'; write module:id if a module registers it."),
        (["train", ""], "no environment is registered as ''"),
        (["train", "no_such_module:Env-v0"], "No module named 'no_such_module'"),
        (["train", "CarRacing-v3"], "CarRacing-v3 observes an image of shape (96, 96, 3)"),
        (["train", "Blackjack-v1"], "Blackjack-v1 observes a Tuple"),
        (["train", "CartPole-v1", "--poplation", "5"], "there is no option --poplation; did you mean '--population'?"),
        (["train", "CartPole-v1", "--poplation=5"], "there is no option --poplation; did you mean '--population'?"),
        (["train", "CartPole-v1", "Pendulum-v1"], "'Pendulum-v1' is one argument too many; see sirl train --help."),
        (["train", "CartPole-v1", "--method", "eldt", "--population", "-5"], "population = -5 is not allowed"),
        (["train", "CartPole-v1", "--method", "eldt", "--population", "9999999"], "codons: lower one of them."),
        (["train", "CartPole-v1", "--population", "50"], "population is for the paper's methods, not for laws: leave"),
        (["train", "CartPole-v1", "--method", "eldt", "--shaping", "x"], "shaping is for laws, not for eldt: leave it"),
        (["train", "CartPole-v1", "--crowning", "training"], "crowning is for the paper's methods, not for laws"),
        (["train", "CartPole-v1", "--seed", "-1"], "seed = -1 is not allowed"),
        (["train", "CartPole-v1", "--workers", "0"], "workers = 0 is not allowed"),
        (["train", "CartPole-v1", "--method", "eldt", "--epsilon", "nan"], "epsilon = nan is not allowed"),
        (["train", "CartPole-v1", "--features", "a,b"], "features needs 4 different names, got 2: a, b."),
        (["train", "CartPole-v1", "--env-option", "nonsense=1"], "nonsense"),
        (["train", "CartPole-v1", "--out", "full"], "full already exists and is not empty"),
        (["train", "CartPole-v1", "--out", "full/file/run"], "full/file/run can't be written (Not a directory)"),
        (["train", "CartPole-v1", "--simulator", "mujoco"], "use --simulator gymnasium."),
        (["evaluate", "paper:InvertedPendulum", "--env", "CartPole-v1"], "can't play CartPole-v1"),
        (["evaluate", "paper:InvertedPendulum", "--episodes", "0"], "episodes = 0 is not allowed"),
        (["prune", "paper:InvertedPendulum", "--episodes", "0"], "episodes = 0 is not allowed"),
        (["explain", "paper:InvertedPendulum", "--episodes", "0"], "episodes = 0 is not allowed"),
        (["report", "paper:InvertedPendulum", "--episodes", "0"], "episodes = 0 is not allowed"),
        (["evaluate", "paper:InvertedPendulum", "--seed", "-1"], "seed = -1 is not allowed"),
        (["evaluate", "paper:InvertedPendulum", "--workers", "-1"], "workers = -1 is not allowed"),
        (["evaluate", "paper:InvertedPendulum", "--max-steps", "0"], "max_steps = 0 is not allowed"),
        (["evaluate", "full/file"], "full/file is not a readable sirl policy"),
        (["show", "full"], "full/champion.json can't be read (No such file or directory)"),
        (["show", "paper:Lunarlander"], "did you mean 'LunarLander'?"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, reason, refusal, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("something")
    assert reason in refusal(*arguments)
    assert {path.name for path in tmp_path.iterdir()} == {"full"}
    assert (tmp_path / "full" / "file").read_text() == "something"


@pytest.mark.parametrize("arguments", [[], ["trian"], ["train", "X-v0", "--population", "many"], ["show"]])
def test_bad_usage(arguments, sirl_command):
    code, _, err = sirl_command(*arguments)
    assert code == 2
    assert re.fullmatch(r"sirl.*: error: .*\n", err)


def explode(*_):
    raise RuntimeError("the motor is on fire")


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        (explode, "Tiny-v0 raised RuntimeError: the motor is on fire in make; fix the environment or its options."),
        (lambda: Tiny(action_space=spaces.Box(-np.inf, np.inf, (1,))), "Tiny-v0 has an unbounded action"),
        (lambda: Tiny(spaces.Dict(a=spaces.Discrete(2))), "Tiny-v0 observes a Dict"),
    ],
)
def test_an_environment_that_can_not_be_used(factory, reason, refusal, register):
    assert reason in refusal("train", register(factory), *TINY_FLAGS)


@pytest.mark.parametrize("broken", [{"in_reset": explode}, {"behave": explode}], ids=["reset", "step"])
def test_an_environment_that_never_works(broken, sirl_command, register):
    code, _, err = sirl_command("train", register(lambda: Tiny(**broken)), "--out", "run", *TINY_FLAGS)
    assert code == 1
    assert re.search(
        r"^sirl: error: Tiny-v0 raised RuntimeError: the motor is on fire in \w+; fix the environment.*\.$",
        err,
        re.M,
    )
    assert "no generation had ended, so there is no champion yet; what happened is in run/log.txt." in err
    assert "Traceback" in Path("run/log.txt").read_text()


def test_an_environment_that_breaks_in_the_third_generation(sirl_command, register):
    history = Path("run/history.jsonl")

    def behave(_):
        if history.exists() and history.read_text().count("\n") == 2:
            explode()

    env = register(lambda: Tiny(behave=behave))
    code, out, err = sirl_command("train", env, "--out", "run", *TINY_FLAGS, "--generations", 5)
    assert code == 1
    assert "generation 2/5" in out
    assert err.splitlines() == [
        "sirl: error: Tiny-v0 raised RuntimeError: the motor is on fire in step; fix the environment.",
        "sirl: the champion of 2 generations is kept in run/champion.json; what happened is in run/log.txt.",
        "sirl: to go on: sirl train --resume run",
    ]
    assert len(read_history("run")) == 2
    assert sirl.load("run").task.env == "Tiny-v0"
    assert "Traceback" in Path("run/log.txt").read_text()


def test_an_environment_that_breaks_in_the_last_evaluation(sirl_command, register):
    history = Path("run/history.jsonl")
    env = register(lambda: Tiny(behave=lambda _: explode() if history.exists() else None))
    code, out, err = sirl_command("train", env, "--out", "run", *TINY_FLAGS, "--generations", 1)
    assert code == 1
    assert str(sirl.load("run")) in out
    assert "the champion of 1 generation is kept in run/champion.json" in err
    assert Path("run/log.txt").read_text().startswith("evaluation: Tiny-v0 raised RuntimeError")


def test_stop_keeps_the_champion(sirl_command, register, monkeypatch):
    def interrupted(state, problem, engine):
        if state.generation == 2:
            raise KeyboardInterrupt
        return real(state, problem, engine)

    real = evolution.next_generation
    monkeypatch.setattr(evolution, "next_generation", interrupted)
    code, _, err = sirl_command("train", register(Tiny), "--out", "run", *TINY_FLAGS, "--generations", 5)
    assert code == 130
    assert err == (
        "\nsirl: stopped; the champion of 2 generations is kept in run/champion.json.\n"
        "sirl: to go on: sirl train --resume run\n"
    )
    assert len(read_history("run")) == 2
    assert sirl.load("run").task.env == "Tiny-v0"


def test_memory_that_runs_out(refusal, register, monkeypatch):
    def hungry(*_):
        raise MemoryError

    monkeypatch.setattr(evolution, "next_generation", hungry)
    assert "memory has run out: use a smaller --population" in refusal("train", register(Tiny), *TINY_FLAGS)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_real_ctrl_c(tmp_path, workers):
    # A process that was started in the background may have inherited that it ignores the signal.
    heed = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heed}; from sirl.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "train", "CartPole-v1"]
    flags = [*TINY_FLAGS, "--workers", workers, "--generations", "1000000", "--out", "run"]
    with subprocess.Popen(
        [*command, *flags], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        for line in run.stdout:
            if line.startswith("generation 2/"):
                break
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
    assert re.fullmatch(
        r"\nsirl: stopped; the champion of \d+ generations is kept in run/champion\.json\.\n"
        r"sirl: to go on: sirl train --resume run\n",
        err,
    )
    assert run.returncode == 130
    assert sirl.load(tmp_path / "run").task.env == "CartPole-v1"
    assert len(read_history(tmp_path / "run")) >= 2


def test_a_reader_that_leaves_early(tmp_path):
    """As in ``sirl show … | head``."""
    reader, writer = os.pipe()
    os.close(reader)
    code = "import sys; from sirl.cli.main import main; sys.exit(main(['show', 'paper:LunarLander']))"
    run = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert "Traceback" not in run.stderr


def test_a_module_beside_the_user_is_found(tmp_path):
    (tmp_path / "my_tasks.py").write_text(
        "import gymnasium as gym\n"
        "gym.register('Mine-v0', entry_point='gymnasium.envs.classic_control:CartPoleEnv', max_episode_steps=20)\n"
    )
    script = "import sys; sys.path[:] = [p for p in sys.path if p]; from sirl.cli.main import main; sys.exit(main())"
    flags = [*TINY_FLAGS, "--generations", "1"]
    run = subprocess.run(
        [sys.executable, "-c", script, "train", "my_tasks:Mine-v0", *flags],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
    where = "runs/my_tasks-Mine-v0-sirl-lb-0"
    assert (tmp_path / where / "champion.json").exists()
    assert f"sirl evaluate {where} --env my_tasks:Mine-v0 --episodes 1000" in run.stdout


PLANTED = ("org", "scipy", "coverage", "colorama", "pandas", "IPython", "helper")
"""Packages that numba and others look for, and may do without; and one of the user's own."""

COMMAND = "import sys; del sys.path[0]; from sirl.cli.main import main; sys.exit(main())"
"""What the installed command does, for ``python -c``, which has the working directory on its path."""


@pytest.mark.parametrize("start", [["-c", COMMAND], ["-m", "sirl"]], ids=["sirl", "-m"])
@pytest.mark.parametrize("command", [["show", "."], ["train", "my_tasks:Mine-v0", "--workers", "2"]])
def test_nothing_beside_the_user_runs_but_the_module_that_is_named(start, command, tmp_path):
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path)!r} + '/{name} ran', 'w').close(); seconds = 20\n")
    (tmp_path / "my_tasks.py").write_text(
        "import gymnasium as gym\n"
        "class Mine(gym.wrappers.TimeLimit):\n"
        "    def __init__(self):\n"
        "        import helper\n"
        "        super().__init__(gym.make('CartPole-v1'), helper.seconds)\n"
        "gym.register('Mine-v0', entry_point='my_tasks:Mine')\n"
    )
    sirl.load("paper:InvertedPendulum").save(tmp_path / "champion.json")
    flags = [*TINY_FLAGS[:-2], "--generations", "1"] if command[0] == "train" else []
    run = subprocess.run([sys.executable, *start, *command, *flags], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert [path.name for path in tmp_path.glob("* ran")] == (["helper ran"] if command[0] == "train" else [])


@pytest.mark.parametrize("command", [["evaluate", "run", "--episodes", "1"], ["train", "--resume", "run"]])
def test_a_file_does_not_choose_what_is_imported(command, sirl_command, tmp_path):
    (tmp_path / "stranger.py").write_text("import gymnasium as gym; gym.register('S-v0', entry_point='no:where')")
    assert sirl_command("train", "CartPole-v1", "--out", "run", *TINY_FLAGS).code == 0
    for file in (tmp_path / "run" / "champion.json", tmp_path / "run" / "config.toml"):
        text = file.read_text().replace('"CartPole-v1"', '"stranger:S-v0"')
        file.write_text(re.sub(' *"checksum".*\n', "", text))
    _, _, err = sirl_command(*command)
    assert "would import the module 'stranger', and only a file asks for that: if you trust it, " in err
    assert "stranger" not in sys.modules


def test_a_live_display_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    run = sirl.Training(Tiny, **TINY)
    assert len(list(progress.show_progress(run.generations(), 2, run.history))) == 2
    last = screen.getvalue().split("\r")[-1]
    assert "generation 2/2" in last
    assert re.search(r"best .* mean .* champion .* episodes  [\d,]+ steps/s", last)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (185, "3:05"), (7385, "2:03:05")])
def test_durations(seconds, text):
    assert progress.duration(seconds) == text


def sirl_process(*arguments, **how):
    """The command in a process of its own, which heeds Ctrl-C even if this one was started in the background."""
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from sirl.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **how)


@pytest.mark.parametrize("pause", [0.0, 0.02])
def test_ctrl_c_and_sigterm_at_nearly_the_same_time(tmp_path, pause):
    flags = [*TINY_FLAGS, "--workers", "2", "--generations", "1000000", "--out", "run"]
    with sirl_process("train", "CartPole-v1", *flags, cwd=tmp_path, stdout=subprocess.PIPE) as run:
        for line in run.stdout:
            if line.startswith("generation 2/"):
                break
        run.send_signal(signal.SIGINT)
        time.sleep(pause)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=60)
    assert run.returncode in (130, 143)
    assert re.fullmatch(r"\nsirl: stopped; the champion of \d+ generations is kept in .*\nsirl: to go on: .*\n", err)


def test_a_signal_that_follows_another_says_nothing_new():
    with stops_on_signals():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)


def test_a_signal_that_numba_tells_of_is_a_stop():
    outer, inner, stop = SystemError("a result with an exception set"), SystemError("the same"), KeyboardInterrupt()
    outer.__cause__, inner.__cause__ = inner, stop
    assert what_stopped(outer) is what_stopped(inner) is what_stopped(stop) is stop
    with pytest.raises(SystemError, match="of another kind"):
        what_stopped(SystemError("of another kind"))


def test_ctrl_c_during_import(tmp_path):
    (tmp_path / "msgspec.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    with sirl_process("show", "paper:LunarLander", env=os.environ | {"PYTHONPATH": path}) as run:
        _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (130, "sirl: stopped.\n")


def test_output_that_is_closed():
    with sirl_process("show", "paper:LunarLander", preexec_fn=lambda: os.close(1)) as run:
        _, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert err == "sirl: error: standard output is closed: send it to a file, or to /dev/null.\n"


def test_a_working_directory_that_was_deleted(tmp_path):
    (tmp_path / "gone").mkdir()
    leave = f"import os; os.chdir({str(tmp_path / 'gone')!r}); os.rmdir({str(tmp_path / 'gone')!r})\n"
    code = leave + "import sys; from sirl.__main__ import main; sys.exit(main())"
    run = subprocess.run([sys.executable, "-c", code, "train", "CartPole-v1"], stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1
    assert run.stderr == "sirl: error: the working directory was deleted: change to another one.\n"
