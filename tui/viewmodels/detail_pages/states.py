"""The states of an item over time: a bar for each state, and the changes, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, fit, line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.log.state_spans import StateSpan, StateT
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_LABEL_CELLS = 23
_SPAN_CELLS = 13
_MOST_CHANGES = 30


def state_history(
    session: Session, stays: Sequence[StateSpan[StateT]], table: Mapping[StateT | None, Glyph], cells: int
) -> list[Line]:
    """Return bars from the first state until now, then the changes. The last state still goes on."""
    if not stays:
        return [line(Span("No changes yet.", Role.DIM))]
    begin_ms, end_ms = stays[0].begin_ms, max(stays[-1].end_ms, stays[0].begin_ms + 1)
    bar_cells = max(8, cells - _LABEL_CELLS - _SPAN_CELLS)
    clock = session.clock
    first, last = clock(begin_ms), clock(stays[-1].end_ms)
    gap = " " * max(1, bar_cells - len(first) - len(last))
    lines = [line(" " * _LABEL_CELLS, Span(f"{first}{gap}{last}", Role.DIM))]
    for state in dict.fromkeys(stay.state for stay in stays):
        glyph, own = table[state], [stay for stay in stays if stay.state is state]
        total_ms = sum(stay.end_ms - stay.begin_ms for stay in own)
        name = Span(" " + fit(glyph.name, _LABEL_CELLS - 2))
        bar = Span(_bar(own, begin_ms, end_ms, bar_cells, session.glyphs), glyph.role)
        lines.append((session.glyphs.span(glyph), name, bar, Span(f"  {fmt.span(total_ms)}", Role.DERIVED)))
    lines += [(), line(Span("Changes, newest first", Role.STRONG))]
    for stay in reversed(stays[-_MOST_CHANGES:]):
        glyph = table[stay.state]
        lasted = "until now" if stay is stays[-1] else fmt.span(stay.end_ms - stay.begin_ms)
        lines.append(
            line(
                Span(f"{clock(stay.begin_ms)}  ", Role.DIM),
                session.glyphs.span(glyph),
                Span(" " + fit(glyph.name, _LABEL_CELLS)),
                Span(lasted, Role.DERIVED),
            )
        )
    if len(stays) > _MOST_CHANGES:
        lines.append(line(Span(f"and {len(stays) - _MOST_CHANGES:,} earlier", Role.DIM)))
    return lines


def _bar(stays: Sequence[StateSpan[StateT]], begin_ms: int, end_ms: int, cells: int, glyphs: GlyphSet) -> str:
    """Return a bar that is full in every cell in which the state occurred, however briefly."""
    filled = [glyphs.rest] * cells
    span_ms = end_ms - begin_ms
    for stay in stays:
        first = (stay.begin_ms - begin_ms) * cells // span_ms
        after = -(-(stay.end_ms - begin_ms) * cells // span_ms)
        filled[first : max(after, first + 1)] = [glyphs.full] * (max(after, first + 1) - first)
    return "".join(filled[:cells])
