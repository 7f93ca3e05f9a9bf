"""The legend of the node map: entries with counts, laid out in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text.styled import Line, Role, Span, cut, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_GAP = "   "


class LegendEntry(NamedTuple):
    """An entry of the legend: a glyph, its text, its nodes, and its position."""

    glyph: Glyph
    spans: Line
    nodes: int
    line: int
    first: int  # cell


def laid_out(
    counts: Sequence[tuple[Glyph, int]], glyphs: GlyphSet, cells: int, most_lines: int = 0
) -> list[LegendEntry]:
    """Return an entry for each glyph, in as many lines as needed.

    If they are more than ``most_lines``, the last one of these has room for the number of the others.
    """
    found = _placed(counts, glyphs, cells, {})
    if not most_lines or not found or found[-1].line < most_lines:
        return found
    most = len(_GAP + others(sum(count for _, count in counts)))
    return _placed(counts, glyphs, cells, {most_lines - 1: most})


def others(count: int) -> str:
    """Return the number of nodes whose entries are not visible."""
    return f"other {count:,}"


def _placed(
    counts: Sequence[tuple[Glyph, int]], glyphs: GlyphSet, cells: int, taken: Mapping[int, int]
) -> list[LegendEntry]:
    """Return the entries in lines of ``cells``; of some lines a few cells are taken."""
    found: list[LegendEntry] = []
    at, first = 0, 0
    for glyph, count in counts:
        spans = cut((glyphs.span(glyph), Span(f" {glyph.name} {count:,}")), cells)
        wide = width(spans)
        if first and first + wide > cells - taken.get(at, 0):
            at, first = at + 1, 0
        found.append(LegendEntry(glyph, spans, count, at, first))
        first += wide + len(_GAP)
    return found


def legend_line(
    entries: Sequence[LegendEntry], line: int, *, cursor: Glyph | None, only: Glyph | None, is_last: bool = False
) -> Line:
    """Return a line of the legend. ``cursor`` is highlighted; with ``only`` all other entries are dimmed.

    The last visible line ends with the number of the nodes in the lines that follow.
    """
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
    hidden = sum(entry.nodes for entry in entries if entry.line > line) if is_last else 0
    return (*spans, Span(others(hidden), Role.DIM)) if hidden else tuple(spans)
