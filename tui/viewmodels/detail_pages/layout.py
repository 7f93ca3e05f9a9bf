"""The layout of detail pages: blocks in one or two columns, small tables, the first rows of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.text.styled import Line, Role, Span, beside, cut, fit, line, link, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.text.blocks import Block

_TWO_COLUMNS_FROM = 96
_GAP = 3
_MOST_ROWS = 30


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
