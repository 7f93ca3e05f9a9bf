"""The axis of the timeline: round times above the columns, and the present moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text.styled import Line, Role, Span
from tui.viewmodels.timeline.fit import ticks

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.timeline.columns import TimeColumns

_LEAST_APART, _DATE_CELLS = 10, 16  # columns between two times


def times(session: Session, columns: TimeColumns) -> list[tuple[int, str]]:
    """Return columns with the round times that begin in them. On later days seconds are left out if zero."""
    last = session.clock(columns.begin_ms(columns.number))
    apart = _DATE_CELLS if len(last) > _LEAST_APART else _LEAST_APART
    found = [(columns.column_at(when_ms), session.clock(when_ms)) for when_ms in ticks(columns, apart)]
    return [(at, time if len(time) < _LEAST_APART else time.removesuffix(":00")) for at, time in found]


def axis(session: Session, columns: TimeColumns, label_cells: int) -> Line:
    """Return the times above the columns; the present moment hides a time that it would stand in."""
    now = columns.column_at(session.now_ms)
    letters = [" "] * columns.number
    for at, time in times(session, columns):
        if at + len(time) <= columns.number and not at - 1 <= now < at + len(time):
            letters[at : at + len(time)] = time
    text = "".join(letters)
    label = Span(" " * label_cells)
    if not 0 <= now < columns.number:
        return label, Span(text, Role.DIM)
    return (
        label,
        Span(text[:now], Role.DIM),
        Span(session.glyphs.now, Role.STRONG),
        Span(text[now + 1 :], Role.DIM),
    )
