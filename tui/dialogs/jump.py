"""The jump dialog: a letter on each pane, a digit for each bookmark; pressing one goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.dialogs.modal import Modal
from tui.viewmodels.frame.tabs import letters_for
from tui.viewmodels.text.styled import Role, Span
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget


class JumpTarget(NamedTuple):
    """A pane, or a bookmark by its number from 0."""

    pane: Widget | None
    bookmark: int = -1


class Jump(Modal[JumpTarget | None]):
    """Returns the target that was chosen; any other key, and a click, closes the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", id="jump.close")]

    def __init__(self, panes: Sequence[Widget], moments: Sequence[str]) -> None:
        """``panes`` are those of the screen below, ``moments`` the bookmarks as text."""
        super().__init__()
        titles = [
            Content.from_markup(pane.border_title).plain if pane.border_title else pane.id or "" for pane in panes
        ]
        self._panes = dict(zip(letters_for(titles), panes, strict=False))
        self._moments = moments

    def compose(self) -> ComposeResult:
        for letter, pane in self._panes.items():
            label = LinesView(classes="jump")
            label.styles.offset = (pane.region.x, pane.region.y)
            label.show([(Span(f" {letter} ", Role.CURSOR, is_fill=True),)])
            yield label
        bookmarks = LinesView(id="bookmarks")
        bookmarks.show([self._bookmarks()])
        yield bookmarks

    def _bookmarks(self) -> tuple[Span, ...]:
        if not self._moments:
            return (Span(" a letter goes to its pane; there is no bookmark yet: B sets one", Role.DIM),)
        spans = [Span(" a letter goes to its pane, a digit to its bookmark:", Role.DIM)]
        for number, moment in enumerate(self._moments, 1):
            spans += [Span(f"  {number}", Role.KEY), Span(f" {moment}")]
        return tuple(spans)

    def on_key(self, event: events.Key) -> None:
        """Return the pane with this letter, or the bookmark with this digit."""
        event.stop()
        event.prevent_default()
        pressed = event.character or ""
        if pressed in self._panes:
            self.dismiss(JumpTarget(self._panes[pressed]))
        elif pressed.isdecimal() and 1 <= int(pressed) <= len(self._moments):
            self.dismiss(JumpTarget(None, int(pressed) - 1))
        else:
            self.dismiss(None)

    def on_click(self) -> None:
        """Close the dialog."""
        self.dismiss(None)
