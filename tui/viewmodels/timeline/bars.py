"""Bars with names in the rows of the timeline: what has room for its name shows it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from tui.viewmodels.text.glyphs import going_on
from tui.viewmodels.text.styled import Role, Span, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.text.glyphs import Glyph, GlyphSet
    from tui.viewmodels.timeline.columns import TimeColumns
    from tui.viewmodels.timeline.heights import Height

_SOLID = "█"
_LEAST_NAME = 3  # cells: a shorter name says nothing
_LEAST_CUT = 5  # cells of what is cut in the middle; of a name less shows only the end, which tells it apart


class Bar(NamedTuple):
    """Something that lasted: a task, an attempt, a phase. It goes on without ``end_ms``."""

    begin_ms: int
    end_ms: int | None
    glyph: Glyph  # fills the bar
    name: str
    notes: tuple[str, ...] = ()  # below the name, the first one beside it in a single line, where there is room
    ending: Glyph | None = None  # in the last cell
    is_id: bool = False  # the name may be cut in the middle
    short: str = ""  # in place of the name where that has no room


class Canvas:
    """The cells of one row: some lines of the same columns."""

    def __init__(self, glyphs: GlyphSet, ground: Sequence[Glyph], height: Height) -> None:
        """Fill all lines with the same cells; quiet times are a thin line in each track."""
        self._glyphs = glyphs
        self._height = height
        self._drawn: list[list[Span]] = []
        self._stretches = [(glyph, len(list(run))) for glyph, run in groupby(ground)]

    def _ground(self, line: int) -> list[Span]:
        """Return what a line shows where there is no bar."""
        track = self._height.track or self._height.body
        is_middle = line % track == (track - 1) // 2
        return [
            self._glyphs.stretch(glyph, cells) if is_middle or glyph.role is not Role.QUIET else _quiet(cells)
            for glyph, cells in self._stretches
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
        symbol, fill = self._glyphs.span(bar.glyph), self._glyphs.span(going_on(bar.glyph))
        has_end = bar.end_ms is not None and end <= width
        is_shared = has_end and columns.column_at(bar.end_ms or 0) < end  # another bar may begin in the last cell
        taken = is_shared or (has_end and bar.ending is not None)
        texts = self._texts(bar, last - first - (begin >= 0) - taken, len(lines))
        if bar.end_ms is not None and last - first > 1 and bar.glyph.texture.startswith(_SOLID):
            symbol = Span(self._glyphs.edge, bar.glyph.role, is_fill=True)  # keeps it apart from the bar before it
        elif bar.end_ms is not None and texts:
            symbol = fill  # the symbol of what goes on would say that it still does
        for at, number in enumerate(lines):
            cells = self._lines[number]
            cells[first:last] = [fill] * (last - first)
            if begin >= 0:
                cells[first] = symbol
            left = first + (begin >= 0)
            for offset, letter in enumerate(texts[at] if at < len(texts) else ""):
                cells[left + offset] = Span(letter, bar.glyph.role, is_fill=True)

    def end(self, bar: Bar, columns: TimeColumns, track: int) -> None:
        """Draw the sign of a bar's end, over what may begin in the same cell."""
        if bar.ending is None or bar.end_ms is None:
            return
        column = max(columns.column_at(bar.begin_ms), columns.column_at(bar.end_ms - 1))
        for number in self._rows_of(track):
            if 0 <= column < len(self._lines[number]):
                sign = self._glyphs.of(bar.ending)
                self._lines[number][column] = Span(sign, bar.ending.role, is_fill=bar.ending.role is Role.FAILED)

    def _rows_of(self, track: int) -> range:
        high = self._height.track
        top = min(track, self._height.body // high - 1) * high
        return range(top, top + high)

    def spans(self, line: int) -> list[Span]:
        """Return the cells of a line, some of them together."""
        return self._drawn[line] if self._drawn else self._ground(line)

    def letter(self, line: int, column: int) -> str:
        """Return what shows a cell in the colour of the cursor: a block would hide it."""
        row = self._lines[line]
        text = row[column].text if column < len(row) else " "
        return text if text.isascii() else " "

    def _texts(self, bar: Bar, cells: int, lines: int) -> list[str]:
        """Return the text of each line of a bar, at most so many cells wide."""
        name, text = name_in(bar, cells), self._glyphs.text
        if not name:
            return []
        notes = [note for note in bar.notes if note]
        if lines == 1 and notes and name == bar.name and len(name) + 2 + len(notes[0]) <= cells:
            return [text(f"{name}  {notes[0]}")]
        told = [squeeze(note, cells) if bar.is_id and cells >= _LEAST_CUT else note for note in notes]
        return [text(name), *(text(note) for note in told if len(note) <= cells)][:lines]


def _quiet(cells: int) -> Span:
    return Span(" " * cells, Role.QUIET)


def name_in(bar: Bar, cells: int) -> str:
    """Return the name of a bar in at most so many cells; empty if they are too few for it."""
    if cells < _LEAST_NAME or cell_len(bar.name) != len(bar.name):  # wide letters would not stay put
        return ""
    if len(bar.name) <= cells or (bar.is_id and cells >= _LEAST_CUT):
        return squeeze(bar.name, cells)
    if bar.is_id:
        return f"…{bar.name[1 - cells :]}"
    return bar.short if len(bar.short) <= cells else ""
