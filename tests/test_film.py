"""Films and pictures of a policy at play, without a screen."""

import builtins
import io
from pathlib import Path

import numpy as np
import pytest

import sirl
from formula_leaves import policy_of
from sirl.model.tree import path_to
from sirl.reading.film import frames, write_film
from sirl.reading.replay import Moment

pytest.importorskip("PIL")
SHORT = ["--max-steps", 4, "--workers", 1]


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


def moments(policy, n, pictures=True):
    for x in np.random.default_rng(0).normal(size=(n, policy.task.n_features)):
        drawn = np.full((30, 40, 3), 200, np.uint8) if pictures else None
        yield Moment(x, int(policy.tree.walk(x[None])[0]), None, 0.0, drawn)


def test_paths():
    tree = sirl.load("paper:LunarLander").tree
    assert path_to(tree, 3) == [0, 1, 3, 4, ~3]
    assert path_to(tree, 5) == [0, ~5]


@pytest.mark.parametrize("name", ["Hopper", "InvertedPendulum", "Reacher", "Swimmer", "Walker2d", "linear", "scores"])
def test_every_policy_is_drawn(name):
    from PIL import Image

    policy = policy_of(name) if name.islower() else sirl.load(f"paper:{name}")
    film = write_film(frames(policy, moments(policy, 4), 1), "gif", 10)
    with Image.open(io.BytesIO(film)) as image:
        assert image.n_frames >= 2
        assert image.width > 200


def test_the_path_is_lit():
    """The frames of two leaves differ, those of one leaf do not, but for the number of the step."""
    policy = sirl.load("paper:LunarLander")
    many = list(moments(policy, 60, pictures=False))
    by_leaf = {moment.leaf: moment for moment in many}
    one, other = list(by_leaf.values())[:2]
    drawn = [np.asarray(next(frames(policy, iter([moment]), 1))) for moment in (one, other, one)]
    np.testing.assert_array_equal(drawn[0], drawn[2])
    assert (drawn[0] != drawn[1]).any()


def test_a_film_on_the_command_line(sirl_command, refusal):
    code, out, _ = sirl_command("record", "paper:LunarLander", "out.gif", *SHORT)
    assert code == 0
    assert out.startswith("written to out.gif (")
    assert Path("out.gif").read_bytes().startswith(b"GIF8")
    assert "is no film: give a name that ends in .gif or .mp4" in refusal("record", "paper:LunarLander", "out.avi")


def test_an_mp4(sirl_command):
    pytest.importorskip("imageio_ffmpeg")
    assert sirl_command("record", "paper:LunarLander", "out.mp4", *SHORT).code == 0
    assert b"ftyp" in Path("out.mp4").read_bytes()[:12]


def test_no_ffmpeg(refusal, monkeypatch):
    usual = builtins.__import__

    def without(name, *rest, **kwargs):
        if name == "imageio_ffmpeg":
            raise ImportError(name)
        return usual(name, *rest, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    told = refusal("record", "paper:LunarLander", "out.mp4", *SHORT)
    assert "an mp4 needs ffmpeg: run `pip install 'sirl[video]'`, or write a .gif instead" in told


def test_watching_without_a_screen(sirl_command):
    code, out, _ = sirl_command("watch", "paper:LunarLander", *SHORT)
    assert code == 0
    assert out.startswith("there is no screen here: 4 pictures are in LunarLander-frames;")
    assert len(list(Path("LunarLander-frames").glob("*.png"))) == 4
