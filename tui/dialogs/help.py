"""The help dialog: the keys by group, and a text about the view; on a narrow screen one of them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content

from tui.dialogs.modal import Modal
from tui.dialogs.sheet import SheetText
from tui.settings.key_help import Group, group_of, when_of
from tui.viewmodels.sheets.help import KeyEntry, key_lines, page_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.dom import DOMNode

    from tui.settings.keymap import Keymap
    from tui.viewmodels.sheets.help import HelpPage as About
    from tui.viewmodels.text.glyphs import GlyphSet

_BESIDE_FROM = 110  # cells; narrower screens show one text at a time


def entries_of(keymap: Keymap, *contexts: type[DOMNode]) -> list[KeyEntry]:
    """Return the keys of these widgets, screens and applications, in the order of the groups."""
    bound = [(binding, binding.id or "") for each in contexts for binding in keymap.bindings_of(each)]
    entries = [
        KeyEntry(keymap.all_shown(binding), binding.description, when_of(name), group_of(name).value)
        for binding, name in bound
    ]
    groups = [group.value for group in Group]
    return sorted(entries, key=lambda entry: groups.index(entry.group))


def entries_here(keymap: Keymap, context: type[DOMNode]) -> list[KeyEntry]:
    """Return the keys of a pane, those that move its cursor after the others."""
    bound = sorted(keymap.bindings_of(context), key=lambda binding: not binding.show)
    return [KeyEntry(keymap.all_shown(binding), binding.description, when_of(binding.id or "")) for binding in bound]


class HelpScreen(Modal[None]):
    """Two texts that can be scrolled; Tab goes to the other one, Escape closes the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,f1", "dismiss", "close", id="help.close"),
        Binding("tab,left,right", "other", "switch to the other page", id="help.other"),
    ]

    def __init__(
        self,
        about: About,
        here: Sequence[KeyEntry],
        everywhere: Sequence[KeyEntry],
        glyphs: GlyphSet,
        *,
        shows_page: bool = False,
    ) -> None:
        """Show the keys first, or the text about the view if ``shows_page``.

        Args:
            about: The view.
            here: The keys of the focused pane.
            everywhere: The keys of the screen around it.
            glyphs: The characters to draw with.
            shows_page: Begin with the text about the view.
        """
        super().__init__()
        self._about = about
        self._keys = SheetText(lambda cells: key_lines(here, everywhere, cells))
        self._page = SheetText(lambda cells: page_lines(about, glyphs, cells))
        self._first = self._page if shows_page else self._keys

    def compose(self) -> ComposeResult:
        with Horizontal(id="help", classes="sheet"):
            yield self._keys
            yield self._page

    def on_mount(self) -> None:
        self._keys.border_title = "Keys"
        self._keys.border_subtitle = "tab about this view  esc close"
        self._page.border_title = Content(f"Help: {self._about.title}")
        self._page.border_subtitle = "tab keys  esc close"
        self._arrange()
        self._first.focus()

    def on_resize(self) -> None:
        """Show both texts, or only the one with the focus."""
        self._arrange()

    def _arrange(self) -> None:
        is_wide = self.app.size.width >= _BESIDE_FROM
        for text in (self._keys, self._page):
            text.display = is_wide or text is self._first

    def action_other(self) -> None:
        """Go to the other text."""
        self._first = self._page if self._first is self._keys else self._keys
        self._arrange()
        self._first.focus()
