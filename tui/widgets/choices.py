"""Lines of which one is chosen with the arrow keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView

from tui.viewmodels.text.styled import Role, Span
from tui.widgets.lines import strip_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.text.styled import Line


class Choices(ScrollView):
    """Groups of lines; the group under the cursor is marked. A group with a negative number cannot be chosen."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "up", show=False, id="choices.up"),
        Binding("down,j", "cursor(1)", "down", show=False, id="choices.down"),
        Binding("enter", "choose", "go there", id="choices.open"),
    ]

    class Chosen(Message):
        """A group was chosen."""

        def __init__(self, choices: Choices, number: int) -> None:
            """From these choices, the group of this number."""
            super().__init__()
            self.choices = choices
            self.number = number

    class Moved(Message):
        """Another group is under the cursor."""

        def __init__(self, choices: Choices, number: int) -> None:
            """In these choices, the group of this number."""
            super().__init__()
            self.choices = choices
            self.number = number

    MARK_CELLS = 2  # ahead of every line, for the mark of the cursor

    def __init__(self, mark: str, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """Nothing to choose until ``show``; ``mark`` is drawn beside the group under the cursor."""
        super().__init__(id=id)
        self.mark = mark
        self._lines: list[tuple[int, Line]] = []
        self.number = 0

    def show(self, lines: Sequence[tuple[int, Line]]) -> None:
        """Show these lines, each with the number of its group."""
        if list(lines) == self._lines:
            return
        self._lines = list(lines)
        groups = self._groups()
        if self.number not in groups:
            self.number = groups[0] if groups else -1
        self.virtual_size = Size(self.size.width, len(self._lines))
        self.refresh()

    def _groups(self) -> list[int]:
        return list(dict.fromkeys(number for number, _ in self._lines if number >= 0))

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        at = y + int(self.scroll_offset.y)
        if at >= len(self._lines):
            return strip_of(self, ())
        number, spans = self._lines[at]
        is_cursor = self.has_focus and number == self.number and number >= 0
        mark = Span(f"{self.mark} " if is_cursor else "  ", Role.STRONG)
        return strip_of(self, (mark, *spans), is_cursor=is_cursor)

    def watch_has_focus(self, has_focus: bool) -> None:
        """The cursor is seen while the choices have the focus."""
        super().watch_has_focus(has_focus)
        self.refresh()

    def action_cursor(self, by: int) -> None:
        """The next group up or down."""
        groups = self._groups()
        if self.number in groups:
            self._choose(groups[max(0, min(groups.index(self.number) + by, len(groups) - 1))])

    def _choose(self, number: int) -> None:
        self.number = number
        first = next(at for at, (each, _) in enumerate(self._lines) if each == number)
        last = max(at for at, (each, _) in enumerate(self._lines) if each == number)
        top = int(self.scroll_offset.y)
        if first < top:
            self.scroll_to(y=first, animate=False, immediate=True)
        elif last >= top + self.size.height:
            self.scroll_to(y=last - self.size.height + 1, animate=False, immediate=True)
        self.refresh()
        self.post_message(self.Moved(self, number))

    def action_choose(self) -> None:
        """Go where the group under the cursor leads."""
        if self.number >= 0 and self._lines:
            self.post_message(self.Chosen(self, self.number))

    def on_click(self, event: events.Click) -> None:
        """A click selects, a second click chooses."""
        place = event.get_content_offset(self)
        at = len(self._lines) if place is None else place.y + int(self.scroll_offset.y)
        if at < len(self._lines) and self._lines[at][0] >= 0:
            self._choose(self._lines[at][0])
            if event.chain > 1:
                self.action_choose()
