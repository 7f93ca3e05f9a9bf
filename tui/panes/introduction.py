"""The introduction, five lines for a new user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text.styled import Role, Span, fit, line
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from textual import events

    from tui.settings.keymap import Keymap

_LINES = (
    ("time.play", "plays and pauses"),
    ("time.step", "goes one event forward"),
    ("row.why", "explains what is under the cursor"),
    ("row.act", "acts on it"),
    ("help", "opens the help; any key closes this for good"),
)


class Introduction(LinesView):
    """Covers part of the main screen until a key is pressed, which also does its work."""

    def __init__(self, keymap: Keymap) -> None:
        super().__init__(id="introduction")
        self._keymap = keymap

    def on_mount(self) -> None:
        self.border_title = "Welcome"
        self.show([line(Span(fit(self._keymap.shown(key), 7), Role.KEY), does) for key, does in _LINES])

    def on_click(self, event: events.Click) -> None:
        """Close the introduction."""
        event.stop()
        self.remove()
