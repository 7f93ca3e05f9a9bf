"""The one table of the bench: each result beside its yardstick, with its spread over the rounds and its goal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

_ROW = "{:<54} {:<24} {:>12} {:>16} {:>12}  {}"
_HEADS = ("measured", "beside", "median", "from, to", "goal")


@dataclass(frozen=True)
class Result:
    """What was measured, in each round, as a multiple of the yardstick ``beside`` it or in a ``unit`` of its own.

    The goal is the most that it may be, or with ``is_least`` the least.
    """

    what: str
    beside: str
    values: tuple[float, ...]
    goal: float | None = None
    unit: str = ""
    is_least: bool = False
    remark: str = ""

    @property
    def median(self) -> float:
        """The value that counts."""
        return median(self.values)

    @property
    def misses_goal(self) -> bool:
        """True if the goal is not reached."""
        return self.goal is not None and (self.median < self.goal if self.is_least else self.median > self.goal)

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return the cells of the table's row."""
        spread = f"{_figure(min(self.values))} to {_figure(max(self.values))}" if len(self.values) > 1 else ""
        goal = "" if self.goal is None else f"{'at least ' if self.is_least else ''}{_figure(self.goal)}"
        return self.what, self.beside, f"{_figure(self.median)} {self.unit}".rstrip(), spread, goal


class Form(StrEnum):
    """The form of the table."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LINES = "lines"  # of JSON, for the bench of another commit


class Sheet:
    """The table, which shows each result as soon as it is there."""

    def __init__(self, form: Form = Form.TEXT) -> None:
        """Begin the table."""
        self._form = form
        if form is Form.MARKDOWN:
            write(_markdown(_HEADS))
            write("|---" * len(_HEADS) + "|")
        elif form is Form.TEXT:
            write(_ROW.format(*_HEADS, "").rstrip())

    def add(self, result: Result) -> None:
        """Add a result."""
        if self._form is Form.LINES:
            write(json.dumps([result.what, result.values]))
        elif self._form is Form.MARKDOWN:
            write(_markdown(result.cells()))
        else:
            mark = "OVER  " if result.misses_goal else ""
            write(_ROW.format(*result.cells(), mark + result.remark).rstrip())


def write(line: str) -> None:
    """Write past a terminal that only counts."""
    print(line, file=sys.__stdout__, flush=True)


def _markdown(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _figure(value: float) -> str:
    """Return a number with three digits that matter."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
