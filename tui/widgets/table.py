"""A table over a view model, from which it reads only the visible rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message

from engine.pacing import DRAWING_S
from tui.textual.keys import start_work, yielder_of
from tui.textual.overrides import post_around, set_line_count
from tui.textual.screens import say
from tui.textual.views import ResizeFilter, RowsView, drawn, look_of, row_bindings
from tui.viewmodels.lists.rows import AT_ONCE
from tui.widgets.rows import MARGIN, TableRow, TableRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual import events
    from textual.strip import Strip
    from textual.timer import Timer

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.text import ItemRef

_HEADER_LINES = 1
_HEADER = -1  # the row number of the header
_PROGRESS_S = 0.1
_SLICE_S = 0.004  # of filtering and sorting
CHOICE_S = 0.3
_FRAME = 2  # cells


class Table(ResizeFilter, RowsView):
    """Rows under a header. A cursor that was moved stays with its row when the order changes, else it stays on top."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *row_bindings("table"),
        Binding("enter", "open", "open the row", id="table.open"),
        Binding("o", "sort", "sort by the next column", id="table.sort"),
        Binding("O", "reverse", "reverse the order", id="table.turn"),
        Binding("exclamation_mark", "only_failed", "only failed", id="table.failed"),
    ]

    class Moved(Message):
        """The cursor was moved, or its row has changed."""

    @dataclass
    class Opened(Message):
        """The row with this key is to be opened."""

        table: Table
        key: int

    class Arranged(Message):
        """The order or the filter has changed."""

    def __init__(
        self,
        model: RowsModel,
        *,
        id: str | None = None,  # noqa: A002  # Textual's own name
        on_moved: Callable[[], None] | None = None,
    ) -> None:
        """Create a table, which is empty until ``update``; ``on_moved`` is called before ``Moved`` is posted.

        What ``on_moved`` draws is drawn together with the rows.
        """
        super().__init__(id=id)
        self.model = model
        self._on_moved = on_moved
        self._key: int | None = None
        self._at = 0
        self._missed: int | None = None  # the cursor's row until rows are sorted, among which it has not been found yet
        self._sought: int | None = None  # the row that the user has asked for, until it is found
        self._was_moved = False  # or its row was opened, by the user
        self._has_other_rows = False  # since the user has chosen another order or other rows
        self.follows = False
        self._shown: dict[int, TableRow] = {}  # by row number, as they were drawn last
        self._rows = TableRows(model)
        self._cursor_drawn = 0
        self._choice: Timer | None = None  # runs while the user chooses the order of a long list

    def show_model(self, model: RowsModel) -> None:
        """Show another list, from its first row."""
        self.model = model
        self._key, self._at, self._missed, self._sought = None, 0, None, None
        self.follows = self._was_moved = False
        self._shown.clear()
        self._rows = TableRows(model)
        self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()

    # -- rows ----------------------------------------------------------------------------------------------------

    @property
    def key(self) -> int | None:
        """The key of the row under the cursor, None without rows; that of a row that was asked for even if it is late.

        So no action ever concerns another row than that.
        """
        return self._key if self._sought is None else self._sought

    @property
    def chosen_key(self) -> int | None:
        """The key of the row that the user has chosen, None if the cursor is still where the list began."""
        return self.key if self._was_moved else None

    @property
    def row_count(self) -> int:
        return self.model.count

    @property
    def cursor_row(self) -> int:
        return self._at

    @property
    def visible_lines(self) -> int:
        return max(1, self.size.height - _HEADER_LINES)

    @property
    def subject(self) -> ItemRef | None:
        """The item that the row under the cursor is about, if there is one."""
        key = self.key
        return None if key is None else self.model.subject_of(key)

    def update(self) -> None:
        """Update the model, and draw the rows that have changed. The rows wait while the user chooses an order."""
        if self._choice is None:
            self.model.update()
        if self.model.is_sorting:
            start_work(self, self._arrange, "arrange")
        self._show_rows()

    async def _arrange(self) -> None:
        """Go on filtering and sorting in slices, and show the progress: the first screenful as soon as it is there."""
        next_progress_s, drawn = time.perf_counter(), 0
        while self._arrange_slice():
            if drawn < min(self.model.count, self.visible_lines) or time.perf_counter() >= next_progress_s:
                next_progress_s, drawn = time.perf_counter() + _PROGRESS_S, self.model.count
                self._show_rows()
                self._report_move()
                await yielder_of(self).pause(DRAWING_S)
            else:
                await yielder_of(self).pause()
        self._show_rows()
        self._report_move()

    def _arrange_slice(self) -> bool:
        """Filter and sort for a few milliseconds. Return True if there is more to do."""
        stop_s = time.perf_counter() + _SLICE_S
        while self.model.sort_some():
            if time.perf_counter() >= stop_s:
                return True
        return False

    def _show_rows(self) -> None:
        before = self._key
        self._find_cursor()
        set_line_count(self, self.model.count + _HEADER_LINES)
        if self._key != before and self._key == self.model.key_in_focus():
            self.scroll_into_view(self._at)
        if self._has_other_rows and self._missed is None:
            self._has_other_rows = self.model.is_sorting
            self.scroll_into_view(self._at)
        if self.follows:
            self._follow()
        self._draw_changes()
        if self._sought is not None:
            self._find_sought(self._sought)

    def _find_cursor(self) -> None:
        count = self.model.count
        key = self._key if self._missed is None else self._missed
        self._missed = None
        if not count:
            self._key, self._at = None, 0
        else:
            in_focus = self.model.key_in_focus()
            if in_focus is not None:
                key = in_focus
            elif not self._was_moved:
                key, self._at = self.model.key(0), 0
            if key is None or self._at >= count or self.model.key(self._at) != key:
                at = None if key is None else self.model.index_of(key)
                self._at = min(self._at, count - 1) if at is None else at
            self._key = self.model.key(self._at)
        if self._key != key and self.model.is_sorting:
            self._missed = key

    def _follow(self) -> None:
        if self.model.count:
            self._was_moved = True
            self._at = self.model.count - 1
            self._key = self.model.key(self._at)
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def _lines_in_view(self) -> dict[int, TableRow]:
        """Return the lines of the screen by row number, in columns that have room for what they say."""
        places, size = self._visible_places(), self.size
        keys = self.model.keys(places[1], len(places) - 1) if len(places) > 1 else ()
        by_key = self._rows.laid_out(self.model.cells_of(keys), size)
        rows = [self._around(_HEADER, size.width), *map(by_key.__getitem__, keys)]
        rows += (self._around(place, size.width) for place in places[len(rows) :])
        return dict(zip(places, rows, strict=False))

    def _draw_changes(self) -> None:
        before, shown = self._shown, self._lines_in_view()
        changed = [place for place, row in shown.items() if place not in before or before[place].line != row.line]
        self._shown = shown
        if len(changed) * 2 > len(shown):
            self._cursor_drawn = self._at
            self.refresh(self.size.region)
        else:
            self._draw(changed)
            self._draw_cursor()

    @property
    def natural_width(self) -> int:
        """The width in which all columns have room, with pointer, mark and frame; 0 before anything was drawn."""
        cells = self._rows.natural_width
        return cells + _FRAME if cells else 0

    @property
    def hidden_columns(self) -> int:
        """The number of columns that have no room."""
        return self._rows.hidden_columns(self.size.width)

    def _draw_cursor(self) -> None:
        """Draw the rows that the cursor has left and reached."""
        if self._cursor_drawn != self._at:
            self._draw((self._cursor_drawn, self._at))
            self._cursor_drawn = self._at

    def _draw(self, places: Iterable[int]) -> None:
        """Draw the visible ones of these rows."""
        (width, height), top = self.size, self.top_line
        lines = (0 if place == _HEADER else place + _HEADER_LINES - top for place in places)
        regions = [Region(0, y, width, 1) for y in lines if 0 <= y < height]
        if regions:
            self.refresh(*regions)

    # -- drawing -------------------------------------------------------------------------------------------------

    def _place(self, y: int) -> int:
        """Return the row on a line of the screen, or ``_HEADER``."""
        return _HEADER if y < _HEADER_LINES else y - _HEADER_LINES + self.top_line

    def _visible_places(self) -> list[int]:
        """Return the rows on all lines of the screen, ``_HEADER`` first."""
        first, height = self.top_line, self.size.height
        return [_HEADER, *range(first, first + height - _HEADER_LINES)][:height]

    def render_line(self, y: int) -> Strip:
        place, look = self._place(y), self.look or look_of(self)
        if not self._shown:  # it was scrolled, and so all of it is drawn
            self._shown = self._lines_in_view()
        row = self._shown.get(place) or self._line(place)
        if place != self._at or not row.cells:
            return row.drawn(look)
        pointer = self.model.session.glyphs.cursor if self.has_focus else " "
        first, *others = row.line
        return drawn(look, (first._replace(text=pointer + first.text[1:]), *others), is_cursor=True)

    def _line(self, place: int) -> TableRow:
        """Return a line that is drawn before it was laid out with the others."""
        width = self.size.width
        if not _HEADER < place < self.model.count:
            return self._around(place, width)
        key = self.model.key(place)
        return self._rows.row(key, self.model.cells(key), width)

    def _around(self, place: int, width: int) -> TableRow:
        """Return the header, or what stands below the rows."""
        return self._rows.header(width) if place == _HEADER else self._rows.below(place, width)

    def redraw_cursor(self) -> None:
        """Draw the row under the cursor."""
        self._draw((self._at,))

    def resized(self) -> None:
        self._shown.clear()
        set_line_count(self, self.model.count + _HEADER_LINES)
        self.scroll_into_view(self._at)
        self._draw_changes()
        self._report_move()

    # -- moving --------------------------------------------------------------------------------------------------

    def _report_move(self) -> None:
        if self._on_moved is not None:
            self._on_moved()
        post_around(self, self.Moved())

    def move_to(self, row: int) -> None:
        """Move the cursor to a row, and stop following the newest one."""
        self.follows = False
        if not self.model.count:
            return
        self._was_moved, self._missed, self._sought = True, None, None
        self._at = max(0, min(row, self.model.count - 1))
        self._key = self.model.key(self._at)
        self.model.put_in_focus(self._key)
        self.scroll_into_view(self._at)
        self._draw_cursor()
        self._report_move()

    def move_to_key(self, key: int) -> None:
        """Move the cursor to the row with this key, if it is shown."""
        at = self.model.index_of(key)
        if at is not None:
            self.move_to(at)

    def go_to(self, key: int) -> None:
        """Move the cursor to a row that the user asks for, as soon as it is found; clear a filter that hides it."""
        self.follows = False
        self._sought = key
        self._find_sought(key)

    def _find_sought(self, key: int) -> None:
        at, model = self.model.index_of(key), self.model
        if at is not None:
            self.move_to(at)
        elif not model.is_sorting:
            filtered = model.filter_words()
            if model.clear_filter():
                say(self, f"Cleared {filtered}, which hid this row.")
                self.post_message(self.Arranged())
            else:
                self._sought = None
                say(self, f"{model.title} does not show this row at this moment.", "warning")

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._shown.clear()  # the rows that come may need wider columns

    def action_open(self) -> None:
        """Open the row under the cursor."""
        key = self.key
        if key is not None:
            self._was_moved = True
            self.post_message(self.Opened(self, key))

    def on_click(self, event: events.Click) -> None:
        """Sort on a click on the header; else move the cursor, or open its row on a double click."""
        place = event.get_content_offset(self)
        if place is None:
            return
        row = self._place(place.y)
        if row == _HEADER:
            self._sort_at(place.x)
        elif row == self._at and event.chain > 1:
            self.action_open()
        elif row < self.model.count:
            self.move_to(row)

    # -- order ---------------------------------------------------------------------------------------------------

    def _sort_at(self, x: int) -> None:
        left = MARGIN
        for index, cells_wide in self._rows.columns(self.size.width):
            if left <= x <= left + cells_wide and self.model.columns[index].name and self._can_sort():
                self.model.sort_by(self.model.columns[index].name)
                self._sorted_for()
                return
            left += cells_wide + 1

    def action_sort(self) -> None:
        """Sort by the next column."""
        if self._can_sort():
            self.model.next_sort()
            self._sort_soon()

    def action_reverse(self) -> None:
        """Reverse the order."""
        if self._can_sort():
            self.model.is_descending = not self.model.is_descending
            self._sort_soon()

    def _can_sort(self) -> bool:
        """Return whether the list can be sorted; if not, say so."""
        if self.model.only_order:
            say(self, self.model.only_order)
        return not self.model.only_order

    def _sort_soon(self) -> None:
        """Sort; a long list only once no key has been pressed for a moment, since the user may go on to a column."""
        if self._choice is not None:
            self._choice.stop()
            self._choice = None
        if self.model.count > AT_ONCE:
            self._choice = self.set_timer(CHOICE_S, self._has_chosen)
        self._sorted_for()

    def _has_chosen(self) -> None:
        self._choice = None
        self._sorted_for()

    def action_only_failed(self) -> None:
        """Show only what failed, or all again."""
        self.model.only_failed = not self.model.only_failed
        self._sorted_for()

    def _sorted_for(self) -> None:
        self._has_other_rows = True
        self.post_message(self.Arranged())
