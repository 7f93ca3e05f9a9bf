"""The columns of the timeline, and the time that rows fill."""

from __future__ import annotations

from typing import NamedTuple


class TimeColumns(NamedTuple):
    """Columns of the timeline: each lasts ``step_ms``, and the first one begins ``first`` steps after the start."""

    first: int
    number: int
    step_ms: int

    def begin_ms(self, column: int) -> int:
        """Return the begin of a column, counted from the first one shown."""
        return (self.first + column) * self.step_ms

    def column_at(self, when_ms: int) -> int:
        """Return the column of a moment, counted from the first one shown. It may lie outside."""
        return when_ms // self.step_ms - self.first

    def place_of(self, when_ms: int) -> float:
        """Return the place of a moment in columns and parts of them, counted from the begin of the first one."""
        return when_ms / self.step_ms - self.first

    def begun(self, known_ms: int) -> int:
        """Return the number of columns that have begun at ``known_ms``."""
        return max(0, min(self.number, self.column_at(known_ms) + 1))


class Extent(NamedTuple):
    """The time that rows fill, in ms since the start. Nothing follows if it ``is_over``."""

    begin_ms: int
    end_ms: int
    is_over: bool
