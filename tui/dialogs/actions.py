"""Dialogs about an item: its actions, the reasons for its state, and the autoscale formula of a pool.

An action is chosen here; its form asks for the rest. Autoscale has a sheet of evaluations and an editor of the
formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.widgets import Input, TextArea

from engine.specs.command import Command
from engine.specs.commands import EnablePoolAutoScale, EvaluatePoolAutoScale
from engine.views.resources.jobs import scale_page
from tui.dialogs.action_form import ActionForm
from tui.dialogs.pickers import Finder
from tui.dialogs.sheets import Sheet
from tui.textual.screens import Frame, Modal
from tui.textual.views import LinesView
from tui.viewmodels.actions.menu import PAST, Action, ActionGroup, effect_lines
from tui.viewmodels.actions.trial import Trials
from tui.viewmodels.autoscale import FIRST_FORMULA, FormulaTrial, try_out
from tui.viewmodels.go_line import PaletteEntry, fitting, words_for
from tui.viewmodels.sentences import next_change, plain_text, why_lines
from tui.viewmodels.text import Line, Role, Span, line, paragraph, wrapped
from tui.widgets.rows import Choices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from engine.views.diagnosis.model import Explanation, Next
    from tui.viewmodels.session import Session


class WhyActions(NamedTuple):
    """Callbacks of the dialog.

    ``seek`` goes to a moment in ms after the start, ``act`` offers actions, ``expect`` returns when the state is
    expected to change, which takes a while to find out, ``go_on`` lets time pass again if it did before. ``files``
    shows the files of a process, of which ``said`` are the last lines on stderr; it is None where there are none.
    """

    seek: Callable[[int], None]
    act: Callable[[], None]
    expect: Callable[[], Next | None]
    go_on: Callable[[], None]
    files: Callable[[], None] | None = None
    said: Sequence[str] = ()


class Why(Sheet):
    """Answers that can be copied; Enter goes to the first event that can change them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "go to the next event that can change it", id="why.go"),
        Binding("b", "act", "branch here if it is the past, and act", id="why.act"),
        Binding("f", "files", "show the files of the process", id="why.files"),
        Binding("y", "copy", "copy the text", id="why.copy"),
        Binding("w", "dismiss", "close", show=False, id="why.close"),
    ]

    def __init__(self, session: Session, answers: Sequence[Explanation], when_ms: int, actions: WhyActions) -> None:
        """``answers`` are as of ``when_ms``, in ms after the start."""
        title = f"Why, at {session.clock(when_ms)}"
        here = "b branch here and act" if session.is_past or when_ms != session.now_ms else "b act"
        here += "  f files" if actions.files is not None else ""
        keys = f"{'enter go there  ' if next_change(answers) is not None else ''}{here}  y copy  K rules  esc close"
        super().__init__(title, self._lines_in, keys=keys)
        self._expected: Next | None = None
        self._session = session
        self._answers = answers
        self._actions = actions

    def _lines_in(self, cells: int) -> list[Line]:
        first = why_lines(self._session, self._answers[:1], cells, self._expected)
        said = [line(Span(part)) for text in self._actions.said for part in wrapped(text.expandtabs(), cells)]
        output = [(), line(Span("stderr.txt", Role.STRONG)), *said] if said else []
        others = why_lines(self._session, self._answers[1:], cells)
        return [*first, *output, *([()] if others else []), *others]

    def on_mount(self) -> None:
        """Find out when the state is expected to change, once the answers are drawn."""
        self.call_after_refresh(self._show_expected)

    def _show_expected(self) -> None:
        self._expected = self._actions.expect()
        if self._expected is not None:
            self.text.update()

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

    def action_files(self) -> None:
        """Close, and show the files."""
        if self._actions.files is not None:
            self.dismiss()
            self._actions.files()

    def action_copy(self) -> None:
        """Copy the answers as plain text."""
        self.app.copy_to_clipboard(plain_text(self._session, self._answers, self._expected))
        self.notify("copied")


class FormulaEditor(Modal[list[Command] | None]):
    """A formula and, while it is edited, its result. Returns the command that applies it, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "apply", "apply", id="formula.apply"),
        Binding("ctrl+t", "evaluate", "evaluate it, and change nothing", id="formula.evaluate"),
        Binding("ctrl+g", "go_to_fault", "go to the error", id="formula.error"),
        Binding("escape", "leave", "leave", id="formula.leave"),
    ]

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, pool_id: str) -> None:
        """The text begins with the present formula of the pool."""
        super().__init__()
        self._session = session
        self._pool_id = pool_id
        page = scale_page(session.simulation, pool_id)
        self._initial_text = page.formula.rstrip() + "\n" if page is not None else FIRST_FORMULA
        self._is_warned = False  # that the formula would fail, or that changes would be lost
        self._trial = FormulaTrial([], False, None)

    def compose(self) -> ComposeResult:
        title = self._session.text(f"Formula of {self._pool_id}")
        keys = "ctrl+s apply  ctrl+t evaluate  ctrl+g to the error  esc leave"
        with Frame(title, keys, id="editor"):
            text = TextArea(self._initial_text, show_line_numbers=True, compact=True, id="formula")
            text.cursor_blink = False
            yield text
            yield LinesView(id="trial")

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self.call_after_refresh(self.fill)

    def on_text_area_changed(self) -> None:
        """Evaluate the formula after each change."""
        self._is_warned = False
        self.fill()

    def fill(self) -> None:
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
        if not self._session.is_past and not self._trial.is_taken:
            self._refuse()
        elif not self._session.is_past and self._trial.fault is not None and not self._is_warned:
            self._is_warned = True
            self.notify("It would fail as the pool is now. Ctrl+s again applies it.", severity="warning")
        else:
            self._give(EnablePoolAutoScale)

    def action_evaluate(self) -> None:
        """Have the service evaluate the formula. The result is an event, and nothing changes (AS-87)."""
        self._give(EvaluatePoolAutoScale)

    def _refuse(self) -> None:
        self.action_go_to_fault()
        self.notify("The service would refuse it.", severity="error")

    def _give(self, command: type[Command]) -> None:
        """Return the command with the formula; in the past nothing can be done."""
        if self._session.is_past:
            self.notify(PAST, severity="warning")
        else:
            formula = self.query_one(TextArea).text
            self.dismiss([command.from_wire({"poolId": self._pool_id, "autoScaleFormula": formula})])

    def action_leave(self) -> None:
        """Leave the editor; warn once if changes would be lost."""
        if self.query_one(TextArea).text == self._initial_text or self._is_warned:
            self.dismiss(None)
        else:
            self._is_warned = True
            self.notify("The formula has been changed. Esc again leaves it as it was.", severity="warning")


_MOST_PERCENT, _AROUND_LISTS = 94, 3  # of the screen, in the style sheet; the frame and what is typed
_PAST = "This is the past. An action here branches: time goes on anew from this moment."
_BRANCHES_NEXT = "Nothing was done yet. Enter again branches here; the run that is left is kept to compare."


class ActionSheet(Finder[list[Command] | Action | None]):
    """Returns the confirmed commands, an action that needs the editor of formulas, or None."""

    def __init__(self, session: Session, title: str, groups: Sequence[ActionGroup], branch: Callable[[], None]) -> None:
        """The title names the items of the first group. ``branch`` makes the moment that is shown the present."""
        super().__init__(
            session.text(title), "type to filter: reboot, kill, edit, clone ...", pointer=session.glyphs.cursor
        )
        self._session = session
        self._offered = [(group.heading, action) for group in groups for action in group.actions]
        self._branch = branch
        self._trials = Trials(session)
        self._asked: Action | None = None  # in the past: the action chosen once; choosing it again branches

    def compose(self) -> ComposeResult:
        with Frame(self._title, ""):
            yield self.entry("typed")
            yield self.found("choices")
            yield LinesView(id="consequences")

    def on_mount(self) -> None:
        self._show_keys()

    def _show_keys(self) -> None:
        keys = "enter twice branches" if self._session.is_past else "enter choose"
        self.query_one(Frame).name_keys(f"{keys}  esc close")

    def find(self, text: str) -> None:
        """List the actions that fit the text, the best first; without one all of them, below headings."""
        entries = [
            PaletteEntry(each.title, each.command, list, words=words_for(each.command)) for _, each in self._offered
        ]
        lines: list[tuple[int, Line]] = []
        shown = ""
        for number in (entries.index(each) for each in fitting(entries, text)):
            heading, action = self._offered[number]
            if not text and heading != shown:
                shown = heading
                lines.append((-1, line(Span(self._session.text(heading), Role.STRONG))))
            reason = f"  {heading}" if text and heading else ""
            reason += f"  ({action.unavailable})" if action.unavailable else ""
            role = Role.OFF if action.unavailable or self._session.is_past else Role.PLAIN
            lines.append((number, line(Span(self._session.text(action.title), role), Span(reason, Role.DIM))))
        choices = self.query_one(Choices)
        if not choices.size.height:  # once, so that nothing moves while one types; all effects of each action fit below
            effects = max(len(self._consequences(action)) for _, action in self._offered)
            room = self.size.height * _MOST_PERCENT // 100 - _AROUND_LISTS - effects
            choices.styles.height = min(len(lines), self.size.height // 2, max(4, room))
        if lines:
            advised = (number for number, (_, action) in enumerate(self._offered) if action.advice and not text)
            choices.number = next(advised, next(number for number, _ in lines if number >= 0))
            self._show_consequences(self._offered[choices.number][1])
        else:
            self.query_one("#consequences", LinesView).show([])
        choices.show(lines or [(-1, line(Span("No action fits. Backspace removes a letter.", Role.DIM)))])

    def _show_consequences(self, action: Action) -> None:
        view, lines = self.query_one("#consequences", LinesView), self._consequences(action)
        view.styles.height = len(lines)
        view.show(lines)

    def _consequences(self, action: Action) -> list[Line]:
        cells = max(20, self.query_one("#consequences", LinesView).size.width)
        lines: list[Line] = [(), *effect_lines(self._session, action, cells)]
        if self._session.is_past:
            said = _BRANCHES_NEXT if action is self._asked else _PAST
            lines = [(), *paragraph(said, cells, Role.ALERT), *lines]
        return lines

    def on_choices_moved(self, message: Choices.Moved) -> None:
        self._show_consequences(self._offered[message.number][1])

    def choose(self, number: int) -> None:
        self._open(self._offered[number][1])

    def _open(self, action: Action) -> None:
        if self._session.is_past and action is not self._asked:
            self._asked = action
            self._show_consequences(action)
            return
        if self._session.is_past:
            self._branch()
            self._show_keys()
            self.fill()
        if action.type.opens_formula:
            self.dismiss(action)
        else:
            form = ActionForm(self._session, action, self._trials, has_menu=True)
            self.query_one("#actions").visible = False  # it may be higher than the form
            self.app.push_screen(form, self._answered)

    def _answered(self, answer: list[Command] | None) -> None:
        """Close with the commands, also if there are none; after Escape (None) stay open for another choice."""
        if answer is not None:
            self.dismiss(answer)
        else:
            self.query_one("#actions").visible = True
            self.query_one(Input).focus()
