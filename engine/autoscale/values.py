"""The values of the language (AS-16 to AS-25) and their text in results (AS-69).

A double is a ``float``, a doubleVec a ``tuple`` of them, a string a ``str``; there is no boolean (AS-17).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from engine.autoscale.errors import EvaluationError

Vector = tuple[float, ...]

TICKS_PER_MS = 10_000
_TICKS_PER_SECOND = 10_000_000
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST_TICK = (datetime.max.replace(tzinfo=UTC) - _FIRST) // _MICROSECOND * 10 + 9
_LONGEST = 2**63  # an interval is a signed 64-bit number


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A UTC time in ticks of 100 ns since the year 1 (AS-19)."""

    ticks: int

    def __post_init__(self) -> None:
        if not 0 <= self.ticks <= _LAST_TICK:
            raise EvaluationError("The timestamp lies outside the years 1 to 9999")

    @classmethod
    def of(cls, moment: datetime, ticks: int = 0) -> Timestamp:
        """Return the timestamp of ``moment`` plus ``ticks``."""
        return cls((moment - _FIRST) // _MICROSECOND * 10 + ticks)

    @property
    def moment(self) -> datetime:
        """The time as a datetime, truncated to microseconds."""
        return _FIRST + timedelta(microseconds=self.ticks // 10)

    def __str__(self) -> str:
        """Return ``2026-03-11T10:00:00.000Z`` (AS-69)."""
        return self.moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A signed duration in ticks of 100 ns, including fractions (AS-19)."""

    ticks: float

    def __post_init__(self) -> None:
        if not abs(self.ticks) < _LONGEST:
            raise EvaluationError("The time interval is too long, or not a number")

    def __str__(self) -> str:
        """Return ``[-][days.]hh:mm:ss[.fffffff]`` (AS-69)."""
        ticks = round(self.ticks)
        seconds, fraction = divmod(abs(ticks), _TICKS_PER_SECOND)
        minutes, second = divmod(seconds, 60)
        hours, minute = divmod(minutes, 60)
        days, hour = divmod(hours, 24)
        text = ("-" if ticks < 0 else "") + (f"{days}." if days else "") + f"{hour:02d}:{minute:02d}:{second:02d}"
        return f"{text}.{fraction:07d}" if fraction else text


Value = float | Vector | str | Timestamp | Interval

_TYPE_NAMES = {float: "double", tuple: "doubleVec", str: "string", Timestamp: "timestamp", Interval: "timeinterval"}


def type_name(value: object) -> str:
    """Return the name of a value's type in the language (AS-16)."""
    return _TYPE_NAMES.get(type(value), "value")


def types_of(values: Iterable[object]) -> str:
    """Return the types of arguments as ``double, string``."""
    return ", ".join(map(type_name, values))


def expect_none(name: str, arguments: Sequence[object]) -> None:
    """Fail if there are arguments."""
    if arguments:
        raise EvaluationError(f"Wrong arguments of {name}: ({types_of(arguments)}); it takes none")


def single(value: Value) -> Value:
    """Return the element of a vector of one element, or any other value itself (AS-22)."""
    return value[0] if type(value) is tuple and len(value) == 1 else value


def to_number(value: Value) -> float:
    """Return the value as a double (AS-22)."""
    value = single(value)
    if type(value) is float:
        return value
    if type(value) is tuple:
        raise EvaluationError(f"A doubleVec of {len(value)} elements cannot be used where a double is needed")
    raise EvaluationError(f"A {type_name(value)} cannot be used where a double is needed")


def to_vector(values: Iterable[Value]) -> Vector:
    """Return doubles and vectors concatenated into one vector (AS-18, AS-23, AS-24)."""
    elements: list[float] = []
    for value in values:
        if type(value) is float:
            elements.append(value)
        elif type(value) is tuple:
            elements += value
        else:
            raise EvaluationError(f"A {type_name(value)} cannot be an element of a list of numbers")
    return tuple(elements)


def text_of(value: Value) -> str:
    """Return the text of a value in results (AS-69)."""
    if type(value) is float:
        return _number_text(value)
    if type(value) is tuple:
        return f"[{','.join(map(_number_text, value))}]"
    return str(value)


def _number_text(value: float) -> str:
    text = f"{value:g}"
    return "0" if text == "-0" else text


def whole_text(value: float) -> str:
    """Return the number rounded to a whole one, halves up (AS-73)."""
    return str(math.floor(value + 0.5)) if math.isfinite(value) else _number_text(value)
