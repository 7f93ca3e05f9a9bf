"""The timeline as an SVG picture: the columns that are shown, for all rows."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import visible
from tui.viewmodels.glyphs import going_on
from tui.viewmodels.text import Role, squeeze
from tui.viewmodels.timeline.lines import BAND, ahead, times
from tui.viewmodels.timeline.rows import NOTHING, RUNNING, name_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.timeline.rows import Bar
    from tui.viewmodels.timeline.timeline import TimelineModel

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
