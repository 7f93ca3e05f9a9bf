"""Integer arithmetic in 64 bits, as in ``$((...))`` of a POSIX shell; its grammar is in ``arithmetic.lark``.

A tree has the places of numbers in place of the numbers, so that it is read once for all rounds of a loop.
"""

from __future__ import annotations

import operator
import re
from functools import cache, lru_cache
from itertools import count
from typing import TYPE_CHECKING

from engine.base.values import lazy_regex

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping, Sequence

    from lark import Lark, Token, Tree

    Part = Tree[Token] | str

_NUMBER = lazy_regex(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|[0-9]+)\s*", re.ASCII)
_NUMBERS = lazy_regex(r"(?<![A-Za-z_0-9])(?:0[xX][0-9a-fA-F]++|[0-9]++)(?![A-Za-z_])", re.ASCII)
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_DEPTH_LIMIT = 40


class ArithmeticMistake(Exception):
    """An expression without a value; the text says why."""


class IllegalNumber(ArithmeticMistake):
    """A variable in an expression whose value is no number."""


def divided(left: int, right: int) -> int:
    """Divide towards zero, as C does."""
    if right == 0:
        raise ArithmeticMistake("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    """Return what a division leaves, with the sign of the dividend."""
    return left - right * divided(left, right)


def power(base: int, exponent: int) -> int:
    """Return a power in 64 bits, as bash does."""
    if exponent < 0:
        raise ArithmeticMistake("exponent less than 0")
    return pow(base, exponent, 2**64)


_BINARY: dict[str, Callable[[int, int], int]] = {
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<<": lambda left, right: left << (right & 63),
    ">>": lambda left, right: left >> (right & 63),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divided,
    "%": remainder,
    "**": power,
}
_EXPECTED = {"$END": "EOF", "RPAR": "')'", "COLON": "':'"}  # of what may follow, the first is what a shell names


def number(text: str) -> int | None:
    """Return the value of a number in decimal, octal or hexadecimal notation, or None if it is none."""
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > 100:
        return None
    sign, digits = found.groups()
    try:
        value = int(digits, 8 if digits[0] == "0" and digits.isdecimal() else 0)
    except ValueError:
        return None
    return max(_LOWEST, min(_HIGHEST, -value if sign == "-" else value))


def evaluate(text: str, variables: MutableMapping[str, str], *, bash: bool = False) -> int:
    """Return the value of an expression and do its assignments.

    Raises:
        ArithmeticMistake: It has no value.
    """
    if bash and not text.strip():
        return 0
    # Two signs are one only in bash, and only beside a name.
    text = re.sub(r"(?<!\w)([-+])(?=\1\s*[\d(])" if bash else r"([-+*])(?=\1)", r"\1 ", text)
    numbers = list(map(number, _NUMBERS.findall(text)))
    if None in numbers or "#" in text:  # such as 08
        raise ArithmeticMistake("expecting EOF")
    places = map("#{}".format, count())
    tree = _parsed(_NUMBERS.sub(lambda _: next(places), text))
    return _Evaluation(variables, numbers, bash).value(tree)


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark.open("arithmetic.lark", rel_to=__file__, parser="lalr", lexer="basic")


@lru_cache(maxsize=256)
def _parsed(text: str) -> Part:
    """Return the tree of an expression, or its token if it is a number or a name."""
    from lark import UnexpectedInput, UnexpectedToken

    try:
        tree: Part = _parser().parse(text)
    except UnexpectedToken as error:
        expected = next((word for kind, word in _EXPECTED.items() if kind in error.accepts), "primary")
        raise ArithmeticMistake(f"expecting {expected}") from None
    except UnexpectedInput:
        raise ArithmeticMistake("expecting EOF") from None
    level: list[Part] = [tree]
    for _ in range(_DEPTH_LIMIT):
        level = [inner for each in level for inner in getattr(each, "children", ())]
    if level:
        raise ArithmeticMistake(f"the expression is nested more than {_DEPTH_LIMIT} levels deep")
    return tree


class _Evaluation:
    """The evaluation of a tree, with a method for each of its rules; what is left out has no effect."""

    def __init__(self, variables: MutableMapping[str, str], numbers: Sequence[int | None], bash: bool) -> None:
        self.variables = variables
        self.numbers = numbers
        self.bash = bash

    def value(self, part: Part) -> int:
        if not isinstance(part, str):
            rule: Callable[..., int] = getattr(self, f"_{part.data}")
            return rule(*part.children)
        return (self.numbers[int(part[1:])] or 0) if part[0] == "#" else self._variable(part)

    def _choice(self, condition: Part, first: Part, second: Part) -> int:
        return self.value(first if self.value(condition) else second)

    def _either(self, *operands: Part) -> int:
        return int(any(map(self.value, operands)))

    def _both(self, *operands: Part) -> int:
        return int(all(map(self.value, operands)))

    def _binary(self, first: Part, *rest: Part) -> int:
        value = self.value(first)
        for sign, operand in zip(rest[::2], rest[1::2], strict=True):
            value = _wrapped(_BINARY[str(sign)](value, self.value(operand)))
        return value

    def _unary(self, *parts: Part) -> int:
        *signs, operand = parts
        value = self.value(operand)
        for sign in reversed(signs):
            value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[str(sign)]
        return _wrapped(value)

    def _assign(self, name: str, sign: str, right: Part) -> int:
        value = self.value(right)
        return self._set(name, value if sign == "=" else _BINARY[sign[:-1]](self._variable(name), value))

    def _before(self, sign: str, name: str) -> int:
        return self._set(name, self._variable(name) + (1 if sign == "++" else -1))

    def _after(self, name: str, sign: str) -> int:
        return self._before(sign, name) - (1 if sign == "++" else -1)

    def _variable(self, name: str) -> int:
        text = self.variables.get(name, "").strip()
        value = number(text) if text else 0
        if value is None and not self.bash:
            raise IllegalNumber(f"Illegal number: {text[:80]}")
        return value or 0

    def _set(self, name: str, value: int) -> int:
        self.variables[name] = str(_wrapped(value))
        return _wrapped(value)


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
