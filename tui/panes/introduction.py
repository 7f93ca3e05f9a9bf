"""The introduction: what the run shows, and the keys to go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui.viewmodels.text.styled import Line, Role, Span, line, width, wrapped
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from tui.settings.keymap import Keymap

_SIDES = 4  # cells of frame and padding
_LOW = 30  # lines; on a lower screen the key that the hints do not name stands in the title, with no frame
_GAP = "   "
_KEYS = (
    ("time.play", "runs and pauses it, a minute in all"),
    ("row.why", "explains what is under the cursor"),
    ("scenario.open", "opens another scenario"),
    ("help", "helps"),
)
_CLOSES = "any key closes this"


class Introduction(LinesView):
    """Stands below the view until a key is pressed, which also does its work. It covers nothing."""

    def __init__(self, keymap: Keymap, about: str) -> None:
        """``about`` says in a sentence what the run shows."""
        super().__init__(id="introduction")
        self._keymap = keymap
        self._about = about

    def on_mount(self) -> None:
        self._fill(self.app.size.width)

    def on_resize(self, event: events.Resize) -> None:
        """Break the lines anew."""
        self._fill(event.size.width + _SIDES)

    def _fill(self, outer_cells: int) -> None:
        cells, is_low = max(1, outer_cells - _SIDES), self.app.size.height < _LOW
        self.set_class(is_low, "-low")
        another = f"{self._keymap.shown('scenario.open')} opens another scenario"
        self.border_title = Content(f"Welcome  {another}  {_CLOSES}" if is_low else "Welcome")
        self.border_subtitle = "" if is_low else _CLOSES
        about = [line(Span(each, Role.STRONG)) for each in wrapped(self._about, cells)] if self._about else []
        keys = [
            line(Span(self._keymap.shown(key), Role.KEY), f" {does}") for key, does in _KEYS if not is_low or not about
        ]
        self.show([*about, *_flowing(keys, cells)])

    def on_click(self, event: events.Click) -> None:
        """Close the introduction."""
        event.stop()
        self.remove()


def _flowing(parts: Sequence[Line], cells: int) -> list[Line]:
    """Return the parts side by side, in as few lines as they need."""
    lines: list[Line] = []
    for part in parts:
        if lines and width(lines[-1]) + len(_GAP) + width(part) <= cells:
            lines[-1] = (*lines[-1], Span(_GAP), *part)
        else:
            lines.append(part)
    return lines
