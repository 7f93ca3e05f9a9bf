"""The layout of detail pages: blocks in columns, small tables, the first rows of a list, states over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.text.styled import Line, Role, Span, beside, cut, fit, line, link, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.log.state_spans import StateSpan, StateT
    from tui.viewmodels.curves.curves import CurvesModel
    from tui.viewmodels.detail_pages.page import DetailModel
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.blocks import Block
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_TWO_COLUMNS_FROM = 96
_GAP = 3
_MOST_ROWS = 30
_LABEL_CELLS = 23
_SPAN_CELLS = 13
_MOST_CHANGES = 30


def columns(blocks: Sequence[Block], cells: int) -> list[Line]:
    """Return the blocks below one another, or in two columns of similar height if there is room."""
    if cells < _TWO_COLUMNS_FROM or len(blocks) < 2:
        return block_lines(blocks, cells)
    half = (cells - _GAP) // 2
    heights = [len(block_lines([block], half)) + 1 for block in blocks]
    split = min(range(1, len(blocks)), key=lambda at: abs(sum(heights[:at]) - sum(heights[at:])))
    return beside(block_lines(blocks[:split], half), block_lines(blocks[split:], half), half, _GAP)


def tabular(names: Sequence[str], rows: Sequence[Sequence[Span]], cells: int) -> list[Line]:
    """Return a small table. Columns are as wide as their content; long lines are cut."""
    table = [[Span(name, Role.DIM) for name in names], *rows]
    wide = [max(width([row[at]]) for row in table) for at in range(len(names))]
    lines = []
    for row in table:
        spans: list[Span] = []
        for span, cells_wide in zip(row, wide, strict=True):
            spans += [span, Span(" " * (cells_wide - width([span]) + 2))]
        lines.append(cut(tuple(spans[:-1]), cells))
    return lines


def listing(model: RowsModel, view: str, cells: int) -> list[Line]:
    """Return the first rows of a list as it is now, below a link to the list itself."""
    model.update()
    glyphs = model.session.glyphs
    title = model.title
    if not model.count:
        return [line(Span(each, Role.DIM)) for each in model.empty()]
    more = f", the first {_MOST_ROWS} here" if model.count > _MOST_ROWS else ""
    lines = [
        line(link(f"{title}: all {model.count:,}", f"show_view('{view}')", Role.KEY), Span(more, Role.DIM)),
        model.summary(),
    ]
    shown = model.layout(cells)
    heads = [(model.columns[at], wide) for at, wide in shown]
    lines.append(line(*(Span(fit(each.name, wide, right=each.is_right) + " ", Role.DIM) for each, wide in heads)))
    for place in range(min(model.count, _MOST_ROWS)):
        key = model.key(place)
        row = model.cells(key)
        spans = []
        for at, wide in shown:
            span = row[at]
            text = model.columns[at].fitted(span.text, wide).replace("…", glyphs.ellipsis)
            if at == model.identity:
                span = span._replace(leads_to=model.subject_of(key))
            spans += [span._replace(text=text), Span(" ")]
        lines.append(tuple(spans))
    return [cut(each, cells) for each in lines]


def state_history(
    session: Session, stays: Sequence[StateSpan[StateT]], table: Mapping[StateT | None, Glyph], cells: int
) -> list[Line]:
    """Return bars from the first state until now, then the changes. The last state still goes on."""
    if not stays:
        return [line(Span("No changes yet.", Role.DIM))]
    clock, lines = session.clock, state_bars(session, stays, table, cells)
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


def state_bars(
    session: Session, stays: Sequence[StateSpan[StateT]], table: Mapping[StateT | None, Glyph], cells: int
) -> list[Line]:
    """Return a bar for each state, from the first one until the end of the last; none without states."""
    if not stays:
        return []
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


def curves(model: CurvesModel, page: DetailModel, cells: int, rows: int) -> list[Line]:
    """Return the curves of the job and the pool in focus, which fill so many rows."""
    page.session.series.read_all()
    model.has_grounds = page.has_grounds
    more = "  H changes between the last hour and all" if cells >= _TWO_COLUMNS_FROM else ""
    head = line(Span(model.title, Role.STRONG), Span(f"  {model.subtitle()}{more}", Role.DIM))
    return [head, *model.lines(cells, max(1, rows - 1))]
