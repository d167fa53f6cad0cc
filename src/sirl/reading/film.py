"""An episode as pictures: what the environment draws, and beside it the tree with the path lit."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sirl.errors import SirlError
from sirl.model.policy import Policy
from sirl.model.text import plain
from sirl.model.tree import path_to
from sirl.reading.export.drawings import height, picture, width
from sirl.reading.replay import Moment

_COLUMN, _HEIGHT, _WIDEST = 310, 400, 1100
_INK, _PAPER, _LIT, _LEAF = "#16202b", "#ffffff", "#b34700", "#e8f1fb"
_MOST_FRAMES = 300


class Film:
    """Draws moments of one policy; all its frames are of one size.

    Args:
        policy: whose tree stands beside the environment.
    """

    def __init__(self, policy: Policy):
        self.policy = policy
        self._tree = picture(policy)
        self._boxes = {box.node: box for box in self._tree.boxes}
        self._size = (
            int(max(box.place.depth * _COLUMN + width(box.lines) for box in self._tree.boxes) + 20),
            int(self._tree.breadth + 20),
        )

    def frame(self, moment: Moment, step: int) -> Any:
        """The frame of a moment, a Pillow image."""
        from PIL import Image

        tree = self._draw_tree(moment)
        scale = min(1.0, _WIDEST / tree.width)
        tree = tree.resize((max(2, int(tree.width * scale)), max(2, int(tree.height * scale))))
        scene = None if moment.picture is None else Image.fromarray(moment.picture)
        if scene is not None:
            scene = scene.resize((scene.width * _HEIGHT // scene.height, _HEIGHT))
        left = 0 if scene is None else scene.width
        # Even numbers, since films are coded in pairs of pixels.
        whole = Image.new(
            "RGB", ((left + tree.width + 21) // 2 * 2, (max(_HEIGHT, tree.height + 60) + 1) // 2 * 2), _PAPER
        )
        if scene is not None:
            whole.paste(scene, (0, 0))
        whole.paste(tree, (left + 10, 40))
        action = self.policy.tree.leaves.label(moment.leaf, self.policy.task)
        self._pen(whole).text((left + 20, 12), plain(f"step {step}: {action}"), fill=_INK, font=_font(18))
        return whole

    def _draw_tree(self, moment: Moment) -> Any:
        from PIL import Image

        image = Image.new("RGB", self._size, _PAPER)
        pen, lit = self._pen(image), set(path_to(self.policy.tree, moment.leaf))
        for split, ends in self._tree.children.items():
            for child, word in zip(ends, ("yes", "no"), strict=True):
                self._draw_edge(pen, split, child, word, {split, child} <= lit)
        for box in self._tree.boxes:
            x, y = 10 + box.place.depth * _COLUMN, 10 + box.place.across - height(box.lines) / 2
            corners = (x, y, x + width(box.lines), y + height(box.lines))
            on, fill = box.node in lit, _PAPER if box.node >= 0 else _LEAF
            pen.rounded_rectangle(corners, 3 if box.node >= 0 else 12, fill, _LIT if on else _INK, 4 if on else 1)
            for number, line in enumerate(box.lines):
                pen.text((x + 10, y + 4 + 17 * number), plain(line), fill=_LIT if on else _INK, font=_font(13))
        return image

    def _draw_edge(self, pen: Any, split: int, child: int, word: str, on: bool) -> None:
        parent, end = self._boxes[split], self._boxes[child]
        start = (10 + parent.place.depth * _COLUMN + width(parent.lines), 10 + parent.place.across)
        x, y = 10 + end.place.depth * _COLUMN, 10 + end.place.across
        pen.line([start, (x - 40, start[1]), (x - 26, y), (x, y)], fill=_LIT if on else _INK, width=4 if on else 1)
        pen.text((x - 26, y - 16), word, fill=_LIT if on else _INK, font=_font(11))

    def _pen(self, image: Any) -> Any:
        from PIL import ImageDraw

        return ImageDraw.Draw(image)


def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def frames(policy: Policy, moments: Iterator[Moment], every: int) -> Iterator[Any]:
    """Frames of every so many moments, Pillow images."""
    film = Film(policy)
    for step, moment in enumerate(moments):
        if step % every == 0:
            yield film.frame(moment, step + 1)


def spacing(n_steps: int) -> int:
    """Every how many steps of an episode a frame is taken, so that a film has a length and a size that one can send."""
    return max(1, -(-n_steps // _MOST_FRAMES))


def write_film(images: Iterator[Any], ending: str, per_second: float) -> bytes:
    """A film of images, as ``gif`` or ``mp4``."""
    if ending == "gif":
        first, *rest = (image.quantize(64) for image in images)
        file = io.BytesIO()
        first.save(file, "GIF", save_all=True, append_images=rest, duration=1000 / per_second, loop=0)
        return file.getvalue()
    return _write_mp4(images, per_second)


def _write_mp4(images: Iterator[Any], per_second: float) -> bytes:
    import tempfile

    try:
        import imageio.v2 as imageio
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise SirlError("an mp4 needs ffmpeg: run `pip install 'sirl[video]'`, or write a .gif instead.") from None
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "film.mp4"
        writer: Any = imageio.get_writer(path, fps=per_second, macro_block_size=2)
        with writer:
            for image in images:
                writer.append_data(np.asarray(image))
        return path.read_bytes()
