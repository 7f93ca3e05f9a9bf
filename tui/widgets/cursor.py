"""Base classes of widgets with a cursor that is moved by keys and the mouse."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.geometry import Offset

from tui.widgets.redraw import FramedView

if TYPE_CHECKING:
    from textual import events


class CursorView(FramedView):
    """Lines with a cursor, which is drawn differently while the widget has the focus."""

    can_focus = True

    @property
    def top_line(self) -> int:
        """The first line that is visible."""
        return int(self.scroll_offset.y)

    @property
    def visible_lines(self) -> int:
        """The number of lines that are visible."""
        return self.size.height

    def scroll_into_view(self, first: int, last: int | None = None) -> None:
        """Scroll as little as possible so that the lines from ``first`` to ``last`` are visible."""
        bottom = first if last is None else last
        if first < self.top_line:
            self.scroll_to(y=first, animate=False, immediate=True)
        elif bottom >= self.top_line + self.visible_lines:
            self.scroll_to(y=bottom - self.visible_lines + 1, animate=False, immediate=True)

    def place_of(self, event: events.MouseEvent) -> Offset | None:
        """Return the column and the line of the content under the mouse, None beside the content."""
        offset = event.get_content_offset(self)
        return None if offset is None else offset + Offset(0, self.top_line)


class RowsView(CursorView):
    """Rows of which one is under the cursor."""

    @property
    @abstractmethod
    def row_count(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def cursor_row(self) -> int:
        """The row under the cursor."""

    @abstractmethod
    def move_to(self, row: int) -> None:
        """Move the cursor to a row, or to the nearest one that exists."""

    def action_cursor(self, by: int) -> None:
        """Move the cursor up or down."""
        self.move_to(self.cursor_row + by)

    def action_page(self, by: int) -> None:
        """Move the cursor up or down by pages."""
        self.move_to(self.cursor_row + by * max(1, self.visible_lines - 1))

    def action_edge(self, last: int) -> None:
        """Move the cursor to the first or the last row."""
        self.move_to(self.row_count - 1 if last else 0)


def row_bindings(name: str) -> list[Binding]:
    """Return the bindings that move the cursor of a ``RowsView``, with ids that begin with ``name``."""
    return [
        Binding("up,k", "cursor(-1)", "up", show=False, id=f"{name}.up"),
        Binding("down,j", "cursor(1)", "down", show=False, id=f"{name}.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id=f"{name}.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id=f"{name}.page-down"),
        Binding("home", "edge(0)", "first row", show=False, id=f"{name}.first"),
        Binding("end", "edge(1)", "last row", show=False, id=f"{name}.last"),
    ]
