"""The tree of directories and files as a widget: rows, a cursor, open and closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView

from tui.viewmodels.text.styled import Role, Span
from tui.widgets.lines import strip_of

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.files.file_tree import TreeModel

_POINTER_CELLS = 2


class FileTree(ScrollView):
    """What is on a node. The row under the cursor stays marked when another pane has the focus."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "up", show=False, id="tree.up"),
        Binding("down,j", "cursor(1)", "down", show=False, id="tree.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="tree.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="tree.page-down"),
        Binding("home", "edge(0)", "first row", show=False, id="tree.first"),
        Binding("end", "edge(1)", "last row", show=False, id="tree.last"),
        Binding("enter,right", "open", "open the directory, read the file", id="tree.open"),
        Binding("left", "close", "close the directory, or go up to it", id="tree.close"),
    ]

    class Moved(Message):
        """Something else is under the cursor."""

    class Opened(Message):
        """What is under the cursor is to be opened, or closed if it is open and ``turns``."""

        def __init__(self, *, turns: bool) -> None:
            """A click turns, a key opens."""
            super().__init__()
            self.turns = turns

    def __init__(self, model: TreeModel) -> None:
        """The rows of this model."""
        super().__init__(id="file-tree")
        self.model = model

    def update(self) -> None:
        """Draw the rows as they are now, the cursor among those that are seen."""
        size = Size(self.size.width, len(self.model.rows))
        if self.virtual_size != size:
            self.virtual_size = size
        top, height = int(self.scroll_offset.y), max(1, self.size.height)
        if not top <= self.model.at < top + height:
            to = self.model.at if self.model.at < top else self.model.at - height + 1
            self.scroll_to(y=to, animate=False, immediate=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row."""
        at = y + int(self.scroll_offset.y)
        if at >= len(self.model.rows):
            return strip_of(self, ())
        is_cursor = at == self.model.at
        pointer = Span(f"{self.model.pointer if is_cursor and self.has_focus else ' '} ", Role.STRONG)
        return strip_of(self, (pointer, *self.model.line(at, self.size.width - _POINTER_CELLS)), is_cursor=is_cursor)

    def watch_has_focus(self, has_focus: bool) -> None:
        """The pointer comes and goes with the focus."""
        super().watch_has_focus(has_focus)
        self.refresh()

    def _move_to(self, at: int) -> None:
        self.model.move_to(at)
        self.update()
        self.post_message(self.Moved())

    def action_cursor(self, by: int) -> None:
        """One row up or down."""
        self._move_to(self.model.at + by)

    def action_page(self, by: int) -> None:
        """One page up or down."""
        self._move_to(self.model.at + by * max(1, self.size.height - 1))

    def action_edge(self, last: int) -> None:
        """The first or the last row."""
        self._move_to(len(self.model.rows) - 1 if last else 0)

    def action_open(self) -> None:
        """Open the directory under the cursor, or read the file."""
        self.post_message(self.Opened(turns=False))

    def action_close(self) -> None:
        """Close the directory under the cursor, or go to the one above."""
        self.model.close()
        self._move_to(self.model.at)

    def on_click(self, event: events.Click) -> None:
        """A click selects; on the row under the cursor it opens or closes."""
        place = event.get_content_offset(self)
        at = len(self.model.rows) if place is None else place.y + int(self.scroll_offset.y)
        if at >= len(self.model.rows):
            return
        was_there = at == self.model.at
        self._move_to(at)
        if was_there:
            self.post_message(self.Opened(turns=True))
