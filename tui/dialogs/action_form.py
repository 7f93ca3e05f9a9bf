"""The form of an action: fields, choices, the consequences, and buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input

from engine.specs.command import Command
from tui.dialogs.modal import Frame, Modal
from tui.viewmodels.actions.action import LASTING
from tui.viewmodels.actions.consequences import effect_lines, problem_lines, trial_result_lines
from tui.viewmodels.actions.menu import Action, first_problem
from tui.viewmodels.text.styled import Line, Role, Span, line
from tui.widgets.buttons import Buttons
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tui.viewmodels.actions.trial import Trials
    from tui.viewmodels.session.session import Session

_LABEL_CELLS = 18
_FRAME_LINES = 4  # the border, and a line of the main screen above and below it


class _Field(Input):
    """An input without a blinking cursor."""

    cursor_blink = False


class ActionForm(Modal[list[Command] | Action | None]):
    """Returns the confirmed commands, an action that fits better, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "back", id="form.back"),
        Binding("ctrl+s", "confirm", "do it", id="form.confirm"),
        Binding("down", "app.focus_next", "next line", show=False, id="form.next"),
        Binding("up", "app.focus_previous", "previous line", show=False, id="form.before"),
        Binding("pageup", "scroll(-1)", "consequences: up", show=False, id="form.up"),
        Binding("pagedown", "scroll(1)", "consequences: down", show=False, id="form.down"),
    ]

    def __init__(self, session: Session, action: Action, better: Sequence[Action], trials: Trials) -> None:
        """``better`` are actions with a button of their own, ``trials`` try commands out from the present moment."""
        super().__init__()
        self._session = session
        self._action = action
        self._better = better
        self._trials = trials

    def compose(self) -> ComposeResult:
        action = self._action
        with Frame(self._session.text(action.title), "tab next  ctrl+s do it  PgDn more  esc back"):
            for entry in action.entries:
                yield from self._line(entry.name, action.defaults[entry.name], entry.hint)
            choices = Choices(self._session.glyphs.cursor, id="choices")
            choices.display = bool(action.choices)
            yield choices
            yield LinesView(id="consequences")
            if action.to_type:
                yield from self._line("confirm", "", "then enter")
            yield Buttons(self._session.glyphs.cursor, id="buttons")

    def _line(self, name: str, default: str, hint: str) -> ComposeResult:
        with Horizontal(classes="field"):
            yield LinesView(id=f"label-{name}", classes="label")
            yield _Field(default, id=f"entry-{name}", compact=True, placeholder=hint)

    def on_mount(self) -> None:
        action = self._action
        for entry in action.entries:
            self._label(entry.name, entry.label)
        if action.to_type:
            self._label("confirm", f"Type {action.to_type}")
        labels = [action.title, *(f"{each.title.split()[0]} instead" for each in self._better), "Cancel"]
        buttons = self.query_one(Buttons)
        buttons.show([self._session.text(each) for each in labels], len(labels) - 1 if action.cannot_be_undone else 0)
        if action.entries or not action.choices:
            (self.query(Input) or [buttons])[0].focus()
        else:
            self.query_one(Choices).focus()
        self.call_after_refresh(self._show)

    def _label(self, name: str, text: str) -> None:
        label = self._session.text(f"{text:<{_LABEL_CELLS}}")
        self.query_one(f"#label-{name}", LinesView).show([(Span(label, Role.DIM),)])

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    # -- consequences --------------------------------------------------------------------------------------------

    def _commands(self) -> list[Command]:
        action = self._action
        answers = {entry.name: self.query_one(f"#entry-{entry.name}", Input).value for entry in action.entries}
        choice = action.choices[self.query_one(Choices).number] if action.choices else None
        return action.commands(choice, answers)

    def _show(self) -> None:
        self._show_choices()
        view = self.query_one("#consequences", LinesView)
        cells = max(20, view.size.width - 1)
        lines = effect_lines(self._session, self._action, cells)
        try:
            commands = self._commands()
        except ValueError as error:
            lines += problem_lines(first_problem(error), cells)
        else:
            lines += trial_result_lines(self._session, commands, self._trials.of(commands), cells)
        view.styles.height = max(3, min(len(lines), self._room()))
        view.show(lines)

    def _show_choices(self) -> None:
        choices, on = self.query_one(Choices), "*" if self._session.glyphs.ascii_only else "•"
        asked = "How long" if self._action.choices == LASTING else "What happens to running tasks"
        lines: list[tuple[int, Line]] = [(-1, line(Span(asked, Role.DIM)))]
        lines += [
            (number, line(f"({on if number == choices.number else ' '}) {choice.text}"))
            for number, choice in enumerate(self._action.choices)
        ]
        choices.styles.height = len(lines)
        choices.show(lines)

    def _room(self) -> int:
        """Return the number of lines left for the consequences."""
        choices = len(self._action.choices)
        asked = len(self.query(Input)) + (choices + 1 if choices else 0)
        return self.size.height - _FRAME_LINES - asked - 2

    def action_scroll(self, pages: int) -> None:
        """Scroll the consequences."""
        view = self.query_one("#consequences", LinesView)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)

    def on_choices_moved(self, message: Choices.Moved) -> None:
        """Show the consequences of the choice under the cursor."""
        message.stop()
        self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the consequences of what is typed so far."""
        event.stop()
        if event.input.id != "entry-confirm":
            self._show()

    # -- confirmation --------------------------------------------------------------------------------------------

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Go on with this choice."""
        message.stop()
        self._go_on()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next field, or confirm after the last one."""
        event.stop()
        action = self._action
        if event.input.id == "entry-confirm":
            self.action_confirm()
        elif action.choices or event.input.id != f"entry-{action.entries[-1].name}":
            self.focus_next()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Confirm. An action that cannot be undone needs one step more."""
        if self._action.to_type:
            self.query_one("#entry-confirm", Input).focus()
        elif self._action.cannot_be_undone:
            self.query_one(Buttons).focus()
        else:
            self.action_confirm()

    def on_buttons_pressed(self, message: Buttons.Pressed) -> None:
        """Confirm, return the better action, or cancel."""
        message.stop()
        if message.number == 0:
            self.action_confirm()
        elif message.number <= len(self._better):
            self.dismiss(self._better[message.number - 1])
        else:
            self.dismiss(None)

    def action_confirm(self) -> None:
        """Return the commands, if the fields are valid."""
        wanted = self._action.to_type
        if wanted and self.query_one("#entry-confirm", Input).value.strip() != wanted:
            self.notify(f"Type {wanted} to confirm.", severity="warning", markup=False)
            self.query_one("#entry-confirm", Input).focus()
            return
        try:
            self.dismiss(self._commands())
        except ValueError as error:
            self.notify(first_problem(error), severity="error", markup=False)
