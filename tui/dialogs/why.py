"""The dialog that explains why something is as it is."""

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


class WhyActions(NamedTuple):
    """Callbacks of the dialog.

    ``seek`` goes to a moment in ms after the start, ``act`` offers actions, ``expect`` returns when the state is
    expected to change, which takes a while to find out, ``go_on`` lets time pass again if it did before.
    """

    seek: Callable[[int], None]
    act: Callable[[], None]
    expect: Callable[[], Expected | None]
    go_on: Callable[[], None]


class Why(Sheet):
    """Answers that can be copied; Enter goes to the first event that can change them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "go to the next event that can change it", id="why.go"),
        Binding("b", "act", "branch here if it is the past, and act", id="why.act"),
        Binding("y", "copy", "copy the text", id="why.copy"),
        Binding("w", "dismiss", "close", show=False, id="why.close"),
    ]

    def __init__(self, session: Session, answers: Sequence[Explanation], when_ms: int, actions: WhyActions) -> None:
        """``answers`` are as of ``when_ms``, in ms after the start."""
        title = f"Why, at {session.clock(when_ms)}"
        here = "b branch here and act" if session.is_past or when_ms != session.now_ms else "b act"
        keys = f"{'enter go there  ' if next_change(answers) is not None else ''}{here}  y copy  K rules  esc close"
        super().__init__(title, lambda cells: why_lines(session, answers, cells, self._expected), keys=keys)
        self._expected: Expected | None = None
        self._session = session
        self._answers = answers
        self._actions = actions

    def on_mount(self) -> None:
        """Find out when the state is expected to change, once the answers are drawn."""
        super().on_mount()
        self.call_after_refresh(self._show_expected)

    def _show_expected(self) -> None:
        self._expected = self._actions.expect()
        if self._expected is not None:
            self.show_again()

    async def action_dismiss(self, result: None = None) -> None:
        """Close, and let time go on."""
        self._actions.go_on()
        await super().action_dismiss(result)

    def action_go(self) -> None:
        """Close, and go to the next event that can change the state, if there is one."""
        following = next_change(self._answers)
        self.dismiss()
        if following is not None:
            self._actions.seek(following.when_ms)

    def action_act(self) -> None:
        """Close, and offer actions; in the past that begins with a branch."""
        self.dismiss()
        self._actions.act()

    def action_copy(self) -> None:
        """Copy the answers as plain text."""
        self.app.copy_to_clipboard(plain_text(self._session, self._answers, self._expected))
        self.notify("copied")
