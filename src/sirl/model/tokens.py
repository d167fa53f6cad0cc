"""What a person types, cut into words: names, numbers and signs; what conditions and derived features have in common.

A name that does not read as a word, or as a function such as ``cos(theta)``, stands in double quotes, as in JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from sirl.errors import did_you_mean

_PLAIN_NAME = re.compile(r"[^\W\d]\w*(\(\w+\)|\[\d+\])?")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_KEYWORDS = {"and", "if", "else"}
MINUS, TIMES = ("-", "−"), ("*", "·", "×")


class Unreadable(Exception):  # noqa: N818 - it becomes a sentence of SirlError
    """Why a text can't be read: the rest of a sentence."""


class Token(NamedTuple):
    """A word, and where in the text it begins."""

    text: str
    at: int


def write_name(name: str) -> str:
    """A name as it is typed."""
    return name if is_plain(name) else json.dumps(name, ensure_ascii=False)


def is_plain(name: str) -> bool:
    """Whether a name needs no quotes."""
    return _PLAIN_NAME.fullmatch(name) is not None and name not in _KEYWORDS


def cut(text: str, names: Sequence[str]) -> list[Token]:
    """The words of a text; ``names`` are known, and each of them is one word."""
    known = "|".join(
        rf"(?<!\w){re.escape(n)}(?!\w)" if n[-1].isalnum() else rf"(?<!\w){re.escape(n)}"
        for n in sorted(names, key=len, reverse=True)
        if is_plain(n)
    )
    signs = r"<=|>=|=<|=>|\*\*|[-+*/^·−×<>≤≥()=]"
    parts = [r'"(?:[^"\\]|\\.)*"', known or r"(?!)", _NUMBER, signs, r"[^\W\d]\w*", r"\S"]
    return [Token(found[0], found.start()) for found in re.finditer("|".join(f"(?:{part})" for part in parts), text)]


class Reader:
    """Reads the words of one text from left to right.

    Args:
        text: what was typed.
        names: what it may speak of.
    """

    def __init__(self, text: str, names: Sequence[str]):
        self.names = list(names)
        self._tokens = cut(text, names)
        self._at = 0

    @property
    def ahead(self) -> Token | None:
        """The next word; None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def next(self, *texts: str) -> str:
        """The next word if it is one of these, else nothing."""
        if self.ahead is not None and self.ahead.text in texts:
            return self.take("").text
        return ""

    def take(self, due: str) -> Token:
        """The next word, whatever it is; ``due`` is what a message says should stand there."""
        if self.ahead is None:
            raise Unreadable(f"it ends where {due} is due")
        self._at += 1
        return self._tokens[self._at - 1]

    def number_or_place(self) -> float | int:
        """The next word as a number, or as the place of a name: an int."""
        token = self.take("a number or a feature")
        if re.fullmatch(_NUMBER, token.text):
            if not math.isfinite(float(token.text)):
                raise Unreadable(f"{token.text} is no finite number")
            return float(token.text)
        name = unquoted(token)
        if name not in self.names:
            raise Unreadable(self.unknown(name, token))
        return self.names.index(name)

    def unknown(self, name: str, token: Token) -> str:
        """What to say of a name that nobody knows."""
        hint = did_you_mean(name, self.names) or f"; there are {', '.join(self.names)}"
        return f"there is no {token.text!r}{hint.removesuffix('?').replace('did you mean', 'perhaps')}"


def unquoted(token: Token) -> str:
    """The name that a word stands for."""
    try:
        return str(json.loads(token.text)) if token.text.startswith('"') else token.text
    except ValueError:
        raise Unreadable(f"the name {token.text} is not quoted as in JSON") from None
