"""The legend of the timeline: what its cells mean, and what continues them as bars."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from tui.viewmodels.text.glyphs import Glyph, going_on
from tui.viewmodels.text.styled import Line, Role, Span, width

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.viewmodels.text.glyphs import GlyphSet


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
