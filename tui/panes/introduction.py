"""Five lines for whoever opens the dashboard for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text.styled import Role, Span, fit, line
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from textual import events

    from tui.settings.keymap import Keymap

_SAID = (
    ("time.play", "lets time go by, and stops it"),
    ("time.step", "goes one event forward"),
    ("row.why", "says why what is under the cursor is as it is"),
    ("row.act", "acts on it"),
    ("help", "helps; any key closes this for good"),
)


class Introduction(LinesView):
    """Lies above the deck until a key is pressed, which does what it does all the same."""

    def __init__(self, keymap: Keymap) -> None:
        """With the keys as they are."""
        super().__init__(id="introduction")
        self._keymap = keymap

    def on_mount(self) -> None:
        """The five lines."""
        self.border_title = "Welcome"
        self.show([line(Span(fit(self._keymap.shown(key), 7), Role.KEY), does) for key, does in _SAID])

    def on_click(self, event: events.Click) -> None:
        """A click closes it as well."""
        event.stop()
        self.remove()
