"""The form for tasks that are added to a job by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input

from engine.specs.commands import Command
from tui.screens.modal import Modal
from tui.viewmodels.new_tasks import FIELDS, add_tasks
from tui.viewmodels.text import Line, Role, Span, line, wrapped
from tui.viewmodels.trial import Trials, trial_lines
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui.viewmodels.session import Session

_LABEL_CELLS = 18


class NewTasks(Modal[list[Command] | None]):
    """Answers with the command that adds the tasks, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="new-tasks.close"),
        Binding("ctrl+s", "add", "add them", id="new-tasks.add"),
        Binding("down", "app.focus_next", "next line", show=False, id="new-tasks.next"),
        Binding("up", "app.focus_previous", "line before", show=False, id="new-tasks.before"),
    ]

    def __init__(self, session: Session, job_id: str) -> None:
        """Tasks for this job."""
        super().__init__()
        self._session = session
        self._job_id = job_id
        self._trials = Trials(session)

    def compose(self) -> ComposeResult:
        """A line for each field, and what would follow."""
        with Vertical(id="actions"):
            for field in FIELDS:
                with Horizontal(classes="field"):
                    yield LinesView(id=f"label-{field.name}", classes="label")
                    entry = Input(field.default, id=field.name, compact=True, placeholder=field.hint)
                    entry.cursor_blink = False
                    yield entry
            yield LinesView(id="consequences")

    def on_mount(self) -> None:
        """Labels, and the cursor in the first line."""
        sheet = self.query_one("#actions")
        sheet.border_title = Content(f"Add tasks to {self._job_id}")
        sheet.border_subtitle = "enter next  ctrl+s add  esc close"
        for field in FIELDS:
            label = self.query_one(f"#label-{field.name}", LinesView)
            label.show([(Span(f"{field.label:<{_LABEL_CELLS}}", Role.DIM),)])
        self.query_one(Input).focus()
        self.call_after_refresh(self._try_out)

    def _command(self) -> Command:
        return add_tasks(self._job_id, {field.name: self.query_one(f"#{field.name}", Input).value for field in FIELDS})

    def _try_out(self) -> None:
        view = self.query_one("#consequences", LinesView)
        cells = max(20, view.size.width)
        lines: list[Line] = [()]
        try:
            command = self._command()
        except ValueError as error:
            lines += [line(Span(each, Role.FAILED)) for each in wrapped(_first_line(error), cells)]
        else:
            trial = self._trials.of([command])
            lines.append(line(Span(f"Tried out up to {self._session.clock(trial.until_ms)}", Role.STRONG)))
            lines += trial_lines(self._session, trial, cells)
        view.styles.height = len(lines)
        view.show(lines)

    def on_input_changed(self, event: Input.Changed) -> None:
        """What would follow from the form as it is now."""
        event.stop()
        self._try_out()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The next line; from the last one the tasks are added."""
        event.stop()
        if event.input.id == FIELDS[-1].name:
            self.action_add()
        else:
            self.focus_next()

    def action_add(self) -> None:
        """Answer, if the form is right."""
        try:
            self.dismiss([self._command()])
        except ValueError as error:
            self.notify(_first_line(error), severity="error", markup=False)


def _first_line(error: ValueError) -> str:
    """What is wrong, in a sentence; what the bodies say of themselves is longer."""
    problems = getattr(error, "errors", None)
    if problems is None:
        return str(error)
    first = problems()[0]
    return f"{'.'.join(map(str, first['loc'][2:]))}: {first['msg']}".removeprefix(": ")
