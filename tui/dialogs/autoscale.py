"""The dialogs with the autoscale evaluations of a pool, and with the editor of its formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import TextArea

from engine.specs.command import Command
from engine.specs.commands import EnablePoolAutoScale, EvaluatePoolAutoScale
from engine.views.pages.autoscale import scale_page
from tui.dialogs.modal import Modal
from tui.dialogs.sheet import Sheet
from tui.viewmodels.actions.consequences import PAST
from tui.viewmodels.autoscale.overview import FIRST_FORMULA, FormulaTrial, autoscale_lines, try_out
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from tui.viewmodels.session.session import Session


class Autoscale(Sheet):
    """A pool's formula, its last evaluation and its history."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "edit the formula", id="scale.edit")]

    def __init__(
        self,
        session: Session,
        pool_id: str,
        submit: Callable[[list[Command] | None], None],
        study: Callable[[str, str], object],
    ) -> None:
        """``submit`` gives a new formula to the service, ``study`` studies one of a pool against the present one."""
        title = session.text(f"{pool_id} › Autoscale, at {session.clock(session.now_ms)}")
        super().__init__(title, lambda cells: autoscale_lines(session, pool_id, cells), keys="e edit  esc close")
        self._session = session
        self._pool_id = pool_id
        self._submit = submit
        self._study = study

    def action_edit(self) -> None:
        """Open the editor."""
        self.app.push_screen(FormulaEditor(self._session, self._pool_id, self._study), self._edited)

    def _edited(self, commands: list[Command] | None) -> None:
        self._submit(commands)
        self.show_again()


class FormulaEditor(Modal[list[Command] | None]):
    """A formula and, while it is edited, its result. Returns the command that applies it, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "apply", "apply", id="formula.apply"),
        Binding("ctrl+t", "evaluate", "evaluate it, and change nothing", id="formula.evaluate"),
        Binding("ctrl+r", "study", "study it against the present formula", id="formula.study"),
        Binding("ctrl+g", "go_to_fault", "go to the error", id="formula.error"),
        Binding("escape", "leave", "leave", id="formula.leave"),
    ]

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, pool_id: str, study: Callable[[str, str], object]) -> None:
        """The text begins with the present formula of the pool; ``study`` takes a pool and a formula to study."""
        super().__init__()
        self._study = study
        self._session = session
        self._pool_id = pool_id
        page = scale_page(session.simulation, pool_id)
        self._initial_text = page.formula.rstrip() + "\n" if page is not None else FIRST_FORMULA
        self._is_warned = False  # that the formula would fail, or that changes would be lost
        self._trial = FormulaTrial([], False, None)

    def compose(self) -> ComposeResult:
        with Container(id="editor"):
            text = TextArea(self._initial_text, show_line_numbers=True, compact=True, id="formula")
            text.cursor_blink = False
            yield text
            yield LinesView(id="trial")

    def on_mount(self) -> None:
        editor = self.query_one("#editor")
        editor.border_title = Content(self._session.text(f"Formula of {self._pool_id}"))
        editor.border_subtitle = "ctrl+s apply  ctrl+t evaluate  ctrl+r study  ctrl+g to the error  esc leave"
        self.query_one(TextArea).focus()
        self.call_after_refresh(self._try_out)

    def on_resize(self) -> None:
        self.call_after_refresh(self._try_out)

    def on_text_area_changed(self) -> None:
        """Evaluate the formula after each change."""
        self._is_warned = False
        self._try_out()

    def _try_out(self) -> None:
        view = self.query_one("#trial", LinesView)
        text = self.query_one(TextArea).text
        self._trial = try_out(self._session, self._pool_id, text, max(20, view.size.width - 1))
        view.show(self._trial.lines)

    def action_go_to_fault(self) -> None:
        """Move the cursor to the error."""
        if self._trial.fault is not None:
            line, column = self._trial.fault
            self.query_one(TextArea).move_cursor((line - 1, column - 1))

    def action_apply(self) -> None:
        """Return the command that applies the formula; warn once if it would fail."""
        if self._session.is_past:
            self.notify(PAST, severity="warning")
        elif not self._trial.is_taken:
            self.action_go_to_fault()
            self.notify("The service would refuse it.", severity="error")
        elif self._trial.fault is not None and not self._is_warned:
            self._is_warned = True
            self.notify("It would fail as the pool is now. Ctrl+s again applies it.", severity="warning")
        else:
            formula = self.query_one(TextArea).text
            self.dismiss([EnablePoolAutoScale.from_wire({"poolId": self._pool_id, "autoScaleFormula": formula})])

    def action_evaluate(self) -> None:
        """Have the service evaluate the formula. The result is an event, and nothing changes (AS-87)."""
        if self._session.is_past:
            self.notify(PAST, severity="warning")
        else:
            formula = self.query_one(TextArea).text
            self.dismiss([EvaluatePoolAutoScale.from_wire({"poolId": self._pool_id, "autoScaleFormula": formula})])

    def action_study(self) -> None:
        """Play the scenario with this formula and with the present one, many times each."""
        if self._trial.fault is not None and not self._trial.is_taken:
            self.action_go_to_fault()
            self.notify("The service would refuse it.", severity="error")
        else:
            self._study(self._pool_id, self.query_one(TextArea).text)

    def action_leave(self) -> None:
        """Leave the editor; warn once if changes would be lost."""
        if self.query_one(TextArea).text == self._initial_text or self._is_warned:
            self.dismiss(None)
        else:
            self._is_warned = True
            self.notify("The formula has been changed. Esc again leaves it as it was.", severity="warning")
