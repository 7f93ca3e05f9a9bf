"""The evaluation of a parsed formula (AS-26 to AS-40, AS-65)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.autoscale.errors import EvaluationError, TooFewSamples
from engine.autoscale.functions import FUNCTIONS
from engine.autoscale.names import CONSTANTS, LOW_PRIORITY, METRICS, OPTION, OPTIONS, READ_ONLY, REQUEUE, TARGETS
from engine.autoscale.operators import combine, is_true, negate
from engine.autoscale.samples import METHODS, Metric, call_method
from engine.autoscale.times import member
from engine.autoscale.values import Timestamp, Value, text_of, to_number, to_vector, type_name
from engine.base.errors import Position
from engine.base.shortening import shortened

if TYPE_CHECKING:
    from lark import Token, Tree

    from engine.autoscale.inputs import Inputs

    Phrase = Tree[Token]

Part: TypeAlias = Any  # a phrase, or the token of a sign

_MOST_NODES = 2_147_483_647  # AS-77


class Evaluation:
    """The variables of a formula while its statements are evaluated.

    Each phrase of the grammar has a method of its name below ``value``. A failure raises EvaluationError.
    """

    def __init__(self, inputs: Inputs) -> None:
        """Begin an evaluation on these inputs."""
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
        nodes = math.trunc(wanted)
        if nodes < 0:
            least = self.inputs.dialect.least_target
            if least is None:
                raise EvaluationError(f"The target {name} is negative: {shortened(text_of(wanted))}")
            nodes = least
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
            value = combine(str(rest[at]), value, right, self.inputs.dialect)
        return value

    def _unary(self, *parts: Part) -> Value:
        *signs, operand = parts
        value: Value = self.value(operand)
        for sign in reversed(signs):
            self._token = sign
            value = negate(value) if sign == "-" else float(not is_true(value))
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
        raise _unknown("variable", name, [*self.variables, *METRICS, *CONSTANTS, *TARGETS, OPTION])

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
        values = [self.value(argument) for argument in arguments]
        self._token = method
        try:
            return call_method(Metric(name, self.inputs), method, values)
        except TooFewSamples:
            self._token = parenthesis
            raise

    def _method_of_value(self, receiver: Phrase, method: Token, *_: object) -> Value:
        kind = type_name(self.value(receiver))
        self._token = method
        raise EvaluationError(
            f"Unknown method {shortened(method)}: a {kind} has no methods, only the name of a sampled variable has"
        )

    def _member_of_name(self, name: Token, part: Token) -> float:
        return self._part(self._name(name), part)

    def _member(self, moment: Phrase, part: Token) -> float:
        return self._part(self.value(moment), part)

    def _part(self, value: Value, part: Token) -> float:
        self._token = part
        if not isinstance(value, Timestamp):
            raise EvaluationError(f"Unknown member {shortened(part)}: a {type_name(value)} has no members")
        return member(value, part, self.inputs.dialect)


# The method that evaluates each phrase of the grammar: a look-up here takes half the time of ``getattr``.
_METHODS = {name[1:]: method for name, method in vars(Evaluation).items() if name.startswith("_") and callable(method)}


def _unknown(kind: str, name: str, known: Iterable[str]) -> EvaluationError:
    near = get_close_matches(name, known, n=1)
    return EvaluationError(f"Unknown {kind} {shortened(name)}" + (f"; did you mean {near[0]}?" if near else ""))
