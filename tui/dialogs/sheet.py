"""A sheet of text above the deck: details of a row, a file, help."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content

from tui.dialogs.modal import Modal
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.geometry import Region
    from textual.strip import Strip

    from tui.viewmodels.text.styled import Line


class Page(LinesView):
    """The text for as many cells as there turn out to be, there when the sheet is first drawn."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "up", show=False, id="sheet.up"),
        Binding("down,j", "scroll_down", "down", show=False, id="sheet.down"),
        Binding("pageup", "page_up", "page up", show=False, id="sheet.page-up"),
        Binding("pagedown,space", "page_down", "page down", show=False, id="sheet.page-down"),
        Binding("home", "scroll_home", "top", show=False, id="sheet.top"),
        Binding("end", "scroll_end", "bottom", show=False, id="sheet.bottom"),
    ]

    def __init__(self, text: Callable[[int], Sequence[Line]]) -> None:
        """``text`` makes it for so many cells."""
        super().__init__(classes="panel")
        self._text = text
        self._made_for_cells = 0

    def make(self) -> None:
        """The text as it is now."""
        self._made_for_cells = max(20, self.size.width - 1)
        self.show(self._text(self._made_for_cells))

    def render_lines(self, crop: Region) -> list[Strip]:
        """What is seen, made anew where there is another width."""
        if self._made_for_cells != max(20, self.size.width - 1):
            self.make()
        return super().render_lines(crop)


class Sheet(Modal[None]):
    """Lines that can be scrolled; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "dismiss", "close", id="sheet.close")
    ]

    def __init__(self, title: str, lines: Callable[[int], Sequence[Line]], *, keys: str = "esc close") -> None:
        """``lines`` makes the text for so many cells; ``keys`` says what can be pressed."""
        super().__init__()
        self._title = title
        self._lines = lines
        self._keys = keys

    def compose(self) -> ComposeResult:
        """A framed page."""
        with Container(classes="sheet"):
            yield Page(self._lines)

    def on_mount(self) -> None:
        """What can be done with the text."""
        page = self.query_one(Page)
        page.border_title = Content(self._title)
        page.border_subtitle = self._keys
        page.focus()

    def show_again(self) -> None:
        """The text as it is now."""
        self.query_one(Page).make()
