"""Keys for the item under the cursor: its marks, commands and reasons, its files, and help.

Commands are given to the simulated service, and saved as a scenario. Dialogs show reasons, files, help, and a
description of the screen.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.specs.commands import CreateJob, CreateJobSchedule, CreatePool, EvaluatePoolAutoScale
from engine.views.log.series import Window
from engine.views.results import given_by_hand
from tui.app.run_keys import TimeKeys
from tui.dialogs.action_form import ActionForm
from tui.dialogs.actions import ActionSheet, Autoscale, FormulaEditor, Why, WhyActions
from tui.dialogs.files import Files, FilesPlayback
from tui.dialogs.sheets import HelpScreen, Sheet, entries_here, entries_of
from tui.panes.pages import DetailPage
from tui.panes.timeline import Timeline, TimelineGrid
from tui.panes.watch import Attention, Watch
from tui.saving.session_files import broken_note
from tui.saving.targets import NewLines
from tui.textual.screens import CreateItem, OfferActions, ShowView, StudyFormula, say
from tui.viewmodels.actions.menu import CREATING, PAST, Action, action_for_new, gone_note, grouped_actions
from tui.viewmodels.actions.trial import Trials, refusal_lines
from tui.viewmodels.events import what
from tui.viewmodels.format import counted
from tui.viewmodels.go_line import FoundAction
from tui.viewmodels.items import files_of
from tui.viewmodels.pool_pages import ACCOUNT_ITEM
from tui.viewmodels.report import variant_note
from tui.viewmodels.sentences import answers_to, describe, expected_of
from tui.viewmodels.sheets import HelpPage
from tui.viewmodels.text import ItemRef, Kind, Role, Span, line, wrapped
from tui.widgets.charts import NodeMap
from tui.widgets.table import Table
from tui.widgets.texts import Prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from engine import BatchError
    from engine.specs.command import Command
    from engine.views.diagnosis.questions import Expected
    from tui.textual.screens import View
    from tui.viewmodels.sheets import KeyEntry


_MOST_MARKED = 10_000
# What is created in the lists; in that of nodes a user of the node under the cursor.
_CREATED_IN = {"pools": "pool", "jobs": "job", "tasks": "tasks", "schedules": "schedule", "nodes": "user"}
# The view that lists the items of a kind.
_LISTS: dict[Kind, str] = {
    "node": "nodes",
    "task": "tasks",
    "job": "jobs",
    "job schedule": "schedules",
    "pool": "pools",
}
_RIGHT_BUTTON = 3


class CommandKeys(TimeKeys):
    """Marks, the dialog of actions, the commands confirmed there, and their record."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "act", "act on the row, or on what is marked", id="row.act"),
        Binding("A", "act_on_job", "act on the job", id="job.act"),
        Binding("ctrl+n", "new", "create what this list holds; elsewhere anything", id="row.new"),
        Binding("m", "mark", "mark or unmark the row", id="row.mark"),
        Binding("M", "mark_all", "mark all rows shown", id="row.mark-all"),
        Binding("u", "unmark", "remove all marks", id="row.unmark"),
        Binding("S", "scale", "autoscale: the pool's formula", id="pool.scale"),
        Binding("R", "save_session", "save the session as a scenario", id="session.save"),
    ]

    # -- marks ---------------------------------------------------------------------------------------------------

    def action_mark(self) -> None:
        """Mark the row under the cursor, or remove its mark, and go to the next row."""
        group, marks = self.group_under_cursor, self.session.marks
        if not group:
            say(self, "There is nothing here to mark.")
            return
        if all(subject in marks for subject in group):
            for subject in group:
                del marks[subject]
        else:
            marks.update(dict.fromkeys(group))
        if isinstance(self.focused, Table):
            self.focused.action_cursor(1)
        self.update()

    def action_mark_all(self) -> None:
        """Mark every row that is shown."""
        if not isinstance(self.focused, Table):
            say(self, "M marks all rows of a list: views 2 to 7.")
            return
        model = self.focused.model
        if model.count > _MOST_MARKED:
            say(self, f"{model.count:,} rows are too many to mark at once; / filters them.", "warning")
            return
        subjects = (model.subject_of(model.key(at)) for at in range(model.count))
        self.session.marks.update((subject, None) for subject in subjects if subject is not None)
        self.update()

    def action_unmark(self) -> None:
        """Remove all marks."""
        self.session.marks.clear()
        self.update()

    # -- actions -------------------------------------------------------------------------------------------------

    def action_act(self) -> None:
        """Offer actions on the group under the cursor, else on the marked rows, else on the row under the cursor.

        In an empty list they are those of the account, which create something.
        """
        self.offer_actions(self.subjects_of_act)

    @property
    def subjects_of_act(self) -> Sequence[ItemRef]:
        """The items to act on, all of one kind; none in an empty list."""
        if self.list_page is not None and not self.list_page.model.count and not self.list_page.model.filter_text:
            return []
        group = self.group_under_cursor
        if len(group) > 1:
            return group
        here = self.under_cursor
        marked = [each for each in self.session.marks if here is None or each.kind == here.kind]
        first = marked[0].kind if marked else None
        subject = [] if self.subject is None else [self.subject]
        return [each for each in marked if each.kind == first] or subject

    def on_click(self, event: events.Click) -> None:
        """Offer actions on a row or node that is clicked with the right button."""
        if event.button == _RIGHT_BUTTON and isinstance(event.widget, NodeMap | Table | TimelineGrid):
            self.action_act()

    def action_act_on_job(self) -> None:
        """Offer actions on the job in focus."""
        self.offer_actions([ItemRef("job", self.session.job_id)] if self.session.job_id else [])

    def on_offer_actions(self, message: OfferActions) -> None:
        """Offer actions on the subjects that a dialog was about."""
        self.offer_actions(message.subjects)

    def offer_actions(self, subjects: Sequence[ItemRef]) -> None:
        """Open the dialog with the actions on these subjects, all of one kind, and on their pool and job."""
        self.playback.pause()
        subjects = subjects or [ACCOUNT_ITEM]  # of an empty run there is nothing else
        groups = grouped_actions(self.session, subjects)
        if not groups:
            say(self, gone_note(self.session, subjects[0]) or "There is nothing here to act on.")
            return
        kind = subjects[0].kind
        marked = "marked " if subjects[0] in self.session.marks else ""
        target = f"{len(subjects):,} {marked}{kind}s" if len(subjects) > 1 else f"this {kind}"
        if kind == "job" and len(subjects) == 1:
            target = f"job {subjects[0].key}"
        if kind == "account":
            target = "the account"
        self.app.push_screen(ActionSheet(self.session, f"Act on {target}", groups, self.action_branch), self._answered)

    def action_new(self) -> None:
        """Create what the list that is shown holds; from another view offer everything that can be created."""
        what = _CREATED_IN.get(self.view.id or "")
        if what is None:
            self.offer_actions([ACCOUNT_ITEM])
        else:
            self.create(what)

    def on_create_item(self, message: CreateItem) -> None:
        """Create what somebody has asked for by its name."""
        if message.what:
            self.create(message.what)
        else:
            self.action_new()

    def create(self, what: str) -> None:
        """Open the form that creates something, one of ``menu.NEW``."""
        self.playback.pause()
        action = action_for_new(self.session, what, self.under_cursor)
        if self.session.is_past:
            say(self, PAST, "warning")
        elif isinstance(action, str):
            say(self, action, "warning")
        else:
            self._open_form(action)

    def start_action(self, found: FoundAction) -> None:
        """Open the form of an action; if it needs another item under the cursor, show the list of such items."""
        self.playback.pause()
        if found.action is None:
            self.post_message(ShowView(_LISTS[found.kind]))
            say(self, f"{found.title}: put the cursor on one, then press a.")
        elif self.session.is_past:
            say(self, PAST, "warning")
        elif found.action.opens_formula:
            self._answered(found.action)
        else:
            self._open_form(found.action)

    def _open_form(self, action: Action) -> None:
        self.app.push_screen(ActionForm(self.session, action, (), Trials(self.session)), self._answered)

    def _answered(self, answer: list[Command] | Action | None) -> None:
        if isinstance(answer, Action):
            pool_id = str(answer.bodies[0]["poolId"])
            self.app.push_screen(FormulaEditor(self.session, pool_id, self._study_formula), self._submit)
        else:
            self._submit(answer)

    def action_scale(self) -> None:
        """Show how the pool under the cursor, else the one in focus, scales itself."""
        subject = self.subject
        pool_id = str(subject.key) if subject is not None and subject.kind == "pool" else self.session.pool_id
        self.playback.pause()
        self.app.push_screen(Autoscale(self.session, pool_id, self._submit, self._study_formula))

    def _study_formula(self, pool_id: str, formula: str) -> None:
        self.post_message(StudyFormula(pool_id, formula))

    def _submit(self, commands: Sequence[Command] | None) -> None:
        """Give confirmed commands to the service, and report its answers."""
        if not commands:
            return
        self.bookmarks.keep_untouched()
        with self.playback.guard():
            errors = self.session.simulation.submit_all(commands)
            pairs = list(zip(commands, errors, strict=True))
            self._report(commands[0], len(pairs), [(command, error) for command, error in pairs if error is not None])
        self.session.marks.clear()
        self.update()
        for command in [command for command, error in pairs if error is None][:1]:
            self._follow(command)

    def _follow(self, command: Command) -> None:
        """Put what was created in focus, and the cursor of its list on it."""
        match command:
            case CreateJob(id=job_id):
                self.session.focus_job(job_id)
            case CreatePool(id=pool_id):
                self.session.focus_pool(pool_id)
            case CreateJobSchedule():
                pass
            case _:
                return
        created_in = next(view for view, what in _CREATED_IN.items() if CREATING[what] == command.NAME)
        if self.view.id == created_in:
            self.post_message(ShowView(created_in, command.id))
        else:
            self.update()

    def _report(self, first: Command, count: int, refused: Sequence[tuple[Command, BatchError]]) -> None:
        accepted = count - len(refused)
        if accepted and isinstance(first, EvaluatePoolAutoScale):
            log = self.session.events
            say(self, f"{first.NAME} accepted, nothing changes. {what(log.row(log.count - 1))}")
        elif accepted:
            many = f"{accepted:,} × " if count > 1 else ""
            say(self, f"{many}{first.NAME} accepted. c compares with the run without it; R saves it as a scenario.")
        if refused:
            lines = refusal_lines(refused)
            one = f"{first.NAME} {lines[0].removeprefix(f'{first.NAME} ')}"
            say(self, one if len(lines) == 1 else "\n".join((first.NAME, *lines)), "error")

    # -- the record ----------------------------------------------------------------------------------------------

    def action_save_session(self) -> None:
        """Ask for a file to save what was done by hand as a scenario."""
        self.ask("save the session as", self._save_session, text=str(self.recorder.proposal()))
        given = len(given_by_hand(self.session.simulation))
        said = f"A scenario with the {counted(given, 'command')} given by hand, which replays exactly."
        variant = variant_note(self.session.simulation.scenario)
        as_is = "Nothing was done by hand: it is the scenario as it is."
        about = f" {f'As {variant}. ' if variant else ''}{said if given else as_is}  "
        keys = (Span("enter", Role.KEY), Span(" saves  "), Span("esc", Role.KEY), Span(" leaves"))
        self.query_one(Prompt).offer(line(Span(about, Role.STRONG), *keys))

    def _save_session(self, name: str) -> None:
        path = Path(name.strip())
        self.recorder.save(NewLines(path))
        note = broken_note(self.session.simulation, self.session.ahead.expectations)
        replays = f"saved {path}; batchdeck run {path} replays it"
        say(self, f"{replays}. {note}" if note else replays, "warning" if note else "information")


class InformationKeys(TimeKeys):
    """Why, files, help, and the time that curves show."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "help", id="help"),
        Binding("w", "why", "explain the state of the row", id="row.why"),
        Binding("f", "files", "files of the row", id="row.files"),
        Binding("H", "curves_window", "curves: last hour, or since the start", id="curves.window"),
    ]

    def action_curves_window(self) -> None:
        """Let curves show the last hour, or all since the start."""
        self.session.window = Window.HOUR if self.session.window is Window.ALL else Window.ALL
        self.view.update()

    def action_why(self) -> None:
        """Explain the state of the subject under the cursor; if a pool has no nodes, that.

        On Watch, if there is nothing or only a deleted node under the cursor, explain the worst problem, if there is
        one.
        """
        view, subject, asked_as = self.view, self.subject, self.view.id or ""
        if isinstance(view, Watch) and self._points_at_nothing:
            subject = view.query_one(Attention).worst or subject
        if asked_as in ("nodes", "pools") and (subject is None or subject.kind == "job"):
            subject = ItemRef("pool", self.session.pool_id)
        if isinstance(view, DetailPage):
            subject = view.asked
        when_ms = self.session.now_ms
        if isinstance(view, Timeline):
            subject, asked_as = view.asked or subject, view.asked_as
            when_ms = when_ms if view.moment_ms is None else view.moment_ms
        answers = []
        if subject is not None:
            with self.session.at(when_ms):
                answers = answers_to(self.session, *subject, asked_as)
        if subject is None or not answers:
            say(self, "There is nothing here to explain.")
            return
        go_on = self.playback.interrupt()

        def act() -> None:
            """Go to the moment in question, and offer actions on the subject there."""
            self.playback.seek(when_ms, offer)

        def offer() -> None:
            if self.session.is_past:
                self.action_branch()
            self.session.update()
            self.post_message(OfferActions([subject]))

        def expect() -> Expected | None:
            return expected_of(self.session, *subject) if when_ms == self.session.now_ms else None

        self.app.push_screen(Why(self.session, answers, when_ms, WhyActions(self.playback.seek, act, expect, go_on)))

    @property
    def _points_at_nothing(self) -> bool:
        """True if the node map is empty, or its cursor is on a node that has left the pool."""
        here = self.under_cursor
        if here is None or here.kind != "node" or not isinstance(self.focused, NodeMap):
            return here is None
        return self.session.nodes().row(int(here.key)).state is None

    def action_files(self) -> None:
        """Show the files of the subject under the cursor, on the node where they are."""
        place = files_of(self.session, self.under_cursor)
        if isinstance(self.focused, Table) and self.focused.key is not None:
            place = self.focused.model.files_of(self.focused.key)
        if isinstance(place, str):
            say(self, place)
        else:
            playback = FilesPlayback(self.playback.play, self.playback.step, self.playback.back)
            self.app.push_screen(Files(self.session, place, playback, self.keymap))

    def action_help(self) -> None:
        """Show the keys of the focused pane, and explain the view."""
        here = [] if self.focused is None else entries_here(self.keymap, type(self.focused))
        self._open_help(self.view, here)

    def help_with(self, name: str) -> None:
        """Explain a view."""
        self._open_help(self.view_named(name), [], shows_page=True)

    def _open_help(self, view: View, here: Sequence[KeyEntry], *, shows_page: bool = False) -> None:
        everywhere = entries_of(self.keymap, type(self), type(self.app))
        about = HelpPage(view.title, view.help_text, view.columns)
        self.app.push_screen(HelpScreen(about, here, everywhere, self.session.glyphs, shows_page=shows_page))

    def describe(self) -> None:
        """Describe the Watch view in sentences, for screen readers."""
        sentences = [self.session.text(each) for each in describe(self.session, self.playback.transport)]
        self.app.push_screen(
            Sheet("Described", lambda cells: [line(each) for one in sentences for each in wrapped(one, cells)])
        )
