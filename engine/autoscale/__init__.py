"""The service's autoscale formula language: a formula is parsed once and evaluated on samples (AS-1).

A formula is a pure function of its inputs, and its results are the service's results string or an error (AS-2 to AS-5,
AS-65 to AS-70). Nothing here depends on pools, the calendar or files. Parser and evaluation are imported only if there
is a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from operator import and_
from typing import TYPE_CHECKING, NamedTuple

from engine.autoscale.values import (
    DEDICATED,
    LIVE,
    LOW_PRIORITY,
    OPTION,
    REQUEUE,
    SAMPLE_PERIOD_MS,
    SAMPLED,
    SYNTAX,
    TOO_LONG,
    EvaluationError,
    FormulaError,
    Inputs,
    RunError,
    SampleSeries,
    Value,
    text_of,
)
from engine.base.errors import Position
from engine.base.values import HOUR_MS, lazy_regex

if TYPE_CHECKING:
    from datetime import datetime

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
            with suppress(FormulaStopped):
                for statement in self.statements:
                    evaluation.value(statement)
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


def unknown_names(text: str) -> list[str]:
    """Return where a formula reads what does not exist, and what that may be; nothing for one with other mistakes."""
    from engine.autoscale.evaluation import unknown_names as unknown_in

    formula = _parsed(text)
    return [] if formula is None else [f"{at}: {reason}" for at, reason in unknown_in(formula.statements)]


def _parsed(text: str) -> Formula | None:
    with suppress(FormulaError):
        return parse(text)
    return None


_COUNTS = lazy_regex(r"\$(?:Active|Pending)Tasks\b")
_SAMPLED_MS = 26 * HOUR_MS  # longer than formulas look back
_MOST_TASKS = 12


@lru_cache(maxsize=256)
def ignored_slots(text: str, start: datetime, slots: int, tasks: int, needed: int) -> str | None:
    """Return why a formula takes a task for a node, or for a slot, although that is not so (AS-41).

    It is evaluated for an empty pool for which one, two and more tasks have waited for a day.

    Args:
        text: The formula.
        start: The beginning of the run.
        slots: The slots of a node.
        tasks: The number of tasks that the pool is to run.
        needed: The slots that these require together.
    """
    formula = _parsed(text) if slots > 1 and _COUNTS.search(text) else None
    if formula is None:
        return None
    nodes = [_wanted(formula, start, slots, count) for count in range(_MOST_TASKS)]
    rises = [after > before for before, after in pairwise(nodes)]
    if slots * tasks >= 2 * needed and any(map(and_, rises, rises[1:])):
        return (
            f"the formula asks for a node for each waiting task, and a node takes {slots:,} of them at once: divide by"
            " $TaskSlotsPerNode (AS-41)"
        )
    given = _wanted(formula, start, slots, tasks) * slots
    if tasks <= given < needed and given < _wanted(formula, start, slots, 2 * tasks) * slots:
        return (
            f"the formula counts tasks, and some require several slots: for all {tasks:,} tasks it asks for {given:,}"
            f" slots, and they require {needed:,} (AS-41)"
        )
    return None


def _wanted(formula: Formula, start: datetime, slots: int, tasks: int) -> int:
    times = range(0, _SAMPLED_MS + 1, SAMPLE_PERIOD_MS)
    now = dict.fromkeys(SAMPLED, 0.0) | {"$TaskSlotsPerNode": float(slots)}
    now |= {"$ActiveTasks": float(tasks), "$PendingTasks": float(tasks)}
    samples = {name: SampleSeries(times, [value] * len(times)) for name, value in now.items()}
    results = formula.evaluate(Inputs(start, _SAMPLED_MS, {name: now[name] for name in LIVE}, samples))
    return results.target_dedicated + results.target_low_priority
