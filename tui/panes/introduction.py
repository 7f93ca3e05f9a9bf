"""The introduction: what the run shows, and three keys to go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text.styled import Role, Span, fit, line, wrapped
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from textual import events

    from tui.settings.keymap import Keymap

_CELLS = 54  # it covers the left column of Watch and no readings of the curves
_LINES = (
    ("time.play", "lets time go by; the run takes about a minute"),
    ("row.why", "explains what is under the cursor"),
    ("scenario.open", "opens another scenario; {help} is the help"),
)


class Introduction(LinesView):
    """Covers part of the main screen until a key is pressed, which also does its work."""

    def __init__(self, keymap: Keymap, about: str) -> None:
        """``about`` says in a sentence what the run shows."""
        super().__init__(id="introduction")
        self._keymap = keymap
        self._about = about

    def on_mount(self) -> None:
        self.border_title = "Welcome"
        self.border_subtitle = "any key closes this"
        keys = ((self._keymap.shown(key), does.format(help=self._keymap.shown("help"))) for key, does in _LINES)
        about = [line(Span(each, Role.STRONG)) for each in wrapped(self._about, _CELLS)]
        self.show([*about, *(line(Span(fit(key, 8), Role.KEY), does) for key, does in keys)])

    def on_click(self, event: events.Click) -> None:
        """Close the introduction."""
        event.stop()
        self.remove()
