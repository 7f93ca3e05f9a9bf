"""Commands that show another view or page, choose the focus, and lead out of panes, views and the dashboard."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.views.resources.jobs import job_ids, pool_ids
from tui.dialogs.pickers import Jump, JumpTarget
from tui.dialogs.sheets import Pick, details_sheet
from tui.textual.keys import Command
from tui.textual.screens import say
from tui.viewmodels.go_line import TABS
from tui.viewmodels.items import focus_on, links_of, links_of_instance
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.text import ItemRef
from tui.viewmodels.watch.arrangement import PINNED, toggle_pin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine import Simulation
    from tui.app.view_screen import ViewScreen
    from tui.viewmodels.items import Link
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.text import Kind
    from tui.viewmodels.timeline.rows import Openable


# The view that lists the items of a kind.
LISTS: dict[Kind, str] = {
    "pool": "pools",
    "job": "jobs",
    "node": "nodes",
    "task": "tasks",
    "job schedule": "schedules",
}


def open_row(main: ViewScreen, model: RowsModel, key: int) -> bool:
    """Open the detail page of a row, or watch the last job of a schedule; return False if there is none."""
    subject = model.subject_of(key)
    if subject is None:
        return False
    if subject.kind != "job schedule":
        main.open_subject(subject)
        return True
    schedule = main.session.schedule(str(subject.key))
    if schedule is None or not schedule.recent_job:
        return False
    focus_on(main.session, subject)
    main.show_view("watch")
    return True


def open_one_of(main: ViewScreen, choices: Sequence[Openable]) -> None:
    """Open a detail page or the details of a row; of several let the user pick one."""

    def show(number: int) -> None:
        _, subject, view = choices[number]
        model = next((tab.model for tab in TABS if tab.name == view), None)
        if model is None:
            main.open_subject(subject)
        else:
            main.app.push_screen(details_sheet(model(main.session), int(subject.key)))

    if len(choices) == 1:
        show(0)
    else:
        main.pick("Open", [choice.text for choice in choices], show, "There was nothing here at this moment.")


def _follow_link(main: ViewScreen) -> None:
    """Go to something that belongs to the row under the cursor."""
    page, subject = main.list_page, main.subject
    links: Sequence[Link] = []
    if page is not None and isinstance(page.model, InstancesModel) and page.table.key is not None:
        links = links_of_instance(main.session, page.table.key)
    elif subject is not None:
        links = links_of(main.session, subject)

    def go(number: int) -> None:
        linked = links[number].subject
        if main.detail_page is not None:
            main.open_subject(linked)
        else:
            focus_on(main.session, linked)
            main.show_row(LISTS[linked.kind], linked.key)

    letters = [link.letter for link in links]
    main.pick("Go to", [link.text for link in links], go, "There is nothing here to go to.", letters=letters)


def _choose_focus(kind: Kind, read: Callable[[Simulation], Sequence[str]], main: ViewScreen) -> None:
    """Let the user choose the job or pool in focus; if the detail page of another one is open, open that of this."""
    ids = read(main.session.simulation)

    def focus(number: int) -> None:
        subject, page = ItemRef(kind, ids[number]), main.detail_page
        focus_on(main.session, subject)
        if page is not None and page.subject is not None and page.subject.kind == kind:
            main.open_subject(subject)
        main.update()

    main.pick(f"{kind.capitalize()} in focus", ids, focus, f"There is no {kind} yet.")


def _pin(main: ViewScreen) -> None:
    """Pin the subject under the cursor to the Watch view, or unpin it."""
    subject = main.subject
    if subject is None or subject.kind not in PINNED:
        say(main, "p pins a node, a job or a task: put the cursor on one.")
        return
    is_pinned = toggle_pin(main.session, subject)
    if main.view.id != "watch":
        say(main, "Pinned to the Watch view." if is_pinned else "Unpinned.")
    main.update()


def _zoom(main: ViewScreen) -> None:
    """Maximise the focused pane, or restore it."""
    if main.maximized is not None:
        main.minimize()
    elif main.focused is not None:
        main.maximize(main.focused)
    main.call_after_refresh(main.update)


def _jump(main: ViewScreen) -> None:
    """Go to a pane by its letter, or to a bookmark by its digit."""
    moments_ms = main.bookmarks.moments_ms

    def go(target: JumpTarget | None) -> None:
        if target is not None and target.pane is not None:
            main.set_focus(target.pane)
        elif target is not None:
            main.playback.seek(moments_ms[target.bookmark])

    panes = [pane for pane in main.focus_chain if pane.region.area]
    main.app.push_screen(Jump(panes, [main.session.clock(when_ms) for when_ms in moments_ms]), go)


def _go_out(main: ViewScreen) -> None:
    """Stop a seek, else close a maximised pane, a filter, marks, or the view."""
    if main.playback.stop_seeking():
        return
    if main.maximized is not None:
        _zoom(main)
    elif main.view.clear_filter():
        main.update()
    elif main.session.marks:
        unmark(main)
    else:
        main.visit(-1)


def unmark(main: ViewScreen) -> None:
    """Remove all marks."""
    main.session.marks.clear()
    main.update()


def _leave(main: ViewScreen) -> None:
    """Leave a detail page; from any other view the dashboard, by default after a question."""
    if main.detail_page is not None:
        main.visit(-1)
        return
    if not main.settings.value("confirm_quit"):
        main.app.exit()
        return
    main.playback.pause()
    shown = main.studies.shown
    kept = "; what was done by hand is saved" if main.recorder.is_unsaved else ""
    kept += "; the runs of the study are lost" if shown is not None and shown.would_be_lost else ""
    yes, no = Pick("y", f"yes, leave the dashboard{kept}", also="q"), Pick("n", "no, stay")
    main.choose("Leave?", (yes, main.app.exit), (no, None))


def _quit(main: ViewScreen) -> None:
    """Leave the dashboard."""
    main.playback.pause()
    main.app.exit()


def _show_view(name: str, main: ViewScreen) -> None:
    """Show a view."""
    main.show_view(name)


NAVIGATION: tuple[Command[ViewScreen], ...] = (
    *(Command(tab.key, f"view.{tab.name}", tab.title, partial(_show_view, tab.name)) for tab in TABS),
    Command("escape", "go.out", "close, or go back", _go_out),
    Command("q", "quit.ask", "leave the page, or quit after a question", _leave),
    Command("ctrl+q", "quit", "quit", _quit),
    Command("backspace", "go.previous", "the previous view, and back again", lambda main: main.visit(0)),
    Command("less_than_sign", "go.back", "back through the views visited", lambda main: main.visit(-1)),
    Command("greater_than_sign", "go.forward", "forward through the views visited", lambda main: main.visit(1)),
    Command("z", "pane.zoom", "maximise or restore the pane", _zoom),
    Command("tab", "pane.next", "next pane", lambda main: main.focus_next(), show=False),
    Command("shift+tab", "pane.before", "previous pane", lambda main: main.focus_previous(), show=False),
    Command("apostrophe", "go.jump", "jump: a letter for a pane, a digit for a bookmark", _jump),
    Command("g", "row.links", "go to the pool, node, job or task of the row", _follow_link),
    Command("p", "row.pin", "pin to the Watch view, or unpin", _pin),
    Command("J", "focus.job", "choose the job in focus", partial(_choose_focus, "job", job_ids)),
    Command("P", "focus.pool", "choose the pool in focus", partial(_choose_focus, "pool", pool_ids)),
)
