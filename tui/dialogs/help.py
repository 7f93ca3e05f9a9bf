"""The help: keys on the left, a page about the view on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content

from tui.dialogs.modal import Modal
from tui.dialogs.sheet import Page
from tui.viewmodels.sheets.help import key_lines, page_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tui.viewmodels.sheets.help import Page as About
    from tui.viewmodels.text.glyphs import GlyphSet


class HelpScreen(Modal[None]):
    """Two pages that can be scrolled; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,f1", "dismiss", "close", id="help.close"),
        Binding("tab,left,right", "other", "the other page", id="help.other"),
    ]

    def __init__(
        self,
        about: About,
        here: Sequence[tuple[str, str]],
        everywhere: Sequence[tuple[str, str]],
        glyphs: GlyphSet,
    ) -> None:
        """About a view; ``here`` are the keys of the pane with the focus, ``everywhere`` those of the deck."""
        super().__init__()
        self._about = about
        self._keys = Page(lambda cells: key_lines(here, everywhere, cells))
        self._page = Page(lambda cells: page_lines(about, glyphs, cells))

    def compose(self) -> ComposeResult:
        """Both beside each other."""
        with Horizontal(id="help", classes="sheet"):
            yield self._keys
            yield self._page

    def on_mount(self) -> None:
        """The page about the view has the focus: the keys are seen without scrolling, or nearly."""
        self._keys.border_title = "Keys"
        self._page.border_title = Content(f"Help: {self._about.title}")
        self._page.border_subtitle = "tab other page  esc close"
        self._page.focus()

    def action_other(self) -> None:
        """The other page has the focus."""
        (self._page if self._keys.has_focus else self._keys).focus()
