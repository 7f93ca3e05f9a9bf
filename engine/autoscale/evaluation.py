"""The evaluation of a parsed formula, with its operators and functions.

Operators and the types that they combine follow AS-27 to AS-29, functions AS-56 to AS-63, statements AS-26 to AS-40
and AS-65.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.autoscale.values import (
    CONSTANTS,
    LOW_PRIORITY,
    METHODS,
    METRICS,
    OPTION,
    OPTIONS,
    READ_ONLY,
    REQUEUE,
    TARGETS,
    EvaluationError,
    Inputs,
    Interval,
    Metric,
    Timestamp,
    TooFewSamples,
    Value,
    Vector,
    member,
    parse_time,
    single,
    text_of,
    to_number,
    to_vector,
    type_name,
    types_of,
    without_arguments,
)
from engine.base.errors import Position
from engine.base.values import shortened

if TYPE_CHECKING:
    from lark import Token, Tree

    Phrase = Tree[Token]


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
    "<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt, "!=": operator.ne,
}  # fmt: skip


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


def combine(sign: str, left: Value, right: Value) -> Value:
    """Return ``left sign right``. Vectors of one element are numbers if no other rule applies (AS-22)."""
    rule = _RULES.get((sign, type(left), type(right)))
    if rule is not None:
        return rule(left, right)
    plain_left, plain_right = single(left), single(right)
    rule = _RULES.get((sign, type(plain_left), type(plain_right)))
    if rule is not None:
        return rule(plain_left, plain_right)
    raise EvaluationError(f"Wrong types: {type_name(left)} {sign} {type_name(right)} is not defined")


def is_true(value: Value) -> bool:
    """Return whether a condition holds: any number but zero, including NaN (AS-17)."""
    return to_number(value) != 0


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
_OF_LIST: dict[str, Callable[[Vector], float]] = {
    "avg": lambda elements: _sum(elements) / len(elements),
    "len": lambda elements: float(len(elements)),
    "max": max,
    "min": min,
    "norm": lambda elements: math.sqrt(_sum(tuple(element * element for element in elements))),
    "range": lambda elements: max(elements) - min(elements),
    "std": _std,
    "sum": _sum,
}
_OF_NONE = ("len", "norm", "sum")
"""The functions of a list that also accept an empty one."""


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
    def function(_: Inputs, arguments: Sequence[Value]) -> Value:
        elements = to_vector(arguments)
        return calculate(elements) if elements or not needs_some else math.nan

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


def _percentile(_: Inputs, arguments: Sequence[Value]) -> Value:
    """Return the percentile by nearest rank (AS-61)."""
    elements, at = _vector_and_number("percentile", arguments)
    if not 0 <= at <= 100:
        raise EvaluationError(f"Wrong arguments of percentile: {at:g} is not between 0 and 100")
    if not elements:
        return math.nan
    rank = math.ceil(at * len(elements) / 100)
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


def _stop(_: Inputs) -> Value:
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
    **{name: _list_function(calculate, needs_some=name not in _OF_NONE) for name, calculate in _OF_LIST.items()},
    **{name: _each(name, calculate) for name, calculate in _OF_EACH.items()},
    "percentile": _percentile,
    "rand": without_arguments("rand", lambda inputs: inputs.chance()),
    "stop": without_arguments("stop", _stop),
    "time": _time,
    "val": _val,
    "vec": lambda _, arguments: to_vector(arguments),
}


Part: TypeAlias = Any  # a phrase, or the token of a sign

_MOST_NODES = 2_147_483_647  # AS-77


class Evaluation:
    """The state of a running formula: its variables, targets and the token to report in an error.

    Each phrase of the grammar has a method of its name below ``value``. A failure raises EvaluationError.
    """

    def __init__(self, inputs: Inputs) -> None:
        """Create an evaluation of these inputs."""
        self.inputs = inputs
        self.variables: dict[str, Value] = {}  # of the user (AS-32)
        self.assigned: dict[str, tuple[float, Token | None]] = {}  # targets by the name used (AS-37), and where
        self.option = REQUEUE
        self._token: Token | None = None

    @property
    def position(self) -> Position:
        """The place to report for an error (AS-75)."""
        token = self._token
        return Position(1, 1) if token is None else Position(token.line, token.column)  # type: ignore[arg-type]

    def target(self, name: str) -> int:
        """Return the target of this full name that the formula wants, as a number of nodes (AS-38, AS-77)."""
        wanted, self._token = self._wanted(name)
        if not math.isfinite(wanted):
            raise EvaluationError(f"The target {name} is not finite: {shortened(text_of(wanted))}")
        nodes = max(0, math.trunc(wanted))
        if nodes and name == LOW_PRIORITY and not self.inputs.may_have_spot:
            raise EvaluationError(f"The target {name} is {nodes}, but cloud services have no Spot nodes")
        return min(nodes, _MOST_NODES)

    def value(self, phrase: Phrase) -> Value:
        """Return the value of a phrase. Raises FormulaStopped where the formula calls ``stop()`` (AS-62)."""
        value: Value = _METHODS[phrase.data](self, *phrase.children)
        return value

    def _assignment(self, token: Token, expression: Phrase) -> Value:
        value = self.value(expression)
        self._token = token
        name = str(token)
        if name in TARGETS:
            self.assigned[name] = to_number(value), token
        elif name == OPTION:
            if value not in OPTIONS:
                raise EvaluationError(
                    f"Bad deallocation option {shortened(text_of(value))}; it is one of {', '.join(OPTIONS)}"
                )
            self.option = value
        elif name in READ_ONLY:
            raise EvaluationError(f"The variable {shortened(name)} is read-only")
        else:
            self.variables[name] = value
        return value

    # -- operators

    def _choice(self, *parts: Part) -> Value:
        """Return the value of the first condition that holds, or the last: condition, sign, value, ..., value."""
        for at in range(0, len(parts) - 1, 3):
            if self._holds(parts[at], parts[at + 1]):
                return self.value(parts[at + 2])
        return self.value(parts[-1])

    def _disjunction(self, *parts: Part) -> float:
        return self._decide(parts, by=True)

    def _conjunction(self, *parts: Part) -> float:
        return self._decide(parts, by=False)

    def _decide(self, parts: tuple[Part, ...], *, by: bool) -> float:
        """Evaluate operands up to the first one that decides (AS-30); an error is reported for the sign beside it."""
        for at in range(0, len(parts), 2):
            if self._holds(parts[at], parts[max(at - 1, 1)]) is by:
                return float(by)
        return float(not by)

    def _holds(self, condition: Phrase, sign: Token) -> bool:
        value = self.value(condition)
        self._token = sign
        return is_true(value)

    def _binary(self, first: Phrase, *rest: Part) -> Value:
        value: Value = self.value(first)
        for at in range(0, len(rest), 2):
            right = self.value(rest[at + 1])
            self._token = rest[at]
            value = combine(str(rest[at]), value, right)
        return value

    def _unary(self, *parts: Part) -> Value:
        *signs, operand = parts
        value: Value = self.value(operand)
        for sign in reversed(signs):
            self._token = sign
            if sign == "!":
                value = float(not is_true(value))
            else:
                value = Interval(-value.ticks) if isinstance(value, Interval) else -to_number(value)
        return value

    # -- operands

    def _number(self, number: Token) -> float:
        return float(number)

    def _string(self, string: Token) -> str:
        return string[1:-1]

    def _vector(self, bracket: Token, *elements: Phrase) -> Value:
        values = [self.value(element) for element in elements]
        self._token = bracket
        return to_vector(values)

    def _name(self, token: Token) -> Value:
        self._token = token
        name = str(token)  # plain strings are compared faster than tokens
        if name in self.variables:
            return self.variables[name]
        if name in METRICS:
            return Metric(name, self.inputs).current()
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in TARGETS:
            return self._wanted(name)[0]
        if name == OPTION:
            return self.option
        raise _unknown("variable", name, [*self.variables, *_VARIABLES])

    def _wanted(self, name: str) -> tuple[float, Token | None]:
        """Return the value of a target: full name before alias, both before the target in force (AS-36, AS-37)."""
        full, alias = TARGETS[name]
        in_force = float(self.inputs.target(full)), self._token
        return self.assigned.get(full) or self.assigned.get(alias) or in_force

    def _call(self, name: Token, *arguments: Phrase) -> Value:
        self._token = name
        function = FUNCTIONS.get(str(name))
        if function is None:
            raise _unknown("function", name, FUNCTIONS)
        values = [self.value(argument) for argument in arguments]
        self._token = name
        return function(self.inputs, values)

    def _method(self, token: Token, method: Token, parenthesis: Token, *arguments: Phrase) -> Value:
        name = str(token)
        if name not in METRICS:
            value = self._name(token)
            raise EvaluationError(
                f"Unknown method: {shortened(name)} is a {type_name(value)}, only sampled variables have methods"
            )
        self._token = method
        if method not in METHODS:
            raise _unknown("method", method, METHODS)
        values = [single(self.value(argument)) for argument in arguments]  # AS-22
        self._token = method
        try:
            return METHODS[method](Metric(name, self.inputs), values)
        except TooFewSamples:
            self._token = parenthesis
            raise

    def _method_of_value(self, receiver: Phrase, method: Token, *_: object) -> Value:
        kind = type_name(self.value(receiver))
        self._token = method
        raise EvaluationError(
            f"Unknown method {shortened(method)}: a {kind} has no methods, only the name of a sampled variable has"
        )

    def _member(self, owner: Part, part: Token) -> float:
        is_name = isinstance(owner, str)
        value = self._name(owner) if is_name else self.value(owner)
        self._token = part
        if not isinstance(value, Timestamp):
            raise EvaluationError(f"Unknown member {shortened(part)}: a {type_name(value)} has no members")
        return member(value, part)


# The method that evaluates each phrase of the grammar: a look-up here takes half the time of ``getattr``.
_METHODS = {name[1:]: method for name, method in vars(Evaluation).items() if name.startswith("_") and callable(method)}


_VARIABLES = (*METRICS, *CONSTANTS, *TARGETS, OPTION)
_NAMING = {"name": ["variable"], "member": ["variable"], "call": ["function"], "method": ["variable", "method"]}


def unknown_names(statements: Sequence[Phrase]) -> Iterator[tuple[Position, EvaluationError]]:
    """Yield the places of names in a formula that nothing before them defines, and why an evaluation fails there."""
    known: dict[str, list[str]] = {"variable": [*_VARIABLES], "function": [*FUNCTIONS], "method": [*METHODS]}
    for statement in statements:
        for phrase in reversed(list(statement.iter_subtrees())):
            for kind, token in zip(_NAMING.get(phrase.data, ()), phrase.children, strict=False):
                if isinstance(token, str) and token not in known[kind]:
                    yield Position(token.line or 1, token.column or 1), _unknown(kind, token, known[kind])
        if statement.data == "assignment":
            known["variable"].append(str(statement.children[0]))


def _unknown(kind: str, name: str, known: Iterable[str]) -> EvaluationError:
    near = get_close_matches(name, known, n=1)
    return EvaluationError(f"Unknown {kind} {shortened(name)}" + (f"; did you mean {near[0]}?" if near else ""))
