"""sirl social-dqn as a person meets it."""

import json
import signal
import subprocess
import sys

import pytest
from gymnasium import spaces

from conftest import Tiny
from sirl.deep.search import GridSearch
from sirl.model.policy import load

SMALL = [
    "--grid", "learning_rate=0.001", "--grid", "units=4", "--grid", "batch_size=8", "--collaborative-episodes", 4,
    "--individual-episodes", 2, "--rounds", 2, "--learning-starts", 10, "--validation-episodes", 2,
]  # fmt: skip


def test_a_search_prints_a_ranking_and_a_tree_that_can_be_evaluated(sirl_command):
    code, out, _ = sirl_command("social-dqn", "CartPole-v1", "--out", "run", *SMALL)
    assert code == 0
    assert "social search of 4 networks on CartPole-v1, seed 0 → run" in out
    assert "champion" in out
    assert "12 episodes and 8 more to choose the champion" in out
    assert "next     sirl evaluate run/tree.json" in out
    code, out, _ = sirl_command("evaluate", "run/tree.json", "--episodes", 3, "--workers", 1)
    assert code == 0
    assert "on 3 unseen episodes of CartPole-v1" in out


def test_an_environment_with_options_and_names(sirl_command, register, tmp_path):
    env = register(lambda size: Tiny(spaces.Box(-1, 1, (size,))))
    names = ["--features", "near, far,off", "--actions", "stay,go"]
    flags = [*SMALL, "--max-steps", 5]
    code, out, err = sirl_command("social-dqn", env, "--out", "run", *flags, *names, "--env-option", "size=3")
    assert (code, err) == (0, "")
    task = load(tmp_path / "run/tree.json").task
    assert (task.features, task.action_names) == (["near", "far", "off"], ["stay", "go"])
    assert "sirl evaluate run/tree.json\n" in out
    code, out, _ = sirl_command("evaluate", "run/tree.json", "--episodes", 2, "--workers", 1)
    assert code == 0
    assert "mean length 5" in out


@pytest.mark.parametrize(
    ("more", "again", "go_on"),
    [
        ([], ["--resume", "run"], "sirl social-dqn --resume run"),
        (["--runs", 1], ["Tiny-v0", "--out", "run", *SMALL, "--runs", 1], "give the same command again"),
    ],
    ids=["one", "many"],
)
def test_a_search_whose_environment_fails_can_go_on(sirl_command, register, more, again, go_on):
    broken = [True]

    def behave(env):
        if broken and env.steps == 7:
            raise ValueError("out of coffee")

    register(lambda: Tiny(behave=behave))
    code, _, err = sirl_command("social-dqn", "Tiny-v0", "--out", "run", *SMALL, *more)
    failure = "Tiny-v0 raised ValueError: out of coffee in step; fix the environment."
    assert (code, err) == (1, f"sirl: error: {failure}\nsirl: to go on: {go_on}\n")
    broken.clear()
    code, out, _ = sirl_command("social-dqn", *again)
    assert code == 0
    assert "12 episodes and 8 more to choose the champion" in out


@pytest.mark.parametrize(("against", "n_alone"), [("best", 6), ("all", 24)])
def test_social_against_plain(sirl_command, tmp_path, against, n_alone):
    arguments = ("social-dqn", "CartPole-v1", "--runs", 2, "--compare", against, "--out", "both", *SMALL)
    code, out, _ = sirl_command(*arguments)
    assert code == 0
    assert "CartPole-v1, 2 runs" in out
    assert "| social: best configuration |" in out
    assert ("plain: best of its own search" in out) == (against == "all")
    assert out.count("| 12 |") == 1  # episodes of a search of all four networks
    assert out.count("| 24 |") == (2 if against == "all" else 1)
    results = {p.parent.name: json.loads(p.read_text()) for p in tmp_path.glob("both/*/result.json")}
    counts = {name: sum(len(v) for v in r["individual"].values()) for name, r in results.items()}
    assert counts == {"plain-0": n_alone, "plain-1": n_alone, "social-0": 8, "social-1": 8}
    assert (tmp_path / "both/comparison.svg").read_text().startswith("<?xml")
    again = sirl_command(*arguments).out
    assert "episodes  " not in again  # what is finished is not done again
    assert again.partition("|")[2] == out.partition("|")[2]


def test_several_searches_are_told_one_by_one_and_go_on(sirl_command, tmp_path):
    arguments = ["social-dqn", "CartPole-v1", "--runs", 2, "--out", "many", *SMALL, "--max-leaves", 2]
    code, out, _ = sirl_command(*arguments)
    assert code == 0
    assert out.count("place  score") == out.count("network  ") == out.count("tree     ") == 2
    assert "next     sirl evaluate many/social-1/tree.json" in out
    assert {load(tmp_path / f"many/social-{seed}/tree.json").tree.n_leaves for seed in (0, 1)} <= {1, 2}
    code, again, _ = sirl_command(*arguments)
    assert code == 0
    assert "seed 1 → many/social-1, which is finished" in again
    assert again.partition("place")[2].partition("social")[0] == out.partition("place")[2].partition("social")[0]
    code, resumed, _ = sirl_command("social-dqn", "--resume", "many/social-0", "--max-leaves", 2)
    assert code == 0
    assert resumed in again


def test_searches_of_a_task_with_a_namespace_have_one_directory(sirl_command, register, tmp_path):
    assert sirl_command("social-dqn", register(Tiny, "mine/Tiny-v0"), "--runs", 1, *SMALL).code == 0
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine-Tiny-v0-social-dqn"]


@pytest.mark.parametrize(
    "other",
    [
        ["Acrobot-v1", *SMALL],
        ["CartPole-v1", *SMALL, "--voting", "majority"],
        ["CartPole-v1", *SMALL, "--grid", "layers=2"],
    ],
    ids=["task", "setting", "grid"],
)
@pytest.mark.parametrize("finished", [True, False])
def test_a_directory_of_another_search_is_left_alone(refusal, tmp_path, finished, other):
    options = {"grid": {"units": [4]}, "collaborative_episodes": 1, "individual_episodes": 1, "rounds": 1}
    search = GridSearch("CartPole-v1", out=tmp_path / "many/social-0", **options)
    if finished:
        for _ in search.episodes():
            pass
    search.directory.lock.unlock()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    for flags in (["--runs", 1], ["--compare", "best"]):
        assert "many/social-0 holds another search, of another task" in refusal(
            "social-dqn", *other, *flags, "--out", "many"
        )
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


def test_a_tree_that_was_edited_is_kept(sirl_command, tmp_path):
    arguments = ["social-dqn", "CartPole-v1", "--runs", 1, "--out", "many", *SMALL, "--max-leaves", 2]
    assert sirl_command(*arguments).code == 0
    file = tmp_path / "many/social-0/tree.json"
    text = json.loads(file.read_text())
    file.write_text(json.dumps({key: value for key, value in text.items() if key != "checksum"}))
    assert "was edited, and is kept as tree-before.json" in sirl_command(*arguments).out
    assert load(file.with_name("tree-before.json")).origin.changed == "edited by hand"
    assert not load(file).origin.changed


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "name the task, such as CartPole-v1"),
        (["Pendulum-v1"], "use `sirl train Pendulum-v1`"),
        (["CartPole-v1", "--grid", "unit=8"], "did you mean 'units'?"),
        (["CartPole-v1", "--grid", "units="], "give a list of at least one value."),
        (["CartPole-v1", "--grid", "units"], "write it as NAME=VALUE,VALUE"),
        (["CartPole-v1", "--grid", "units=8", "--grid", "units=9"], "names an axis twice"),
        (["CartPole-v1", "--votting", "random"], "did you mean '--voting'?"),
        (["CartPole-v1", "--grid", "units=100000"], "GB: use a smaller grid"),
        (["--resume", "nowhere"], "has no readable config.toml"),
        (["--resume", "nowhere", "--epsilon", "0.1"], "--resume can't be given epsilon"),
        (["--resume", "nowhere", "--seed", "0", "--method", "social"], "--resume can't be given method, seed"),
        (["--resume", "nowhere", "--runs", "2", "--compare", "all"], "--resume can't be given compare, runs"),
        (["--resume", "nowhere", "--env-option", "a=1", "--actions", "a,b"], "can't be given actions, env_option"),
        (["--runs", "2", "--out", "many"], "name the task, such as CartPole-v1"),
        (["CartPole-v1", "--runs", "0"], "runs = 0 is not allowed"),
        (["CartPole-v1", "--compare", "best", "--axis-aligned", "--max-leaves", "2"], "out max_leaves, axis_aligned."),
        (["CartPole-v1", "--compare", "best", "--method", "plain"], "--compare has both methods"),
    ],
)
def test_a_mistake_gets_one_sentence(refusal, arguments, reason):
    assert reason in refusal("social-dqn", *arguments)


@pytest.mark.parametrize(
    ("number", "code", "more", "where", "go_on"),
    [
        (signal.SIGINT, 130, [], "run", "sirl social-dqn --resume run"),
        (signal.SIGTERM, 143, ["--runs", "2"], "run/social-0", "give the same command again"),
    ],
    ids=["one", "many"],
)
def test_a_signal_stops_a_search_that_can_go_on(tmp_path, number, code, more, where, go_on):
    heed = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", f"{heed}from sirl.__main__ import main; sys.exit(main())", "social-dqn"]
    flags = ["CartPole-v1", "--out", "run", *map(str, SMALL), "--collaborative-episodes", "1000", *more]
    with subprocess.Popen(
        [*command, *flags], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        for line in run.stdout:
            if "episodes  collaborative" in line:
                break
        run.send_signal(number)
        _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (code, f"\nsirl: stopped; to go on: {go_on}\n")
    assert GridSearch.resume(tmp_path / where)._play.steps > 0


def test_what_is_missing_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from sirl.cli.main import main\n"
        "sys.exit(main(['social-dqn', 'CartPole-v1']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("needs torch: run `pip install 'sirl[deep]'`.\n")


def test_trees_do_without_torch():
    code = "import sys, sirl, sirl.deep, sirl.cli.main, sirl.runs.training; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
