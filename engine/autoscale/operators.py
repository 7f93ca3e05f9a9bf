"""The operators and the types that they combine (AS-27 to AS-29)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from engine.autoscale.errors import EvaluationError
from engine.autoscale.inputs import Dialect
from engine.autoscale.values import Interval, Timestamp, Value, Vector, single, to_number, type_name

_Number = Callable[[float, float], float]
_Rule = Callable[..., Value]


def _divide(dividend: float, divisor: float) -> float:
    """Divide as IEEE 754: by zero the result is an infinity or NaN (AS-29)."""
    if divisor:
        return dividend / divisor
    if math.isnan(divisor) or math.isnan(dividend) or not dividend:
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1, divisor)


_ARITHMETIC: dict[str, _Number] = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "!=": operator.ne,
}


def _element_wise(calculate: _Number) -> _Rule:
    """Return a rule for vectors: equal lengths pair up, and a single element combines with every other (AS-28)."""

    def rule(left: float | Vector, right: float | Vector) -> Vector:
        lefts = left if isinstance(left, tuple) else (left,)
        rights = right if isinstance(right, tuple) else (right,)
        if len(lefts) != len(rights):
            if len(lefts) == 1:
                lefts *= len(rights)
            elif len(rights) == 1:
                rights *= len(lefts)
            else:
                raise EvaluationError(f"Vectors of different length: {len(lefts)} and {len(rights)} elements")
        return tuple(map(calculate, lefts, rights))

    return rule


def _comparison(holds: Callable[[Any, Any], bool]) -> _Rule:
    return lambda left, right: 1.0 if holds(left, right) else 0.0


def _interval_quotient(interval: Interval, divisor: float) -> Interval:
    if not divisor:
        raise EvaluationError("A time interval divided by zero")
    return Interval(interval.ticks / divisor)


_RULES: dict[tuple[str, type, type], _Rule] = {
    ("*", float, Interval): lambda factor, interval: Interval(factor * interval.ticks),
    ("*", Interval, float): lambda interval, factor: Interval(interval.ticks * factor),
    ("/", Interval, float): _interval_quotient,
    ("+", Interval, Interval): lambda left, right: Interval(left.ticks + right.ticks),
    ("-", Interval, Interval): lambda left, right: Interval(left.ticks - right.ticks),
    ("+", Interval, Timestamp): lambda interval, moment: Timestamp(moment.ticks + round(interval.ticks)),
    ("+", Timestamp, Interval): lambda moment, interval: Timestamp(moment.ticks + round(interval.ticks)),
    ("-", Timestamp, Timestamp): lambda left, right: Interval(left.ticks - right.ticks),
}
for _sign, _calculate in _ARITHMETIC.items():
    _RULES[_sign, float, float] = _calculate
    for _types in ((tuple, float), (float, tuple), (tuple, tuple)):
        _RULES[_sign, *_types] = _element_wise(_calculate)
for _sign, _holds in _COMPARISONS.items():
    for _type in (float, str, Timestamp, Interval):
        _RULES[_sign, _type, _type] = _comparison(_holds)


def combine(sign: str, left: Value, right: Value, dialect: Dialect) -> Value:
    """Return ``left sign right``. Vectors of one element are numbers if no other rule applies (AS-22)."""
    rule = _RULES.get((sign, type(left), type(right)))
    if rule is not None:
        return rule(left, right)
    plain_left, plain_right = single(left), single(right)
    rule = _RULES.get((sign, type(plain_left), type(plain_right)))
    if rule is not None:
        return rule(plain_left, plain_right)
    if dialect.timestamp_minus_interval and sign == "-" and isinstance(left, Timestamp) and isinstance(right, Interval):
        return Timestamp(left.ticks - round(right.ticks))
    raise EvaluationError(f"Wrong types: {type_name(left)} {sign} {type_name(right)} is not defined")


def negate(value: Value) -> Value:
    """Return the negative of a number or interval."""
    return Interval(-value.ticks) if isinstance(value, Interval) else -to_number(value)


def is_true(value: Value) -> bool:
    """Return whether a condition holds: any number but zero, including NaN (AS-17)."""
    return to_number(value) != 0
