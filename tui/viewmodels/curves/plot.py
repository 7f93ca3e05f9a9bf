"""The drawing of one chart: stacked areas of block characters, with a line above them."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lazy import lazy_regex
from tui.viewmodels.text.styled import Line, Role, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

_EIGHTHS = 8
_BLOCKS = " ▁▂▃▄▅▆▇█"
_TEXTURES = "█▒░▓"  # of the layers where there are no colours
_ASCII_TEXTURES = "#:.="
_CORNERS = ("─", "│", "╭", "╮", "╰", "╯")  # level, upright, up into, level then down, down into, level then up
_ASCII_CORNERS = ("-", "|", "+", "+", "+", "+")
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_COLOURS = tuple(product(Role, (None, *Role)))  # of a cell: the roles of its text and of its ground
_CODES = {colours: chr(number) for number, colours in enumerate(_COLOURS)}
_ALIKE = lazy_regex(r"(?s:(.)\1*)")  # characters that are equal
KEPT_COLUMNS, _KEPT_ROWS = 4096, 1024
_NO_LINE = -1  # in place of a row
_Key = tuple[tuple[int, ...], int, int]  # of a column


class Style(NamedTuple):
    """The means of drawing: ASCII or block characters, and colours on the ground of another colour or not."""

    ascii_only: bool = False
    has_grounds: bool = True

    def texture(self, layer: int) -> str:
        """Return the character that fills a cell of a layer."""
        if self.ascii_only:
            return _ASCII_TEXTURES[layer % len(_ASCII_TEXTURES)]
        return "█" if self.has_grounds else _TEXTURES[layer % len(_TEXTURES)]


class Layer(NamedTuple):
    """One of the areas that stand on each other, or a line: a value for each column of time."""

    name: str
    role: Role
    values: Sequence[float]


class _Cell(NamedTuple):
    text: str
    role: Role = Role.PLAIN
    ground: Role | None = None


_EMPTY = _Cell(" ")


@lru_cache(maxsize=64)
def nice_top(value: float, *, is_count: bool) -> float:
    """Return a round number that is not below a value, for the top of a scale; a count's top is a whole number."""
    if value <= 0 or (is_count and value < 1):
        return 1
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    tops = (step * power for step in _STEPS)
    return next((top for top in tops if top >= value * 0.999 and not (is_count and top % 1)), power * 10)


def stretched(values: Sequence[float], cells: int) -> Sequence[float]:
    """Return a value for each cell: values are repeated if they are too few, and of too many the highest count."""
    count = len(values)
    if count in (0, cells):
        return values
    if count < cells:
        return list(map(values.__getitem__, _places(count, cells)))
    return [max(values[at * count // cells : (at + 1) * count // cells]) for at in range(cells)]


@lru_cache(maxsize=64)
def _places(count: int, cells: int) -> list[int]:
    return [at * count // cells for at in range(cells)]


def plot(
    layers: Sequence[Layer], over: Layer | None, top: float, cells: int, rows: int, style: Style
) -> list[tuple[Span, ...]]:
    """Return the rows of a chart, the highest values first.

    Args:
        layers: The areas, the lowest first.
        over: A line that is drawn above them.
        top: The value at the upper edge.
        cells: The width.
        rows: The height.
        style: The means of drawing.
    """
    layers = layers or (Layer("", Role.PLAIN, ()),)
    has_blocks = not style.ascii_only and (style.has_grounds or len(layers) == 1)
    if has_blocks:  # a texture tells the number of its layer, a colour does not
        layers = [layer for layer in layers if any(layer.values)] or layers[:1]
    heights = _heights([stretched(layer.values, cells) for layer in layers], top, rows, cells)
    if over is not None and over.values:
        line_role, crossed = over.role, _crossed(stretched(over.values, cells), top, rows)
    else:
        line_role, crossed = None, [_NO_LINE] * cells
    columns = _columns(rows, tuple(layer.role for layer in layers), line_role, has_blocks, style)
    keys = zip(heights, (crossed[0], *crossed[:-1]), crossed, strict=True)
    picture = "".join(map(columns.__getitem__, keys))
    return [_row(picture[at :: 2 * rows], picture[rows + at :: 2 * rows]) for at in range(rows)]


class _Columns(dict[_Key, str]):
    """The columns of charts of one height and one look, each drawn when it is asked for first.

    The key of a column is the upper ends of its layers in eighths of a cell, and the rows in which a line comes into it
    and leaves it. A column is the characters of its cells from the top down, followed by the codes of their colours: so
    the characters of a row, and their codes, are slices of the joined columns.
    """

    def __init__(
        self, rows: int, roles: tuple[Role, ...], line_role: Role | None, has_blocks: bool, style: Style
    ) -> None:
        super().__init__()
        self._lows = range((rows - 1) * _EIGHTHS, -1, -_EIGHTHS)
        self._roles, self._line_role, self._style = roles, line_role, style
        self._draw = _blocks if has_blocks else _textures

    def __missing__(self, key: _Key) -> str:
        if len(self) >= KEPT_COLUMNS:
            self.clear()
        ends, before, here = key
        cells = [self._draw(ends, low, self._roles, self._style) for low in self._lows]
        if self._line_role is not None:
            _draw_line(cells, before, here, self._line_role, self._style)
        self[key] = column = "".join([cell.text for cell in cells] + [_CODES[cell[1:]] for cell in cells])
        return column


_columns = lru_cache(maxsize=64)(_Columns)


def _heights(layers: Sequence[Sequence[float]], top: float, rows: int, cells: int) -> list[tuple[int, ...]]:
    """Return for each column the upper ends of its layers in eighths of a cell; what is not zero is visible.

    Ends above the chart are not cut.
    """
    scale = rows * _EIGHTHS / top
    totals: Sequence[float] = (0.0,) * cells
    below: Sequence[int] = (0,) * cells
    found = []
    for values in layers:
        if values:
            totals = list(map(add, totals, values))
            each = zip(totals, below, values, strict=True)
            below = [max(round(total * scale), under + (value > 0)) for total, under, value in each]
        found.append(below)
    return list(zip(*found, strict=True))


def _blocks(column: tuple[int, ...], low: int, roles: Sequence[Role], style: Style) -> _Cell:  # noqa: ARG001
    """Return a cell in eighths: the lower part in the colour of one layer, on the ground of the one above."""
    if column[-1] <= low:
        return _EMPTY
    if column[0] >= low + _EIGHTHS:
        return _Cell("█", roles[0])
    parts: list[tuple[int, Role]] = []
    begin = low
    for end, role in zip(column, roles, strict=True):
        part = min(end, low + _EIGHTHS) - begin
        if part > 0:
            parts.append((part, role))
            begin += part
    (lower, role), *others = parts
    if lower == _EIGHTHS:
        return _Cell("█", role)
    rest = low + _EIGHTHS - begin
    if not others:
        return _Cell(_BLOCKS[lower], role)
    most, upper = max(others, key=lambda part: part[0])
    if rest <= most:
        return _Cell(_BLOCKS[lower], role, upper)
    if lower >= most:
        return _Cell(_BLOCKS[_EIGHTHS - rest], role)
    return _Cell(_BLOCKS[_EIGHTHS - rest], upper)


def _textures(column: tuple[int, ...], low: int, roles: Sequence[Role], style: Style) -> _Cell:
    """Return a whole cell with the texture of the layer that has most of it, or an empty one."""
    if column[-1] <= low:
        return _EMPTY
    begin, best, found = low, 0, 0
    for number, end in enumerate(column):
        part = min(end, low + _EIGHTHS) - begin
        if part > best:
            best, found = part, number
        begin += max(0, part)
    if begin - low < _EIGHTHS // 2 and low:
        return _EMPTY
    return _Cell(style.texture(found), roles[found])


def _crossed(values: Sequence[float], top: float, rows: int) -> list[int]:
    """Return the row in which a line has each value."""
    row_of = {
        value: rows - 1 - min(rows - 1, max(0, -(-round(value * rows * 100 / top) // 100) - 1)) for value in set(values)
    }
    return list(map(row_of.__getitem__, values))


def _draw_line(column: list[_Cell], before: int, here: int, role: Role, style: Style) -> None:
    """Draw a line that comes from the row ``before`` above the areas, on the ground of the area that it crosses."""
    level, upright, into_up, then_down, into_down, then_up = _ASCII_CORNERS if style.ascii_only else _CORNERS

    def put(row: int, text: str) -> None:
        below = column[row]
        ground = (below.role if below.text in "█▅▆▇" else below.ground) if style.has_grounds else None
        column[row] = _Cell(text, role, None if below == _EMPTY or style.ascii_only else ground)

    if before == here:
        put(here, level)
        return
    goes_up = here < before
    put(before, then_up if goes_up else then_down)
    put(here, into_up if goes_up else into_down)
    for row in range(min(before, here) + 1, max(before, here)):
        put(row, upright)


@lru_cache(maxsize=_KEPT_ROWS)
def _row(text: str, codes: str) -> Line:
    """Return a row with a span for each stretch of equally coloured characters."""
    spans = []
    for alike in _ALIKE.finditer(codes):
        role, ground = _COLOURS[ord(alike[1])]
        spans.append(Span(text[slice(*alike.span())], role, ground=ground))
    return tuple(spans)
