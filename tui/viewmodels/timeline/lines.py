"""The lines of the timeline's rows: recorded cells, planned cells, cursor. Unchanged lines are cached."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text.glyphs import going_on, to_ascii
from tui.viewmodels.text.styled import Line, Role, Span, fit, merged, split_at, squeeze
from tui.viewmodels.timeline.bars import Canvas

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet
    from tui.viewmodels.timeline.bars import Bar
    from tui.viewmodels.timeline.columns import TimeColumns
    from tui.viewmodels.timeline.heights import Height
    from tui.viewmodels.timeline.rows import TimelineRows

_MOST_KEPT = 500


class Ahead(NamedTuple):
    """The numbers of cells after the recorded ones: planned, estimated, and unknown."""

    planned: int
    estimated: int
    blank: int


def ahead(rows: TimelineRows, key: int, columns: TimeColumns, recorded: int, *, is_finished: bool) -> Ahead:
    """Return what follows the recorded cells: first what is planned, then what is estimated.

    Nothing follows if the run is finished or a row is over or not read yet. Without an estimate the row goes on to the
    last column.
    """
    rest, session = columns.number - recorded, rows.session
    if is_finished or not rows.is_read(key) or rows.is_over(key):
        return Ahead(0, 0, rest)
    planned_ms, estimated_ms = (None, None) if session.is_past else (rows.planned_ms(key), rows.estimated_ms(key))
    until_ms = [each for each in (planned_ms, estimated_ms) if each is not None]
    planned = 0 if planned_ms is None else max(0, min(rest, columns.column_at(planned_ms) + 1 - recorded))
    known = rest if estimated_ms is None else max(0, min(rest, columns.column_at(max(until_ms)) + 1 - recorded))
    return Ahead(planned, known - planned, rest - known)


@lru_cache(maxsize=1024)
def _label(text: str, cells: int, is_ascii: bool) -> str:
    text = squeeze(text, cells - 1)
    return fit(to_ascii(text) if is_ascii else text, cells)


def _with_cursor(spans: Iterable[Span], cell: int, letter: str) -> Line:
    """Return the spans with the cursor on a cell, which shows a letter there."""
    left, right = split_at(spans, cell)
    return (*left, Span(letter, Role.CURSOR, is_fill=True), *split_at(right, 1)[1])


class Frame(NamedTuple):
    """Properties of a frame on which the lines of all its rows depend."""

    columns: TimeColumns
    label_cells: int
    height: Height
    is_ascii: bool
    is_finished: bool  # nothing follows what is recorded


class _Content(NamedTuple):
    """The content from which the lines of a row are drawn."""

    label: str
    note: str
    cells: list[Glyph]
    tracks: Sequence[Sequence[Bar]]
    after: Ahead
    cursor: int | None
    frame: Frame


class _CellLine:
    """The cells of a row that has one line and no bars. Time appends cells and changes the last ones only."""

    def __init__(self, glyphs: GlyphSet) -> None:
        self._glyphs = glyphs
        self._cells: list[Glyph] = []
        self._spans: list[Span] = []  # of these cells

    def of(self, label: Span, cells: list[Glyph], after: Iterable[Span]) -> Line:
        """Return the label, the cells, and what comes after them."""
        settled = cells[:-1]
        if settled[: len(self._cells)] != self._cells:
            self._cells, self._spans = [], []
        for glyph in settled[len(self._cells) :]:
            self._append(self._spans, glyph)
            self._cells.append(glyph)
        found = self._spans.copy()
        if cells:
            self._append(found, cells[-1])
        return (label, *found[:-1], *merged((*found[-1:], *after)))

    def _append(self, spans: list[Span], glyph: Glyph) -> None:
        goes_on = self._cells[-1:] == [glyph]
        cell = self._glyphs.of(going_on(glyph) if goes_on else glyph)
        if spans and spans[-1].role is glyph.role:
            spans[-1] = Span(spans[-1].text + cell, glyph.role)
        else:
            spans.append(Span(cell, glyph.role))


class RowLines:
    """Draws rows and caches their lines."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[tuple[str, int], tuple[object, list[Line]]] = {}  # with what the lines were drawn from
        self._cell_lines: dict[tuple[str, int, bool], _CellLine] = {}

    def of(self, rows: TimelineRows, key: int, frame: Frame, cursor: int | None) -> list[Line]:
        """Return the lines of a row: its label and its cells, with bars where they have room.

        Args:
            rows: The kind of the row.
            key: The row.
            frame: What is the same for all rows.
            cursor: The column of the cursor; -1 if it lies beside the columns, None if it is in another row.
        """
        columns, label_cells, height, is_ascii, is_finished = frame
        name = rows.name, key
        tracks = rows.tracks(key, columns) if height.track else ()
        cells = rows.ground(key, columns) if tracks else rows.cells(key, columns)
        after = ahead(rows, key, columns, len(cells), is_finished=is_finished)
        note = rows.note(key) if height.body > 1 else ""
        content = _Content(rows.label(key), note, cells, tracks, after, cursor, frame)
        kept = self._kept.get(name)
        if kept is not None and kept[0] == content:
            return kept[1]
        if len(self._kept) > _MOST_KEPT:
            self._kept.clear()
            self._cell_lines.clear()
        if height.body == 1 and not tracks:
            cell_line = self._cell_lines.setdefault((*name, is_ascii), _CellLine(self._session.glyphs))
            text = Span(_label(content.label, label_cells, is_ascii), Role.DIM if cursor is None else Role.STRONG)
            found = cell_line.of(text, cells, self._after(after, is_middle=True))
            if cursor is not None and cursor >= 0:
                found = _with_cursor(found, label_cells + cursor, cells[cursor].letter if cursor < len(cells) else " ")
            lines = [found]
        else:
            lines = self._drawn(content)
        lines += [(Span(" " * (label_cells + columns.number)),)] * height.gap
        self._kept[name] = content, lines
        return lines

    def _drawn(self, content: _Content) -> list[Line]:
        """Draw a row that has several lines, or bars."""
        label, note, cells, tracks, after, cursor, (columns, label_cells, height, is_ascii, _) = content
        canvas = Canvas(self._session.glyphs, cells, height)
        for number, bars in enumerate(tracks):
            for bar in bars:
                canvas.draw(bar, columns, number)
            for bar in bars:
                canvas.end(bar, columns, number)
        lines: list[Line] = []
        for at in range(height.body):
            role = Role.STRONG if cursor is not None and not at else Role.DIM
            text = _label((label, note)[at] if at < 2 else "", label_cells, is_ascii)
            found: Iterable[Span] = [
                Span(text, role),
                *canvas.spans(at),
                *self._after(after, is_middle=at == (height.body - 1) // 2),
            ]
            if cursor is not None and cursor >= 0:
                is_cell = not tracks and cursor < len(cells)
                letter = cells[cursor].letter if is_cell else canvas.letter(at, cursor)
                found = _with_cursor(found, label_cells + cursor, letter)
            lines.append(tuple(merged(found)))
        return lines

    def _after(self, after: Ahead, *, is_middle: bool) -> list[Span]:
        """Return what follows the recorded cells; it is drawn on one line of the row."""
        if not is_middle:
            return [Span(" " * sum(after))]
        signs = (self._session.glyphs.known, Role.RUNNING), (self._session.glyphs.planned, Role.OFF), (" ", Role.OFF)
        return [Span(sign * number, role) for (sign, role), number in zip(signs, after, strict=True)]
