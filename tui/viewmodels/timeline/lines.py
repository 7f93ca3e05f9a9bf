"""The lines of the timeline: axis, pool band, rows and legend.

The axis has round times and the present moment. The band above the rows shows nodes, running tasks and preparing nodes
of the pool in focus. Rows have recorded cells, planned cells and the cursor; unchanged lines are cached.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import chain, compress, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import Glyph, to_ascii
from tui.viewmodels.text import Line, Role, Span, as_fits, fit, merged, plain, split_at, squeeze
from tui.viewmodels.timeline.rows import (
    LEAST_CUT,
    NEVER_MS,
    NOTHING,
    RUNNING,
    ColumnCache,
    name_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.views.log.lanes import Lanes
    from engine.views.log.levels import CountsOverTime
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.session import Session
    from tui.viewmodels.timeline.rows import Bar, Height, TimeColumns, TimelineRows


_LEAST_APART, _DATE_CELLS = 10, 16  # columns between two times


def times(session: Session, columns: TimeColumns) -> list[tuple[int, str]]:
    """Return columns with the round times that begin in them. On later days seconds are left out if zero."""
    last = session.clock(columns.begin_ms(columns.number))
    apart = _DATE_CELLS if len(last) > _LEAST_APART else _LEAST_APART
    moments = fmt.round_moments(columns.begin_ms(0), columns.begin_ms(columns.number), columns.step_ms * apart)
    found = [(columns.column_at(when_ms), session.clock(when_ms)) for when_ms in moments]
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
    before, after = Span(text[:now], Role.DIM), Span(text[now + 1 :], Role.DIM)
    return label, before, Span(session.glyphs.now, Role.STRONG), after


BAND = (("nodes", Role.QUIET), ("running", Role.RUNNING), ("preparing", Role.PREPARING))


class PoolBand:
    """Three lines of bars. The height of a bar is the highest number during its column."""

    def __init__(self, session: Session, lanes: Lanes) -> None:
        self._session = session
        self._lanes = lanes
        self._columns: ColumnCache[int] = ColumnCache()

    def values(self, columns: TimeColumns, known_ms: int) -> list[list[int]]:
        """Return for each line the highest number in each column that has begun. Columns that are over are cached."""
        values = [partial(_highest, counts, columns.step_ms) for counts in self._lanes.in_pool(self._session.pool_id)]
        return [self._columns.get(self._sources, at, columns, known_ms, value) for at, value in enumerate(values)]

    @property
    def _sources(self) -> object:
        return self._session.pool_id, self._lanes.version

    def tops(self) -> list[int]:
        """Return for each line the highest number in the part of the log that has been read."""
        return [counts.highest(0, NEVER_MS) for counts in self._lanes.in_pool(self._session.pool_id)]

    def numbers(self, when_ms: int) -> list[int]:
        """Return for each line its number at a moment."""
        return [counts.at(when_ms) for counts in self._lanes.in_pool(self._session.pool_id)]

    def lines(
        self, columns: TimeColumns, known_ms: int, when_ms: int | None, label_cells: int, each: int = 1
    ) -> list[Line]:
        """Return ``each`` lines for each curve, with its number at a moment on the right, if that is known."""
        lines: list[Line] = []
        is_known = when_ms is not None and when_ms <= known_ms
        numbers = [f" {number:,}" if is_known else "" for number in self.numbers(when_ms or 0)]
        values = self.values(columns, known_ms)
        for (name, role), line, top, number in zip(BAND, values, self.tops(), numbers, strict=True):
            shown = line[: max(0, columns.number - len(number))]
            for at in range(each):
                bars = _bars(tuple(shown), max(1, top), each - 1 - at, each, self._session.glyphs.densities, role)
                label, text = (name, number) if not at else ("", "")
                label = f"{top:,}".rjust(label_cells - 1) if at == 1 else label
                rest = Span(" " * (columns.number - len(shown) - len(text)))
                lines.append((Span(fit(label, label_cells), Role.DIM), *bars, Span(text, Role.STRONG), rest))
        return lines


def _highest(counts: CountsOverTime, step_ms: int, column: int) -> int:
    return counts.highest(column * step_ms, (column + 1) * step_ms)


@lru_cache(maxsize=64)
def _bars(values: tuple[int, ...], top: int, level: int, levels: int, densities: str, role: Role) -> Line:
    """Return one line of bars, counted from the lowest one; together they are as high as ``top``.

    Full blocks are spaces on a ground of their colour, which has no seams between lines.
    """
    steps = len(densities) - 1
    heights = (max(0, min(steps, -(-value * steps * levels // top) - level * steps)) for value in values)
    spans = []
    for is_full, run in groupby(heights, key=steps.__eq__):
        text = "".join(densities[height] for height in run)
        is_block = is_full and densities[steps] == "█"
        spans.append(Span(" " * len(text) if is_block else text, role, is_fill=is_block))
    return tuple(spans)


_MOST_KEPT = 500
PLANNED, LATER = Glyph("─", "~", Role.RUNNING, "planned"), Glyph("┄", "_", Role.OFF, "later")
ENDED = Glyph("▏", "|", Role.RUNNING, "task that has ended")


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


def _with_cursor(spans: Iterable[Span], cell: int) -> Line:
    """Return the spans with the cursor on a cell, whose colours are reversed."""
    left, right = split_at(spans, cell)
    (under, *_), after = split_at(right, 1)
    return (*left, under._replace(is_fill=not under.is_fill), *after)


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


def _glyphs_in(content: _Content) -> frozenset[Glyph]:
    bars = list(chain.from_iterable(content.tracks))
    cells = (glyph for glyph in set(content.cells) if glyph is not NOTHING)
    of_bars = chain((bar.glyph for bar in bars), (bar.ending for bar in bars if bar.ending is not None))
    return frozenset(chain(cells, of_bars, compress((PLANNED, LATER), content.after)))


_NAME = attrgetter("name")


class Canvas:
    """The cells of one row: some lines of the same columns."""

    def __init__(self, glyphs: GlyphSet, ground: Sequence[Glyph], height: Height) -> None:
        """Fill all lines with the same cells; quiet times are a thin line in each track."""
        self._glyphs = glyphs
        self._height = height
        self._drawn: list[list[Span]] = []
        states = (list(run) for _, run in groupby(ground, key=_NAME))
        self._stretches = [glyphs.stretch(run[0], len(run)) for run in states]

    def _ground(self, line: int) -> list[Span]:
        """Return what a line shows where there is no bar: a state on the middle line, quiet times in each track."""
        height = self._height
        track = height.track or height.body
        is_middle, is_middle_of_track = line == (height.body - 1) // 2, line % track == (track - 1) // 2
        return [
            span
            if (is_middle_of_track if span.role is Role.QUIET else is_middle)
            else span._replace(text=" " * len(span.text))
            for span in self._stretches
        ]

    @property
    def _lines(self) -> list[list[Span]]:
        """The cells of all lines, made when something is drawn on them."""
        if not self._drawn:
            grounds = map(self._ground, range(self._height.body))
            self._drawn = [[span._replace(text=cell) for span in ground for cell in span.text] for ground in grounds]
        return self._drawn

    def draw(self, bar: Bar, columns: TimeColumns, track: int) -> None:
        """Draw a bar, without the sign of its end: its name on the first line, its notes there or on the next ones."""
        lines = self._rows_of(track)
        width = len(self._lines[0])
        begin = columns.column_at(bar.begin_ms)
        end = width if bar.end_ms is None else max(begin + 1, columns.column_at(bar.end_ms - 1) + 1)
        first, last = max(0, begin), min(width, end)
        if first >= last:
            return
        role, glyphs, is_block = bar.glyph.role, self._glyphs, self._height.body > 1
        fill = Span(" " if is_block else glyphs.meter, role, is_block)
        symbol, edge = fill._replace(text=glyphs.of(bar.glyph)), fill._replace(text=glyphs.edge)
        has_end = bar.end_ms is not None and end <= width
        is_shared = has_end and columns.column_at(bar.end_ms or 0) < end  # another bar may begin in the last cell
        taken = is_shared or (has_end and bar.ending is not None)
        room = last - first - (begin >= 0) - taken
        texts = self._texts(bar, room, len(lines))
        if bar.end_ms is not None and bar.glyph is RUNNING:
            symbol = edge  # the symbol of what goes on would say that it still does
        for at, number in enumerate(lines):
            cells = self._lines[number]
            cells[first:last] = [fill] * (last - first)
            if begin >= 0 and (symbol is edge or not at):
                cells[first] = symbol
            left = first + (begin >= 0)
            text = texts[at] if at < len(texts) else ""
            if text and symbol is not edge and len(text) < room:
                text = f" {text}"
            if text and not is_block and len(text) < room:
                text = f"{text} "
            for offset, letter in enumerate(text):
                cells[left + offset] = Span(letter, role, is_block)

    def end(self, bar: Bar, columns: TimeColumns, track: int) -> None:
        """Draw the sign of a bar's end, over what may begin in the same cell."""
        if bar.ending is None or bar.end_ms is None:
            return
        column = max(columns.column_at(bar.begin_ms), columns.column_at(bar.end_ms - 1))
        sign, is_block = self._glyphs.of(bar.ending), self._height.body > 1
        for number in self._rows_of(track):
            if 0 <= column < len(self._lines[number]):
                self._lines[number][column] = Span(sign, bar.ending.role, is_block)
            sign = " "

    def _rows_of(self, track: int) -> range:
        high = self._height.track
        top = min(track, self._height.body // high - 1) * high
        return range(top, top + high)

    def spans(self, line: int) -> list[Span]:
        """Return the cells of a line, some of them together."""
        return self._drawn[line] if self._drawn else self._ground(line)

    def _texts(self, bar: Bar, cells: int, lines: int) -> list[str]:
        """Return the text of each line of a bar, at most so many cells wide."""
        name, text = name_in(bar, cells), self._glyphs.text
        if not name:
            return []
        notes = [note for note in bar.notes if note]
        if lines == 1 and notes and name == bar.name and len(name) + 2 + len(notes[0]) <= cells:
            return [text(f"{name}  {notes[0]}")]
        told = [squeeze(note, cells) if bar.is_id and cells >= LEAST_CUT else note for note in notes]
        return [text(name), *(text(note) for note in told if len(note) <= cells)][:lines]


class RowLines:
    """Draws rows and caches their lines."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # By kind and row: what the lines were drawn from, the lines, and the glyphs in them.
        self._kept: dict[tuple[str, int], tuple[_Content, list[Line], frozenset[Glyph]]] = {}

    def of(self, rows: TimelineRows, key: int, frame: Frame, cursor: int | None) -> list[Line]:
        """Return the lines of a row: its label and its cells, with bars where they have room.

        Args:
            rows: The kind of the row.
            key: The row.
            frame: What is the same for all rows.
            cursor: The column of the cursor; -1 if it lies beside the columns, None if it is in another row.
        """
        columns, label_cells, height, _, is_finished = frame
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
        lines = self._drawn(content)
        lines += [(Span(" " * (label_cells + columns.number)),)] * height.gap
        signs = _glyphs_in(content)
        if tracks:  # a bar may hide what stands behind it
            drawn, sign = "".join(map(plain, lines)), self._session.glyphs.of
            signs = frozenset(each for each in signs | {ENDED} if sign(each) in drawn)
        self._kept[name] = content, lines, signs
        return lines

    def glyphs_of(self, rows: TimelineRows, keys: Iterable[int]) -> frozenset[Glyph]:
        """Return the glyphs in the lines of these rows that were drawn last."""
        kept = filter(None, (self._kept.get((rows.name, key)) for key in keys))
        return frozenset().union(*{glyphs for *_, glyphs in kept})

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
                found = _with_cursor(found, label_cells + cursor)
            lines.append(tuple(merged(found)))
        return lines

    def _after(self, after: Ahead, *, is_middle: bool) -> list[Span]:
        """Return what follows the recorded cells; it is drawn on one line of the row."""
        if not is_middle:
            return [Span(" " * sum(after))]
        glyphs = self._session.glyphs
        signs = glyphs.span(PLANNED), glyphs.span(LATER), Span(" ", Role.OFF)
        return [sign._replace(text=sign.text * number) for sign, number in zip(signs, after, strict=True)]


def legend_line(named: Iterable[Glyph], glyphs: GlyphSet, cells: int) -> Line:
    """Return the names of glyphs: all for which there is room, and the number of the others."""
    by_look: dict[Span, Line] = {}
    for each in named:  # of those that look alike the first one is named
        by_look.setdefault(glyphs.span(each), (glyphs.span(each), Span(f" {each.name}  ", Role.DIM)))
    return as_fits(list(by_look.values()), cells, lambda left: f"+{len(by_look) - left:,} more")
