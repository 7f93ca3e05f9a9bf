"""The action sheet: choose a verb, choose how, see what would follow, confirm."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from engine.specs.commands import Command
from tui.screens.modal import Modal
from tui.screens.new_tasks import NewTasks
from tui.viewmodels.actions import choices_of, is_no
from tui.viewmodels.text import Line, Role, Span, line, wrapped
from tui.viewmodels.trial import Trials, trial_lines
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tui.viewmodels.actions import Action
    from tui.viewmodels.session import Session
    from tui.viewmodels.verbs.verb import Choice


class ActionSheet(Modal[list[Command] | None]):
    """Answers with the commands that were confirmed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "back, close", id="actions.back")]

    def __init__(self, session: Session, title: str, actions: Sequence[Action]) -> None:
        """A sheet with these verbs."""
        super().__init__()
        self._session = session
        self._title = title
        self._actions = actions
        self._action: Action | None = None
        self._trials = Trials(session)

    def compose(self) -> ComposeResult:
        """Verbs or choices, a number where one is needed, and what would follow."""
        with Vertical(id="actions"):
            yield Choices(self._session.glyphs.cursor, id="choices")
            entry = Input(id="number", compact=True, type="integer")
            entry.cursor_blink = False
            entry.display = False
            yield entry
            yield LinesView(id="consequences")

    def on_mount(self) -> None:
        """The verbs come first."""
        self.query_one("#actions").border_title = Content(self._session.text(self._title))
        self.query_one("#actions").border_subtitle = "enter choose  esc back"
        self.call_after_refresh(self._show_verbs)

    def _show_verbs(self) -> None:
        self._action = None
        self.query_one(Input).display = False
        lines: list[tuple[int, Line]] = []
        for number, action in enumerate(self._actions):
            said = f"  ({action.unavailable})" if action.unavailable else ""
            role = Role.OFF if action.unavailable else Role.PLAIN
            lines.append((number, line(Span(action.title, role), Span(said, Role.DIM))))
        self._offer(lines)
        self._tell(self._actions[0], None)

    def _offer(self, lines: list[tuple[int, Line]]) -> None:
        choices = self.query_one(Choices)
        choices.number = 0
        choices.styles.height = len(lines)
        choices.display = True
        choices.show(lines)
        choices.refresh()
        choices.focus()

    def _show_choices(self, action: Action) -> None:
        if action.has_form:
            self.app.push_screen(NewTasks(self._session, str(action.bodies[0]["jobId"])), self._filled_in)
            return
        self._action = action
        if action.asks:
            self.query_one(Choices).display = False
            entry = self.query_one(Input)
            entry.value = ""
            entry.placeholder = action.prompt
            entry.display = True
            entry.focus()
            self._tell(action, None)
            return
        texts = [choice.text for choice in choices_of(action)]
        self._offer([(number, line(text)) for number, text in enumerate(texts)])
        self._tell(action, choices_of(action)[0])

    def _tell(self, action: Action, choice: Choice | None) -> None:
        """What would follow by the rules; with a choice what a trial has shown, and how it is recorded."""
        view = self.query_one("#consequences", LinesView)
        cells = max(20, view.size.width)
        lines: list[Line] = [(), line(Span("What would happen", Role.STRONG))]
        for effect in action.effects:
            lines += [line(Span(each)) for each in wrapped(f"{self._session.glyphs.dot} {effect}", cells)]
        if choice is not None and not is_no(choice):
            lines += self._tried(action, choice, cells)
            lines += [(), line(Span("Recorded as", Role.DIM))]
            for script in action.script(self._session.now_ms, choice):
                lines += [line(Span(each, Role.DERIVED)) for each in wrapped(script, cells)]
        if action.asks and choice is None:
            lines += [(), line(Span(f"Type {action.prompt}; enter does it.", Role.DIM))]
        view.styles.height = len(lines)
        view.show(lines)

    def _tried(self, action: Action, choice: Choice, cells: int) -> list[Line]:
        trial = self._trials.of(action.commands(choice))
        until = self._session.clock(trial.until_ms)
        heading = f"Tried out up to {until}{', the end of the run' if trial.is_end else ''}"
        return [(), line(Span(heading, Role.STRONG)), *trial_lines(self._session, trial, cells)]

    def _filled_in(self, commands: list[Command] | None) -> None:
        if commands is not None:
            self.dismiss(commands)

    def on_choices_moved(self, message: Choices.Moved) -> None:
        """Another verb or choice is under the cursor."""
        if self._action is None:
            self._tell(self._actions[message.number], None)
        else:
            self._tell(self._action, choices_of(self._action)[message.number])

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """A verb leads to its choices, a choice to the commands."""
        message.stop()
        if self._action is None:
            self._show_choices(self._actions[message.number])
            return
        choice = choices_of(self._action)[message.number]
        if is_no(choice):
            self._show_verbs()
        else:
            self.dismiss(self._action.commands(choice))

    def on_input_changed(self, event: Input.Changed) -> None:
        """What would follow from the number so far."""
        event.stop()
        if self._action is not None:
            try:
                self._tell(self._action, self._action.typed(event.value))
            except ValueError:
                self._tell(self._action, None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A number leads to the commands."""
        event.stop()
        if self._action is None:
            return
        try:
            self.dismiss(self._action.commands(self._action.typed(event.value)))
        except ValueError:
            self.notify(f"{event.value!r} is no whole number", severity="error", markup=False)

    def action_back(self) -> None:
        """From the choices to the verbs, from the verbs to where one was."""
        if self._action is None:
            self.dismiss(None)
        else:
            self._show_verbs()
