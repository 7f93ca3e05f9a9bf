"""The lines of the timeline's rows: recorded cells, planned cells, cursor. Unchanged lines are cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text.styled import Line, Role, Span, fit, merged, split_at, squeeze
from tui.viewmodels.timeline.bars import Canvas

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.timeline.columns import TimeColumns
    from tui.viewmodels.timeline.heights import Height
    from tui.viewmodels.timeline.rows import TimelineRows

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
    is_finished = session.is_over and not session.is_past
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
        self._kept: dict[tuple[str, int], tuple[object, list[Line]]] = {}  # with what the lines were drawn from
        self._versions: dict[tuple[str, int], object] = {}  # with which these were drawn

    def of(
        self,
        rows: TimelineRows,
        key: int,
        columns: TimeColumns,
        label_cells: int,
        height: Height,
        cursor: int | None,
        version: object = None,
    ) -> list[Line]:
        """Return the lines of a row: its label and its cells, with bars where they have room.

        Args:
            rows: The kind of the row.
            key: The row.
            columns: The columns.
            label_cells: The width of the label.
            height: The height of the row.
            cursor: The column of the cursor; -1 if it lies beside the columns, None if it is in another row.
            version: A value that differs when the row may have other cells; None if this is not known.
        """
        glyphs = self._session.glyphs
        drawn, name = (label_cells, height, columns, cursor, glyphs.ascii_only), (rows.name, key)
        if version is not None:
            version = version, drawn
            if name in self._kept and self._versions.get(name) == version:
                return self._kept[name][1]
            self._versions[name] = version
        tracks = rows.tracks(key, columns) if height.track else ()
        cells = rows.ground(key, columns) if tracks else rows.cells(key, columns)
        after = ahead(rows, key, columns, len(cells))
        note = rows.note(key) if height.body > 1 else ""
        label = rows.label(key)
        content = (label, note, cells, tracks, after, drawn)
        kept = self._kept.get(name)
        if kept is not None and kept[0] == content:
            return kept[1]
        if len(self._kept) > _MOST_KEPT:
            self._kept.clear()
            self._versions.clear()
        canvas = Canvas(glyphs, cells, height)
        for number, bars in enumerate(tracks):
            for bar in bars:
                canvas.draw(bar, columns, number)
            for bar in bars:
                canvas.end(bar, columns, number)
        lines: list[Line] = []
        for at in range(height.body):
            text = fit(self._session.text(squeeze((label, note)[at] if at < 2 else "", label_cells - 1)), label_cells)
            role = Role.STRONG if cursor is not None and not at else Role.DIM
            found = [Span(text, role), *canvas.spans(at), *self._after(after, at == (height.body - 1) // 2)]
            if cursor is not None and cursor >= 0:
                is_cell = not tracks and cursor < len(cells)
                letter = cells[cursor].letter if is_cell else canvas.letter(at, cursor)
                left, right = split_at(found, label_cells + cursor)
                found = [*left, Span(letter, Role.CURSOR, is_fill=True), *split_at(right, 1)[1]]
            lines.append(tuple(merged(found)))
        lines += [(Span(" " * (label_cells + columns.number)),)] * height.gap
        self._kept[name] = content, lines
        return lines

    def _after(self, after: Ahead, is_middle: bool) -> list[Span]:
        """Return what follows the recorded cells; it is drawn on one line of the row."""
        if not is_middle:
            return [Span(" " * sum(after))]
        signs = (self._session.glyphs.known, Role.RUNNING), (self._session.glyphs.planned, Role.OFF), (" ", Role.OFF)
        return [Span(sign * number, role) for (sign, role), number in zip(signs, after, strict=True)]
