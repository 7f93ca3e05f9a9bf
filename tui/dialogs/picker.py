"""The picker, a dialog in which one of several lines is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from tui.dialogs.modal import Frame, Modal
from tui.viewmodels.text.styled import Line, Role, Span, line
from tui.widgets.choices import Choices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult


class Pick(NamedTuple):
    """A line to pick, with the letter or digit that picks it at once, and other keys that do so too."""

    letter: str
    text: str
    also: str = ""


class Picker(Modal[int | None]):
    """Returns the number of the line that was picked, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", id="picker.close")]

    def __init__(self, title: str, picks: Sequence[Pick], *, pointer: str) -> None:
        """``pointer`` is drawn beside the line under the cursor; of equal letters the first one counts."""
        super().__init__()
        self._title = title
        self._picks = picks
        self._pointer = pointer

    def compose(self) -> ComposeResult:
        with Frame(self._title, "letter or enter goes  esc close"):
            yield Choices(self._pointer, id="choices")

    def on_mount(self) -> None:
        choices = self.query_one(Choices)
        choices.styles.height = len(self._picks)
        lines: list[tuple[int, Line]] = [
            (number, line(Span(f"{pick.letter:<3}", Role.KEY), Span(pick.text)))
            for number, pick in enumerate(self._picks)
        ]
        choices.show(lines)
        choices.focus()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Return the line under the cursor."""
        message.stop()
        self.dismiss(message.number)

    def on_key(self, event: events.Key) -> None:
        """Return the first line with this letter."""
        pressed = event.character or ""
        for number, pick in enumerate(self._picks):
            if pressed and pressed in (pick.letter, *pick.also):
                event.stop()
                self.dismiss(number)
                return
