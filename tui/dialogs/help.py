"""The help dialog: keys on the left, a text about the view on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content

from tui.dialogs.modal import Modal
from tui.dialogs.sheet import SheetText
from tui.viewmodels.sheets.help import key_lines, page_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tui.viewmodels.sheets.help import HelpPage as About
    from tui.viewmodels.text.glyphs import GlyphSet


class HelpScreen(Modal[None]):
    """Two texts that can be scrolled; Escape closes the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,f1", "dismiss", "close", id="help.close"),
        Binding("tab,left,right", "other", "switch to the other page", id="help.other"),
    ]

    def __init__(
        self,
        about: About,
        here: Sequence[tuple[str, str]],
        everywhere: Sequence[tuple[str, str]],
        glyphs: GlyphSet,
    ) -> None:
        """``here`` are the keys of the focused pane, ``everywhere`` those of the screen around it."""
        super().__init__()
        self._about = about
        self._keys = SheetText(lambda cells: key_lines(here, everywhere, cells))
        self._page = SheetText(lambda cells: page_lines(about, glyphs, cells))

    def compose(self) -> ComposeResult:
        with Horizontal(id="help", classes="sheet"):
            yield self._keys
            yield self._page

    def on_mount(self) -> None:
        self._keys.border_title = "Keys"
        self._page.border_title = Content(f"Help: {self._about.title}")
        self._page.border_subtitle = "tab other page  esc close"
        self._page.focus()

    def action_other(self) -> None:
        """Focus the other text."""
        (self._page if self._keys.has_focus else self._keys).focus()
