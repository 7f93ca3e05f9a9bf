"""Buttons in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.scroll_view import ScrollView

from tui.viewmodels.text.styled import Role, Span
from tui.widgets.lines import strip_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip


class Buttons(ScrollView):
    """Buttons beside one another; the one that Enter presses is marked while they have the focus."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "button before", show=False, id="buttons.before"),
        Binding("right", "move(1)", "next button", show=False, id="buttons.next"),
        Binding("enter", "press", "press it", id="buttons.press"),
    ]

    class Pressed(Message):
        """A button was pressed."""

        def __init__(self, buttons: Buttons, number: int) -> None:
            """Of these buttons, the one of this number."""
            super().__init__()
            self.buttons = buttons
            self.number = number

    def __init__(self, mark: str, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """No buttons until ``show``; ``mark`` is drawn before the chosen one."""
        super().__init__(id=id)
        self._mark = mark
        self._labels: tuple[str, ...] = ()
        self.number = 0

    def show(self, labels: Sequence[str], number: int) -> None:
        """Show these, with the one of this number chosen."""
        self._labels, self.number = tuple(labels), number
        self.refresh()

    def _texts(self) -> list[str]:
        return [f"[ {label} ]" for label in self._labels]

    def render_line(self, y: int) -> Strip:
        """The buttons."""
        spans: list[Span] = []
        for number, text in enumerate(self._texts()) if y == 0 else ():
            is_chosen = number == self.number and self.has_focus
            spans += [Span(self._mark if is_chosen else " ", Role.STRONG), Span(text, Role.KEY, is_fill=is_chosen)]
        return strip_of(self, tuple(spans))

    def watch_has_focus(self, has_focus: bool) -> None:
        """The chosen one is seen while the buttons have the focus."""
        super().watch_has_focus(has_focus)
        self.refresh()

    def action_move(self, by: int) -> None:
        """The button beside it."""
        self.number = max(0, min(self.number + by, len(self._labels) - 1))
        self.refresh()

    def action_press(self) -> None:
        """Press the chosen one."""
        self.post_message(self.Pressed(self, self.number))

    def on_click(self, event: events.Click) -> None:
        """A click presses."""
        place = event.get_content_offset(self)
        left = 0
        for number, text in enumerate(self._texts()):
            if place is not None and place.y == 0 and left <= place.x <= left + cell_len(text):
                self.number = number
                self.action_press()
                return
            left += cell_len(text) + 1
