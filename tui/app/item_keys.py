"""Commands for the item under the cursor: its marks, commands and reasons, its files, and help.

Commands are given to the simulated service, and saved as a scenario. Dialogs show reasons, files and help.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base.values import quoted
from engine.scenario.text import did_you_mean
from engine.specs.commands import CreateJob, CreateJobSchedule, CreatePool, EvaluatePoolAutoScale
from engine.views.results import given_by_hand
from tui import dialogs
from tui.app.navigation_keys import branch, redo, undo
from tui.app.process import broken_note
from tui.dialogs.sheets import HelpScreen
from tui.panes.timeline import Timeline
from tui.panes.watch import Attention, Watch
from tui.saving.targets import NewLines
from tui.textual.keys import Command
from tui.textual.screens import OfferActions, ShowView, say
from tui.viewmodels import actions
from tui.viewmodels.format import counted, variant_note, what
from tui.viewmodels.items import VIEW_OF, files_of, last_said
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.pool_pages import ACCOUNT_ITEM, SCALE_TAB
from tui.viewmodels.sentences import HOOK_VIEWS, answers_to, expected_of
from tui.viewmodels.sheets import HelpPage
from tui.viewmodels.text import ItemRef, Role, Span, line
from tui.widgets.charts import NodeMap
from tui.widgets.table import Table
from tui.widgets.texts import AnswerError, Prompt, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.widget import Widget

    from engine import BatchError
    from engine.specs.command import Command as Input
    from engine.views.diagnosis.model import Next
    from tui.app.view_screen import ViewScreen
    from tui.textual.screens import View
    from tui.viewmodels.actions.menu import Action
    from tui.viewmodels.items import FileLocation
    from tui.viewmodels.text import Kind


_MOST_MARKED = 10_000
# What is created in the lists; in that of nodes a user of the node under the cursor.
_CREATED_IN = {"pools": "pool", "jobs": "job", "tasks": "tasks", "schedules": "schedule", "nodes": "user"}


# -- marks -------------------------------------------------------------------------------------------------------


def _mark(main: ViewScreen) -> None:
    """Mark the row under the cursor, or remove its mark, and go to the next row."""
    group, marks = main.group_under_cursor, main.session.marks
    if not group:
        say(main, "There is nothing here to mark.")
        return
    if all(subject in marks for subject in group):
        for subject in group:
            del marks[subject]
    else:
        marks.update(dict.fromkeys(group))
    if isinstance(main.focused, Table):
        main.focused.action_cursor(1)
    main.update()


def _mark_all(main: ViewScreen) -> None:
    """Mark every row that is shown."""
    if not isinstance(main.focused, Table):
        say(main, "M marks all rows of a list: views 2 to 7.")
        return
    model = main.focused.model
    if model.count > _MOST_MARKED:
        say(main, f"{model.count:,} rows are too many to mark at once; / filters them.", "warning")
        return
    subjects = (model.subject_of(model.key(at)) for at in range(model.count))
    main.session.marks.update((subject, None) for subject in subjects if subject is not None)
    main.update()


# -- actions -----------------------------------------------------------------------------------------------------


def asked_item(main: ViewScreen) -> ItemRef | None:
    """Return the item that is explained and acted on: the one under the cursor, else what the view is about.

    That is the pool for its nodes, and the job in focus. On Watch, if there is nothing or only a deleted node under the
    cursor, it is the first item of the worst problem, if there is one.
    """
    view, here = main.view, main.under_cursor
    if main.detail_page is not None:
        return main.detail_page.asked
    if isinstance(view, Watch) and _points_at_nothing(main):
        return view.query_one(Attention).worst or main.subject
    if here is None and view.id in ("nodes", "pools") and main.session.pool_id:
        return ItemRef("pool", main.session.pool_id)
    return main.subject


def subjects_of_act(main: ViewScreen) -> Sequence[ItemRef]:
    """Return the group under the cursor, else the marked items of one kind, else the item that w would explain."""
    group = main.group_under_cursor
    if len(group) > 1:
        return group
    here = main.under_cursor
    marked = [each for each in main.session.marks if here is None or each.kind == here.kind]
    first = marked[0].kind if marked else None
    asked = here or asked_item(main)  # of a node that has left the pool it is said when
    return [each for each in marked if each.kind == first] or ([] if asked is None else [asked])


def offer_actions(main: ViewScreen, subjects: Sequence[ItemRef]) -> None:
    """Open the dialog with the actions on these subjects, all of one kind, and on their pool and job."""
    main.playback.pause()
    subjects = subjects or [ACCOUNT_ITEM]  # of an empty run there is nothing else
    groups = actions.menu.grouped_actions(main.session, subjects)
    if not groups:
        gone = actions.menu.target_of(main.session, subjects[0])
        say(main, gone if isinstance(gone, str) and gone else "There is nothing here to act on.")
        return
    kind = subjects[0].kind
    marked = "marked " if subjects[0] in main.session.marks else ""
    target = f"{len(subjects):,} {marked}{kind}s" if len(subjects) > 1 else f"this {kind}"
    if kind == "job" and len(subjects) == 1:
        target = f"job {subjects[0].key}"
    if kind == "account":
        target = "the account"
    sheet = dialogs.actions.ActionSheet(main.session, f"Act on {target}", groups, partial(branch, main))
    main.app.push_screen(sheet, partial(_answered, main))


def act(main: ViewScreen) -> None:
    """Offer actions on what is marked or under the cursor."""
    offer_actions(main, subjects_of_act(main))


def _act_on_job(main: ViewScreen) -> None:
    """Offer actions on the job in focus."""
    offer_actions(main, [ItemRef("job", main.session.job_id)] if main.session.job_id else [])


def create(main: ViewScreen, what: str = "") -> None:
    """Open the form that creates something, one of ``menu.NEW``.

    If nothing is named, it creates what the list that is shown holds; another view offers all that can be created.
    """
    what = what or _CREATED_IN.get(main.view.id or "", "")
    if not what:
        offer_actions(main, [ACCOUNT_ITEM])
        return
    main.playback.pause()
    action = actions.menu.action_for_new(main.session, what, main.under_cursor)
    if main.session.is_past:
        say(main, actions.menu.PAST, "warning")
    elif isinstance(action, str):
        say(main, action, "warning")
    else:
        _open_form(main, action)


def _create_named(main: ViewScreen, what: str) -> None:
    """Open the form that creates what a word of the go line names. Raises AnswerError."""
    known = next((each for each in actions.menu.NEW if what and each.startswith(what.lower().removesuffix("s"))), None)
    if known is None and what:
        raise AnswerError(f"new {quoted(what)} is not known{did_you_mean(what, actions.menu.NEW) or '.'}")
    main.call_later(create, main, known or "")


def start_action(main: ViewScreen, kind: Kind, title: str, action: Action | None) -> None:
    """Open the form of an action; if it needs another item under the cursor, show the list of such items."""
    main.playback.pause()
    if action is None:
        main.post_message(ShowView(VIEW_OF[kind]))
        say(main, f"{title}: put the cursor on one, then press a.")
    elif main.session.is_past:
        say(main, actions.menu.PAST, "warning")
    elif action.type.opens_formula:
        _answered(main, action)
    else:
        _open_form(main, action)


def _open_form(main: ViewScreen, action: Action) -> None:
    form = dialogs.action_form.ActionForm(main.session, action, actions.trial.Trials(main.session))
    main.app.push_screen(form, partial(_submit, main))


def _answered(main: ViewScreen, answer: list[Input] | Action | None) -> None:
    if isinstance(answer, actions.menu.Action):
        pool_id = str(answer.bodies[0]["poolId"])
        main.app.push_screen(dialogs.actions.FormulaEditor(main.session, pool_id), partial(_submit, main))
    else:
        _submit(main, answer)


def _scale(main: ViewScreen) -> None:
    """Show how the pool under the cursor, else the one in focus, scales itself; from there open the editor."""
    subject, page = main.subject, main.detail_page
    pool_id = str(subject.key) if subject is not None and subject.kind == "pool" else main.session.pool_id
    item, pool = ItemRef("pool", pool_id), main.session.pool(pool_id)
    main.playback.pause()
    if pool is None:
        say(main, "There is no pool yet.")
    elif page is None or page.model is None or (page.subject, page.model.tabs[page.page]) != (item, SCALE_TAB):
        main.open_tab(item, SCALE_TAB)
    elif pool.state is not None:
        main.app.push_screen(dialogs.actions.FormulaEditor(main.session, pool_id), partial(_submit, main))


def _submit(main: ViewScreen, commands: Sequence[Input] | None) -> None:
    """Give confirmed commands to the service, and report its answers."""
    if not commands:
        return
    main.bookmarks.note(commands)
    with main.playback.guard():
        errors = main.session.simulation.submit_all(commands)
        pairs = list(zip(commands, errors, strict=True))
        _report(main, commands[0], len(pairs), [(command, error) for command, error in pairs if error is not None])
    main.session.marks.clear()
    main.update()
    for command in [command for command, error in pairs if error is None][:1]:
        _put_in_focus(main, command)


def _put_in_focus(main: ViewScreen, command: Input) -> None:
    """Put what was created in focus, and the cursor of its list on it."""
    match command:
        case CreateJob(id=job_id):
            main.session.focus_job(job_id)
        case CreatePool(id=pool_id):
            main.session.focus_pool(pool_id)
        case CreateJobSchedule():
            pass
        case _:
            return
    created_in = next(view for view, what in _CREATED_IN.items() if actions.menu.CREATING[what] == command.NAME)
    if main.view.id == created_in:
        main.post_message(ShowView(created_in, command.id))
    else:
        main.update()


def _report(main: ViewScreen, first: Input, count: int, refused: Sequence[tuple[Input, BatchError]]) -> None:
    accepted = count - len(refused)
    if accepted and isinstance(first, EvaluatePoolAutoScale):
        log = main.session.events
        say(main, f"{first.NAME} accepted, nothing changes. {what(log.row(log.count - 1))}")
    elif accepted:
        many = f"{accepted:,} × " if count > 1 else ""
        say(
            main,
            f"{many}{first.NAME} accepted. u takes it back, c compares with the run without it, R saves it.",
        )
    if refused:
        lines = actions.trial.refusal_lines(refused)
        one = f"{first.NAME} {lines[0].removeprefix(f'{first.NAME} ')}"
        say(main, one if len(lines) == 1 else "\n".join((first.NAME, *lines)), "error")


# -- the record --------------------------------------------------------------------------------------------------


def _ask_where_to_save(main: ViewScreen) -> None:
    """Ask for a file to save what was done by hand as a scenario."""
    main.ask(Question("save the session as", partial(_save_session, main), str(main.recorder.proposal())))
    given = len(given_by_hand(main.session.simulation))
    said = f"A scenario with the {counted(given, 'command')} given by hand, which replays exactly."
    variant = variant_note(main.session.simulation.scenario)
    as_is = "Nothing was done by hand: it is the scenario as it is."
    about = f" {f'As {variant}. ' if variant else ''}{said if given else as_is}  "
    keys = (Span("enter", Role.KEY), Span(" saves  "), Span("esc", Role.KEY), Span(" leaves"))
    main.query_one(Prompt).offer(line(Span(about, Role.STRONG), *keys))


def _save_session(main: ViewScreen, name: str) -> None:
    path = Path(name.strip())
    main.recorder.save(NewLines(path))
    note = broken_note(main.session.simulation, main.session.ahead.expectations)
    replays = f"saved {path}; batchdeck run {path} replays it"
    say(main, f"{replays}. {note}" if note else replays, "warning" if note else "information")


# -- information -------------------------------------------------------------------------------------------------


def _explain(main: ViewScreen) -> None:
    """Explain the state of the item under the cursor, or of what the view is about."""
    session, view = main.session, main.view
    subject, asked_as, when_ms = asked_item(main), view.id or "", session.now_ms
    if isinstance(view, Timeline):
        subject = view.grid.asked or subject
        when_ms = when_ms if view.grid.moment_ms is None else view.grid.moment_ms
    answers = []
    if subject is not None:
        asked_as, job_id = _asked_here(main.focused) or (asked_as, "")
        with session.at(when_ms):
            answers = answers_to(session, *subject, asked_as, job_id)
    if subject is None or not answers:
        say(main, "There is nothing here to explain.")
        return
    go_on = main.playback.interrupt()

    def act() -> None:
        """Go to the moment in question, and offer actions on the subject there."""
        main.playback.seek(when_ms, offer)

    def offer() -> None:
        if session.is_past:
            branch(main)
        session.update()
        main.post_message(OfferActions([subject]))

    def expect() -> Next | None:
        return expected_of(session, *subject) if when_ms == session.now_ms else None

    place, actions = _files_here(main), dialogs.actions.WhyActions(main.playback.seek, act, expect, go_on)
    if not isinstance(place, str) and place.is_of_failure and when_ms == session.now_ms:
        actions = actions._replace(files=partial(main.open_files, place), said=last_said(session, place))
    main.app.push_screen(dialogs.actions.Why(session, answers, when_ms, actions))


def _asked_here(focused: Widget | None) -> tuple[str, str] | None:
    """Return the view whose question a pane asks, and the job, where it is about preparation or release of a job."""
    concern = focused.concern if isinstance(focused, Attention) else None
    if concern is not None and concern.about in HOOK_VIEWS:
        return concern.about, next(iter(concern.items.jobs), "")
    model = focused.model if isinstance(focused, Table) else None
    return (model.hook.name.lower(), "") if isinstance(model, InstancesModel) else None


def _points_at_nothing(main: ViewScreen) -> bool:
    """Return True if the node map is empty, or its cursor is on a node that has left the pool."""
    here = main.under_cursor
    if here is None or here.kind != "node" or not isinstance(main.focused, NodeMap):
        return here is None
    return main.session.nodes().row(int(here.key)).state is None


def _files_here(main: ViewScreen) -> FileLocation | str:
    """Return where the files of what is under the cursor are, or a sentence that says why there are none."""
    if isinstance(main.focused, Table) and main.focused.key is not None:
        return main.focused.model.files_of(main.focused.key)
    return files_of(main.session, main.under_cursor)


def _show_files(main: ViewScreen) -> None:
    """Show the files of the subject under the cursor, on the node where they are."""
    place = _files_here(main)
    if isinstance(place, str):
        say(main, place)
    else:
        main.open_files(place)


def explain(main: ViewScreen, view: View, pane: Widget | None = None, *, page: bool = True) -> None:
    """Explain a view, beginning with its page or with all keys, first those of the focused pane."""
    about = HelpPage(view.title, view.help_text, view.columns, view.symbols)
    around = type(main), type(main.app)
    main.app.push_screen(HelpScreen(about, main.keymap, main.session.glyphs, pane, *around, page=page))


INFORMATION: tuple[Command[ViewScreen], ...] = (
    Command("question_mark,f1", "help", "help", lambda main: explain(main, main.view, main.focused, page=False)),
    Command("w", "row.why", "explain the state of the row", _explain),
    Command("f", "row.files", "files of the row", _show_files),
)
ACTIONS: tuple[Command[ViewScreen], ...] = (
    Command("a", "row.act", "act on the row, or on what is marked", act),
    Command("A", "job.act", "act on the job", _act_on_job),
    Command("ctrl+n", "row.new", "create what this list holds; elsewhere anything", create),
    Command("m", "row.mark", "mark or unmark the row", _mark),
    Command("M", "row.mark-all", "mark all rows shown", _mark_all),
    Command("u", "session.undo", "take back the last command given by hand", undo),
    Command("U", "session.redo", "do again what was taken back", redo),
    Command("S", "pool.scale", "autoscale: the pool's formula", _scale),
    Command("R", "session.save", "save the session as a scenario", _ask_where_to_save),
)
VERBS: dict[str, Callable[[ViewScreen, str], object]] = {"new": _create_named}
