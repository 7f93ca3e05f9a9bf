"""What a formula is compiled to: instructions for a machine with a stack.

A list of instructions has no depth: 4000 nested parentheses, which a formula has room for, need no recursion.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from engine.autoscale.values import Value
from engine.base.errors import Position


class Does(Enum):
    """What an instruction does with the top of the stack; ``operand`` in brackets."""

    PUSH = auto()  # push [a value]
    READ = auto()  # push the value of [a name]
    FIND_METRIC = auto()  # push the metric of [a name], whose method is called
    FIND_METHOD = auto()  # make sure that there is [a method] of the metric on the stack
    FIND_FUNCTION = auto()  # make sure that there is [a function]
    CALL_METHOD = auto()  # take the arguments and the metric, push what [the method, argument count, its place] returns
    CALL_FUNCTION = auto()  # take the arguments, push what [the function, argument count] returns
    MEMBER = auto()  # replace a timestamp by its [member]
    REFUSE_METHOD = auto()  # fail: [a method] of what is no metric's name
    MAKE_VECTOR = auto()  # take [count] elements, push them as a vector
    NEGATE = auto()
    NOT = auto()
    COMBINE = auto()  # replace two values by what [an operator] makes of them
    AND = auto()  # unless true: replace by 0 and jump over [count]; else take it
    OR = auto()  # if true: replace by 1 and jump over [count]; else take it
    TRUTH = auto()  # replace by 0 or 1
    BRANCH = auto()  # take a condition; unless true jump over [count]
    JUMP = auto()  # jump over [count]
    ASSIGN = auto()  # take a value for [a name]
    DROP = auto()  # take a value and forget it


class Called(NamedTuple):
    """A call of a function or method."""

    name: str
    arguments: int
    parenthesis: Position


class Instruction(NamedTuple):
    """One step, and the place that an error in it is reported for (AS-75)."""

    does: Does
    operand: Value | int | Called | None
    position: Position


Program = list[Instruction]
