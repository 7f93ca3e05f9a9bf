"""The legend of the node map: entries with counts, laid out in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text.styled import Line, Role, Span, cut, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_GAP = "   "


class LegendEntry(NamedTuple):
    """An entry of the legend: a glyph, its text, and its position."""

    glyph: Glyph
    spans: Line
    line: int
    first: int  # cell


def laid_out(counts: Sequence[tuple[Glyph, int]], glyphs: GlyphSet, cells: int) -> list[LegendEntry]:
    """Return an entry for each glyph, in as many lines as needed."""
    found: list[LegendEntry] = []
    line, first = 0, 0
    for glyph, count in counts:
        spans = cut((glyphs.span(glyph), Span(f" {glyph.name} {count:,}")), cells)
        wide = width(spans)
        if first and first + wide > cells:
            line, first = line + 1, 0
        found.append(LegendEntry(glyph, spans, line, first))
        first += wide + len(_GAP)
    return found


def legend_line(entries: Sequence[LegendEntry], line: int, *, cursor: Glyph | None, only: Glyph | None) -> Line:
    """Return a line of the legend. ``cursor`` is highlighted; with ``only`` all other entries are dimmed."""
    spans: list[Span] = []
    for entry in entries:
        if entry.line != line:
            continue
        sign, name = entry.spans
        if only is not None:
            name = name._replace(role=Role.STRONG if entry.glyph == only else Role.DIM)
            sign = sign if entry.glyph == only else sign._replace(role=Role.DIM)
        spans += [sign._replace(is_fill=entry.glyph == cursor), name._replace(is_underlined=entry.glyph == cursor)]
        spans.append(Span(_GAP))
    return tuple(spans)
