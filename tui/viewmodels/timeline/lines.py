"""The lines of the timeline's rows: recorded cells, planned cells, cursor. Unchanged lines are cached."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text.glyphs import going_on
from tui.viewmodels.text.styled import Line, Role, Span, merged

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import Glyph
    from tui.viewmodels.timeline.rows import TimeColumns, TimelineRows

_MOST_KEPT = 500
_BLOCKS = "█▓▒▚"  # would hide the cursor


class Ahead(NamedTuple):
    """The numbers of cells after the recorded ones: planned, estimated, and unknown."""

    planned: int
    estimated: int
    blank: int


def ahead(rows: TimelineRows, key: int, columns: TimeColumns, recorded: int) -> Ahead:
    """Return what follows the recorded cells: first what is planned, then what is estimated.

    Nothing follows if a row is over or not read yet. Without an estimate the row goes on to the last column.
    """
    rest, session = columns.number - recorded, rows.session
    is_finished = session.simulation.finished and not session.is_past
    if is_finished or not rows.is_read(key) or rows.is_over(key):
        return Ahead(0, 0, rest)
    planned_ms, estimated_ms = (None, None) if session.is_past else (rows.planned_ms(key), rows.estimated_ms(key))
    until_ms = [each for each in (planned_ms, estimated_ms) if each is not None]
    planned = 0 if planned_ms is None else max(0, min(rest, columns.column_at(planned_ms) + 1 - recorded))
    known = rest if estimated_ms is None else max(0, min(rest, columns.column_at(max(until_ms)) + 1 - recorded))
    return Ahead(planned, known - planned, rest - known)


class RowLines:
    """Draws rows and caches their lines."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[tuple[str, int], tuple[object, Line]] = {}

    def line(self, name: str, key: int, label: Span, cells: list[Glyph], after: Ahead, cursor: int | None) -> Line:
        """Return the line of a row. ``cursor`` is the column under the cursor if it is in this row."""
        drawn = label, cells, after, cursor, self._session.glyphs.ascii_only
        kept = self._kept.get((name, key))
        if kept is not None and kept[0] == drawn:
            return kept[1]
        if len(self._kept) > _MOST_KEPT:
            self._kept.clear()
        spans = (label, *merged([*self._cells(cells, cursor), *self._after(after, len(cells), cursor)]))
        self._kept[name, key] = drawn, spans
        return spans

    def _cells(self, cells: list[Glyph], cursor: int | None) -> list[Span]:
        if cursor is None or cursor >= len(cells):
            return self._runs(cells)
        spans, room = [], cursor
        for span in self._runs(cells):
            if not 0 <= room < len(span.text):
                spans.append(span)
            else:
                under = cells[cursor].letter if span.text[room] in _BLOCKS else span.text[room]
                spans += [span._replace(text=span.text[:room]), Span(under, Role.CURSOR, is_fill=True)]
                spans.append(span._replace(text=span.text[room + 1 :]))
            room -= len(span.text)
        return spans

    def _runs(self, cells: list[Glyph]) -> list[Span]:
        """Return a span for each stretch of equal cells: its symbol, then its texture."""
        of = self._session.glyphs.of
        return [
            Span(of(glyph) + of(going_on(glyph)) * (len(list(run)) - 1), glyph.role) for glyph, run in groupby(cells)
        ]

    def _after(self, after: Ahead, recorded: int, cursor: int | None) -> list[Span]:
        parts = [(self._session.glyphs.known, Role.RUNNING), (self._session.glyphs.planned, Role.OFF), (" ", Role.OFF)]
        spans: list[Span] = []
        begin = recorded
        for (sign, role), number in zip(parts, after, strict=True):
            if cursor is not None and begin <= cursor < begin + number:
                left = cursor - begin
                spans += [Span(sign * left, role), Span(" ", Role.CURSOR, is_fill=True)]
                spans.append(Span(sign * (number - left - 1), role))
            else:
                spans.append(Span(sign * number, role))
            begin += number
        return spans
