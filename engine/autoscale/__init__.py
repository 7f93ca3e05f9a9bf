"""The service's autoscale formula language: a formula is parsed once and evaluated on samples (AS-1).

A formula is a pure function of its inputs, and its results are the service's results string or an error (AS-2 to AS-5,
AS-65 to AS-70). Nothing here depends on pools, the calendar or files. Parser and evaluation are imported only if there
is a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from engine.autoscale.values import (
    DEDICATED,
    LOW_PRIORITY,
    OPTION,
    REQUEUE,
    SYNTAX,
    TOO_LONG,
    EvaluationError,
    FormulaError,
    Inputs,
    RunError,
    Value,
    text_of,
)
from engine.base.errors import Position

if TYPE_CHECKING:
    from lark import Token, Tree


MOST_CHARACTERS = 8192
MOST_STATEMENTS = 100


class Results(NamedTuple):
    """The results of an evaluation. After an error they are the targets in force and are not applied (AS-66)."""

    target_dedicated: int
    target_low_priority: int
    deallocation_option: str
    variables: Mapping[str, Value]
    error: RunError | None = None

    @property
    def items(self) -> tuple[tuple[str, str], ...]:
        """The items of the results string: the service's three, then the user's (AS-68 to AS-70)."""
        return (
            (DEDICATED, str(self.target_dedicated)),
            (LOW_PRIORITY, str(self.target_low_priority)),
            (OPTION, self.deallocation_option),
            *((name, text_of(value)) for name, value in sorted(self.variables.items())),
        )

    @property
    def text(self) -> str:
        """The results string of the service (AS-68)."""
        return ";".join(f"{name}={value}" for name, value in self.items)


class Formula(NamedTuple):
    """A formula with valid syntax."""

    text: str
    statements: Sequence[Tree[Token]]

    def evaluate(self, inputs: Inputs) -> Results:
        """Return the targets that the formula sets on these inputs, or the error that ended it (AS-65, AS-66)."""
        from engine.autoscale.evaluation import Evaluation, FormulaStopped

        evaluation = Evaluation(inputs)
        in_force = inputs.target(DEDICATED), inputs.target(LOW_PRIORITY)
        try:
            try:
                for statement in self.statements:
                    evaluation.value(statement)
            except FormulaStopped:
                if not inputs.dialect.stop_applies:
                    return Results(*in_force, REQUEUE, evaluation.variables)
            targets = evaluation.target(DEDICATED), evaluation.target(LOW_PRIORITY)
        except EvaluationError as fault:
            error = RunError(fault.code, evaluation.position, str(fault))
            return Results(*in_force, REQUEUE, evaluation.variables, error)
        return Results(*targets, evaluation.option, evaluation.variables)


@lru_cache(maxsize=256)
def parse(text: str) -> Formula:
    """Parse a formula; the most recent ones are cached. Raises FormulaError (AS-2, AS-5, AS-72)."""
    from engine.autoscale.grammar import first_position, parse_statements

    if len(text) > MOST_CHARACTERS:
        reason = f"The formula has {len(text)} characters, {MOST_CHARACTERS} are allowed"
        raise FormulaError(TOO_LONG, _place_of(text, MOST_CHARACTERS), reason)
    statements = parse_statements(text)
    if not statements:
        raise FormulaError(SYNTAX, Position(1, 1), "The formula has no statement")
    if len(statements) > MOST_STATEMENTS:
        reason = f"The formula has {len(statements)} statements, {MOST_STATEMENTS} are allowed"
        raise FormulaError(TOO_LONG, first_position(statements[MOST_STATEMENTS]), reason)
    return Formula(text, statements)


def _place_of(text: str, offset: int) -> Position:
    line = text.count("\n", 0, offset) + 1
    return Position(line, offset - text.rfind("\n", 0, offset))
