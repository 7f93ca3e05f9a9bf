"""One evaluation: a machine with a stack that carries out the instructions of a formula (AS-26 to AS-40, AS-65)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from engine.autoscale.errors import EvaluationError, TooFewSamples
from engine.autoscale.functions import FUNCTIONS
from engine.autoscale.inputs import Inputs
from engine.autoscale.names import CONSTANTS, METRICS, OPTION, OPTIONS, READ_ONLY, REQUEUE, TARGETS
from engine.autoscale.operators import combine, is_true, negate
from engine.autoscale.program import Called, Does, Program
from engine.autoscale.samples import METHODS, Metric, call_method
from engine.autoscale.times import member
from engine.autoscale.values import Timestamp, Value, text_of, to_number, to_vector, type_name
from engine.base.errors import Position

_MOST_NODES = 2_147_483_647  # AS-77


class Evaluation:
    """What a formula has assigned so far, and where it is. Failures raise EvaluationError at ``position``."""

    def __init__(self, inputs: Inputs) -> None:
        """Begin an evaluation on these inputs."""
        self.inputs = inputs
        self.variables: dict[str, Value] = {}  # of the user (AS-32)
        self.assigned: dict[str, tuple[float, Position]] = {}  # targets by the name used (AS-37), and where
        self.option = REQUEUE
        self.position = Position(1, 1)
        self._stack: list[Any] = []
        self._at = 0

    def run(self, program: Program) -> None:
        """Carry out one statement. Raises Stop where the formula says so (AS-62)."""
        self._at, end = 0, len(program)
        while self._at < end:
            does, operand, self.position = program[self._at]
            self._at += 1
            _STEPS[does](self, operand)

    def target(self, name: str) -> int:
        """The target of this full name that the formula wants, as a number of nodes (AS-38, AS-77)."""
        wanted, self.position = self._wanted(name)
        if not math.isfinite(wanted):
            raise EvaluationError(f"The target {name} is not finite: {text_of(wanted)}")
        nodes = math.trunc(wanted)
        if nodes < 0:
            least = self.inputs.dialect.least_target
            if least is None:
                raise EvaluationError(f"The target {name} is negative: {text_of(wanted)}")
            nodes = least
        return min(nodes, _MOST_NODES)

    # -- names

    def _wanted(self, name: str) -> tuple[float, Position]:
        """AS-36, AS-37: the full name counts before the alias, and both before the target in force."""
        full, alias = TARGETS[name]
        in_force = float(self.inputs.target(full)), self.position
        return self.assigned.get(full) or self.assigned.get(alias) or in_force

    def _read(self, name: str) -> None:
        self._stack.append(self._value_of(name))

    def _value_of(self, name: str) -> Value:
        if name in self.variables:
            return self.variables[name]
        if name in METRICS:
            return Metric(name, self.inputs).bare()
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in TARGETS:
            return self._wanted(name)[0]
        if name == OPTION:
            return self.option
        raise _unknown("variable", name, [*self.variables, *METRICS, *CONSTANTS, *TARGETS, OPTION])

    def _assign(self, name: str) -> None:
        value = self._stack.pop()
        if name in TARGETS:
            self.assigned[name] = to_number(value), self.position
        elif name == OPTION:
            if value not in OPTIONS:
                raise EvaluationError(f"Bad deallocation option {text_of(value)}; it is one of {', '.join(OPTIONS)}")
            self.option = value
        elif name in READ_ONLY:
            raise EvaluationError(f"The variable {name} is read-only")
        else:
            self.variables[name] = value

    # -- calls

    def _find_function(self, name: str) -> None:
        if name not in FUNCTIONS:
            raise _unknown("function", name, FUNCTIONS)

    def _call_function(self, called: Called) -> None:
        arguments = self._take(called.arguments)
        self._stack.append(FUNCTIONS[called.name](self.inputs, arguments))

    def _find_metric(self, name: str) -> None:
        if name not in METRICS:
            value = self._value_of(name)
            raise EvaluationError(
                f"Unknown method: {name} is a {type_name(value)}, only sampled variables have methods"
            )
        self._stack.append(Metric(name, self.inputs))

    def _find_method(self, name: str) -> None:
        if name not in METHODS:
            raise _unknown("method", name, METHODS)

    def _call_method(self, called: Called) -> None:
        arguments = self._take(called.arguments)
        try:
            self._stack[-1] = call_method(self._stack[-1], called.name, arguments)
        except TooFewSamples:
            self.position = called.parenthesis
            raise

    def _refuse_method(self, name: str) -> None:
        kind = type_name(self._stack[-1])
        raise EvaluationError(
            f"Unknown method {name}: a {kind} has no methods, only the name of a sampled variable has"
        )

    def _member(self, name: str) -> None:
        value = self._stack[-1]
        if not isinstance(value, Timestamp):
            raise EvaluationError(f"Unknown member {name}: a {type_name(value)} has no members")
        self._stack[-1] = member(value, name, self.inputs.dialect)

    # -- operators

    def _combine(self, sign: str) -> None:
        right = self._stack.pop()
        self._stack[-1] = combine(sign, self._stack[-1], right, self.inputs.dialect)

    def _negate(self, _: None) -> None:
        self._stack[-1] = negate(self._stack[-1])

    def _not(self, _: None) -> None:
        self._stack[-1] = float(not is_true(self._stack[-1]))

    def _truth(self, _: None) -> None:
        self._stack[-1] = float(is_true(self._stack[-1]))

    def _and(self, count: int) -> None:
        self._decide(count, by=False)

    def _or(self, count: int) -> None:
        self._decide(count, by=True)

    def _decide(self, count: int, *, by: bool) -> None:
        """AS-30: the left operand decides, and the right one is jumped over; or it goes and the right one decides."""
        if is_true(self._stack.pop()) is by:
            self._stack.append(float(by))
            self._at += count

    def _branch(self, count: int) -> None:
        if not is_true(self._stack.pop()):
            self._at += count

    def _jump(self, count: int) -> None:
        self._at += count

    # -- the stack

    def _push(self, value: Value) -> None:
        self._stack.append(value)

    def _make_vector(self, count: int) -> None:
        self._stack.append(to_vector(self._take(count)))

    def _drop(self, _: None) -> None:
        self._stack.pop()

    def _take(self, count: int) -> list[Value]:
        first = len(self._stack) - count
        taken = self._stack[first:]
        del self._stack[first:]
        return taken


_STEPS: dict[Does, Callable[[Evaluation, Any], None]] = {
    Does.PUSH: Evaluation._push,
    Does.READ: Evaluation._read,
    Does.ASSIGN: Evaluation._assign,
    Does.DROP: Evaluation._drop,
    Does.MAKE_VECTOR: Evaluation._make_vector,
    Does.FIND_FUNCTION: Evaluation._find_function,
    Does.CALL_FUNCTION: Evaluation._call_function,
    Does.FIND_METRIC: Evaluation._find_metric,
    Does.FIND_METHOD: Evaluation._find_method,
    Does.CALL_METHOD: Evaluation._call_method,
    Does.REFUSE_METHOD: Evaluation._refuse_method,
    Does.MEMBER: Evaluation._member,
    Does.COMBINE: Evaluation._combine,
    Does.NEGATE: Evaluation._negate,
    Does.NOT: Evaluation._not,
    Does.TRUTH: Evaluation._truth,
    Does.AND: Evaluation._and,
    Does.OR: Evaluation._or,
    Does.BRANCH: Evaluation._branch,
    Does.JUMP: Evaluation._jump,
}


def _unknown(kind: str, name: str, known: Iterable[str]) -> EvaluationError:
    near = get_close_matches(name, known, n=1)
    return EvaluationError(f"Unknown {kind} {name}" + (f"; did you mean {near[0]}?" if near else ""))
