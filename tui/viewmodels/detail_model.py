"""The base of all detail pages: a head, tabs, and the layout of their lines.

Pages consist of blocks in columns, small tables, the first rows of a list, and states over time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tui.viewmodels import format as fmt
from tui.viewmodels.text import Line, Role, Span, beside, block_lines, cut, fit, line, link, width

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engine.views.log.histories import StateSpan, StateT
    from tui.viewmodels.glyphs import Glyph, GlyphSet
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Block, ItemRef, Kind
    from tui.viewmodels.watch.curves import CurvesModel


_HEADING_ROWS = 2  # a title and the line above it
_TAB_SIDES = 2  # cells around a title
_LEAST_BELOW = 3  # rows of another tab; fewer say nothing

Page = tuple[str, "Callable[[int], Sequence[Line]]"]


class DetailModel(ABC):
    """An item at the displayed moment. It may not exist yet, for the user can go back in time."""

    kind: ClassVar[Kind]
    help_text: str
    EXPLAINED: ClassVar[tuple[str, ...]] = ()
    """The tabs whose links are what w explains, in place of the item."""
    BELOW: ClassVar[tuple[str, ...]] = ()
    """The tabs that the first one or the overview continues with where there is room, the most telling first."""
    ENDS: ClassVar[tuple[str, ...]] = ()
    """Those of them of which the end tells more than the beginning."""

    def __init__(self, session: Session, subject: ItemRef) -> None:
        """Open the page of this item."""
        self.session = session
        self.subject = subject
        self.rows = 24  # of the room for a tab: drawings fill it
        self.has_grounds = True  # False on a terminal without colours behind text
        self.pages: Sequence[Page] = self._pages()

    @property
    def tabs(self) -> tuple[str, ...]:
        """The titles of the tabs."""
        return tuple(name for name, _ in self.pages)

    @property
    @abstractmethod
    def exists(self) -> bool:
        """True if the item exists at this moment, or did before."""

    @property
    def name(self) -> str:
        """A short name of the item, without its kind."""
        return str(self.subject.key)

    @property
    def identity(self) -> str:
        """The item's whole id."""
        return self.name

    @abstractmethod
    def _head(self, cells: int) -> Sequence[Line]:
        """Return the item's state, in a few lines."""

    @abstractmethod
    def _pages(self) -> Sequence[Page]:
        """Return title and content of each tab."""

    @property
    def title(self) -> str:
        """Kind and name of the item."""
        return self.session.text(f"{self.kind.capitalize()} {self.name}")

    def head(self, cells: int) -> Sequence[Line]:
        """Return the lines above every tab; none while the item does not exist."""
        return [cut(each, cells) for each in self._head(cells)] if self.exists else []

    def lines(self, tab: int, cells: int) -> Sequence[Line]:
        """Return the content of a tab."""
        if not self.exists:
            now = self.session.clock(self.session.now_ms)
            return [line(Span(f"This {self.kind} does not exist yet at {now}.", Role.DIM))]
        found = list(self.pages[tab][1](cells))
        return found if tab else [*found, *self._below(cells, self.rows - len(found))]

    def _below(self, cells: int, rows: int) -> Sequence[Line]:
        """Return the beginnings of other tabs, each below its title, as far as they fill these rows."""
        contents = dict(self.pages)
        found: list[Line] = []
        for title in self.BELOW:
            room = rows - len(found) - _HEADING_ROWS
            if room < _LEAST_BELOW:
                break
            lines = contents[title](cells)
            if len(lines) < 2:
                continue  # a sentence that there is nothing
            more = f"  and {len(lines) - room:,} more in this tab" if len(lines) > room else ""
            shown = lines[-room:] if title in self.ENDS else lines[:room]
            found += [(), line(Span(title, Role.STRONG), Span(more, Role.DIM)), *shown]
        return found


def tab_bar(tabs: Sequence[str], present: int, cells: int) -> Line:
    """Return the titles of the tabs, the present one highlighted; where not all have room, whole ones around it.

    Each leads to its number, and a mark at an end to the tab that is hidden there.
    """
    shown = _shown_tabs(tabs, present, cells)
    spans = [Span("<", Role.DIM, leads_to=str(shown.start - 1))] if shown.start else [Span(" ")]
    for number in shown:
        is_present = number == present
        text = f"[{tabs[number]}]" if is_present else f" {tabs[number]} "
        role = Role.STRONG if is_present else Role.DIM
        spans.append(Span(text, role, is_underlined=is_present, leads_to=str(number)))
    return (*spans, Span(">", Role.DIM, leads_to=str(shown.stop))) if shown.stop < len(tabs) else tuple(spans)


def _shown_tabs(tabs: Sequence[str], present: int, cells: int) -> range:
    """Return the tabs that have room: the first ones, or those up to the present one."""
    wide = [len(title) + _TAB_SIDES for title in tabs]
    if sum(wide) + 1 <= cells:
        return range(len(tabs))
    room, first = cells - 2, 0
    while first < present and sum(wide[first : present + 1]) > room:
        first += 1
    stop = present + 1
    while stop < len(tabs) and sum(wide[first : stop + 1]) <= room:
        stop += 1
    return range(first, stop)


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
        model.summary(cells),
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
    return [line(Span(model.title, Role.STRONG)), *model.lines(cells, max(1, rows - 1))]
