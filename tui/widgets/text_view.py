"""A view of a text of any length, from whose model it reads only the visible rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.scroll_view import ScrollView

from tui.widgets.lines import strip_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.files.browser import FilesModel
    from tui.viewmodels.files.file_text import TextModel
    from tui.viewmodels.text.styled import Line

_WHEEL_ROWS = 3


class TextView(ScrollView):
    """The file under the cursor of the tree, or a summary of a directory."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_by(-1)", "up", show=False, id="text.up"),
        Binding("down,j", "scroll_by(1)", "down", show=False, id="text.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="text.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="text.page-down"),
        Binding("home", "top", "first line", show=False, id="text.first"),
        Binding("end", "bottom", "last line, and follow on", show=False, id="text.last"),
        Binding("left", "shift(-1)", "to the left", show=False, id="text.left"),
        Binding("right", "shift(1)", "to the right", show=False, id="text.right"),
    ]

    class Moved(Message):
        """Other lines are visible now."""

    def __init__(self, model: FilesModel) -> None:
        super().__init__(id="file-text")
        self.model = model
        self._rows: Sequence[Line] = ()

    @property
    def _text(self) -> TextModel:
        return self.model.text

    def update(self) -> None:
        """Draw the visible rows."""
        self._text.fit(self.size.width, self.size.height)
        self._rows = self.model.rows()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        return strip_of(self, self._rows[y] if y < len(self._rows) else ())

    def _moved(self) -> None:
        self.update()
        self.post_message(self.Moved())

    def action_scroll_by(self, rows: int) -> None:
        """Scroll by rows."""
        self._text.scroll(rows)
        self._moved()

    def action_page(self, by: int) -> None:
        """Scroll by pages."""
        self.action_scroll_by(by * max(1, self.size.height - 1))

    def action_top(self) -> None:
        """Scroll to the first line."""
        self._text.home()
        self._moved()

    def action_bottom(self) -> None:
        """Scroll to the last line, and follow the end of the text."""
        self._text.end()
        self._moved()

    def action_shift(self, by: int) -> None:
        """Scroll sideways, if lines are longer than the view is wide."""
        self._text.shift(by)
        self._moved()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up."""
        event.stop()
        self.action_scroll_by(-_WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        event.stop()
        self.action_scroll_by(_WHEEL_ROWS)
