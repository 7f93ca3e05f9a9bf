"""The answer to w, above the deck."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tui.screens.sheet import Sheet
from tui.viewmodels.why import next_change, plain_text, why_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.explain.explanation import Explanation
    from tui.viewmodels.session import Session


class Why(Sheet):
    """Answers that can be copied; Enter goes to the event that can change them first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "go to the next event that can change it", id="why.go"),
        Binding("y", "copy", "copy the text", id="why.copy"),
        Binding("w", "dismiss", "close", show=False, id="why.close"),
    ]

    def __init__(
        self, session: Session, answers: Sequence[Explanation], when_ms: int, go: Callable[[int], None]
    ) -> None:
        """Answers as of ``when_ms``; ``go`` takes the deck to a moment, both in ms since the start."""
        title = f"Why, at {session.clock(when_ms)}"
        keys = "enter go there  y copy  esc close" if next_change(answers) is not None else "y copy  esc close"
        super().__init__(title, lambda cells: why_lines(session, answers, cells), keys=keys)
        self._answers = answers
        self._go = go

    def action_go(self) -> None:
        """Close, and look at the moment of the next event if there is one."""
        following = next_change(self._answers)
        self.dismiss()
        if following is not None:
            self._go(following.when_ms)

    def action_copy(self) -> None:
        """Copy the answers as plain text."""
        self.app.copy_to_clipboard(plain_text(self._answers))
        self.notify("copied", markup=False)
