"""The drawing of the timeline: as lines of axis, pool band, rows and legend, and as an SVG picture of all rows.

The axis has round times and the present moment. The band above the rows shows nodes, running tasks and preparing nodes
of the pool in focus. Rows have recorded cells, planned cells and the cursor; unchanged lines are cached.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache, partial
from html import escape
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import visible
from engine.views.log.reader import KeptByKey
from tui.viewmodels.glyphs import Glyph, going_on, to_ascii
from tui.viewmodels.text import Line, Role, Span, fit, merged, split_at, squeeze, width
from tui.viewmodels.timeline.rows import NEVER_MS, NOTHING, RUNNING, Canvas, ColumnCache, name_in, ticks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine.views.log.lanes import Lanes
    from engine.views.log.levels import CountsOverTime, Peak
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.session import Session
    from tui.viewmodels.timeline.rows import Bar, Height, TimeColumns, TimelineRows
    from tui.viewmodels.timeline.timeline import TimelineModel


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
    before, after = Span(text[:now], Role.DIM), Span(text[now + 1 :], Role.DIM)
    return label, before, Span(session.glyphs.now, Role.STRONG), after


BAND = (("nodes", Role.QUIET), ("running", Role.RUNNING), ("preparing", Role.PREPARING))


class PoolBand:
    """Three lines of bars. The height of a bar is the highest number during its column."""

    def __init__(self, session: Session, lanes: Lanes) -> None:
        self._session = session
        self._lanes = lanes
        self._columns: ColumnCache[int] = ColumnCache()
        self._tops: KeptByKey[Peak] = KeptByKey()

    def values(self, columns: TimeColumns, known_ms: int) -> list[list[int]]:
        """Return for each line the highest number in each column that has begun. Columns that are over are cached."""
        values = [partial(_highest, counts, columns.step_ms) for counts in self._lanes.in_pool(self._session.pool_id)]
        return [self._columns.get(self._sources, at, columns, known_ms, value) for at, value in enumerate(values)]

    @property
    def _sources(self) -> object:
        return self._session.pool_id, self._lanes.version

    def tops(self) -> list[int]:
        """Return for each line the highest number in the part of the log that has been read."""
        found, tops = [], self._tops.at(self._sources)
        for number, counts in enumerate(self._lanes.in_pool(self._session.pool_id)):
            top, tops[number] = counts.highest(0, NEVER_MS, tops.get(number))
            found.append(top)
        return found

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
                bars = _bars(tuple(shown), max(1, top), each - 1 - at, each, self._session.glyphs.densities)
                label, text = (name, number) if not at else ("", "")
                label = f"{top:,}".rjust(label_cells - 1) if at == 1 else label
                rest = columns.number - len(bars) - len(text)
                spans = Span(fit(label, label_cells), Role.DIM), Span(bars, role), Span(text, Role.STRONG)
                lines.append((*spans, Span(" " * rest)))
        return lines


def _highest(counts: CountsOverTime, step_ms: int, column: int) -> int:
    return counts.highest(column * step_ms, (column + 1) * step_ms)[0]


@lru_cache(maxsize=64)
def _bars(values: tuple[int, ...], top: int, level: int, levels: int, densities: str) -> str:
    """Return one line of bars, counted from the lowest one; together they are as high as ``top``."""
    steps = len(densities) - 1
    heights = (-(-value * steps * levels // top) - level * steps for value in values)
    return "".join(densities[max(0, min(steps, height))] for height in heights)


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


def legend_line(known: Iterable[Glyph], glyphs: GlyphSet, cells: int, drawn: Iterable[Line] | None = None) -> Line:
    """Return as many entries as there is room for.

    Args:
        known: The states that may be drawn, the most important first. Of those that look alike the first is named.
        glyphs: The characters.
        cells: The width.
        drawn: The lines of the rows, if only what stands there is to be named.
    """
    planned = Glyph(glyphs.known, glyphs.known, Role.RUNNING, "planned")
    later = Glyph(glyphs.planned, glyphs.planned, Role.OFF, "later")
    entries: dict[Span, Glyph] = {}
    for each in (*known, planned, later):
        entries.setdefault(glyphs.span(each), each)
    shown = list(entries.values())
    if drawn is not None:
        letters: defaultdict[Role, set[str]] = defaultdict(set)
        for span in set(chain.from_iterable(drawn)):
            letters[span.role].update(span.text)
        shown = [each for each in shown if letters[each.role] & {glyphs.of(each), glyphs.of(going_on(each))}]
    shown.sort(key=lambda glyph: glyph.role is not Role.FAILED)  # trouble is named even where there is little room
    spans: list[Span] = []
    for glyph in shown:
        more = going_on(glyph)
        signs = [glyphs.span(glyph)] + [glyphs.span(more)] * (glyphs.of(more) != glyphs.of(glyph))
        new = [Span("  " if spans else ""), *signs, Span(f" {glyph.name}", Role.DIM)]
        if width(spans) + width(new) <= cells:
            spans += new
    return tuple(spans)


_CELL, _LINE, _BAR = 8, 16, 12  # pixels: width of a column, height of a row and of its bar
_LETTER, _SMALL_LETTER = 7.3, 6.1  # pixels: width of a letter
_MARGIN = 12
_HEAD_LINES, _FOOT_LINES = 3, 6
_MOST_LABEL = 40  # letters
_WORKS_ON = going_on(RUNNING)
_MOST_TRACKS, _MOST_WITH_TRACKS = 8, 1_000  # tracks of a row, and rows in a picture with several tracks


class Paint(NamedTuple):
    """The colours of a picture, as #rrggbb."""

    ground: str
    colours: Mapping[Role, str]
    on_colours: Mapping[Role, str]  # colour of a symbol on a cell


def drawn(model: TimelineModel, paint: Paint) -> Iterator[list[str]]:
    """Yield the lines of the file in portions. An empty portion lets the caller yield to the event loop."""
    yield from (list(map(visible, lines)) for lines in _Picture(model, paint).pieces())


class _Picture:
    def __init__(self, model: TimelineModel, paint: Paint) -> None:
        self._model = model
        self._paint = paint
        self._keys: Sequence[int] = model.keys
        self._columns = model.columns
        self._label_cells = 10
        tracks = model.rows.tracks_wanted()
        self._has_tracks = tracks <= _MOST_TRACKS and len(self._keys) <= _MOST_WITH_TRACKS
        self._tracks = tracks if self._has_tracks else 1
        self._y = 0

    def pieces(self) -> Iterator[list[str]]:
        labels = []
        for at, key in enumerate(self._keys):
            labels.append(self._model.rows.label(key))
            if not at % 1000:
                yield []
        self._label_cells = min(_MOST_LABEL, max(map(len, ["preparing", *labels])))
        yield self._head()
        for key, label in zip(self._keys, labels, strict=True):
            while not self._model.rows.is_read(key):
                self._model.go_on(())
                yield []
            yield self._row(key, label)
        yield [*self._band(), *self._legend(), "</svg>"]

    def _x(self, column: float) -> float:
        return round(_MARGIN + (self._label_cells + 1) * _LETTER + column * _CELL, 1)

    def _head(self) -> list[str]:
        model, columns, paint = self._model, self._columns, self._paint
        wide = self._x(columns.number) + 8 * _LETTER + _MARGIN
        high = (len(self._keys) * self._tracks + _HEAD_LINES + _FOOT_LINES) * _LINE + 2 * _MARGIN
        colours = [f".{role.name.lower()}{{fill:{colour}}}" for role, colour in paint.colours.items()]
        letters = [f".on-{role.name.lower()}{{fill:{colour}}}" for role, colour in paint.on_colours.items()]
        lines = [f".line-{role.name.lower()}{{stroke:{colour}}}" for role, colour in paint.colours.items()]
        self._y = _MARGIN + _HEAD_LINES * _LINE
        session = model.session
        title = f"{session.simulation.scenario.name} at {session.clock(session.now_ms)}: {model.title()}"
        now = columns.column_at(session.now_ms)
        found = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high}" viewBox="0 0 {wide:g} {high}"'
            ' font-family="monospace" font-size="12">',
            f"<title>{escape(title)}</title>",
            f"<style>{''.join([*colours, *letters, *lines])}text{{white-space:pre}}</style>",
            f'<rect width="100%" height="100%" fill="{paint.ground}"/>',
            self._text(_MARGIN, _MARGIN + _LINE - 4, Role.STRONG, title),
        ]
        found += [self._text(self._x(at), self._y - 6, Role.DIM, time) for at, time in times(session, columns)]
        if 0 <= now < columns.number:
            x, bottom = self._x(now + 0.5), self._y + len(self._keys) * self._tracks * _LINE
            found.append(f'<path class="line-dim" stroke-width="1" d="M{x:g} {self._y - 4}V{bottom}"/>')
        return found

    def _text(self, x: float, y: float, role: Role, text: str) -> str:
        return f'<text class="{role.name.lower()}" x="{x:g}" y="{y:g}">{escape(text)}</text>'

    def _letters(self, glyph: Glyph, x: float, y: float, text: str) -> str:
        """Return a text on a cell or bar of a glyph."""
        name = glyph.role.name.lower()
        return f'<text class="on-{name}" font-size="10" x="{x:g}" y="{y:g}">{escape(text)}</text>'

    def _row(self, key: int, label: str) -> list[str]:
        model, columns, top = self._model, self._columns, self._y
        high = self._tracks * _LINE
        self._y += high
        found = [self._text(_MARGIN, top + _BAR, Role.PLAIN, squeeze(label, self._label_cells))]
        tracks = model.rows.tracks(key, columns) if self._has_tracks else ()
        cells = model.rows.ground(key, columns) if tracks else model.rows.cells(key, columns)
        column, before = 0, NOTHING
        for glyph, run in groupby(cells):
            number = len(list(run))
            if glyph is not NOTHING:
                goes_on = glyph == _WORKS_ON and before.role is glyph.role
                shown = RUNNING if glyph == _WORKS_ON else glyph
                found += self._cells(shown, column, number, top, high)[: 1 if goes_on else 2]
            column, before = column + number, glyph
        for number, bars in enumerate(tracks):
            for bar in bars:
                found += self._bar(bar, top + min(number, self._tracks - 1) * _LINE, column)
        after = ahead(model.rows, key, columns, len(cells), is_finished=model.is_finished)
        middle, begin, end = top + high // 2, self._x(column), self._x(column + after.planned)
        if after.planned:
            found.append(f'<path class="line-running" stroke-width="2" d="M{begin:g} {middle}H{end:g}"/>')
        if after.estimated:
            last = self._x(column + after.planned + after.estimated)
            found.append(f'<path class="line-off" stroke-dasharray="2 3" d="M{end:g} {middle}H{last:g}"/>')
        return found

    def _bar(self, bar: Bar, top: int, known: int) -> list[str]:
        """Return a bar with its name, as in the rows on the screen; times need not begin with a column."""
        begin = max(0.0, self._columns.place_of(bar.begin_ms))
        end = float(known) if bar.end_ms is None else min(float(known), self._columns.place_of(bar.end_ms))
        if end <= begin and bar.end_ms is not None and self._columns.place_of(bar.end_ms) < 0:
            return []
        x, wide = self._x(begin), round(max(1.0, (end - begin) * _CELL - 1), 1)
        name = bar.glyph.role.name.lower()
        found = [f'<path class="{name}" d="M{x:g} {top + 2}h{wide:g}v{_BAR}h-{wide:g}z"/>']
        has_failed = bar.ending is not None and bar.ending.role is Role.FAILED
        if has_failed:
            last = round(x + wide - min(wide, _CELL), 1)
            found.append(f'<path class="failed" d="M{last:g} {top + 2}H{x + wide:g}v{_BAR}H{last:g}z"/>')
        text = name_in(bar, int((wide - _CELL * has_failed) / _SMALL_LETTER))
        return [*found, self._letters(bar.glyph, x + 2, top + _BAR - 1, text)] if text else found

    def _cells(self, glyph: Glyph, column: int, number: int, top: int, high: int) -> list[str]:
        """Return equal cells, with the symbol in the first one because colours alone do not distinguish them."""
        name, x = glyph.role.name.lower(), self._x(column)
        if glyph.role is Role.QUIET:  # a thin line for idle time
            return [f'<path class="{name}" d="M{x:g} {top + high // 2}h{number * _CELL}v1h-{number * _CELL}z"/>']
        bar = f'<path class="{name}" d="M{x:g} {top + 2}h{number * _CELL}v{high - 4}h-{number * _CELL}z"/>'
        return [bar, self._letters(glyph, x + 1, top + _BAR - 1, glyph.symbol)]

    def _band(self) -> list[str]:
        model, found = self._model, []
        self._y += _LINE // 2
        known_ms = model.rows.known_ms()
        band = model.pool_band
        numbers = band.numbers(model.session.now_ms)
        lines = zip(BAND, band.values(self._columns, known_ms), band.tops(), numbers, strict=True)
        for (name, role), values, top, number in lines:
            self._y += _LINE
            heights = ((self._x(column), value * _BAR / top) for column, value in enumerate(values) if value)
            bars = "".join(f"M{x:g} {self._y}h{_CELL}v-{height:.1f}h-{_CELL}z" for x, height in heights)
            found.append(self._text(_MARGIN, self._y, Role.PLAIN, name))
            found.append(f'<path class="{role.name.lower()}" d="{bars}"/>')
            found.append(self._text(self._x(self._columns.number) + _LETTER, self._y, Role.STRONG, f"{number:,}"))
        return found

    def _legend(self) -> list[str]:
        found, x = [], float(_MARGIN)
        self._y += _LINE
        for glyph in self._model.rows.legend:
            name = glyph.role.name.lower()
            found.append(f'<path class="{name}" d="M{x:g} {self._y}h{_CELL + 2}v{_BAR}h-{_CELL + 2}z"/>')
            found.append(self._letters(glyph, x + 2, self._y + 9, glyph.symbol))
            found.append(self._text(x + 14, self._y + 10, Role.DIM, glyph.name))
            x += 14 + (len(glyph.name) + 2) * _LETTER
        return found
