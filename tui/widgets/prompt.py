"""The line at the bottom of a screen: key hints, or a text to be typed."""

from __future__ import annotations

from os.path import commonprefix
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from tui.saving.targets import TargetError
from tui.viewmodels.frame.header import hints
from tui.viewmodels.text.styled import Role, Span, cut, width
from tui.widgets.lines import LinesView
from tui.widgets.messages import say
from tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from tui.viewmodels.text.styled import Line


class AnswerError(Exception):
    """A typed text that cannot be used; the message is a sentence for the user."""


class _PromptInput(TextField):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "leave", show=False, id="prompt.leave"),
        Binding("tab", "complete", "complete", show=False, id="prompt.complete"),
    ]

    def action_cancel(self) -> None:
        self.query_ancestor(Prompt).cancel()

    def action_complete(self) -> None:
        self.query_ancestor(Prompt).complete()


class Prompt(Vertical):
    """Shows key hints until a text is asked for; an extra line above the input offers completions."""

    BLANK = True  # its children cover it

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self.is_asking = False
        self._label = ""
        self._on_answer: Callable[[str], None] | None = None
        self._on_typed: Callable[[str], None] | None = None
        self._on_cancel: Callable[[], None] | None = None
        self._offered: Sequence[str] = ()
        self._left = LinesView(id="hints")  # the hints, or the label of the input
        self._hinted: tuple[Sequence[tuple[str, str]], int, int] | None = None  # what was shown, and how wide

    def compose(self) -> ComposeResult:
        offer = LinesView(id="offer")
        offer.display = False
        yield offer
        with Horizontal(id="question"):
            yield self._left
            entry = _PromptInput(id="entry")
            entry.display = False
            yield entry

    def show_hints(self, pairs: Sequence[tuple[str, str]], last: int = 2) -> None:
        """Show keys and what they do, always the ``last`` ones, unless a text is being typed."""
        cells = self.size.width
        if not self.is_asking and self._hinted != (pairs, last, cells):
            self._hinted = pairs, last, cells
            self._left.show([hints(pairs, cells, last)])

    def ask(
        self,
        label: str,
        on_answer: Callable[[str], None],
        *,
        text: str = "",
        on_typed: Callable[[str], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
    ) -> None:
        """Ask for a text.

        Args:
            label: Shown ahead of the input.
            on_answer: Called with the text when Enter is pressed. If it raises AnswerError, or TargetError because of a
                file that was named, the message is shown and the text can be changed.
            text: The text to begin with.
            on_typed: Called with the text after each change.
            on_cancel: Called when Escape is pressed.
        """
        self.is_asking = True
        self._label = label
        self._on_answer, self._on_typed, self._on_cancel = on_answer, on_typed, on_cancel
        label_span = (Span(f" {label} ", Role.KEY, is_fill=True), Span(" "))
        self._left.styles.width = width(label_span)
        self._left.show([label_span])
        self._hinted = None
        entry = self.query_one(Input)
        entry.value = text
        entry.cursor_position = len(text)
        entry.display = True
        self.screen.set_focus(entry)  # at once: the next key may be there already

    def offer(self, offer: Line, completions: Sequence[str] = ()) -> None:
        """Show a line above the input and keep the completions for Tab. An empty line takes no room."""
        self._offered = completions
        lines = self.query_one("#offer", LinesView)
        lines.display = bool(offer)
        lines.show([cut(offer, self.size.width)])

    def complete(self) -> None:
        """Complete the text to the common prefix of the completions, else to the first of them."""
        entry = self.query_one(Input)
        prefix = commonprefix(self._offered)  # noqa: RUF071  # texts, not paths
        entry.value = prefix if len(prefix) > len(entry.value) else next(iter(self._offered), entry.value)
        entry.cursor_position = len(entry.value)

    def cancel(self) -> None:
        """Close the input without an answer."""
        on_cancel = self._on_cancel
        self._close()
        if on_cancel is not None:
            on_cancel()

    def _close(self) -> None:
        self.is_asking = False
        self._on_answer = self._on_typed = self._on_cancel = None
        self._left.styles.width = "1fr"
        self.offer(())
        self.query_one(Input).display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        """Report the text so far."""
        event.stop()
        if self._on_typed is not None:
            self._on_typed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close the input and report the answer; open it again with a text that cannot be used."""
        event.stop()
        label, on_answer, on_typed, on_cancel = self._label, self._on_answer, self._on_typed, self._on_cancel
        self._close()
        if on_answer is None:
            return
        try:
            on_answer(event.value)
        except (AnswerError, TargetError) as error:
            say(self, f"{error}." if isinstance(error, TargetError) else str(error), "error")
            self.ask(label, on_answer, text=event.value, on_typed=on_typed, on_cancel=on_cancel)
