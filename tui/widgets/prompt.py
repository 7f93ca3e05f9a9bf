"""One line at the bottom: the hints, or something to be typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from tui.viewmodels.frame.header import hints
from tui.viewmodels.text.styled import Role, Span, common_beginning, cut, width
from tui.widgets.lines import LinesView
from tui.widgets.messages import Answered, Dismissed, Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tui.viewmodels.text.styled import Line


class _Entry(Input):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "leave", show=False, id="prompt.leave"),
        Binding("tab", "complete", "take what is offered", show=False, id="prompt.complete"),
    ]

    def action_dismiss(self) -> None:
        self.query_ancestor(Prompt).leave()

    def action_complete(self) -> None:
        self.query_ancestor(Prompt).complete()


class Prompt(Vertical):
    """Shows key hints until something is asked for; a line above what is typed says what can be."""

    def __init__(self) -> None:
        """The line with its hints."""
        super().__init__(id="prompt")
        self.purpose = ""
        self._offered: Sequence[str] = ()

    def compose(self) -> ComposeResult:
        """A label or hints, and the entry while something is asked."""
        told = LinesView(id="told")
        told.display = False
        yield told
        with Horizontal(id="asked"):
            yield LinesView(id="hints")
            entry = _Entry(id="entry", compact=True, select_on_focus=False)
            entry.cursor_blink = False
            entry.display = False
            yield entry

    def show_hints(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Say which keys are of use now."""
        if not self.purpose:
            self.query_one("#hints", LinesView).show([hints(pairs, self.size.width)])

    def ask(self, purpose: str, label: str, text: str = "") -> None:
        """Ask for a text; it comes as messages with this purpose."""
        self.purpose = purpose
        said = (Span(f" {label} ", Role.KEY),)
        lines = self.query_one("#hints", LinesView)
        lines.styles.width = width(said)
        lines.show([said])
        entry = self.query_one(Input)
        entry.value = text
        entry.cursor_position = len(text)
        entry.display = True
        self.screen.set_focus(entry)  # at once: the next key may be there already

    def tell(self, said: Line, offered: Sequence[str] = ()) -> None:
        """Say something of what is typed, and offer what it may become; nothing takes no room."""
        self._offered = offered
        told = self.query_one("#told", LinesView)
        told.display = bool(said)
        told.show([cut(said, self.size.width)])

    def complete(self) -> None:
        """What is offered is typed, as far as all of it begins alike; then the first of it."""
        entry = self.query_one(Input)
        begun = common_beginning(self._offered)
        wanted = begun if len(begun) > len(entry.value) else next(iter(self._offered), entry.value)
        entry.value = wanted
        entry.cursor_position = len(wanted)

    def leave(self) -> None:
        """Ask no more."""
        self.post_message(Dismissed(self._close()))

    def _close(self) -> str:
        purpose, self.purpose = self.purpose, ""
        self.query_one("#hints", LinesView).styles.width = "1fr"
        self.tell(())
        self.query_one(Input).display = False
        return purpose

    def on_input_changed(self, event: Input.Changed) -> None:
        """Whoever asked may want to see the text grow."""
        event.stop()
        if self.purpose:
            self.post_message(Typed(self.purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The answer."""
        event.stop()
        self.post_message(Answered(self._close(), event.value))
