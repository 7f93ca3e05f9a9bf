"""A table over a view model: it asks for the rows that are seen and for no others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.scroll_view import ScrollView

from tui.playback.yielding import yielder_of
from tui.viewmodels.text.styled import Role, Span, fit, heading, wrapped
from tui.widgets.lines import strip_of
from tui.widgets.messages import GoToFailure
from tui.widgets.redraw import ResizeFilter, set_line_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.text.styled import ItemRef, Line

_HEADER_LINES = 1
_HEADER = -1  # the header's number among the rows
_PROGRESS_S = 0.1


class Table(ResizeFilter, ScrollView):
    """Rows under a header. The cursor stays with its row while the order changes."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "up", show=False, id="table.up"),
        Binding("down,j", "cursor(1)", "down", show=False, id="table.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="table.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="table.page-down"),
        Binding("home", "edge(0)", "first row", show=False, id="table.first"),
        Binding("end", "edge(1)", "last row", show=False, id="table.last"),
        Binding("enter", "open", "open the row", id="table.open"),
        Binding("o", "sort", "sort by the next column", id="table.sort"),
        Binding("O", "turn", "turn the order round", id="table.turn"),
        Binding("exclamation_mark", "only_failed", "only failed", id="table.failed"),
        Binding("n", "next_failure(1)", "next failed row; of only failed ones: in time", id="table.next-failure"),
        Binding("N", "next_failure(-1)", "failed row before; of only failed ones: in time", id="table.failure-before"),
    ]

    class Moved(Message):
        """The cursor is on another row, or the row has changed."""

        def __init__(self, table: Table) -> None:
            """From this table."""
            super().__init__()
            self.table = table

    class Opened(Message):
        """A row is to be opened."""

        def __init__(self, table: Table, key: int) -> None:
            """From this table, the row with this key."""
            super().__init__()
            self.table = table
            self.key = key

    class Arranged(Message):
        """Sort order or filter have changed."""

    def __init__(self, model: RowsModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """A table of this model; empty until ``update``."""
        super().__init__(id=id)
        self.model = model
        self._key: int | None = None
        self._at = 0
        self.follows = False
        self._shown: dict[int, Line] = {}  # by the number of the row, as it was when the model was looked at
        self._cursor_drawn = 0

    # -- rows ----------------------------------------------------------------------------------------------------

    @property
    def key(self) -> int | None:
        """The row under the cursor; None where there are no rows."""
        return self._key

    @property
    def subject(self) -> ItemRef | None:
        """What is acted on in the row under the cursor."""
        return None if self._key is None else self.model.subject_of(self._key)

    def update(self) -> None:
        """Look at the model again and draw what has changed."""
        self.model.refresh()
        if self.model.is_arranging:
            self.run_worker(self._arrange(), group="arrange", exclusive=True)
        self._show_rows()

    async def _arrange(self) -> None:
        """Filter and sort on, with time for keys in between, and show how far it is."""
        next_progress_s = time.perf_counter()
        while self.model.arrange_some():
            if time.perf_counter() >= next_progress_s:
                next_progress_s = time.perf_counter() + _PROGRESS_S
                self.post_message(self.Moved(self))
            await yielder_of(self).pause()
        self._show_rows()
        self.post_message(self.Moved(self))

    def _show_rows(self) -> None:
        self._find_cursor()
        set_line_count(self, self.model.count + _HEADER_LINES)
        if self.follows:
            self._follow()
        self._draw_changes()

    def _find_cursor(self) -> None:
        count = self.model.count
        if not count:
            self._key, self._at = None, 0
            return
        if self._key is not None and self._at < count and self.model.key(self._at) == self._key:
            return
        at = None if self._key is None else self.model.index_of(self._key)
        self._at = min(self._at, count - 1) if at is None else at
        self._key = self.model.key(self._at)

    def _follow(self) -> None:
        if self.model.count:
            self._at = self.model.count - 1
            self._key = self.model.key(self._at)
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def _draw_changes(self) -> None:
        places = [self._place(y) for y in range(self.size.height)]
        columns = self._columns
        shown = {place: self._line(place, columns) for place in places}
        changed = [place for place in places if self._shown.get(place) != shown[place]]
        self._shown = shown
        if len(changed) * 2 > len(places):
            self._cursor_drawn = self._at
            self.refresh()
        else:
            self._draw(changed)
            self._draw_cursor()

    def _draw_cursor(self) -> None:
        """The cursor may be on another row than it was drawn on."""
        if self._cursor_drawn != self._at:
            self._draw((self._cursor_drawn, self._at))
            self._cursor_drawn = self._at

    def _draw(self, places: Iterable[int]) -> None:
        """Draw these lines anew, as far as they are seen."""
        top = int(self.scroll_offset.y)
        lines = (0 if place == _HEADER else place + _HEADER_LINES - top for place in places)
        regions = [Region(0, y, self.size.width, 1) for y in lines if 0 <= y < self.size.height]
        if regions:
            self.refresh(*regions)

    # -- drawing -------------------------------------------------------------------------------------------------

    def _place(self, y: int) -> int:
        """The number of the row on a line of the screen, or ``_HEADER``."""
        return _HEADER if y < _HEADER_LINES else y - _HEADER_LINES + int(self.scroll_offset.y)

    def render_line(self, y: int) -> Strip:
        """The header, or one row."""
        place = self._place(y)
        spans = self._shown.get(place)
        if spans is None:
            spans = self._shown[place] = self._line(place, self._columns)
        is_cursor = place == self._at and self.model.count > 0
        pointer = self.model.session.glyphs.cursor if is_cursor and self.has_focus else " "
        line = (spans[0]._replace(text=pointer + spans[0].text), *spans[1:]) if spans else ()
        return strip_of(self, line, is_cursor=is_cursor)

    @property
    def _columns(self) -> list[tuple[int, int]]:
        """Index and width of the columns that are shown; the first two cells are for pointer and mark."""
        return self.model.layout(self.size.width - 2)

    def _line(self, place: int, columns: list[tuple[int, int]]) -> Line:
        """The header or a row, without the pointer ahead of it: that comes and goes with the cursor."""
        if place == _HEADER:
            return (Span(" "), *self._header(columns))
        if place >= self.model.count:
            return self._nothing(place - 1) if not self.model.count else ()
        key = self.model.key(place)
        cells = self.model.cells(key)
        session = self.model.session
        is_marked = bool(session.marks) and self.model.subject_of(key) in session.marks
        spans = [Span("*" if is_marked else " ", Role.STRONG)]
        for index, cells_wide in columns:
            column, span = self.model.columns[index], cells[index]
            text = fit(span.text, cells_wide, right=column.is_right).replace("…", session.glyphs.ellipsis)
            spans.append(span._replace(text=text + " "))
        return tuple(spans)

    def _nothing(self, number: int) -> Line:
        """Why there are no rows, line by line."""
        cells = max(20, self.size.width - 4)
        sentences = [self.model.session.text(each) for each in self.model.nothing_shown()]
        lines = [each for sentence in sentences for each in wrapped(sentence, cells)]
        return (Span(" "), Span(lines[number], Role.DIM)) if 0 <= number < len(lines) else ()

    def _header(self, columns: list[tuple[int, int]]) -> list[Span]:
        spans = []
        glyphs = self.model.session.glyphs
        for index, cells_wide in columns:
            column = self.model.columns[index]
            is_sorted = bool(column.name) and column.name == self.model.sort_column
            arrow = (glyphs.down if self.model.is_descending else glyphs.up) if is_sorted else ""
            text = fit(heading(column.name + arrow, cells_wide), cells_wide, right=column.is_right).replace(
                "…", glyphs.ellipsis
            )
            spans.append(Span(text + " ", Role.DERIVED if column.is_derived else Role.DIM, is_underlined=False))
        return spans

    def watch_has_focus(self, has_focus: bool) -> None:
        """The cursor's mark comes and goes with the focus."""
        super().watch_has_focus(has_focus)
        self._draw((self._at,))

    def on_resize(self, event: events.Resize) -> None:
        """Other columns may fit now."""
        if not self.has_new_size(event):
            return
        self._shown.clear()
        set_line_count(self, self.model.count + _HEADER_LINES)
        self._keep_in_view()
        self.refresh()

    # -- moving --------------------------------------------------------------------------------------------------

    def move_to(self, at: int) -> None:
        """Put the cursor on the row at this place."""
        if not self.model.count:
            return
        self._at = max(0, min(at, self.model.count - 1))
        self._key = self.model.key(self._at)
        self._keep_in_view()
        self._draw_cursor()
        self.post_message(self.Moved(self))

    def move_to_key(self, key: int) -> None:
        """Put the cursor on this row, if it is shown."""
        at = self.model.index_of(key)
        if at is not None:
            self.move_to(at)

    def _keep_in_view(self) -> None:
        rows = max(1, self.size.height - _HEADER_LINES)
        top = int(self.scroll_offset.y)
        if self._at < top:
            self.scroll_to(y=self._at, animate=False, immediate=True)
        elif self._at >= top + rows:
            self.scroll_to(y=self._at - rows + 1, animate=False, immediate=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Another part of the rows is seen."""
        super().watch_scroll_y(old_value, new_value)
        seen = set(map(self._place, range(self.size.height)))
        self._shown = {place: spans for place, spans in self._shown.items() if place in seen}

    def action_cursor(self, by: int) -> None:
        """One row up or down."""
        self.follows = False
        self.move_to(self._at + by)

    def action_page(self, by: int) -> None:
        """One page up or down."""
        self.follows = False
        self.move_to(self._at + by * max(1, self.size.height - _HEADER_LINES - 1))

    def action_edge(self, last: int) -> None:
        """The first or the last row."""
        self.follows = False
        self.move_to(self.model.count - 1 if last else 0)

    def action_open(self) -> None:
        """Open the row under the cursor."""
        if self._key is not None:
            self.post_message(self.Opened(self, self._key))

    def on_click(self, event: events.Click) -> None:
        """A click selects, a click on the selected row opens, a click on the header sorts."""
        place = event.get_content_offset(self)
        if place is None:
            return
        if place.y < _HEADER_LINES:
            self._sort_at(place.x)
            return
        at = place.y - _HEADER_LINES + int(self.scroll_offset.y)
        if at >= self.model.count:
            return
        if at == self._at and event.chain > 1:
            self.action_open()
        else:
            self.follows = False
            self.move_to(at)

    # -- order ---------------------------------------------------------------------------------------------------

    def _sort_at(self, x: int) -> None:
        left = 2
        for index, cells_wide in self._columns:
            if left <= x <= left + cells_wide and self.model.columns[index].name:
                self.model.sort_by(self.model.columns[index].name)
                self._arranged()
                return
            left += cells_wide + 1

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.model.next_sort()
        self._arranged()

    def action_turn(self) -> None:
        """Turn the order round."""
        self.model.is_descending = not self.model.is_descending
        self._arranged()

    def action_only_failed(self) -> None:
        """Show only what failed, or all again."""
        self.model.only_failed = not self.model.only_failed
        self._arranged()

    def action_next_failure(self, by: int) -> None:
        """To the next row that has failed; where only those are shown, to the moment of the next failure."""
        if self.model.only_failed:
            self.post_message(GoToFailure(by))
            return
        place = self.model.next_failed(self._at, by) if self.model.count else None
        if place is not None:
            self.follows = False
            self.move_to(place)

    def _arranged(self) -> None:
        self.post_message(self.Arranged())  # whoever shows the table looks at all that stands around it as well
