"""The pane of pinned items, hidden without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.watch.arrangement import Wish
from tui.viewmodels.watch.pins import drop_unknown_pins, pin_lines
from tui.widgets.choices import Choices
from tui.widgets.messages import OpenSubject
from tui.widgets.redraw import set_title

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef

_TALL = 32  # lines of the view
_MOST_LINES, _FEWER_LINES = 4, 2  # on a tall screen, on a low one


class Pinned(Choices):
    """One line for each pinned item."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.glyphs.cursor, id="pins")
        self._session = session

    @property
    def subject(self) -> ItemRef | None:
        """The item under the cursor."""
        pinned = list(self._session.pins)
        return pinned[self.number] if 0 <= self.number < len(pinned) else None

    def update(self) -> None:
        drop_unknown_pins(self._session)
        self.pointer = self._session.glyphs.cursor
        count = len(self._session.pins)
        if not count:
            return
        set_title(self, f"Pinned ({count})", "p unpins")
        self.show(pin_lines(self._session, max(1, self.size.width - self.POINTER_CELLS)))

    def wish(self, width: int, height: int) -> Wish | None:  # noqa: ARG002  # all panes have the same signature
        """Return the rows for the pins; without any the pane is hidden."""
        count = len(self._session.pins)
        most = _MOST_LINES if height >= _TALL else _FEWER_LINES
        lines = min(count, most) + self.gutter.height
        return Wish(lines, lines, lines) if count else None

    def on_show(self) -> None:
        self.update()

    def on_resize(self) -> None:
        """Draw anew for the size that the pane has now."""
        self.update()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Open the item."""
        message.stop()
        if self.subject is not None:
            self.post_message(OpenSubject(self.subject))
