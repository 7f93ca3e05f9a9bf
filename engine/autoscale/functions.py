"""The functions of the formula language (AS-56 to AS-63)."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence

from engine.autoscale.errors import EvaluationError
from engine.autoscale.inputs import Inputs
from engine.autoscale.times import parse_time
from engine.autoscale.values import Value, Vector, expect_none, single, to_number, to_vector, type_name, types_of

Function = Callable[[Inputs, Sequence[Value]], Value]


class FormulaStopped(Exception):
    """The end of the formula by ``stop()`` (AS-62)."""


def _sum(elements: Vector) -> float:
    # `sum` of floats differs between versions of Python.
    return functools.reduce(operator.add, elements, 0.0)


def _std(elements: Vector) -> float:
    """Return the sample standard deviation; NaN of a single element (AS-58)."""
    if len(elements) == 1:
        return math.nan
    mean = _sum(elements) / len(elements)
    squares = _sum(tuple((element - mean) * (element - mean) for element in elements))
    return math.sqrt(squares / (len(elements) - 1))


# Python's `max` and `min` keep the first element until a later one is strictly beyond it, also beside NaN (AS-59).
_OF_SOME: dict[str, Callable[[Vector], float]] = {
    "avg": lambda elements: _sum(elements) / len(elements),
    "max": max,
    "min": min,
    "range": lambda elements: max(elements) - min(elements),
    "std": _std,
}
_OF_ANY: dict[str, Callable[[Vector], float]] = {
    "len": lambda elements: float(len(elements)),
    "norm": lambda elements: math.sqrt(_sum(tuple(element * element for element in elements))),
    "sum": _sum,
}


def _logarithm(of: Callable[[float], float]) -> Callable[[float], float]:
    """Return the logarithm extended to minus infinity at zero and NaN below (AS-62)."""

    def logarithm(number: float) -> float:
        if number > 0:
            return of(number)
        return -math.inf if number == 0 else math.nan

    return logarithm


def _round(number: float) -> float:
    """Round halves away from zero (AS-56)."""
    whole = math.trunc(number)
    return float(whole + math.copysign(1, number)) if abs(number - whole) >= 0.5 else float(whole)


def _whole(rounded: Callable[[float], float]) -> Callable[[float], float]:
    return lambda number: float(rounded(number)) if math.isfinite(number) else number


_OF_EACH: dict[str, Callable[[float], float]] = {
    "ceil": _whole(math.ceil),
    "floor": _whole(math.floor),
    "lg": _logarithm(math.log2),
    "ln": _logarithm(math.log),
    "log": _logarithm(math.log10),
    "round": _whole(_round),
}


def _list_function(calculate: Callable[[Vector], float], *, needs_some: bool) -> Function:
    def function(inputs: Inputs, arguments: Sequence[Value]) -> Value:
        elements = to_vector(arguments)
        return calculate(elements) if elements or not needs_some else inputs.dialect.nothing

    return function


def _each(name: str, calculate: Callable[[float], float]) -> Function:
    def function(_: Inputs, arguments: Sequence[Value]) -> Value:
        """Return a double for one double, otherwise a vector (AS-57)."""
        if not arguments:
            raise EvaluationError(f"Wrong arguments of {name}: it takes a number or a list of numbers")
        if len(arguments) == 1 and type(arguments[0]) is float:
            return calculate(arguments[0])
        return tuple(map(calculate, to_vector(arguments)))

    return function


def _vec(_: Inputs, arguments: Sequence[Value]) -> Value:
    return to_vector(arguments)


def _percentile(inputs: Inputs, arguments: Sequence[Value]) -> Value:
    """Return the percentile by nearest rank (AS-61)."""
    elements, at = _vector_and_number("percentile", arguments)
    whole = inputs.dialect.whole_percentile
    if not 0 <= at <= whole:
        raise EvaluationError(f"Wrong arguments of percentile: {at:g} is not between 0 and {whole:g}")
    if not elements:
        return inputs.dialect.nothing
    rank = math.ceil(at * len(elements) / whole)
    return sorted(elements)[max(rank, 1) - 1]


def _val(_: Inputs, arguments: Sequence[Value]) -> Value:
    """Return the element at a position, or NaN outside (AS-60)."""
    elements, at = _vector_and_number("val", arguments)
    inside = -1 < at < len(elements)
    return elements[math.trunc(at)] if inside else math.nan


def _vector_and_number(name: str, arguments: Sequence[Value]) -> tuple[Vector, float]:
    if len(arguments) != 2:
        raise EvaluationError(f"Wrong arguments of {name}: ({types_of(arguments)}); it takes a vector and a number")
    return to_vector(arguments[:1]), to_number(arguments[1])


def _rand(inputs: Inputs, arguments: Sequence[Value]) -> Value:
    expect_none("rand", arguments)
    return inputs.chance()


def _stop(_: Inputs, arguments: Sequence[Value]) -> Value:
    expect_none("stop", arguments)
    raise FormulaStopped


def _time(inputs: Inputs, arguments: Sequence[Value]) -> Value:
    """Return the time of a string; without text, the time of the evaluation (AS-63)."""
    match arguments:
        case [] | [""]:
            return inputs.now
        case [str(text)]:
            return parse_time(text)
        case [other]:
            raise EvaluationError(
                f"Wrong arguments of time: a {type_name(single(other))}; it takes nothing or a string"
            )
    raise EvaluationError(f"Wrong arguments of time: ({types_of(arguments)}); it takes nothing or a string")


FUNCTIONS: dict[str, Function] = {
    **{name: _list_function(calculate, needs_some=True) for name, calculate in _OF_SOME.items()},
    **{name: _list_function(calculate, needs_some=False) for name, calculate in _OF_ANY.items()},
    **{name: _each(name, calculate) for name, calculate in _OF_EACH.items()},
    "percentile": _percentile,
    "rand": _rand,
    "stop": _stop,
    "time": _time,
    "val": _val,
    "vec": _vec,
}
