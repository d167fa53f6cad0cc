"""Derived features: a name and a formula over other features, such as ``tip_x_miss = p_x*d_y - p_y*d_x``.

A formula has numbers, features, ``+ - * /``, parentheses and small whole powers, and nothing else: these have the same
bits in every language. It is read into a program for a machine with a stack, and never executed as code. A denominator
that can be zero within the bounds of the features is refused, and so is a formula that can overflow: what is accepted
gives a finite number on every observation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sirl.errors import SirlError
from sirl.model.interval import FAR, Interval
from sirl.model.tokens import MINUS, TIMES, Reader, Token, Unreadable, is_plain, unquoted, write_name

FEATURE, NUMBER, NEGATE, ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER = range(8)
"""What a step of a program does: the first two put something on the stack, the others compute with its top."""
WORDS = ("feature", "number", "negate", "+", "-", "*", "/", "power")
"""What other programs call them."""

_MOST = 100
"""Derived features of a task."""
_LONGEST, _DEEPEST, _LARGEST_POWER = 1000, 50, 9
"""Characters of a formula, parentheses inside each other, exponent."""
_MOST_STEPS = 1000
"""Of a formula, with its powers written out."""


class Step(NamedTuple):
    """A step of a program."""

    code: int
    value: float = 0.0
    """The place of a feature, a number, or an exponent."""


Program = tuple[Step, ...]


class Definition(NamedTuple):
    """A derived feature."""

    name: str
    text: str
    """Its formula as it was typed."""
    program: Program
    bounds: Interval

    @property
    def line(self) -> str:
        """Name and formula, as they are typed."""
        return f"{write_name(self.name)} = {self.text}"

    @property
    def n_operations(self) -> int:
        """Additions, subtractions, multiplications and divisions, powers written out."""
        return sum(1 if code != POWER else int(value) - 1 for code, value in self.program if code >= ADD)

    @property
    def uses(self) -> set[int]:
        """Places of the features in its formula."""
        return {int(value) for code, value in self.program if code == FEATURE}


def run(
    program: Program,
    feature: Callable[[int], Any],
    number: Callable[[float], Any],
    power: Callable[[Any, int], Any] | None = None,
) -> Any:
    """What a program comes to, for operands of any type that has ``+ - * /``: arrays, intervals, source code."""
    for value in _trail(program, feature, number, power or _multiplied):
        found = value
    return found


def _trail(
    program: Program, feature: Callable[[int], Any], number: Callable[[float], Any], power: Callable[[Any, int], Any]
) -> Iterator[Any]:
    """What every step comes to."""
    stack: list[Any] = []
    for code, value in program:
        if code == FEATURE:
            stack.append(feature(int(value)))
        elif code == NUMBER:
            stack.append(number(value))
        elif code == NEGATE:
            stack.append(-stack.pop())
        elif code == POWER:
            stack.append(power(stack.pop(), int(value)))
        else:
            right, left = stack.pop(), stack.pop()
            if code == ADD:
                stack.append(left + right)
            elif code == SUBTRACT:
                stack.append(left - right)
            elif code == MULTIPLY:
                stack.append(left * right)
            else:
                stack.append(left / right)
        yield stack[-1]


def _multiplied(base: Any, exponent: int) -> Any:
    product = base
    for _ in range(exponent - 1):
        product = product * base
    return product


def read_definitions(texts: Sequence[str], names: Sequence[str], bounds: Sequence[Interval]) -> list[Definition]:
    """Derived features in order, each of what is observed, ``names`` with their ``bounds``, and of those before it."""
    if len(texts) > _MOST:
        raise SirlError(f"{len(texts)} derived features are too many: give {_MOST} at most.")
    found: list[Definition] = []
    for number, text in enumerate(texts):
        known, ranges = [*names, *(d.name for d in found)], [*bounds, *(d.bounds for d in found)]
        try:
            found.append(_read(text.strip(), known, ranges, texts[number + 1 :]))
        except Unreadable as error:
            shown = text.strip() if len(text) < 100 else f"{text.strip()[:80]}…"
            raise SirlError(f"the derived feature {shown!r} can't be used: {error}.") from None
    return found


def read_formula(text: str, names: Sequence[str], bounds: Sequence[Interval], what: str) -> Program:
    """A formula without a name, of features with their ``bounds``; ``what`` it is, for a message."""
    try:
        _check_text(text)
        return _checked(_Formula(text, names, bounds).formula(), bounds)
    except Unreadable as error:
        raise SirlError(f"the {what} {text[:80]!r} can't be used: {error}.") from None


def _check_text(text: str) -> None:
    if len(text) > _LONGEST:
        raise Unreadable(f"it has {len(text)} characters, and {_LONGEST} are the most; derive a part of it first")
    if not text.isprintable():
        raise Unreadable("it has a character that does not print")


def _read(text: str, names: list[str], bounds: list[Interval], later: Sequence[str]) -> Definition:
    _check_text(text)
    name, start = _name(Reader(text, names), names)
    reader = _Formula(text, names, bounds, name, later)
    for _ in "its name", "=":
        reader.take("")
    program = _checked(reader.formula(), bounds)
    return Definition(name, text[start:].strip(), program, _range(program, bounds))


def _checked(program: Program, bounds: Sequence[Interval]) -> Program:
    """A program that is not too long, and finite on every observation."""
    if _count(program) > _MOST_STEPS:
        raise Unreadable("its powers make it too long; derive a part of it first")
    most = [Interval(max(b.low, -FAR), min(b.high, FAR)) for b in bounds]
    if not all(value.is_finite for value in _trail(program, most.__getitem__, Interval.of, Interval.power)):
        raise Unreadable("it can become infinite where features are large; lower its powers, or scale it")
    return program


def _name(reader: Reader, names: Sequence[str]) -> tuple[str, int]:
    """The name before the ``=``, and where the formula begins."""
    token = reader.take("a name")
    equals = reader.ahead
    name = unquoted(token)
    fine = token.text.startswith('"') or is_plain(name)
    if not fine or equals is None or equals.text != "=" or not name.strip() or not name.isprintable():
        raise Unreadable(
            'it has no name; write `name = formula`, a name that is no plain word in quotes: `"my name" =`'
        )
    if name in names:
        raise Unreadable(f"the name {token.text} is taken; choose another")
    return name, equals.at + 1


def _range(program: Program, bounds: Sequence[Interval]) -> Interval:
    """All that a formula can come to."""
    found: Interval = run(program, bounds.__getitem__, Interval.of, Interval.power)
    return found


class _Count(int):
    """Steps that an operand takes."""

    def _join(self, other: int) -> _Count:
        return _Count(int(self) + int(other) + 1)

    __add__ = __sub__ = __mul__ = __truediv__ = _join

    def __neg__(self) -> _Count:
        return _Count(int(self) + 1)


def _count(program: Program) -> int:
    """Steps with powers written out as products."""
    return int(run(program, lambda _: _Count(1), lambda _: _Count(1)))


class _Formula(Reader):
    """Reads one formula into a program."""

    def __init__(
        self, text: str, names: Sequence[str], bounds: Sequence[Interval], name: str = "", later: Sequence[str] = ()
    ):
        super().__init__(text, names)
        self._text, self._bounds, self._name = text, bounds, name
        self._later = [line.partition("=")[0].strip() for line in later]
        self._depth = 0

    def formula(self) -> Program:
        program = self._sum()
        if self.ahead is not None:
            raise Unreadable(f"{_where(self.ahead)} comes after its end, where a sign such as * is due")
        return program

    def unknown(self, name: str, token: Token) -> str:
        if name == self._name:
            return f"{token.text} uses itself; derive it from other features"
        if token.text in self._later:
            return f"{token.text} is derived only after it; give that one first"
        if not token.text.startswith('"') and not re.match(r"\w", token.text):
            return f"{_where(token)} stands where a number or a feature is due"
        return super().unknown(name, token)

    def _sum(self) -> Program:
        total = self._product()
        while sign := self.next("+", *MINUS):
            total = (*total, *self._product(), Step(ADD if sign == "+" else SUBTRACT))
        return total

    def _product(self) -> Program:
        product = self._signed()
        while sign := self.next(*TIMES, "/"):
            start = self.ahead
            factor = self._signed()
            if sign == "/":
                self._check_denominator(factor, start)
                product = (*product, *factor, Step(DIVIDE))
            elif factor == product:  # the same bits, and known to be no less than zero
                product = (*product, Step(POWER, 2))
            else:
                product = (*product, *factor, Step(MULTIPLY))
        return product

    def _check_denominator(self, program: Program, start: Token | None) -> None:
        low, high = _range(program, self._bounds)
        if low <= 0.0 <= high:
            assert start is not None  # as a factor was read
            end = len(self._text) if self.ahead is None else self.ahead.at
            part = self._text[start.at : end].strip()
            raise Unreadable(
                f"it divides by {part}, which can be 0 within the bounds of the features; add a constant to what is "
                "never negative, as in 1 + x**2"
            )

    def _signed(self) -> Program:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable(f"it nests deeper than {_DEEPEST}; derive a part of it first")
        if self.next(*MINUS):
            program = (*self._signed(), Step(NEGATE))
        elif self.next("+"):
            program = self._signed()
        else:
            program = self._power()
        self._depth -= 1
        return program

    def _power(self) -> Program:
        base = self._atom()
        if not self.next("**", "^"):
            return base
        token = self.take("an exponent")
        if not re.fullmatch(rf"[2-{_LARGEST_POWER}]", token.text):
            raise Unreadable(f"{_where(token)} is no exponent; write a whole number from 2 to {_LARGEST_POWER}")
        if self.ahead is not None and self.ahead.text in ("**", "^"):
            raise Unreadable(f"{_where(self.ahead)} follows a power; write parentheses")
        return (*base, Step(POWER, float(token.text)))

    def _atom(self) -> Program:
        if self.next("("):
            inner = self._sum()
            if not self.next(")"):
                at = "its end" if self.ahead is None else _where(self.ahead)
                raise Unreadable(f"a parenthesis is not closed before {at}")
            return inner
        found = self.number_or_place()
        return (Step(NUMBER, found) if isinstance(found, float) else Step(FEATURE, float(found)),)


def _where(token: Token) -> str:
    return f"{token.text!r} (character {token.at + 1})"
