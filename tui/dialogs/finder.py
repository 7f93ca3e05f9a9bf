"""The base class of dialogs in which something is typed, and one of the lines found below it is chosen."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from tui.dialogs.modal import Frame, Modal
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView
from tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tui.viewmodels.text.styled import Line

ResultT = TypeVar("ResultT")
_FRAME_LINES = 6  # the border, the input, the line below it, and a line of the main screen above and below


class Finder(Modal[ResultT]):
    """An input with a list below it. Up and Down move the cursor of the list while the input has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="finder.close"),
        Binding("down,ctrl+n", "cursor(1)", "next line", show=False, priority=True, id="finder.down"),
        Binding("up", "cursor(-1)", "previous line", show=False, priority=True, id="finder.up"),
        Binding("pagedown", "cursor(10)", "ten lines down", show=False, priority=True, id="finder.page-down"),
        Binding("pageup", "cursor(-10)", "ten lines up", show=False, priority=True, id="finder.page-up"),
    ]

    def __init__(self, title: str, hint: str, *, pointer: str, typed: str = "") -> None:
        """``hint`` is shown in the empty input, ``pointer`` beside the line under the cursor."""
        super().__init__()
        self._title = title
        self._hint = hint
        self._pointer = pointer
        self._initial = typed

    def compose(self) -> ComposeResult:
        with Frame(self._title, "enter go  esc close", id="finder"):
            yield TextField(self._initial, id="typed", placeholder=self._hint)
            yield LinesView(id="found")
            choices = Choices(self._pointer, id="choices")
            choices.can_focus = False
            choices.is_driven = True
            yield choices

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.call_after_refresh(self.find, self._initial)

    def on_resize(self) -> None:
        """Use the new size."""
        self.call_after_refresh(self.find, self.typed)

    @property
    def typed(self) -> str:
        """The text in the input."""
        return self.query_one(Input).value

    @property
    def cells(self) -> int:
        """The width of a line of the list."""
        return max(20, self.query_one(Choices).size.width - Choices.POINTER_CELLS - 1)

    @abstractmethod
    def find(self, text: str) -> None:
        """Find what fits the text, and show it."""

    @abstractmethod
    def choose(self, number: int) -> None:
        """Close the dialog with the line of this number."""

    def show(self, heading: Line, lines: Sequence[tuple[int, Line]]) -> None:
        """Show what is found, each line with its number, and above it a heading."""
        self.query_one("#found", LinesView).show([heading])
        choices = self.query_one(Choices)
        choices.styles.height = max(1, min(len(lines), self.size.height - _FRAME_LINES))
        choices.show(lines)

    def first_line(self) -> None:
        """Move the cursor to the first line."""
        self.query_one(Choices).to_first()

    def action_cursor(self, by: int) -> None:
        """Move the cursor of the list."""
        self.query_one(Choices).action_cursor(by)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Find what fits the text so far."""
        event.stop()
        self.find(event.value)
        self.first_line()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Choose the line under the cursor."""
        event.stop()
        self.query_one(Choices).action_choose()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Choose a line."""
        message.stop()
        self.choose(message.number)
