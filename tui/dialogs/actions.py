"""The dialog in which an action is chosen; the form of the action asks for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from engine.specs.command import Command
from tui.dialogs.action_form import ActionForm
from tui.dialogs.modal import Modal
from tui.viewmodels.actions.action_search import words_for
from tui.viewmodels.actions.consequences import effect_lines
from tui.viewmodels.actions.menu import Action, ActionGroup
from tui.viewmodels.actions.trial import Trials
from tui.viewmodels.sheets.palette import PaletteEntry, fitting
from tui.viewmodels.text.styled import Line, Role, Span, line, wrapped
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult

    from tui.viewmodels.session.session import Session


_PAST = "This is the past. An action here branches: time goes on anew from this moment."
_BRANCHES_NEXT = "Nothing was done yet. Enter again branches here; the run that is left is kept to compare."


class ActionSheet(Modal[list[Command] | Action | None]):
    """Returns the confirmed commands, an action that needs the editor of formulas, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="actions.close"),
    ]

    def __init__(self, session: Session, title: str, groups: Sequence[ActionGroup], branch: Callable[[], None]) -> None:
        """The title names the items of the first group. ``branch`` makes the moment that is shown the present."""
        super().__init__()
        self._session = session
        self._title = title
        self._actions = [action for group in groups for action in group.actions]
        self._headings = [group.heading for group in groups for _ in group.actions]
        self._branch = branch
        self._trials = Trials(session)
        self._typed = ""
        self._asked: Action | None = None  # in the past: the action chosen once; choosing it again branches

    def compose(self) -> ComposeResult:
        with Vertical(id="actions"):
            yield LinesView(id="typed-letters")
            yield Choices(self._session.glyphs.cursor, id="choices")
            yield LinesView(id="consequences")

    def on_mount(self) -> None:
        self.query_one("#actions").border_title = Content(self._session.text(self._title))
        self._show_keys()
        self.call_after_refresh(self._show)

    def _show_keys(self) -> None:
        keys = "enter twice branches" if self._session.is_past else "enter choose"
        self.query_one("#actions").border_subtitle = f"{keys}  K rules  esc close"

    def _fitting(self) -> list[int]:
        """Return the numbers of the actions that fit what is typed, the best first."""
        entries = [
            PaletteEntry(each.title, each.command, list, words=words_for(each.command)) for each in self._actions
        ]
        return [entries.index(each) for each in fitting(entries, self._typed)]

    def _show(self) -> None:
        lines: list[tuple[int, Line]] = []
        heading = ""
        for number in self._fitting():
            action = self._actions[number]
            if not self._typed and self._headings[number] != heading:
                heading = self._headings[number]
                lines.append((-1, line(Span(self._session.text(heading), Role.STRONG))))
            reason = f"  {self._headings[number]}" if self._typed and self._headings[number] else ""
            reason += f"  ({action.unavailable})" if action.unavailable else ""
            role = Role.OFF if action.unavailable or self._session.is_past else Role.PLAIN
            lines.append((number, line(Span(self._session.text(action.title), role), Span(reason, Role.DIM))))
        choices = self.query_one(Choices)
        if not choices.size.height:  # as many lines as all actions take, so that nothing moves while one types
            choices.styles.height = min(len(lines), self.size.height // 2)
        if lines:
            choices.number = lines[0][0]
        choices.show(lines or [(-1, line(Span("No action fits. Backspace removes a letter.", Role.DIM)))])
        choices.focus()
        typed, cursor = self._typed, "_" if self._session.glyphs.ascii_only else "▏"
        hint = Span("type to filter: reboot, kill, edit, clone ...", Role.DIM)
        self.query_one("#typed-letters", LinesView).show(
            [line(Span(f"/ {typed}{cursor}", Role.KEY)) if typed else line(hint)]
        )
        if lines:
            self._show_consequences(self._actions[lines[0][0]])
        else:
            self.query_one("#consequences", LinesView).show([])

    def on_key(self, event: events.Key) -> None:
        """Filter the actions by the letters typed so far. A digit is a view: close the menu and show it."""
        letter = event.character or ""
        if event.key == "backspace" and self._typed:
            self._typed = self._typed[:-1]
        elif letter.islower() or (self._typed and letter == " "):
            self._typed += letter
        elif letter.isdecimal():
            self.dismiss(None)
            self.app.call_later(self.app.simulate_key, event.key)
        else:
            return
        event.stop()
        event.prevent_default()
        self._show()

    def _show_consequences(self, action: Action) -> None:
        view = self.query_one("#consequences", LinesView)
        lines: list[Line] = [(), *effect_lines(self._session, action, max(20, view.size.width))]
        if self._session.is_past:
            said = _BRANCHES_NEXT if action is self._asked else _PAST
            warned = [line(Span(each, Role.ALERT)) for each in wrapped(said, max(20, view.size.width))]
            lines = [(), *warned, *lines]
        view.styles.height = len(lines)
        view.show(lines)

    def on_choices_moved(self, message: Choices.Moved) -> None:
        """Show the consequences of the action under the cursor."""
        self._show_consequences(self._actions[message.number])

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Open the form of the action."""
        message.stop()
        self._open(self._actions[message.number])

    def _open(self, action: Action) -> None:
        if self._session.is_past and action is not self._asked:
            self._asked = action
            self._show_consequences(action)
            return
        if self._session.is_past:
            self._branch()
            self._show_keys()
            self._show()
        if action.opens_formula:
            self.dismiss(action)
        else:
            others = {each.command: each for each in self._actions}
            better = [others[one.command] for one in action.better if one.command in others]
            form = ActionForm(self._session, action, better, self._trials, has_menu=True)
            self.query_one("#actions").visible = False  # it may be higher than the form
            self.app.push_screen(form, self._answered)

    def _answered(self, answer: list[Command] | Action | None) -> None:
        """Close with the commands, also if there are none; after Escape (None) stay open for another choice."""
        if isinstance(answer, Action):
            self._open(answer)
        elif answer is not None:
            self.dismiss(answer)
        else:
            self.query_one("#actions").visible = True
            self.query_one(Choices).focus()
