"""``expr`` of Linux."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call
from engine.executors.shell.programs.regular_expressions import Expression, NotExpression

_NUMBER = lazy_regex(r"-?\d{1,400}", re.ASCII)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("|",),
    ("&",),
    ("<", "<=", "=", "==", "!=", ">=", ">"),
    ("+", "-"),
    ("*", "/", "%"),
    (":",),
)
"""The operators, from those that bind least."""
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, "==": operator.eq, "!=": operator.ne, ">=": operator.ge,
    ">": operator.gt,
}  # fmt: skip
_DEPTH_LIMIT = 40


class _Mistake(Exception):
    """An expression without a value; the text says why."""


def expr(call: Call) -> int:
    """Print the value of an expression: 0 if it is neither empty nor 0, 1 if it is, 2 after a mistake."""
    words = call.args[1:] if call.args[:1] == ["--"] else call.args
    if not words:
        return call.misuse("missing operand", 2)
    try:
        reader = _Reader(call, words)
        value = reader.value(0)
        if reader.at < len(words):
            raise _Mistake(f"syntax error: unexpected argument '{words[reader.at][:80]}'")
    except (_Mistake, NotExpression) as mistake:
        return call.fail(f"expr: {mistake}", 2)
    call.process.run.step(len(words) + (len(value) >> 6))
    call.say(value)
    return int(_is_null(value))


def _is_null(value: str) -> bool:
    return not value or (_NUMBER.fullmatch(value) is not None and int(value) == 0)


class _Reader:
    """An expression that is evaluated while it is read."""

    def __init__(self, call: Call, words: Sequence[str]) -> None:
        self.call = call
        self.words = words
        self.at = 0
        self.depth = 0

    def value(self, level: int) -> str:
        """Return the value of an expression of operators that bind at least as much as those of the level."""
        if level == len(_LEVELS):
            return self._primary()
        left = self.value(level + 1)
        while self.at < len(self.words) and self.words[self.at] in _LEVELS[level]:
            sign = self.words[self.at]
            self.at += 1
            left = _applied(self.call, sign, left, self.value(level + 1))
        return left

    def _next(self) -> str:
        if self.at >= len(self.words):
            last = self.words[-1][:80]
            raise _Mistake(f"syntax error: missing argument after '{last}'")
        self.at += 1
        return self.words[self.at - 1]

    def _primary(self) -> str:
        word = self._next()
        if word == "(":
            self.depth += 1
            if self.depth > _DEPTH_LIMIT:
                raise _Mistake(f"more than {_DEPTH_LIMIT} parentheses")
            value = self.value(0)
            if self.at >= len(self.words) or self.words[self.at] != ")":
                raise _Mistake(f"syntax error: expecting ')' after '{self.words[self.at - 1][:80]}'")
            self.at += 1
            self.depth -= 1
            return value
        if word == ")":
            raise _Mistake("syntax error: unexpected ')'")
        if self.at == len(self.words):
            return word
        match word:
            case "+":
                return self._next()
            case "length":
                return str(len(self._primary()))
            case "match":
                text = self._primary()
                return _matched(self.call, text, self._primary())
            case "index":
                text, signs = self._primary(), self._primary()
                return str(next((index for index, sign in enumerate(text, start=1) if sign in signs), 0))
            case "substr":
                return _part(self._primary(), self._primary(), self._primary())
        return word


def _part(text: str, begin: str, length: str) -> str:
    if not (_NUMBER.fullmatch(begin) and _NUMBER.fullmatch(length)) or int(begin) < 1 or int(length) < 1:
        return ""
    return text[int(begin) - 1 :][: int(length)]


def _applied(call: Call, sign: str, left: str, right: str) -> str:
    match sign:
        case "|":
            return left if not _is_null(left) else right if not _is_null(right) else "0"
        case "&":
            return "0" if _is_null(left) or _is_null(right) else left
        case ":":
            return _matched(call, left, right)
    numbers = _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right)
    if sign in _COMPARISONS:
        both: tuple[int, int] | tuple[str, str] = (int(left), int(right)) if numbers else (left, right)
        return str(int(_COMPARISONS[sign](*both)))
    if not numbers:
        raise _Mistake("non-integer argument")
    return str(_calculated(sign, int(left), int(right)))


def _calculated(sign: str, left: int, right: int) -> int:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            if max(len(str(left)), len(str(right))) > 200:
                raise _Mistake("a number is too long")
            return left * right
    if not right:
        raise _Mistake("division by zero")
    quotient = abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1)
    return quotient if sign == "/" else left - quotient * right


def _matched(call: Call, text: str, source: str) -> str:
    r"""Return the part that ``\(...\)`` matches at the begin of a text, or else how much matches."""
    group = re.search(r"\\\((.*?)\\\)", source, re.DOTALL)
    source = source.removeprefix("^")
    if group is None:
        return str(Expression([source]).match_end(text, 0) or 0)
    return _group_match(call, text, source)


def _group_match(call: Call, text: str, source: str) -> str:
    """Return the text of the first group: the longest one with which the rest can still match."""
    before, _, rest = source.partition("\\(")
    inner, _, after = rest.partition("\\)")
    end = Expression([source]).match_end(text, 0)
    if end is None:
        return ""
    first, group, last = Expression([before]), Expression([inner]), Expression([after])
    for begin in reversed(list(first.ends(text, 0))):
        for stop in reversed(list(group.ends(text, begin))):
            call.process.run.step(1 + (len(text) >> 6))
            if end in last.ends(text, stop):
                return text[begin:stop]
    return ""
