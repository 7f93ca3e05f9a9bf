"""The states of an item over time: a bar for each state, and the changes, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, fit, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_LABEL_CELLS = 23
_SPAN_CELLS = 13
_MOST_CHANGES = 30


class StatePeriod(NamedTuple):
    """A period in one state, in ms since the start. The last one still goes on."""

    begin_ms: int
    end_ms: int
    glyph: Glyph


def state_history(session: Session, stays: Sequence[StatePeriod], cells: int) -> list[Line]:
    """Return bars from the first period until now, then the changes."""
    if not stays:
        return [line(Span("No changes yet.", Role.DIM))]
    begin_ms, end_ms = stays[0].begin_ms, max(stays[-1].end_ms, stays[0].begin_ms + 1)
    bar_cells = max(8, cells - _LABEL_CELLS - _SPAN_CELLS)
    clock = session.clock
    first, last = clock(begin_ms), clock(stays[-1].end_ms)
    gap = " " * max(1, bar_cells - len(first) - len(last))
    lines = [line(" " * _LABEL_CELLS, Span(f"{first}{gap}{last}", Role.DIM))]
    for glyph in dict.fromkeys(stay.glyph for stay in stays):
        own = [stay for stay in stays if stay.glyph is glyph]
        total_ms = sum(stay.end_ms - stay.begin_ms for stay in own)
        label = (Span(session.glyphs.of(glyph), glyph.role), Span(" " + fit(glyph.name, _LABEL_CELLS - 2)))
        bar = _bar(own, begin_ms, end_ms, bar_cells, session.glyphs)
        lines.append((*label, Span(bar, glyph.role), Span(f"  {fmt.span(total_ms)}", Role.DERIVED)))
    lines += [(), line(Span("Changes, newest first", Role.STRONG))]
    for stay in reversed(stays[-_MOST_CHANGES:]):
        lasted = "until now" if stay is stays[-1] else fmt.span(stay.end_ms - stay.begin_ms)
        lines.append(
            line(
                Span(f"{clock(stay.begin_ms)}  ", Role.DIM),
                Span(session.glyphs.of(stay.glyph), stay.glyph.role),
                Span(" " + fit(stay.glyph.name, _LABEL_CELLS)),
                Span(lasted, Role.DERIVED),
            )
        )
    if len(stays) > _MOST_CHANGES:
        lines.append(line(Span(f"and {len(stays) - _MOST_CHANGES:,} earlier", Role.DIM)))
    return lines


def _bar(stays: Sequence[StatePeriod], begin_ms: int, end_ms: int, cells: int, glyphs: GlyphSet) -> str:
    """Return a bar that is full in every cell in which the state occurred, however briefly."""
    filled = [glyphs.rest] * cells
    span_ms = end_ms - begin_ms
    for stay in stays:
        first = (stay.begin_ms - begin_ms) * cells // span_ms
        after = -(-(stay.end_ms - begin_ms) * cells // span_ms)
        filled[first : max(after, first + 1)] = [glyphs.full] * (max(after, first + 1) - first)
    return "".join(filled[:cells])
