"""The line in which a screen shows messages, above its key hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.frame.messages import message_lines, seconds_shown
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from textual import events
    from textual.timer import Timer

    from tui.viewmodels.frame.messages import Message
    from tui.viewmodels.session.session import Session


class MessageLine(LinesView):
    """Shows the messages since the last key until the next one. It covers a border, so that no pane moves."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="message")
        self._session = session
        self._messages: list[Message] = []
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        self._show()

    def add(self, message: Message) -> None:
        """Show a message. One that is less serious than those shown is only counted."""
        self._messages.append(message)
        if self.is_mounted:
            self._show()

    def close(self) -> bool:
        """Hide the line; return whether it was visible."""
        was_visible = bool(self._messages)
        self._messages.clear()
        self.display = False
        return was_visible

    def _show(self) -> None:
        if not self._messages:
            self.display = False
            return
        self._lay_out()
        self.display = True
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(max(seconds_shown(each.severity) for each in self._messages), self.close)

    def _lay_out(self) -> None:
        lines = message_lines(self._session, self._messages, self.screen.size.width)
        self.styles.height = len(lines)
        self.show(lines)

    def on_resize(self) -> None:
        """Use the new width."""
        if self._messages:
            self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Close the line."""
        event.stop()
        self.close()
