"""A dialog with text that can be scrolled."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.message import Message

from tui.dialogs.modal import Modal
from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.text.format import counted
from tui.widgets.lines import LinesView
from tui.widgets.redraw import set_subtitle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.geometry import Region
    from textual.strip import Strip

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.text.styled import Line


_BORDERS = 2
_MARGIN = 2  # lines of the main screen that stay visible


class SheetText(LinesView):
    """Text made for the width that the sheet turns out to have."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "up", show=False, id="sheet.up"),
        Binding("down,j", "scroll_down", "down", show=False, id="sheet.down"),
        Binding("pageup", "page_up", "page up", show=False, id="sheet.page-up"),
        Binding("pagedown,space", "page_down", "page down", show=False, id="sheet.page-down"),
        Binding("home", "scroll_home", "top", show=False, id="sheet.top"),
        Binding("end", "scroll_end", "bottom", show=False, id="sheet.bottom"),
    ]

    class Moved(Message):
        """Other lines are visible than before: the text was scrolled, or has another height."""

    def __init__(self, text: Callable[[int], Sequence[Line]]) -> None:
        """``text`` returns the lines for a number of cells."""
        super().__init__(classes="panel")
        self._text = text
        self._made_for_cells = 0

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell the sheet that other lines are visible."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Tell the sheet that more or fewer lines are visible."""
        self.post_message(self.Moved())

    def update(self) -> None:
        """Make the text anew."""
        self._made_for_cells = max(20, self.size.width - 1)
        self.show(self._text(self._made_for_cells))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the visible lines, of a text made anew if the width has changed."""
        if self._made_for_cells != max(20, self.size.width - 1):
            self.update()
        return super().render_lines(crop)


class Sheet(Modal[None]):
    """Text that can be scrolled; Escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "dismiss", "close", id="sheet.close")
    ]

    def __init__(self, title: str, lines: Callable[[int], Sequence[Line]], *, keys: str = "esc close") -> None:
        """``lines`` returns the text for a number of cells; ``keys`` is the hint in the border."""
        super().__init__()
        self._title = title
        self._text_view = SheetText(lines)
        self._keys = keys
        self._is_fitted = False

    def compose(self) -> ComposeResult:
        with Container(classes="sheet"):
            yield self._text_view

    def on_mount(self) -> None:
        self._text_view.border_title = Content(self._title)
        self._text_view.border_subtitle = self._keys
        self._text_view.focus()

    def on_resize(self) -> None:
        """Make the sheet as high as its text."""
        if self._is_fitted:
            self.call_after_refresh(self.fit)  # once it has its new width
        else:
            self.fit()  # it has been laid out already
            self.call_after_refresh(self._open)

    def _open(self) -> None:
        """Draw the sheet for the first time, at once: Textual would wait for the next tick of its timer."""
        self._is_fitted = True
        self.refresh()
        self._on_timer_update()

    def fit(self) -> None:
        """Make the text anew, and the sheet as high as it is, if the screen has room for that."""
        self._text_view.update()
        high = min(len(self._text_view.lines) + _BORDERS, self.size.height - _MARGIN)
        self.query_one(".sheet").styles.height = high
        self._tell_more(high - _BORDERS)

    def _compositor_refresh(self) -> None:
        """Draw nothing before the sheet is as high as its text: Textual would show each step of the layout."""
        if self._is_fitted:
            super()._compositor_refresh()

    def _tell_more(self, visible: int) -> None:
        """Say in the border how many lines follow below those that are visible."""
        more = len(self._text_view.lines) - round(self._text_view.scroll_target_y) - visible
        below = f"{counted(more, 'line')} below: space  " if more > 0 else ""
        set_subtitle(self._text_view, f"{below}{self._keys}")

    def on_sheet_text_moved(self) -> None:
        """Count again what follows."""
        self._tell_more(self._text_view.size.height)

    def show_again(self) -> None:
        """Make the text anew."""
        self.fit()


class LiveSheet(Sheet):
    """A sheet whose text is made anew while time passes or clients act."""

    def update(self) -> None:
        """Make the text anew."""
        self.fit()


def details_sheet(model: RowsModel, key: int) -> Sheet:
    """Return a sheet with the details of the row with this key."""
    return Sheet(model.title.removesuffix("s"), lambda cells: block_lines(model.details(key), cells))
