"""The scatter plot of a study: the end of each variant against its cost, in characters."""

from __future__ import annotations

from itertools import groupby, pairwise
from math import floor, log10
from typing import TYPE_CHECKING, NamedTuple

from engine.studies.labels import time_step_s
from engine.studies.wording import cost_text, end_text
from tui.viewmodels.text.glyphs import VARIANT_GLYPHS
from tui.viewmodels.text.styled import Line, Role, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.studies.summary import Spread
    from tui.viewmodels.study.model import StudyModel
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_CELLS_FOR_BARS, _ROWS_FOR_BARS = 40, 5  # the room for bars of all variants, and of each of them
_MOST_NUMBERS = 60  # points with their numbers; more cannot be read
_LEAST_CELLS, _LEAST_ROWS = 16, 4
_ROWS_FOR_MARK, _CELLS_FOR_MARK = 2, 10  # between two marks of an axis
_UNICODE = {"upright": "│", "level": "─", "tick": "┤", "foot": "┴", "corner": "└", "line": "·", "cross": "┼"}
_ASCII = {"upright": "|", "level": "-", "tick": "+", "foot": "+", "corner": "+", "line": ".", "cross": "+"}
_ORDER = {glyph: at for at, glyph in enumerate(reversed(VARIANT_GLYPHS))}


class Dot(NamedTuple):
    """A variant in the plot."""

    number: int
    cost: Spread
    end: Spread
    glyph: Glyph
    is_pareto: bool


class _Scale(NamedTuple):
    """A range of values on a number of cells."""

    low: float
    high: float
    cells: int

    def cell(self, value: float) -> int:
        share = (value - self.low) / (self.high - self.low)
        return max(0, min(self.cells - 1, round(share * (self.cells - 1))))


class _Cell(NamedTuple):
    text: str = " "
    role: Role = Role.PLAIN
    is_fill: bool = False


class Canvas:
    """A grid of cells that are drawn one above another."""

    def __init__(self, cells: int, rows: int) -> None:
        """All cells are blank."""
        self.cells, self.rows = cells, rows
        self._grid = [[_Cell()] * cells for _ in range(rows)]

    def put(self, column: int, row: int, text: str, role: Role, *, is_fill: bool = False) -> None:
        """Draw a text of one-cell characters from a column on, as far as the row goes."""
        for at, letter in enumerate(text, start=column):
            if 0 <= at < self.cells and 0 <= row < self.rows:
                self._grid[row][at] = _Cell(letter, role, is_fill)

    def lines(self) -> list[Line]:
        """Return the rows as lines."""
        return [
            tuple(
                Span("".join(cell.text for cell in group), *look) for look, group in groupby(row, lambda one: one[1:])
            )
            for row in self._grid
        ]


def dots_of(study: StudyModel) -> list[Dot]:
    """Return the variants that have an end and a cost."""
    return [
        Dot(one.variant, one.measures["costUsd"], one.measures["makespanSeconds"], study.glyph(one), one.pareto)
        for one in study.summary.variants
        if one.cost_usd is not None and one.end_s is not None
    ]


def scatter_lines(dots: Sequence[Dot], cursor: int | None, cells: int, rows: int, glyphs: GlyphSet) -> list[Line]:
    """Return the plot for so much room: the cost grows to the right, and the end upwards.

    The variant ``cursor`` is highlighted and has bars from the 5th to the 95th percentile; all have them where there is
    room. A dotted line joins the variants that no other beats.
    """
    if cells < _LEAST_CELLS or rows < _LEAST_ROWS:
        return []
    if not dots:
        return [(Span("No run has ended yet.", Role.DIM),)]
    signs = _ASCII if glyphs.ascii_only else _UNICODE
    has_bars = cells >= _CELLS_FOR_BARS and rows >= len(dots) * _ROWS_FOR_BARS
    barred = [dot for dot in dots if has_bars or dot.number == cursor]
    ends = [_of(value) for dot in dots for value in (dot.end.p5, dot.end.p95)]
    costs = [_of(value) for dot in dots for value in (dot.cost.p5, dot.cost.p95)]
    room = rows - 2  # the axis, and its labels
    low_s, high_s = _range(ends, 60.0)
    step_s = time_step_s(high_s - low_s, max(5, room // _ROWS_FOR_MARK))
    margin = max(len(end_text(value)) for value in (low_s, high_s)) + 1
    y = _Scale(low_s, high_s, room)
    x = _Scale(*_range(costs, 0.0), cells - margin - 1)
    canvas = Canvas(cells, rows)
    _draw_axes(canvas, x, y, margin, step_s, signs)
    place = {dot.number: (margin + 1 + x.cell(_median(dot.cost)), room - 1 - y.cell(_median(dot.end))) for dot in dots}
    _draw_line(canvas, [place[dot.number] for dot in sorted(dots, key=_by_cost) if dot.is_pareto], signs["line"])
    for dot in barred:
        column, row = place[dot.number]
        role = Role.KEY if dot.number == cursor else Role.DIM
        for at in range(x.cell(_of(dot.cost.p5)), x.cell(_of(dot.cost.p95)) + 1):
            canvas.put(margin + 1 + at, row, signs["level"], role)
        for at in range(y.cell(_of(dot.end.p5)), y.cell(_of(dot.end.p95)) + 1):
            canvas.put(column, room - 1 - at, signs["upright"], role)
    in_order = sorted(dots, key=lambda dot: (dot.number == cursor, _ORDER[dot.glyph], -dot.number))
    for dot in in_order:
        column, row = place[dot.number]
        canvas.put(column, row, glyphs.of(dot.glyph), dot.glyph.role, is_fill=dot.number == cursor)
    taken = set(place.values())
    for dot in reversed(in_order) if len(dots) <= _MOST_NUMBERS else in_order[-1:]:
        _draw_number(canvas, dot, *place[dot.number], taken, is_cursor=dot.number == cursor)
    return canvas.lines()


def _draw_axes(canvas: Canvas, x: _Scale, y: _Scale, margin: int, step_s: float, signs: dict[str, str]) -> None:
    for row in range(y.cells):
        canvas.put(margin, row, signs["upright"], Role.DIM)
    canvas.put(margin, y.cells, signs["corner"] + signs["level"] * x.cells, Role.DIM)
    mark_s = -(-y.low // step_s) * step_s
    lowest_free = y.cells - 1  # two marks in one row would hide each other
    while mark_s <= y.high:
        row = y.cells - 1 - y.cell(mark_s)
        if row <= lowest_free:
            label = end_text(mark_s)
            canvas.put(margin - 1 - len(label), row, label, Role.DIM)
            canvas.put(margin, row, signs["tick"], Role.DIM)
            lowest_free = row - 1
        mark_s += step_s
    step_usd = _cost_step(x.high - x.low, max(2, x.cells // _CELLS_FOR_MARK))
    free = 0
    for at in range(int(-(-x.low // step_usd)), int(x.high // step_usd) + 1):
        column = margin + 1 + x.cell(at * step_usd)
        label = cost_text(round(at * step_usd, 9))
        first = min(column - len(label) // 2, canvas.cells - len(label))
        if first > free:
            canvas.put(first, y.cells + 1, label, Role.DIM)
            canvas.put(column, y.cells, signs["foot"], Role.DIM)
            free = first + len(label)


def _draw_line(canvas: Canvas, places: Sequence[tuple[int, int]], sign: str) -> None:
    """Join places with steps: at each cost the end is that of the last variant that costs no more."""
    for (column, row), (next_column, next_row) in pairwise(places):
        for at in range(column, next_column + 1):
            canvas.put(at, row, sign, Role.DIM)
        for at in range(min(row, next_row), max(row, next_row) + 1):
            canvas.put(next_column, at, sign, Role.DIM)


def _draw_number(
    canvas: Canvas, dot: Dot, column: int, row: int, taken: set[tuple[int, int]], *, is_cursor: bool
) -> None:
    """Draw the number of a variant beside its mark, if there is room; bars and lines may be hidden."""
    text = f"{dot.number}"
    for first in (column + 1, column - len(text)):
        places = {(at, row) for at in range(first, first + len(text))}
        if not places & taken and first > 0 and first + len(text) <= canvas.cells:
            canvas.put(first, row, text, Role.STRONG if is_cursor else Role.DIM)
            taken |= places
            return


def _range(values: Sequence[float], least: float) -> tuple[float, float]:
    """Return a range around values that is not empty."""
    low, high = min(values), max(values)
    if high - low > least:
        return low, high
    rest = max(least, abs(high) * 0.1, 0.0001)
    return max(0.0, low - rest), high + rest


def _cost_step(range_usd: float, most: int) -> float:
    """Return the US dollars between two of at most about so many marks: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(range_usd / most))
    return next(step * power for step in (1, 2, 5, 10) if range_usd / (step * power) <= most)


def _median(spread: Spread) -> float:
    return _of(spread.median)


def _of(value: float | None) -> float:
    assert value is not None
    return value


def _by_cost(dot: Dot) -> tuple[float, float]:
    return _median(dot.cost), _median(dot.end)
