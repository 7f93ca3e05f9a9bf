"""The form of an action: its inputs, the consequences found by a trial, and buttons.

The trial of the typed input begins once no other key follows at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container

from engine.specs.command import Command
from tui.dialogs.form_fields import FieldRow, FormInputs
from tui.textual.keys import has_keys_waiting, start_work, yielder_of
from tui.textual.screens import Frame, Modal
from tui.textual.views import LinesView
from tui.viewmodels.actions.action import Field
from tui.viewmodels.actions.forms import FormResult, first_lines
from tui.viewmodels.actions.menu import Action, effect_lines, joined, notice_lines, record_lines, trial_result_lines
from tui.viewmodels.actions.trial import reason
from tui.viewmodels.text import Line, Role, Span, clip, line, link, paragraph
from tui.widgets.texts import PageView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.screen import Screen
    from textual.timer import Timer
    from textual.worker import Worker

    from tui.viewmodels.actions.trial import TrialResult, Trials
    from tui.viewmodels.session import Session


_DELAY_S = 0.03  # after what was typed is read
_MOST_DELAY_S = 0.6


class FormTrial:
    """Tries out the commands of a form in slices. ``is_behind`` while what is typed has not been tried out yet."""

    def __init__(self, form: Screen[Any], trials: Trials, show: Callable[[TrialResult], None]) -> None:
        """``show`` gets each result while the form is open."""
        self._form = form
        self._trials = trials
        self._show = show
        self._commands: Sequence[Command] = ()
        self._tried: Sequence[Command] = ()
        self._delay_s = _DELAY_S
        self._timer: Timer | None = None  # until what is typed is read, and then until it is tried out
        self._worker: Worker[None] | None = None
        self.is_behind = True

    def interrupt(self) -> None:
        """Give up the present trial: something else has been typed."""
        self.is_behind = True
        if self._worker is not None:
            self._worker.cancel()

    def wait(self, seconds: float, then: Callable[[], None]) -> None:
        """Call ``then`` after some seconds, in place of what was waited for until now."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._form.set_timer(seconds, then)

    def take(self, commands: Sequence[Command], *, at_once: bool) -> None:
        """Try commands out soon or at once, unless they are those of the last trial."""
        self._commands = commands
        self.is_behind = bool(commands) and commands != self._tried
        if self.is_behind and at_once:
            self._begin()
        elif self.is_behind:
            self.wait(self._delay_s, self._begin)

    @property
    def _is_open(self) -> bool:
        """True until the form is closed; while it is then removed, its parts go before itself."""
        return self._form.is_attached and self._form in self._form.app.screen_stack

    def _begin(self) -> None:
        if self._is_open:
            self._worker = start_work(self._form, self._try_out, "trial")

    async def _try_out(self) -> None:
        """Try the commands out. The longer the first result takes, the longer the next trial waits for another key."""
        commands, spent_s = self._commands, 0.0
        begin_s = time.perf_counter()
        for result in self._trials.steps(commands):
            spent_s += time.perf_counter() - begin_s
            await yielder_of(self._form).pause()
            if not self._is_open:
                return
            if result is not None:
                if self.is_behind:
                    self._delay_s = min(max(_DELAY_S, 2 * spent_s), _MOST_DELAY_S)
                self.is_behind = False
                self._tried = commands
                self._show(result)
            begin_s = time.perf_counter()


_FRAME_LINES = 4  # the border, and a line of the main screen above and below it
_LEAST_FORM, _FORM_REST = 22, 5  # lines of the form of a body, which leaves room for what would happen
_READ_DELAY_S = 0.01  # after a key: several keys in quick succession are read once
_MOST_HELD_S = 0.2  # until the first frame
_CONFIRM, _CANCEL = "confirm", "cancel"


class ActionForm(Modal[list[Command] | None]):
    """Returns the confirmed commands, no commands if it was cancelled, or None.

    Escape goes back by one level, as in k9s or lazygit: from a form to the menu that it was chosen from, where another
    action can be chosen, and from there to the view. Cancel leaves menu and form at once.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", id="form.back"),
        Binding("ctrl+s,ctrl+enter", "confirm", "do it", id="form.confirm"),
        Binding("ctrl+t", "toggle_body", "the form as a body, and back", id="form.body"),
        Binding("ctrl+g", "go_to_mistake", "go to the first mistake", id="form.mistake"),
        Binding("down", "app.focus_next", "next line", show=False, id="form.next"),
        Binding("up", "app.focus_previous", "previous line", show=False, id="form.before"),
        Binding("pageup", "scroll(-1)", "consequences: up", show=False, id="form.up"),
        Binding("pagedown", "scroll(1)", "consequences: down", show=False, id="form.down"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (104, "-wide")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, action: Action, trials: Trials, *, has_menu: bool = False) -> None:
        """With ``has_menu`` the menu of actions lies below."""
        super().__init__()
        self._back = "to the menu" if has_menu else "close"
        self._session = session
        self._action = action
        self._trial = FormTrial(self, trials, self._show_trial)
        self._inputs = FormInputs(session, action)
        asked = Field[Any](_CONFIRM, f"Type {action.to_type}", "then enter")
        self._confirmation = FieldRow(asked, "", (), session.glyphs)
        self._is_asked = False  # somebody has tried to confirm: what is missing is shown too
        self._is_longer = False  # what would happen than the room for it
        self._is_warned = False  # that what was typed would be lost
        self._is_refused = False  # somebody has tried to send what the service would refuse
        self._result = FormResult(())
        self._tried: TrialResult | None = None
        self._trial_lines: list[Line] = []
        self.hold_frames()  # until it says what would happen, if that takes no time

    def compose(self) -> ComposeResult:
        classes = "-document" if self._action.document.is_editable else ""
        title = self._action.title + ": the service cannot undo this" * self._action.type.cannot_be_undone
        with Frame(self._session.text(title), "", classes=classes):
            with Container(id="form-panes"):
                yield self._inputs
                yield LinesView(id="consequences")
            yield LinesView(id="field-help")
            if self._action.to_type:
                yield self._confirmation
            yield PageView(self._session.glyphs.cursor, id="buttons")

    def on_mount(self) -> None:
        action, buttons = self._action, self.query_one(PageView)
        labels = [(action.title, _CONFIRM), ("Cancel", _CANCEL)]
        if action.type.cannot_be_undone:
            labels.reverse()
        texts = [link(self._session.text(f"[ {label} ]"), target, Role.KEY) for label, target in labels]
        buttons.show_page([line(*(part for text in texts for part in (text, Span(" "))))], is_new=True)
        if not self._inputs.focus_first():
            (self._confirmation.entry if action.to_type else buttons).focus()
        self.call_after_refresh(self._update)
        self.set_timer(_MOST_HELD_S, self._draw_whole)

    def _draw_whole(self) -> None:
        """Draw the form for the first time, once it has been laid out with all that it shows."""
        if self.is_held:
            self.call_after_refresh(self.draw_now)

    def _show_keys(self) -> None:
        needs_more = self._action.type.cannot_be_undone or bool(self._action.to_type)
        confirm = "enter or ctrl+s" if self._inputs.confirms_on_enter and not needs_more else "ctrl+s"
        keys = [f"{confirm} do it", "tab next", f"esc {self._back}"]  # where there is no room, those in the middle go
        if self._action.document.is_editable:
            keys[1:1] = ["ctrl+t the form" if self._inputs.shows_body else "ctrl+t as a body"]
        if self._is_longer:
            keys[1:1] = ["pgdn more"]
        self.query_one("#actions", Frame).name_keys("  ".join(keys))

    def _fit(self) -> None:
        """Make the form of a whole body as high as its fields; its text and a narrow form take the whole screen."""
        if self._action.document.is_editable:
            is_whole = self._inputs.shows_body or self.has_class("-narrow")
            lines = max(_LEAST_FORM, self._inputs.line_count + _FORM_REST)
            self.query_one("#actions").styles.height = None if is_whole else min(lines, self.size.height)

    on_resize = _fit

    def action_toggle_body(self) -> None:
        """Show the body in place of the fields, or the fields for what the body says now."""
        if not self._action.document.is_editable:
            return
        problem = self._inputs.toggle_body()
        if problem:
            self._say(problem)
        else:
            self._fit()
            self._update()

    def action_go_to_mistake(self) -> None:
        """Put the cursor where the first mistake is."""
        self._result = self._inputs.read()
        for first in (self._result.mistakes or self._result.refusals)[:1]:
            self._inputs.go_to(first)

    # -- trying out what is typed --------------------------------------------------------------------------------

    @property
    def is_behind(self) -> bool:
        """True while what is typed has not been read or tried out yet."""
        return self._trial.is_behind

    def on_form_inputs_changed(self) -> None:
        """Show the consequences of what is typed, once no other key follows at once."""
        self._is_warned = self._is_refused = False
        self._trial.interrupt()
        self._trial.wait(_READ_DELAY_S, self._update)

    def _update(self) -> None:
        """Read what is typed, show it, and try it out soon."""
        if not self.is_attached:
            return
        if has_keys_waiting(self):
            self._trial.wait(_READ_DELAY_S, self._update)
            return
        self._result = self._inputs.read()
        self.fill()
        self._trial.take(self._result.commands, at_once=self.is_held)
        if not self._trial.is_behind:
            self._draw_whole()

    def _show_trial(self, result: TrialResult) -> None:
        self._tried = result
        self._trial_lines = trial_result_lines(self._session, result, self._cells)
        self.fill()
        self._draw_whole()

    # -- drawing -------------------------------------------------------------------------------------------------

    @property
    def _cells(self) -> int:
        return max(20, self.query_one("#consequences", LinesView).size.width - 1)

    def fill(self) -> None:
        self._inputs.show(self._result, shows_missing=self._is_asked)
        view, cells, session = self.query_one("#consequences", LinesView), self._cells, self._session
        effects = effect_lines(session, self._action, cells)
        news = self._news(cells)
        # A large form has little room for anything else on a small screen: what would happen comes first.
        parts = [news, effects] if self._action.document.is_editable else [effects, news]
        lines = joined(*parts, record_lines(session, self._result.commands, cells))
        if not self._action.document.is_editable:
            others = self._inputs.line_count + bool(self._action.to_type) + bool(self._action.type.fields)
            room = self.size.height - _FRAME_LINES - others - 2
            lines = [(), *lines] if len(lines) < room else lines
            view.styles.height = max(3, min(len(lines), room))
        self._is_longer = len(lines) > (view.size.height if self._action.document.is_editable else max(3, room))
        view.show(lines)
        self._show_help()

    def _news(self, cells: int) -> list[Line]:
        """Return the mistakes, or what would happen."""
        result = self._result
        if result.mistakes:
            return [each for said in first_lines(result.mistakes) for each in paragraph(said, cells, Role.FAILED)]
        waiting = [line(Span("What would happen", Role.STRONG)), line(Span("  simulating", Role.DIM))]
        return joined(
            self._trial_lines or waiting,
            notice_lines("The service would refuse", first_lines(result.refusals), cells),
            notice_lines("Warnings", first_lines(result.warnings), cells),
        )

    def _show_help(self) -> None:
        """Show the help for the field that has the focus."""
        view = self.query_one("#field-help", LinesView)
        self._show_keys()
        self._inputs.show_labels()
        if self._action.to_type:
            self._confirmation.show_label()
        view.display = bool(self._action.type.fields)
        focused = self._inputs.focused_field
        if focused is None:
            view.show([()])
            return
        entry, text = focused
        about = entry.about(text)
        said = f"{entry.label}: {entry.hint}{f'; {about}' if about else ''}"
        view.show([line(Span(clip(self._session.text(said), max(20, view.size.width)), Role.DIM))])

    def action_scroll(self, pages: int) -> None:
        view = self.query_one("#consequences", LinesView)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        """Show the help for the field that has the focus now."""
        if self.is_attached:
            self._show_help()

    # -- confirmation --------------------------------------------------------------------------------------------

    def on_form_inputs_submitted(self) -> None:
        """Confirm. An action that cannot be undone needs one step more."""
        if self._action.to_type:
            self._confirmation.entry.focus()
        elif self._action.type.cannot_be_undone:
            self.query_one(PageView).focus()
        else:
            self.action_confirm()

    def on_page_view_followed(self, message: PageView.Followed) -> None:
        """Confirm, or cancel."""
        if message.target == _CONFIRM:
            self.action_confirm()
        else:
            self.dismiss([])

    def on_page_view_turned(self, message: PageView.Turned) -> None:
        """Go to the next or the previous button."""
        self.query_one(PageView).action_move(message.by)

    def action_confirm(self) -> None:
        """Return the commands, if what was typed has no mistakes."""
        wanted = self._action.to_type
        if wanted and self._confirmation.entry.value.strip() != wanted:
            self._say(f"Type {wanted} to confirm.", "warning")
            self._confirmation.entry.focus()
            return
        self._result = self._inputs.read()
        if self._result.mistakes:
            self._is_asked = True
            self.fill()
            self.action_go_to_mistake()
            self._say(self._result.mistakes[0].sentence)
        elif self._action.type.fields and self._refusal and not self._is_refused:
            self._is_refused = True
            self.action_go_to_mistake()
            self._say(f"The service would refuse it: {self._refusal}. ctrl+s again sends it all the same.", "warning")
        else:
            self.dismiss(list(self._result.commands))

    on_input_submitted = action_confirm

    @property
    def _refusal(self) -> str:
        """Why the service would refuse everything; empty if it would not, or that is not known yet."""
        if self._result.refusals:
            return self._result.refusals[0].sentence.rstrip(".")
        tried = None if self._trial.is_behind else self._tried
        return reason(tried.refused[0][1]).rstrip(".") if tried and len(tried.refused) == tried.commands else ""

    def action_leave(self) -> None:
        """Go back from the form; warn once if something was typed."""
        if self._inputs.has_changes and not self._is_warned:
            self._is_warned = True
            self._say("What was typed would be lost. Esc again leaves.", "warning")
        else:
            self.dismiss(None)

    def _say(self, text: str, severity: Any = "error") -> None:  # noqa: ANN401 - Textual's own names
        self.notify(self._session.text(text), severity=severity)
