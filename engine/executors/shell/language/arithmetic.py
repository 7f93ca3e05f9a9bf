"""Integer arithmetic of the POSIX shell, ``$((...))``, in 64 bits."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.base.lazy import lazy_regex

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_TOKEN = lazy_regex(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)(?![A-Za-z_])|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign><<=|>>=|&&|\|\||\+\+|--|<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^<>=!~?:()])|(?P<bad>\S))",
    re.ASCII,
)
_NUMBER = lazy_regex(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|[0-9]+)\s*", re.ASCII)
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_DEPTH_LIMIT = 40


class ArithmeticMistake(Exception):
    """An expression without a value; the text says why."""


class IllegalNumber(ArithmeticMistake):
    """A variable in an expression whose value is no number."""


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise ArithmeticMistake("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "<": (7, operator.lt),
    "<=": (7, operator.le),
    ">": (7, operator.gt),
    ">=": (7, operator.ge),
    "<<": (8, lambda left, right: left << (right & 63)),
    ">>": (8, lambda left, right: left >> (right & 63)),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, _divided),
    "%": (10, lambda left, right: left - right * _divided(left, right)),
}
_LOGICAL = {"||": 1, "&&": 2}
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="})


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
    return _Evaluation(text, variables, bash).value()


class _Evaluation:
    """An expression that is evaluated while it is read; what ``?:``, ``&&`` and ``||`` leave out has no effect."""

    def __init__(self, text: str, variables: MutableMapping[str, str], bash: bool) -> None:
        self.tokens: list[tuple[str, str]] = []
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup or ""
            if kind == "bad":
                raise ArithmeticMistake("expecting EOF")
            token = found[kind]
            if token in ("++", "--") and not bash:
                self.tokens += [("sign", token[0]), ("sign", token[0])]
            else:
                self.tokens.append((kind, token))
        self.at = 0
        self.variables = variables
        self.bash = bash
        self.skipping = 0
        self.depth = 0

    def value(self) -> int:
        if not self.tokens and self.bash:
            return 0
        value = self._choice()
        if self.at < len(self.tokens):
            raise self._unexpected()
        return value

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _unexpected(self) -> ArithmeticMistake:
        return ArithmeticMistake("expecting EOF" if self._peek() else "expecting primary")

    def _take(self, sign: str) -> None:
        if self._peek() != sign:
            raise ArithmeticMistake(f"expecting '{sign}'")
        self.at += 1

    def _choice(self) -> int:
        """Read an assignment, or a condition with its alternatives."""
        self.depth += 1
        if self.depth > _DEPTH_LIMIT:
            raise ArithmeticMistake(f"the expression is nested more than {_DEPTH_LIMIT} levels deep")
        if self.at + 1 < len(self.tokens) and self.tokens[self.at][0] == "name":
            name, sign = self._peek(), self.tokens[self.at + 1][1]
            if sign in _ASSIGNING:
                self.at += 2
                value = self._choice()
                self.depth -= 1
                if sign != "=":
                    value = self._applied(sign[:-1], self._variable(name), value)
                return self._assign(name, value)
        value = self._operation(1)
        if self._peek() == "?":
            self.at += 1
            value = self._alternatives(value)
        self.depth -= 1
        return value

    def _alternatives(self, condition: int) -> int:
        self.skipping += not condition
        first = self._choice()
        self.skipping -= not condition
        self._take(":")
        self.skipping += bool(condition)
        second = self._choice()
        self.skipping -= bool(condition)
        return first if condition else second

    def _operation(self, lowest: int) -> int:
        """Read operands and operators of at least this precedence."""
        left = self._operand()
        while True:
            sign = self._peek()
            if (precedence := _LOGICAL.get(sign, 0)) >= lowest:
                self.at += 1
                decided = bool(left) is (sign == "||")
                self.skipping += decided
                right = self._operation(precedence + 1)
                self.skipping -= decided
                left = int(bool(left) if decided else bool(right))
            elif sign in _BINARY and _BINARY[sign][0] >= lowest:
                self.at += 1
                left = self._applied(sign, left, self._operation(_BINARY[sign][0] + 1))
            else:
                return left

    def _applied(self, sign: str, left: int, right: int) -> int:
        if self.skipping:
            return 0
        return _wrapped(_BINARY[sign][1](left, right))

    def _operand(self) -> int:
        signs: list[str] = []
        while self._peek() in ("-", "+", "!", "~"):
            signs.append(self._peek())
            self.at += 1
        value = self._primary()
        for sign in reversed(signs):
            value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[sign]
        return _wrapped(value)

    def _primary(self) -> int:
        if self.at >= len(self.tokens):
            raise self._unexpected()
        kind, token = self.tokens[self.at]
        if kind == "number":
            self.at += 1
            value = number(token)
            if value is None:
                raise ArithmeticMistake("expecting EOF")
            return value
        if kind == "name":
            self.at += 1
            value = self._variable(token)
            if (sign := self._peek()) in ("++", "--"):
                self.at += 1
                self._assign(token, value + (1 if sign == "++" else -1))
            return value
        if token in ("++", "--"):
            self.at += 2
            name = self.tokens[self.at - 1][1] if self.at <= len(self.tokens) else ""
            return self._assign(name, self._variable(name) + (1 if token == "++" else -1))
        if token != "(":
            raise ArithmeticMistake("expecting primary")
        self.at += 1
        value = self._choice()
        self._take(")")
        return value

    def _variable(self, name: str) -> int:
        text = self.variables.get(name, "").strip()
        value = number(text) if text else 0
        if value is None and (self.bash or self.skipping):
            return 0
        if value is None:
            raise IllegalNumber(f"Illegal number: {text[:80]}")
        return value

    def _assign(self, name: str, value: int) -> int:
        value = _wrapped(value)
        if not self.skipping:
            self.variables[name] = str(value)
        return value


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
