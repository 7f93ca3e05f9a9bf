"""A row of buttons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.viewmodels.text.styled import Role, Span
from tui.widgets.cursor import CursorView
from tui.widgets.lines import strip_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip


class Buttons(CursorView):
    """Buttons side by side. The one that Enter presses has a pointer while the row has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "previous button", show=False, id="buttons.before"),
        Binding("right", "move(1)", "next button", show=False, id="buttons.next"),
        Binding("enter", "press", "press it", id="buttons.press"),
    ]

    @dataclass
    class Pressed(Message):
        """The button with this number was pressed."""

        number: int

    def __init__(self, pointer: str, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """There are no buttons until ``show``; ``pointer`` is drawn before the one that Enter presses."""
        super().__init__(id=id)
        self._pointer = pointer
        self._labels: tuple[str, ...] = ()
        self.number = 0

    def show(self, labels: Sequence[str], number: int) -> None:
        """Show buttons with these labels, and put the pointer on one of them."""
        self._labels, self.number = tuple(labels), number
        self.refresh()

    def _texts(self) -> list[str]:
        return [f"[ {label} ]" for label in self._labels]

    def render_line(self, y: int) -> Strip:
        spans: list[Span] = []
        for number, text in enumerate(self._texts()) if y == 0 else ():
            is_chosen = number == self.number and self.has_focus
            spans += [Span(self._pointer if is_chosen else " ", Role.STRONG), Span(text, Role.KEY, is_fill=is_chosen)]
        return strip_of(self, tuple(spans))

    def action_move(self, by: int) -> None:
        """Move the pointer to the next or previous button."""
        self.number = max(0, min(self.number + by, len(self._labels) - 1))
        self.refresh()

    def action_press(self) -> None:
        """Press the button at the pointer."""
        self.post_message(self.Pressed(self.number))

    def on_click(self, event: events.Click) -> None:
        """Press the button under the mouse."""
        place = event.get_content_offset(self)
        left = 0
        for number, text in enumerate(self._texts()):
            if place is not None and place.y == 0 and left <= place.x <= left + cell_len(text):
                self.number = number
                self.action_press()
                return
            left += cell_len(text) + 1
