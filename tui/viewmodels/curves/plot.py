"""The drawing of one chart: stacked areas of block characters, with a line above them."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

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
_LOOK = itemgetter(1, 2)


@cache
def _cell(text: str, role: Role, ground: Role | None = None) -> _Cell:
    """Return a cell. There are few different ones, and a large drawing has thousands of them."""
    return _Cell(text, role, ground)


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
        return [values[at * count // cells] for at in range(cells)]
    return [max(values[at * count // cells : (at + 1) * count // cells]) for at in range(cells)]


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
    draw = _blocks if has_blocks else _textures
    if has_blocks:  # a texture tells the number of its layer, a colour does not
        layers = [layer for layer in layers if any(layer.values)] or layers[:1]
    heights = _heights([stretched(layer.values, cells) for layer in layers], top, rows, cells)
    roles = [layer.role for layer in layers]
    lows = range((rows - 1) * _EIGHTHS, -1, -_EIGHTHS)
    drawn = {column: [draw(column, low, roles, style) for low in lows] for column in set(heights)}  # many are alike
    picture = [list(row) for row in zip(*map(drawn.__getitem__, heights), strict=True)]
    if over is not None and over.values:
        _draw_line(picture, stretched(over.values, cells), top, over.role, style)
    return [_joined(cells_of_row) for cells_of_row in picture]


def _heights(layers: Sequence[Sequence[float]], top: float, rows: int, cells: int) -> list[tuple[int, ...]]:
    """Return for each column the upper ends of its layers in eighths of a cell; what is not zero is visible."""
    full = rows * _EIGHTHS
    scale = full / top
    found = []
    columns = zip(*(values or (0,) * cells for values in layers), strict=True)
    if len(layers) == 1:
        return [(min(full, max(round(value * scale), value > 0)),) for (value,) in columns]
    for column in columns:
        total, below, ends = 0.0, 0, []
        for value in column:
            total += value
            below = min(full, max(round(total * scale), below + (value > 0)))
            ends.append(below)
        found.append(tuple(ends))
    return found


def _blocks(column: tuple[int, ...], low: int, roles: Sequence[Role], style: Style) -> _Cell:  # noqa: ARG001
    """Return a cell in eighths: the lower part in the colour of one layer, on the ground of the one above."""
    if column[-1] <= low:
        return _EMPTY
    if column[0] >= low + _EIGHTHS:
        return _cell("█", roles[0])
    parts: list[tuple[int, Role]] = []
    begin = low
    for end, role in zip(column, roles, strict=True):
        part = min(end, low + _EIGHTHS) - begin
        if part > 0:
            parts.append((part, role))
            begin += part
    (lower, role), *others = parts
    if lower == _EIGHTHS:
        return _cell("█", role)
    rest = low + _EIGHTHS - begin
    if not others:
        return _cell(_BLOCKS[lower], role)
    most, upper = max(others, key=lambda part: part[0])
    if rest <= most:
        return _cell(_BLOCKS[lower], role, upper)
    if lower >= most:
        return _cell(_BLOCKS[_EIGHTHS - rest], role)
    return _cell(_BLOCKS[_EIGHTHS - rest], upper)


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
    return _cell(style.texture(found), roles[found])


def _draw_line(picture: list[list[_Cell]], values: Sequence[float], top: float, role: Role, style: Style) -> None:
    """Draw a line of steps above the areas, on the ground of the area that it crosses."""
    rows = len(picture)
    level, upright, into_up, then_down, into_down, then_up = _ASCII_CORNERS if style.ascii_only else _CORNERS
    places = [rows - 1 - min(rows - 1, max(0, -(-round(value * rows * 100 / top) // 100) - 1)) for value in values]

    def put(row: int, at: int, text: str) -> None:
        below = picture[row][at]
        ground = (below.role if below.text in "█▅▆▇" else below.ground) if style.has_grounds else None
        picture[row][at] = _Cell(text, role, None if below is _EMPTY or style.ascii_only else ground)

    put(places[0], 0, level)
    for at, (before, here) in enumerate(pairwise(places), start=1):
        if before == here:
            put(here, at, level)
            continue
        goes_up = here < before
        put(before, at, then_up if goes_up else then_down)
        put(here, at, into_up if goes_up else into_down)
        for row in range(min(before, here) + 1, max(before, here)):
            put(row, at, upright)


def _joined(cells: Sequence[_Cell]) -> Line:
    """Return a row with a span for each stretch of equally drawn cells."""
    return tuple(
        Span("".join(cell.text for cell in group), role, ground=ground)
        for (role, ground), group in groupby(cells, key=_LOOK)
    )
