"""Charts over time: one curve of block characters for each series, all on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text.styled import Line, Role, Span, fit, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.text.glyphs import GlyphSet

_LABEL_CELLS = 13
_NUMBER_CELLS = 8
_CURVE_LINES = 3


class Series(NamedTuple):
    """A curve: its name, its role, and a value for each sample."""

    name: str
    role: Role
    values: Sequence[int]


def chart(series: Sequence[Series], first: str, last: str, glyphs: GlyphSet, cells: int) -> list[Line]:
    """Return the curves below one another, with the scale on the left and the last value on the right.

    ``first`` and ``last`` label the ends of the time axis.
    """
    curve_cells = max(8, cells - _LABEL_CELLS - _NUMBER_CELLS)
    top = max((value for each in series for value in each.values), default=0) or 1
    lines: list[Line] = []
    for each in series:
        lines += _curve(each, _stretched(each.values, curve_cells), top, glyphs)
    gap = " " * max(1, curve_cells - len(first) - len(last))
    return [*lines, line(" " * _LABEL_CELLS, Span(f"{first}{gap}{last}", Role.DIM))]


def _stretched(values: Sequence[int], cells: int) -> list[int]:
    """Return a value for each cell: the largest of the samples that fall into it."""
    count = len(values)
    if not count:
        return [0] * cells
    return [
        max(values[at * count // cells : max(at * count // cells + 1, (at + 1) * count // cells)])
        for at in range(cells)
    ]


def _curve(series: Series, values: Sequence[int], top: int, glyphs: GlyphSet) -> list[Line]:
    levels = len(glyphs.densities) - 1
    heights = [-(-value * levels * _CURVE_LINES // top) for value in values]
    last = f"{series.values[-1] if series.values else 0:>{_NUMBER_CELLS},}"
    lines = []
    for at in range(_CURVE_LINES):
        below = (_CURVE_LINES - 1 - at) * levels
        text = "".join(glyphs.densities[min(levels, max(0, height - below))] for height in heights)
        label = f"{top:,}" if at == 0 else ""
        is_last = at == _CURVE_LINES - 1
        name = fit(series.name, _LABEL_CELLS - 1) if is_last else f"{label:>{_LABEL_CELLS - 2}} "
        lines.append(
            line(
                Span(name + " ", Role.PLAIN if is_last else Role.DIM),
                Span(text, series.role),
                Span(last if is_last else "", series.role),
            )
        )
    return lines
