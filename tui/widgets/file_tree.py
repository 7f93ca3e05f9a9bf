"""The tree of the files on a node as a widget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from tui.viewmodels.text.styled import Role, Span
from tui.widgets.cursor import RowsView, row_bindings
from tui.widgets.lines import strip_of

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.files.file_tree import TreeModel

_POINTER_CELLS = 2


class FileTree(RowsView):
    """Directories and files. The row under the cursor stays highlighted while another pane has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *row_bindings("tree"),
        Binding("enter,right", "open", "open the directory, read the file", id="tree.open"),
        Binding("left", "close", "close the directory, or go up to it", id="tree.close"),
    ]

    class Moved(Message):
        """The cursor was moved, or the row under it has changed."""

    @dataclass
    class Opened(Message):
        """The row under the cursor is to be opened; with ``toggles`` an open directory is to be closed."""

        toggles: bool

    def __init__(self, model: TreeModel) -> None:
        super().__init__(id="file-tree")
        self.model = model

    @property
    def row_count(self) -> int:
        return len(self.model.rows)

    @property
    def cursor_row(self) -> int:
        return self.model.at

    def update(self) -> None:
        """Draw the rows of the model, with the cursor in view."""
        size = Size(self.size.width, self.row_count)
        if self.virtual_size != size:
            self.virtual_size = size
        self.scroll_into_view(self.cursor_row)
        self.refresh()

    @property
    def visible_lines(self) -> int:
        return max(1, self.size.height)

    def render_line(self, y: int) -> Strip:
        row = y + self.top_line
        if row >= self.row_count:
            return strip_of(self, ())
        is_cursor = row == self.cursor_row
        pointer = Span(f"{self.model.pointer if is_cursor and self.has_focus else ' '} ", Role.STRONG)
        return strip_of(self, (pointer, *self.model.line(row, self.size.width - _POINTER_CELLS)), is_cursor=is_cursor)

    def move_to(self, row: int) -> None:
        """Move the cursor to a row."""
        self.model.move_to(row)
        self.update()
        self.post_message(self.Moved())

    def action_open(self) -> None:
        """Open the directory under the cursor, or read the file."""
        self.post_message(self.Opened(toggles=False))

    def action_close(self) -> None:
        """Close the directory under the cursor, or go up to the one that contains it."""
        self.model.close()
        self.move_to(self.cursor_row)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row under the mouse; if it is there already, open or close the row."""
        place = self.place_of(event)
        if place is None or place.y >= self.row_count:
            return
        was_there = place.y == self.cursor_row
        self.move_to(place.y)
        if was_there:
            self.post_message(self.Opened(toggles=True))
