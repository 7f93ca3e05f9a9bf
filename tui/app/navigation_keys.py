"""Keys that show another view or page, and the way back through those visited."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.views.resources.jobs import job_ids, pool_ids
from tui.app.run_keys import StudyKeys
from tui.dialogs.pickers import Jump, JumpTarget
from tui.dialogs.sheets import Pick, Picker, details_sheet
from tui.panes.pages import DetailPage
from tui.panes.watch import Watch
from tui.textual.screens import OpenOneOf, OpenSubject, ShowView, say
from tui.viewmodels.go_line import TABS
from tui.viewmodels.items import ViewHistory, VisitedView, focus_on, links_of, links_of_instance
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.text import ItemRef
from tui.viewmodels.watch.arrangement import PINNED, toggle_pin
from tui.widgets.texts import PageView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.saving.session_files import Recorder
    from tui.saving.settings import Settings
    from tui.viewmodels.items import Link
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Kind


_LISTS: dict[Kind, str] = {
    "pool": "pools",
    "job": "jobs",
    "node": "nodes",
    "task": "tasks",
    "job schedule": "schedules",
}


class NavigationKeys(StudyKeys):
    """Views by key, by name and by link, and back again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(tab.key, f"show_view('{tab.name}')", tab.title, id=f"view.{tab.name}") for tab in TABS),
        Binding("escape", "out", "close, or go back", id="go.out"),
        Binding("q", "leave", "leave the page, or quit after a question", id="quit.ask"),
        Binding("ctrl+q", "quit", "quit", id="quit"),
        Binding("backspace", "previous", "the previous view, and back again", id="go.previous"),
        Binding("less_than_sign", "visit(-1)", "back through the views visited", id="go.back"),
        Binding("greater_than_sign", "visit(1)", "forward through the views visited", id="go.forward"),
        Binding("z", "zoom", "maximise or restore the pane", id="pane.zoom"),
        Binding("tab", "app.focus_next", "next pane", show=False, id="pane.next"),
        Binding("shift+tab", "app.focus_previous", "previous pane", show=False, id="pane.before"),
        Binding("apostrophe", "jump", "jump: a letter for a pane, a digit for a bookmark", id="go.jump"),
        Binding("g", "follow_link", "go to the pool, node, job or task of the row", id="row.links"),
        Binding("p", "pin", "pin to the Watch view, or unpin", id="row.pin"),
        Binding("J", "choose_job", "choose the job in focus", id="focus.job"),
        Binding("P", "choose_pool", "choose the pool in focus", id="focus.pool"),
    ]

    def __init__(self, session: Session, recorder: Recorder, settings: Settings) -> None:
        super().__init__(session, recorder, settings)
        self._trail = ViewHistory()
        self._jumps_when_left: dict[str, int] = {}  # by view: how often time had jumped when it was left
        self._shown_when_left: dict[str, object] = {}  # by view: what it shows

    # -- views ---------------------------------------------------------------------------------------------------

    @property
    def _here(self) -> VisitedView:
        view = self.view
        if isinstance(view, DetailPage):
            return VisitedView(view.id or "", self.session.focus, view.subject, view.page)
        return VisitedView(view.id or "", self.session.focus)

    def action_show_view(self, name: str) -> None:
        """Show a view."""
        self.show_view(name)

    def on_show_view(self, message: ShowView) -> None:
        """Show a view, with the cursor on a row if one is given."""
        if message.focus is not None:
            focus_on(self.session, message.focus)
        if message.row is None:
            self.show_view(message.view_name)
        else:
            self.show_row(message.view_name, message.row)

    def show_view(self, name: str, key: int | None = None) -> None:
        """Show a view, with the cursor on the row with this key if one is given."""
        here = self._here
        if here.view != name:
            self._trail.visit(here, VisitedView(name, here.focus))
            self._switch(name)
            if key is None:
                return  # it is updated as soon as it is laid out
        self.update()
        if key is not None and self.list_page is not None:
            self.list_page.go_to(key)

    def show_row(self, name: str, row: int | str | None) -> None:
        """Show a list with the cursor on a row: a node or task by row number, anything else by id."""
        self.show_view(name)
        self.update()
        page = self.list_page
        if page is not None and row is not None:
            key = row if isinstance(row, int) else page.model.row_of(row)
            if key is not None:
                page.go_to(key)

    def _go_to_place(self, place: VisitedView | None) -> None:
        if place is None:
            return
        is_shown = self.view.id == place.view
        self.session.focus = place.focus
        if place.subject is not None:
            self.query_one(DetailPage).open(place.subject, place.page)
        self._switch(place.view)
        if is_shown:
            self.update()

    def _switch(self, name: str) -> None:
        left, shown = self.view, self.what_is_shown
        if self.maximized is not None:
            self.minimize()
            left.is_stale = True
        if not left.is_stale and not left.is_busy:
            self._shown_when_left[left.id or ""] = shown
        jumps = self.session.simulation.jumps
        self._jumps_when_left[left.id or ""] = jumps
        page = self._list_pages.get(name)
        if page is not None:
            page.build(self.switcher)
        self.switcher.current = name
        self.view.is_stale |= self.playback.pacer.playing or self._shown_when_left.get(name) != shown
        self.draw_once_updated()
        if self._jumps_when_left.get(name, jumps) != jumps:
            self.view.update()  # it is drawn before it is shown, and its rows may not exist any more
        self.set_focus(self.view.first_pane, scroll_visible=False)  # at once, for its hints
        self.update_header()

    def action_visit(self, by: int) -> None:
        """Go back or forward through the views visited."""
        self._go_to_place(self._trail.step(self._here, by))

    def action_previous(self) -> None:
        """Go to the view that was left last."""
        self._go_to_place(self._trail.previous(self._here))

    # -- subjects ------------------------------------------------------------------------------------------------

    def open_subject(self, subject: ItemRef, page: int = 0) -> None:
        """Open the detail page of a subject; its job or pool gets the focus."""
        here = self._here
        focus_on(self.session, subject)
        there = VisitedView("detail", self.session.focus, subject, page)
        if here != there:
            self._trail.visit(here, there)
        self._go_to_place(there)

    def on_open_subject(self, message: OpenSubject) -> None:
        """Open the detail page of a subject."""
        self.open_subject(message.subject)

    def open_row(self, model: RowsModel, key: int) -> bool:
        """Open the detail page of a row, or watch the last job of a schedule; return False if there is none."""
        subject = model.subject_of(key)
        if subject is None:
            return False
        if subject.kind != "job schedule":
            self.open_subject(subject)
            return True
        schedule = self.session.schedule(str(subject.key))
        if schedule is None or not schedule.recent_job:
            return False
        focus_on(self.session, subject)
        self.show_view("watch")
        return True

    def on_page_view_followed(self, message: PageView.Followed) -> None:
        """Follow a link: to a detail page, or to an action on the subject that is shown."""
        target = message.target
        if not isinstance(target, str):
            self.open_subject(target)
            return
        if self.subject is not None:
            focus_on(self.session, self.subject)
        self.call_later(self.run_action, target)

    def on_open_one_of(self, message: OpenOneOf) -> None:
        """Open a detail page or the details of a row; of several let the user pick one."""
        choices = message.choices

        def show(number: int) -> None:
            _, subject, view = choices[number]
            model = next((tab.model for tab in TABS if tab.name == view), None)
            if model is None:
                self.open_subject(subject)
            else:
                self.app.push_screen(details_sheet(model(self.session), int(subject.key)))

        if len(choices) == 1:
            show(0)
        else:
            self.pick("Open", [choice.text for choice in choices], show, "There was nothing here at this moment.")

    def action_follow_link(self) -> None:
        """Go to something that belongs to the row under the cursor."""
        page, subject = self.list_page, self.subject
        links: Sequence[Link] = []
        if page is not None and isinstance(page.model, InstancesModel) and page.table.key is not None:
            links = links_of_instance(self.session, page.table.key)
        elif subject is not None:
            links = links_of(self.session, subject)

        def go(number: int) -> None:
            linked = links[number].subject
            if isinstance(self.view, DetailPage):
                self.open_subject(linked)
            else:
                focus_on(self.session, linked)
                self.show_row(_LISTS[linked.kind], linked.key)

        letters = [link.letter for link in links]
        self.pick("Go to", [link.text for link in links], go, "There is nothing here to go to.", letters=letters)

    # -- the focus -----------------------------------------------------------------------------------------------

    def action_choose_job(self) -> None:
        """Let the user choose the job in focus."""
        jobs = job_ids(self.session.simulation)
        self.pick("Job in focus", jobs, lambda at: self._focus(ItemRef("job", jobs[at])), "There is no job yet.")

    def action_choose_pool(self) -> None:
        """Let the user choose the pool in focus."""
        pools = pool_ids(self.session.simulation)
        self.pick("Pool in focus", pools, lambda at: self._focus(ItemRef("pool", pools[at])), "There is no pool yet.")

    def _focus(self, subject: ItemRef) -> None:
        """Focus a job or pool; if the detail page of another one is open, open that of this one."""
        focus_on(self.session, subject)
        view = self.view
        if isinstance(view, DetailPage) and view.subject is not None and view.subject.kind == subject.kind:
            self.open_subject(subject)
        self.update()

    def action_pin(self) -> None:
        """Pin the subject under the cursor to the Watch view, or unpin it."""
        subject = self.subject
        if subject is None or subject.kind not in PINNED:
            say(self, "p pins a node, a job or a task: put the cursor on one.")
            return
        is_pinned = toggle_pin(self.session, subject)
        if not isinstance(self.view, Watch):
            say(self, "Pinned to the Watch view." if is_pinned else "Unpinned.")
        self.update()

    # -- panes, and the way out ----------------------------------------------------------------------------------

    def action_zoom(self) -> None:
        """Maximise the focused pane, or restore it."""
        if self.maximized is not None:
            self.minimize()
        elif self.focused is not None:
            self.maximize(self.focused)
        self.call_after_refresh(self.update)

    def action_jump(self) -> None:
        """Go to a pane by its letter, or to a bookmark by its digit."""
        moments_ms = self.bookmarks.moments_ms

        def go(target: JumpTarget | None) -> None:
            if target is not None and target.pane is not None:
                self.set_focus(target.pane)
            elif target is not None:
                self.playback.seek(moments_ms[target.bookmark])

        panes = [pane for pane in self.focus_chain if pane.region.area]
        self.app.push_screen(Jump(panes, [self.session.clock(when_ms) for when_ms in moments_ms]), go)

    def action_out(self) -> None:
        """Stop a seek, else close a maximised pane, a filter, marks, or the view."""
        if self.playback.stop_seeking():
            return
        if self.maximized is not None:
            self.action_zoom()
        elif self.view.clear_filter():
            self.update()
        elif self.session.marks:
            self.session.marks.clear()
            self.update()
        else:
            self.action_visit(-1)

    def action_leave(self) -> None:
        """Leave a detail page; from any other view the dashboard, by default after a question."""
        if isinstance(self.view, DetailPage):
            self.action_visit(-1)
            return

        def leave(number: int | None) -> None:
            if number == 0:
                self.app.exit()

        if not self.settings.value("confirm_quit"):
            leave(0)
            return
        self.playback.pause()
        kept = "; what was done by hand is saved" if self.recorder.is_unsaved else ""
        shown = self.studies.shown
        kept += "; the runs of the study are lost" if shown is not None and shown.would_be_lost else ""
        picks = [Pick("y", f"yes, leave the dashboard{kept}", also="q"), Pick("n", "no, stay")]
        self.app.push_screen(Picker("Leave?", picks, pointer=self.session.glyphs.cursor), leave)

    async def action_quit(self) -> None:
        """Leave the dashboard."""
        self.playback.pause()
        self.app.exit()
