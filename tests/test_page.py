"""The page in a real browser: it decides as ``predict`` does, and what a person touches moves."""

import json
import re
import shutil
from pathlib import Path

import gymnasium as gym
import msgspec
import numpy as np
import pytest

import sirl
from conftest import Tiny
from formula_leaves import policy_of
from sirl.config import Settings
from sirl.model.menu import make_menu
from sirl.model.policy import Policy
from sirl.reading.describing import describe_tree, look
from sirl.reading.page import write_page
from sirl.reading.playing import Stage
from sirl.reading.report import Effort, gather
from sirl.runs.directory import read_history
from sirl.simulators.spaces import describe
from test_export import NASTY, PAPER, observations_for
from test_tree import random_tree

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no chromium on this machine: run `apt-get install chromium`")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """A function that opens a report's data as a page; the page must not complain, nor ask the network."""
    contexts, complaints = [], []

    def open_(data, width=1300):
        file = tmp_path / "report.html"
        file.write_text(write_page(data), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on(
            "request", lambda asked: None if asked.url.startswith(("file:", "data:")) else complaints.append(asked.url)
        )
        page.goto(file.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


def bare(policy):
    """The data of a report for which nobody has played."""
    features = [
        {"name": name, "low": -2.0, "high": 2.0, "start": 0.0}
        for name in policy.task.features[: policy.task.n_observed]
    ]
    told = {"title": "A policy", "subtitle": "", "facts": [], "notes": [], "score": None, "training": None}
    return told | {
        "tree": describe_tree(look(policy)),
        "features": features,
        "replays": [],
        "terms": None,
        "sweeps": [],
    }


@pytest.fixture(scope="module")
def lander():
    policy = sirl.load("paper:LunarLander")
    with Stage(policy, workers=1, max_steps=40) as stage:
        return gather(policy, stage, [], "from the paper", Effort(episodes=3, variants=1, replays=2))


@pytest.mark.parametrize("name", [*PAPER, "linear", "products", "scores", "derived"])
def test_it_decides_as_predict_does(open_page, name):
    policy = policy_of(name) if name.islower() else sirl.load(f"paper:{name}")
    observations = observations_for(policy, 1000)
    found = open_page(bare(policy)).evaluate(
        "states => states.map(x => { const d = window.sirl.decide(x); return [d.leaf, d.action]; })",
        observations.tolist(),
    )
    assert [leaf for leaf, _ in found] == policy.tree.walk(policy.task.rows(observations)).tolist()
    actions = np.array([action for _, action in found]).astype(policy.task.action_dtype)
    expected = policy.predict(observations)[0]
    np.testing.assert_array_equal(actions.reshape(expected.shape), expected)


def test_the_replay_plays_steps_and_scrubs(open_page, lander):
    policy = sirl.load("paper:LunarLander")
    page = open_page(lander)
    seen = np.array(lander["replays"][0]["observations"])

    def lit():
        return [
            int(n)
            for n in page.locator("#tree .node.lit").evaluate_all("all => all.map(g => g.dataset.node)")
            if int(n) < 0
        ]

    for step in (0, 25, len(seen) - 1):
        page.locator("#scrub").fill(str(step))
        leaf = int(policy.tree.walk(seen[step][None])[0])
        assert lit() == [~leaf]
        assert page.locator("#action").inner_text() == policy.tree.leaves.label(leaf, policy.task)
        assert page.locator("#clock").inner_text().startswith(f"step {step + 1} of {len(seen)}")
        assert page.locator("#picture").get_attribute("src").startswith("data:image/jpeg;base64,")
    page.locator("#scrub").fill("10")
    page.locator("#forward").click()
    assert "step 12 of" in page.locator("#clock").inner_text()
    page.locator("#back").click()
    page.locator("#back").click()
    assert "step 10 of" in page.locator("#clock").inner_text()
    page.locator("#play").click()
    page.locator("#clock", has_not_text="step 10 of").wait_for()
    page.locator("#play").click()
    page.locator("#episode").select_option("1")
    assert "step 1 of" in page.locator("#clock").inner_text()


def test_what_if(open_page, lander):
    policy = sirl.load("paper:LunarLander")
    page = open_page(lander)
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1, 1, (6, 8)).round(2):
        for place, value in enumerate(x):
            page.locator(f"#number-{place}").fill(str(value))
        leaf = int(policy.tree.walk(x[None])[0])
        assert page.locator("#action").inner_text() == policy.tree.leaves.label(leaf, policy.task)
    slider = page.locator("#slider-4")
    slider.focus()
    before = float(page.locator("#number-4").input_value())
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert float(page.locator("#number-4").input_value()) > before, "sliders move by keyboard"
    shown = [float(page.locator(f"#number-{place}").input_value()) for place in range(8)]
    assert page.locator("#why li").count() in range(1, 5)
    assert shown[:4] == x[:4].tolist()


def test_the_tree_folds_and_tells(open_page, lander):
    page = open_page(lander)
    assert page.locator("#tree .node").count() == 11
    page.locator('#tree .node[data-node="1"]').hover()
    assert "visits in 3 episodes" in page.locator("#tip").inner_text()
    page.locator('#tree .node[data-node="1"]').click()
    assert page.locator("#tree .node").count() == 3
    assert "5 leaves" in page.locator('#tree .node[data-node="1"]').text_content()
    page.keyboard.press("Enter")
    assert page.locator("#tree .node").count() == 11


@pytest.mark.parametrize("width", [360, 1600])
def test_nothing_is_wider_than_the_screen(open_page, lander, width):
    page = open_page(lander, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for section in ("rules", "terms", "sweeps", "scores"):
        assert page.locator(f"#{section}").is_visible()
    assert not page.locator("#training").is_visible()
    page.locator("#theme").click()
    page.locator("#theme").click()


def test_fifty_leaves_do_not_overlap(open_page):
    task = describe(Tiny(), "Tiny-v0")
    page = open_page(bare(Policy(task, random_tree(49, 2, 2, np.random.default_rng(0)))))
    boxes = page.locator("#tree .node rect").evaluate_all(
        "all => all.map(r => ['x', 'y', 'width', 'height'].map(a => Number(r.getAttribute(a))))"
    )
    assert len(boxes) == 99
    x, y, w, h = np.array(boxes).T
    apart = (x[:, None] + w[:, None] <= x) | (y[:, None] + h[:, None] <= y)
    assert (apart | apart.T)[~np.eye(99, dtype=bool)].all()


def test_names_are_inert(open_page):
    env = Tiny(gym.spaces.Box(-1, 1, (5,)), gym.spaces.Discrete(5))
    task = msgspec.structs.replace(describe(env, "Tiny-v0", NASTY, NASTY), env="</script><script>alert(1)</script>")
    menu = make_menu(task, Settings())
    data = bare(Policy(task, random_tree(6, 5, 5, np.random.default_rng(0), menu)))
    data["title"] = task.env
    page = open_page(data)
    assert page.locator("h1").inner_text() == task.env
    assert page.locator("b[onclick]").count() == 0
    assert page.locator(".slider label").all_inner_texts() == NASTY


def test_the_report_of_a_run(sirl_command, open_page):
    code, out, _ = sirl_command(
        "train", "CartPole-v1", "--method", "sirl-lb", "--out", "run", "--report", "--population", 20, "--workers", 1,
        "--generations", 3, "--individual-episodes", 1, "--collaborative-iterations", 1, "--candidates", 2,
        "--validation-episodes", 2, "--max-steps", 6,
    )  # fmt: skip
    assert code == 0
    assert re.search(r"^report run/report.html \(\d\.\d MB\)$", out, re.MULTILINE)
    text = Path("run/report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert data["training"]["curves"]["generation"] == [1, 2, 3]
    assert data["training"]["curves"]["best"] == [record.best for record in read_history("run")]
    page = open_page(data)
    assert page.locator("#training").is_visible()
    code, out, _ = sirl_command("report", "run", "--quick", "--episodes", 2, "--replays", 0, "--out", "page.html")
    assert (code, out.startswith("report page.html")) == (0, True)
