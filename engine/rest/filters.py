"""The meaning of ``$filter``, a condition on the body of a resource (GEN-8). Its grammar is ``filter.lark``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import LarkError, VisitError

from engine.base.values import parse_utc
from engine.rest.messages import Body, bad_parameter
from engine.scenario.text import nesting

Condition = Callable[[Body], bool]
Value = str | int | float | bool | datetime | None
Operand = Callable[[Body], Value]

LONGEST = 4096
"""The most characters of a filter."""

_DEEPEST = 32  # brackets within each other


_PARSER = Lark.open("filter.lark", rel_to=__file__, parser="lalr")

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_FUNCTIONS: dict[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda text, part: part in text,
    "substringof": lambda part, text: part in text,
}
_MOMENT = re.compile(r"datetime(?:offset)?'([^']*)'", re.IGNORECASE)


def condition(text: str) -> Condition:
    """Return the condition that a filter states.

    Raises:
        BatchError: InvalidQueryParameterValue for a filter that is too long, nested too deeply, or not understood.
    """
    if len(text) > LONGEST or nesting(text, "(", ")") > _DEEPEST:
        raise bad_parameter("$filter", text, "the filter is too long or nested too deeply")
    return _parsed(text)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Condition:
    try:
        tree = _PARSER.parse(text)
        made: Condition = _Conditions().transform(tree)
    except VisitError as error:
        raise bad_parameter("$filter", text, str(error.orig_exc)) from None
    except LarkError as error:
        column = getattr(error, "column", -1)
        where = f" at character {column}" if isinstance(column, int) and column > 0 else ""
        raise bad_parameter("$filter", text, f"the filter is not understood{where}") from None
    return made


@v_args(inline=True)
class _Conditions(Transformer[Token, Condition]):
    """Makes a function of the syntax tree. An operand is a function from a body to a value."""

    def literal(self, token: Token) -> Operand:
        value = _literal(token)
        return lambda _: value

    def property(self, *names: Token) -> Operand:
        return lambda body: _property(body, names)

    def comparison(self, left: Operand, name: Token, right: Operand) -> Condition:
        compare = _OPERATORS[name.lower()]
        return lambda body: _compared(compare, left(body), right(body))

    def call(self, name: Token, first: Operand, second: Operand, *expected: Any) -> Condition:  # noqa: ANN401
        function = _FUNCTIONS[name.lower()]

        def holds(body: Body) -> bool:
            left, right = first(body), second(body)
            if not (isinstance(left, str) and isinstance(right, str)):
                return False
            return function(left.lower(), right.lower())

        if not expected:
            return holds
        compare, value = _OPERATORS[expected[0].lower()], expected[1]
        return lambda body: _compared(compare, holds(body), value(body))

    def negation(self, inner: Condition) -> Condition:
        return lambda body: not inner(body)

    def either(self, *parts: Condition) -> Condition:
        return lambda body: any(part(body) for part in parts)

    def both(self, *parts: Condition) -> Condition:
        return lambda body: all(part(body) for part in parts)


def _literal(token: Token) -> Value:
    text = str(token)
    if token.type == "TEXT":
        return text[1:-1].replace("''", "'")
    if token.type == "NUMBER":
        return float(text) if "." in text else int(text)
    if token.type == "CONSTANT":
        return {"true": True, "false": False, "null": None}[text.lower()]
    moment = _MOMENT.fullmatch(text)
    assert moment is not None
    return parse_utc(moment[1])


def _property(body: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON
    value = body
    for name in names:
        if not isinstance(value, Mapping):
            return None
        value = value[name] if name in value else _in_any_case(value, name)
    return value


def _in_any_case(body: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - any JSON
    return next((value for key, value in body.items() if key.lower() == name.lower()), None)


def _compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:  # noqa: ANN401 - any JSON
    """Compare two values. The case of text is ignored, as in ids and options; null is neither greater nor less."""
    if isinstance(left, datetime) or isinstance(right, datetime):
        left, right = _moment(left), _moment(right)
    if isinstance(left, str) and isinstance(right, str):
        return compare(left.lower(), right.lower())
    is_equality = compare in (operator.eq, operator.ne)
    if left is None or right is None:
        return is_equality and compare(left, right)
    if _is_number(left) and _is_number(right):
        return compare(left, right)
    if type(left) is not type(right) or not isinstance(left, bool | datetime):
        return compare is operator.ne
    return compare(left, right)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_utc(value)
    except ValueError:
        return None
