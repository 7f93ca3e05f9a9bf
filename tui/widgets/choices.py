"""Lines of which one is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from tui.viewmodels.text.styled import Role, Span
from tui.widgets.cursor import CursorView
from tui.widgets.lines import strip_of
from tui.widgets.redraw import refresh_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.text.styled import Line


class Choices(CursorView):
    """Numbered groups of lines, one of which is under the cursor. A negative number cannot be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "up", show=False, id="choices.up"),
        Binding("down,j", "cursor(1)", "down", show=False, id="choices.down"),
        Binding("enter", "choose", "go there", id="choices.open"),
    ]

    @dataclass
    class Chosen(Message):
        """The group with this number was chosen."""

        number: int

    @dataclass
    class Moved(Message):
        """The cursor was moved to the group with this number."""

        number: int

    POINTER_CELLS = 2  # before every line

    def __init__(self, pointer: str, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """There are no lines until ``show``; ``pointer`` is drawn before those under the cursor."""
        super().__init__(id=id)
        self.pointer = pointer
        self._lines: list[tuple[int, Line]] = []
        self.number = 0
        self.is_driven = False  # True: the cursor is drawn and moved while an input has the focus

    def show(self, lines: Sequence[tuple[int, Line]]) -> None:
        """Show these lines, each with the number of its group."""
        before, self._lines = self._lines, list(lines)
        if before == self._lines:
            return
        groups = self._groups()
        if self.number not in groups:
            self.number = groups[0] if groups else -1
            self.refresh()
        self.virtual_size = Size(self.size.width, len(self._lines))
        refresh_changes(self, before, self._lines, self.top_line)

    def _groups(self) -> list[int]:
        return list(dict.fromkeys(number for number, _ in self._lines if number >= 0))

    def render_line(self, y: int) -> Strip:
        at = y + self.top_line
        if at >= len(self._lines):
            return strip_of(self, ())
        number, spans = self._lines[at]
        is_cursor = (self.has_focus or self.is_driven) and number == self.number and number >= 0
        pointer = Span(f"{self.pointer} " if is_cursor else "  ", Role.STRONG)
        return strip_of(self, (pointer, *spans), is_cursor=is_cursor)

    def action_cursor(self, by: int) -> None:
        """Move the cursor to the next or previous group."""
        groups = self._groups()
        if self.number in groups:
            self._move_to(groups[max(0, min(groups.index(self.number) + by, len(groups) - 1))])

    def to_first(self) -> None:
        """Move the cursor to the first group."""
        for number in self._groups()[:1]:
            self._move_to(number)

    def _move_to(self, number: int) -> None:
        self.number = number
        lines = [at for at, (each, _) in enumerate(self._lines) if each == number]
        self.scroll_into_view(lines[0], lines[-1])
        self.refresh()
        self.post_message(self.Moved(number))

    def action_choose(self) -> None:
        """Choose the group under the cursor."""
        if self.number >= 0 and self._lines:
            self.post_message(self.Chosen(self.number))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the group under the mouse; choose it on a double click."""
        place = self.place_of(event)
        if place is not None and place.y < len(self._lines) and self._lines[place.y][0] >= 0:
            self._move_to(self._lines[place.y][0])
            if event.chain > 1:
                self.action_choose()
