"""The answer to w, above the deck."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from tui.dialogs.sheet import Sheet
from tui.viewmodels.sheets.why import next_change, plain_text, why_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.explain.expected import Expected
    from engine.views.explain.explanation import Explanation
    from tui.viewmodels.session.session import Session


class Ways(NamedTuple):
    """Where the answers lead: to a moment (in ms since the start), to the action sheet, and a little ahead."""

    go: Callable[[int], None]
    act: Callable[[], None]
    look_ahead: Callable[[], Expected | None]  # takes a while


class Why(Sheet):
    """Answers that can be copied; Enter goes to the event that can change them first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "go to the next event that can change it", id="why.go"),
        Binding("b", "act", "branch here, and do something about it", id="why.act"),
        Binding("y", "copy", "copy the text", id="why.copy"),
        Binding("w", "dismiss", "close", show=False, id="why.close"),
    ]

    def __init__(self, session: Session, answers: Sequence[Explanation], when_ms: int, ways: Ways) -> None:
        """Answers as of ``when_ms``, in ms since the start; ``ways`` lead on from there."""
        title = f"Why, at {session.clock(when_ms)}"
        here = "b branch here and act" if session.is_past or when_ms != session.now_ms else "b act"
        keys = f"{'enter go there  ' if next_change(answers) is not None else ''}{here}  y copy  K rules  esc close"
        super().__init__(title, lambda cells: why_lines(session, answers, cells, self._coming), keys=keys)
        self._coming: Expected | None = None
        self._session = session
        self._answers = answers
        self._ways = ways

    def on_mount(self) -> None:
        """The answers are read while it is found out when things change."""
        super().on_mount()
        self.call_after_refresh(self._look_ahead)

    def _look_ahead(self) -> None:
        self._coming = self._ways.look_ahead()
        if self._coming is not None:
            self.show_again()

    def action_go(self) -> None:
        """Close, and look at the moment of the next event if there is one."""
        following = next_change(self._answers)
        self.dismiss()
        if following is not None:
            self._ways.go(following.when_ms)

    def action_act(self) -> None:
        """Close, and do something about it; in the past that begins with a branch."""
        self.dismiss()
        self._ways.act()

    def action_copy(self) -> None:
        """Copy the answers as plain text."""
        self.app.copy_to_clipboard(plain_text(self._session, self._answers, self._coming))
        self.notify("copied", markup=False)
