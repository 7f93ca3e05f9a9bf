"""The form of an action: fields or the body as a whole, choices, what would happen, and buttons."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Input, TextArea

from engine.specs.command import Command
from tui.dialogs.form_fields import FieldRow, OptionField
from tui.dialogs.modal import Frame, Modal
from tui.viewmodels.actions.action import LASTING
from tui.viewmodels.actions.consequences import (
    effect_lines,
    joined,
    notice_lines,
    problem_lines,
    record_lines,
    trial_result_lines,
)
from tui.viewmodels.actions.fields import Body, Field
from tui.viewmodels.actions.form_text import (
    FormMistake,
    FormResult,
    base_for,
    body_of,
    first_lines,
    read_form,
    read_text,
    text_of,
    texts_of,
)
from tui.viewmodels.actions.menu import Action
from tui.viewmodels.text.styled import Line, Role, Span, clip, line
from tui.widgets.buttons import Buttons
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.worker import Worker

    from tui.viewmodels.actions.trial import Trials
    from tui.viewmodels.session.session import Session

_FRAME_LINES = 4  # the border, and a line of the main screen above and below it
_TRIAL_DELAY_S = 0.04  # after a key, so that a fast typist does not wait for trials
_MOST_PROBLEMS = 8
_CONFIRM = "confirm"


class ActionForm(Modal[list[Command] | Action | None]):
    """Returns the confirmed commands, an action that fits better, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", id="form.back"),
        Binding("ctrl+s,ctrl+enter", "confirm", "do it", id="form.confirm"),
        Binding("ctrl+t", "toggle_body", "the form as a body, and back", id="form.body"),
        Binding("ctrl+g", "go_to_mistake", "go to the first mistake", id="form.mistake"),
        Binding("ctrl+r", "fold", "show or shorten what is recorded", id="form.record"),
        Binding("down", "app.focus_next", "next line", show=False, id="form.next"),
        Binding("up", "app.focus_previous", "previous line", show=False, id="form.before"),
        Binding("pageup", "scroll(-1)", "consequences: up", show=False, id="form.up"),
        Binding("pagedown", "scroll(1)", "consequences: down", show=False, id="form.down"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (104, "-wide")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, action: Action, better: Sequence[Action], trials: Trials) -> None:
        """``better`` are actions with a button of their own, ``trials`` try commands out from the present moment."""
        super().__init__()
        self._session = session
        self._action = action
        self._better = better
        self._trials = trials
        self._rows = {
            entry.name: FieldRow(entry, action.defaults[entry.name], action.options[entry.name], session.glyphs)
            for entry in action.entries
        }
        self._shows_body = False
        self._is_folded = True
        self._is_asked = False  # somebody has tried to confirm: what is missing is shown too
        self._is_warned = False  # that what was typed would be lost
        self._base: Body = {} if action.document is None else action.document.start
        self._text = self._shown_text = ""  # of the body: as it was left, and as it was shown last
        self._text_body: Body | None = None  # what the text says
        self._result = FormResult(())
        self._tried: Sequence[Command] = ()
        self._trial_lines: list[Line] = []
        self._worker: Worker[None] | None = None  # that tries out what is typed

    def compose(self) -> ComposeResult:
        action, glyphs = self._action, self._session.glyphs
        classes = "" if action.document is None else "-document"
        with Frame(self._session.text(action.title), "", classes=classes):
            with Container(id="form-panes"):
                with Vertical(id="form-side"):
                    with Vertical(id="fields"):
                        for entry in action.entries:
                            if entry.section:
                                yield LinesView(id=f"section-{entry.name.replace('.', '_')}", classes="section")
                            yield self._rows[entry.name]
                    body = TextArea("", show_line_numbers=True, compact=True, id="body")
                    body.cursor_blink = False
                    body.display = False
                    yield body
                    choices = Choices(glyphs.cursor, id="choices")
                    choices.display = bool(action.choices)
                    yield choices
                yield LinesView(id="consequences")
            yield LinesView(id="field-help")
            if action.to_type:
                asked = Field[Any](_CONFIRM, f"Type {action.to_type}", "then enter")
                row = FieldRow(asked, "", (), glyphs)
                self._rows[_CONFIRM] = row
                yield row
            yield Buttons(glyphs.cursor, id="buttons")

    def on_mount(self) -> None:
        action = self._action
        for entry in action.entries:
            if entry.section:
                section = self.query_one(f"#section-{entry.name.replace('.', '_')}", LinesView)
                section.show([line(Span(entry.section, Role.STRONG))])
        labels = [action.title, *(f"{each.title.split()[0]} instead" for each in self._better), "Cancel"]
        buttons = self.query_one(Buttons)
        buttons.show([self._session.text(each) for each in labels], len(labels) - 1 if action.cannot_be_undone else 0)
        self._show_keys()
        first = next(iter(self._rows.values()), None)
        if action.choices and not action.entries:
            self.query_one(Choices).focus()
        elif first is not None:
            first.entry.focus()
        else:
            buttons.focus()
        self.call_after_refresh(self._update)

    def _show_keys(self) -> None:
        keys = ["tab next", "ctrl+s do it", "esc back"]
        if self._action.document is not None:
            keys[1:1] = ["ctrl+t the form" if self._shows_body else "ctrl+t as a body"]
        self.query_one("#actions").border_subtitle = Content("  ".join(keys))

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    # -- what is typed -------------------------------------------------------------------------------------------

    def _texts(self) -> dict[str, str]:
        return {entry.name: self._rows[entry.name].entry.value for entry in self._action.entries}

    def _read(self) -> FormResult:
        action = self._action
        if action.document is None:
            choice = action.choices[self.query_one(Choices).number] if action.choices else None
            return action.read(choice, self._texts())
        if self._shows_body:
            return read_text(action.command, action.bodies, action.document, self.query_one("#body", TextArea).text)
        return read_form(action.command, action.bodies, action.document, action.entries, self._texts(), self._base)

    @property
    def _has_changes(self) -> bool:
        """True if something was typed that is not what the form began with."""
        if self._shows_body:
            return self.query_one("#body", TextArea).text != self._shown_text or self._is_other_base
        return self._texts() != self._action.defaults or self._is_other_base

    @property
    def _is_other_base(self) -> bool:
        document = self._action.document
        return document is not None and self._base != document.start

    def action_toggle_body(self) -> None:
        """Show the body in place of the fields, or the fields for what the body says now."""
        document = self._action.document
        if document is None:
            return
        if self._shows_body:
            self._show_fields()
        else:
            self._show_body()

    def _show_body(self) -> None:
        action = self._action
        assert action.document is not None
        body, mistakes = body_of(action.entries, action.document, self._base, self._texts())
        unread = [each for each in mistakes if self._texts()[each.name].strip()]
        if unread:
            self._say(unread[0].sentence)
            self._rows[unread[0].name].entry.focus()
            return
        editor = self.query_one("#body", TextArea)
        if body != self._text_body:
            self._text = text_of(body)
        self._base = body
        editor.text = self._shown_text = self._text
        self._switch(shows_body=True)
        editor.focus()

    def _show_fields(self) -> None:
        action = self._action
        assert action.document is not None
        text = self.query_one("#body", TextArea).text
        base = base_for(text, action.command, action.bodies, action.document)
        if isinstance(base, str):
            self._say(base)
            return
        self._base = self._text_body = dict(base)
        self._text = text
        for name, value in texts_of(action.entries, action.document, base).items():
            self._rows[name].entry.value = value
        self._switch(shows_body=False)
        next(iter(self._rows.values())).entry.focus()

    def _switch(self, *, shows_body: bool) -> None:
        self._shows_body = shows_body
        self.query_one("#body").display = shows_body
        self.query_one("#fields").display = not shows_body
        self._show_keys()
        self._update()

    def action_go_to_mistake(self) -> None:
        """Put the cursor where the first mistake is."""
        first = next(iter(self._result.mistakes or self._result.refusals), None)
        if first is None:
            return
        if self._shows_body:
            if first.line:
                self.query_one("#body", TextArea).move_cursor((first.line - 1, first.column - 1))
        elif first.name in self._rows:
            self._rows[first.name].entry.focus()

    # -- what it means -------------------------------------------------------------------------------------------

    def _update(self) -> None:
        """Read what is typed, show it, and try it out soon."""
        if not self.is_attached:
            return
        self._result = self._read()
        self._show()
        if self._result.commands:
            self.set_timer(_TRIAL_DELAY_S, self._begin_trial)

    def _begin_trial(self) -> None:
        if self.is_attached and self._result.commands and self._result.commands != self._tried:
            self._worker = self.run_worker(self._try_out, group="trial", exclusive=True)

    async def _try_out(self) -> None:
        commands = self._result.commands
        for result in self._trials.steps(commands):
            await asyncio.sleep(0)  # keys come first
            if result is not None and self.is_attached:
                self._tried = commands
                self._trial_lines = trial_result_lines(self._session, result, self._cells)
                self._show()

    @property
    def _cells(self) -> int:
        return max(20, self.query_one("#consequences", LinesView).size.width - 1)

    def _show(self) -> None:
        self._show_choices()
        self._show_problems()
        view, cells, session = self.query_one("#consequences", LinesView), self._cells, self._session
        effects = effect_lines(session, self._action, cells)
        news = self._news(cells)
        record = record_lines(session, self._result.commands, cells, is_folded=self._is_folded, key="ctrl+r")
        # A large form has little room for anything else on a small screen: what would happen comes first.
        parts = [effects, news] if self._action.document is None else [news, effects]
        lines = joined(*parts, record)
        if self._action.document is None:
            room = self._room()
            lines = [(), *lines] if len(lines) < room else lines
            view.styles.height = max(3, min(len(lines), room))
        view.show(lines)
        self._show_help()

    def _news(self, cells: int) -> list[Line]:
        """Return the mistakes, or what would happen."""
        result = self._result
        if result.mistakes:
            return problem_lines(first_lines(result.mistakes, _MOST_PROBLEMS), cells)
        waiting = [line(Span("What would happen", Role.STRONG)), line(Span("  simulating", Role.DIM))]
        return joined(
            self._trial_lines or waiting,
            notice_lines("The service would refuse", _sentences(result.refusals), cells),
            notice_lines("Warnings", _sentences(result.warnings), cells),
        )

    def _show_problems(self) -> None:
        """Show each mistake below its field. What is only missing is shown once somebody has tried to go on."""
        cells = self.query_one("#fields").size.width - 2
        found: dict[str, str] = {}
        for each in (*self._result.mistakes, *self._result.refusals):
            is_missing = each.name in self._rows and not self._rows[each.name].entry.value.strip()
            if self._is_asked or not is_missing:
                found.setdefault(each.name, each.message)
        for entry in self._action.entries:
            self._rows[entry.name].show_problem(self._session.text(found.get(entry.name, "")), cells)

    def _show_help(self) -> None:
        """Show the help for the field that has the focus."""
        view = self.query_one("#field-help", LinesView)
        for row in self._rows.values():
            row.show_label()
        entry = next((each for each in self._action.entries if self._rows[each.name].entry is self.focused), None)
        view.display = bool(self._action.entries)
        if entry is None:
            view.show([()])
            return
        about = entry.about(self._rows[entry.name].entry.value)
        said = f"{entry.hint}{f'; {about}' if about else ''}"
        text = clip(self._session.text(f"{entry.label}: {said}"), max(20, view.size.width))
        view.show([line(Span(text, Role.DIM))])

    def _show_choices(self) -> None:
        choices, on = self.query_one(Choices), "*" if self._session.glyphs.ascii_only else "•"
        choices.display = bool(self._action.choices) and self._action.asks(self._texts())
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
        choices = len(self._action.choices) + 1 if self.query_one(Choices).display else 0
        rows = sum(max(1, row.size.height) for row in self._rows.values()) + bool(self._action.entries)
        return self.size.height - _FRAME_LINES - rows - choices - 2

    def action_scroll(self, pages: int) -> None:
        """Scroll the consequences."""
        view = self.query_one("#consequences", LinesView)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)

    def action_fold(self) -> None:
        """Show all lines that are recorded, or only the first ones."""
        self._is_folded = not self._is_folded
        self._show()

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        """Show the help for the field that has the focus now."""
        if self.is_attached:
            self._show_help()

    def on_choices_moved(self, message: Choices.Moved) -> None:
        """Show the consequences of the choice under the cursor."""
        message.stop()
        self._changed()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the consequences of what is typed so far."""
        event.stop()
        if event.input.id != f"entry-{_CONFIRM}":
            self._changed()

    def on_option_field_changed(self, message: OptionField.Changed) -> None:
        """Show the consequences of the option."""
        message.stop()
        self._changed()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Show the consequences of the body as it is typed so far."""
        event.stop()
        if self._shows_body:
            self._changed()

    def _changed(self) -> None:
        self._is_warned = False
        self._update()

    # -- confirmation --------------------------------------------------------------------------------------------

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Go on with this choice."""
        message.stop()
        self._go_on()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next field, or confirm after the last one."""
        event.stop()
        if event.input.id == f"entry-{_CONFIRM}":
            self.action_confirm()
        else:
            self._submitted(event.input)

    def on_option_field_submitted(self, message: OptionField.Submitted) -> None:
        """Go to the next field, or confirm after the last one."""
        message.stop()
        self._submitted(message.field)

    def _submitted(self, entry: Input | OptionField) -> None:
        is_last = entry is self._rows[self._action.entries[-1].name].entry
        if self.query_one(Choices).display or not is_last:
            self.focus_next()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Confirm. An action that cannot be undone needs one step more."""
        if self._action.to_type:
            self._rows[_CONFIRM].entry.focus()
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
        """Return the commands, if what was typed has no mistakes."""
        wanted = self._action.to_type
        if wanted and self._rows[_CONFIRM].entry.value.strip() != wanted:
            self._say(f"Type {wanted} to confirm.", "warning")
            self._rows[_CONFIRM].entry.focus()
            return
        self._result = self._read()
        if self._result.mistakes:
            self._is_asked = True
            self._show()
            self.action_go_to_mistake()
            self._say(self._result.mistakes[0].sentence)
        else:
            self.dismiss(list(self._result.commands))

    def action_leave(self) -> None:
        """Leave the form; warn once if something was typed."""
        if self._has_changes and not self._is_warned:
            self._is_warned = True
            self._say("What was typed would be lost. Esc again leaves.", "warning")
        else:
            self.dismiss(None)

    def _say(self, text: str, severity: Any = "error") -> None:  # noqa: ANN401 - Textual's own names
        self.notify(self._session.text(text), severity=severity)


def _sentences(found: Sequence[FormMistake]) -> list[str]:
    return first_lines(found, _MOST_PROBLEMS)
