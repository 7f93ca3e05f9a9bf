"""The arrangement of the main screen: header, one view at a time, prompt; and access to the item under the cursor.

The header has breadcrumb and clock, scrubber, and tabs. Views are shown by name or by item, and again when the user
goes back through those visited.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from tui import dialogs
from tui.app.playback import Playback, PlayedScreen
from tui.dialogs.sheets import Pick, Picker
from tui.panes.pages import DetailPage, ListPage
from tui.panes.timeline import Timeline, TimelineGrid
from tui.panes.watch import Attention, Watch
from tui.panes.watch_panes import JobStrip
from tui.textual.keys import Command, Keymap
from tui.textual.screens import ActsWhileShown, GoToTime, HeldScreen, Modal, View, say
from tui.textual.views import LinesView
from tui.viewmodels.detail_pages import detail_model_of
from tui.viewmodels.frame import LAST_HINTS, breadcrumb, of_use, scrubber, scrubber_ms, tab_line, too_small
from tui.viewmodels.go_line import TABS, Tab
from tui.viewmodels.items import ViewHistory, VisitedView, focus_on
from tui.viewmodels.moments import Bookmarks
from tui.viewmodels.text import ItemRef, Role, link_at
from tui.widgets.charts import NodeMap
from tui.widgets.table import Table
from tui.widgets.texts import PageView, Prompt, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult

    from tui.app.process import Recorder, Studies
    from tui.saving.settings import Settings
    from tui.viewmodels.frame import Transport
    from tui.viewmodels.items import FileLocation
    from tui.viewmodels.session import Session


class Header(Vertical):
    """The present view and moment, and the views to choose from."""

    BLANK = True  # its children cover it

    def __init__(self, session: Session, tabs: Sequence[Tab]) -> None:
        super().__init__(id="header")
        self._session = session
        self._tabs = tabs
        self._breadcrumb, self._scrubber = LinesView(id="breadcrumb"), LinesView(id="scrubber")
        self._tab_line = LinesView(id="tabs")
        self._tabs_drawn: tuple[str, int] | None = None  # the view and the width

    def compose(self) -> ComposeResult:
        """Lay out three lines. The style sheet hides the scrubber on a low screen."""
        yield from (self._breadcrumb, self._scrubber, self._tab_line)

    def show(self, view: str, title: str, transport: Transport) -> None:
        """Bring the lines up to date."""
        cells = self._breadcrumb.size.width
        self._breadcrumb.show([breadcrumb(self._session, title, transport, cells)])
        if self._scrubber.display:
            self._scrubber.show([scrubber(self._session, cells)])
        if self._tabs_drawn != (view, cells):
            self._tabs_drawn = view, cells
            self._tab_line.show([tab_line(self._tabs, view, cells)])

    def show_way(self, way: str) -> None:
        """Show how far playback is on its way, beside the moment of which the panes were drawn."""
        spans = self._breadcrumb.lines[0]
        told = (span._replace(text=f" {way} ") if span.role is Role.ALERT else span for span in spans)
        self._breadcrumb.show([tuple(told)])

    async def on_click(self, event: events.Click) -> None:
        """Go to the view or the moment that was clicked."""
        view = event.widget
        if not isinstance(view, LinesView):
            return
        if view.id == "scrubber":
            when_ms = scrubber_ms(self._session, event.x, self.size.width)
            if when_ms is not None:
                self.post_message(GoToTime(when_ms))
        elif isinstance(action := link_at(view.lines[0], event.x), str):
            await self.screen.run_action(action)


_DIGITS = "123456789"
_WITH_SUBJECT = (NodeMap, PageView, Table, TimelineGrid, Attention, JobStrip)


class _Views(ContentSwitcher):
    BLANK = True  # the view that is shown covers it


class ViewScreen(ActsWhileShown, HeldScreen, PlayedScreen):
    """The views over one session, and the commands that a subclass gives by the ids of their bindings."""

    COMMANDS_BY_ID: ClassVar[Mapping[str, Command[ViewScreen]]]
    VERBS: ClassVar[Mapping[str, Callable[[ViewScreen, str], object]]]
    """The handlers of go lines with an argument, by the first word."""
    BLANK = True  # its children cover it
    ALLOW_IN_MAXIMIZED_VIEW = "#header, #prompt, #message"
    ESCAPE_TO_MINIMIZE = False  # a question in the prompt is left first

    def __init__(self, session: Session, recorder: Recorder, settings: Settings, studies: Studies) -> None:
        super().__init__()
        self.session = session
        self.recorder = recorder
        self.studies = studies
        self.bookmarks = Bookmarks(session)
        self._trail = ViewHistory()
        self._jumps_when_left: dict[str, int] = {}  # by view: how often time had jumped when it was left
        self._shown_when_left: dict[str, object] = {}  # by view: what it shows
        self.is_left = False
        self._updates = 0  # so far
        self._drawn_ms = -1  # the moment of the last one
        self.settings = settings
        if settings.keys:  # of whatever dialog
            dialogs.import_all()
        self.keymap = Keymap(settings.keys)
        self._header, self._prompt = Header(session, self._tabs()), Prompt()
        self._too_small = LinesView(id="too-small")
        self.switcher = _Views(initial="watch", id="views")
        self.playback = Playback(self)
        pages = (ListPage(tab.model(session), id=tab.name) for tab in TABS if tab.model is not None)
        self._timeline, self._detail = Timeline(session), DetailPage(session)
        self._views: list[View] = [Watch(session), self._timeline, *pages]
        for view in self._views:
            view.recall(settings.of(view.id or ""))

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._too_small
        with self.switcher:
            yield from (self.view_named("watch"), self._timeline)
        yield self._prompt

    def _tabs(self) -> list[Tab]:
        """Return the tabs with the keys that open them."""
        return [tab._replace(key=self.keymap.shown(f"view.{tab.name}")) for tab in TABS]

    # -- views ---------------------------------------------------------------------------------------------------

    @property
    def is_held(self) -> bool:
        return super().is_held or not self.view.is_filled

    @property
    def view(self) -> View:
        """The view that is shown."""
        shown = self.switcher.visible_content
        assert isinstance(shown, View)
        return shown

    @property
    def detail_page(self) -> DetailPage | None:
        """The detail page that is shown; None while another kind of view is."""
        view = self.view
        return view if isinstance(view, DetailPage) else None

    @property
    def list_page(self) -> ListPage | None:
        """The list page that is shown; None while another kind of view is."""
        view = self.view
        return view if isinstance(view, ListPage) else None

    @property
    def _first_pane(self) -> Widget:
        """The pane that has the focus at first: the maximised one, else the first one of the view."""
        if self.maximized is None:
            return self.view.first_pane
        return next(each for each in self.maximized.walk_children(Widget, with_self=True) if each.can_focus)

    def view_named(self, name: str) -> View:
        """Return the view of this name."""
        return next(view for view in self._views if view.id == name)

    def remember_views(self) -> None:
        """Store the user's choices in each view in the settings."""
        for view in self._views:
            self.settings.views[view.id or ""] = view.remembered()

    def action_do(self, identity: str) -> None:
        """Carry out the command with this id."""
        self.COMMANDS_BY_ID[identity].run(self)

    # -- going to a view -----------------------------------------------------------------------------------------

    @property
    def _here(self) -> VisitedView:
        name, focus, page = self.view.id or "", self.session.focus, self.detail_page
        return VisitedView(name, focus) if page is None else VisitedView(name, focus, page.subject, page.page)

    def show_view(self, name: str, row: int | str | None = None) -> None:
        """Show a view, with the cursor on a row if one is given: a node or task by row number, anything else by id."""
        here = self._here
        if here.view != name:
            self._trail.visit(here, VisitedView(name, here.focus))
            self._switch(name)
            if row is None:
                return  # it is updated as soon as it is laid out
        self.update()
        page = self.list_page
        key = page.model.row_of(row) if page is not None and isinstance(row, str) else row
        if page is not None and isinstance(key, int):
            page.go_to(key)

    def open_subject(self, subject: ItemRef, page: int = 0) -> None:
        """Open the detail page of a subject; its job or pool gets the focus."""
        here = self._here
        focus_on(self.session, subject)
        there = VisitedView("detail", self.session.focus, subject, page)
        if here != there:
            self._trail.visit(here, there)
        self._go_to_place(there)

    def open_tab(self, subject: ItemRef, title: str) -> None:
        """Open the detail page of a subject at the tab with this title."""
        model = detail_model_of(self.session, subject)
        assert model is not None
        self.open_subject(subject, model.tabs.index(title))

    def visit(self, by: int) -> None:
        """Go back or forward through the views visited."""
        self._go_to_place(self._trail.step(self._here, by))

    def _go_to_place(self, place: VisitedView | None) -> None:
        if place is None:
            return
        is_shown = self.view.id == place.view
        self.session.focus = place.focus
        if place.subject is not None:
            self._detail.open(place.subject, place.page)
        self._switch(place.view)
        if is_shown:
            self.update()

    def _switch(self, name: str) -> None:
        left, shown = self.view, self._what_is_shown
        if self.maximized is not None:
            self.minimize()
            left.is_stale = True
        if not left.is_stale and not left.is_busy:
            self._shown_when_left[left.id or ""] = shown
        jumps = self.session.simulation.jumps
        self._jumps_when_left[left.id or ""] = jumps
        (self._detail if name == "detail" else self.view_named(name)).build(self.switcher)
        self.switcher.current = name
        self.view.is_stale |= self.playback.pacer.playing or self._shown_when_left.get(name) != shown
        # It is drawn only when it has been laid out and updated for its size.
        self.hold_frames()
        self.call_after_refresh(lambda: self.draw_frames(self.view))
        if self._jumps_when_left.get(name, jumps) != jumps:
            self.view.update()  # it is drawn before it is shown, and its rows may not exist any more
        self.set_focus(self.view.first_pane, scroll_visible=False)  # at once, for its hints
        self.update_header()

    # -- the cursor ----------------------------------------------------------------------------------------------

    @property
    def under_cursor(self) -> ItemRef | None:
        """The subject under the cursor; None if nothing can be acted on there."""
        focused = self.focused
        return focused.subject if isinstance(focused, _WITH_SUBJECT) else None

    @property
    def group_under_cursor(self) -> Sequence[ItemRef]:
        """All subjects under the cursor: an entry of the attention pane, or a cell, may be a group."""
        if isinstance(self.focused, Attention | NodeMap):
            return self.focused.subjects
        return [self.under_cursor] if self.under_cursor is not None else []

    @property
    def subject(self) -> ItemRef | None:
        """The subject under the cursor, else the job in focus."""
        return self.under_cursor or (ItemRef("job", self.session.job_id) if self.session.job_id else None)

    def leave_run(self) -> None:
        """Stop playback and updates: another run is shown from now on."""
        self.is_left = True
        self.playback.pause()
        self.remember_views()

    def follow(self) -> None:
        self._timeline.follow()

    # -- updates -------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Bring everything on the screen up to date, unless another run is shown already."""
        if self.is_left:
            return
        self._updates += 1
        self.session.update()
        self._drawn_ms = self.session.now_ms
        self.playback.look_ahead()
        self.update_header()
        self.view.update()
        if isinstance(self.app.screen, Modal) and self.app.screen.is_mounted:
            self.app.screen.update()

    @property
    def _what_is_shown(self) -> object:
        """A value that differs whenever a view may show something else: all that changes a view updates the screen."""
        return self._updates, self.session.moment, self.session.newest_ms, self.session.focus

    def update_header(self) -> None:
        """Bring clock, tabs and hints up to date; on the way to a moment the panes too, so that a frame shows one."""
        if self.is_left:
            return
        if self.playback.pacer.is_seeking and self._drawn_ms != self.session.now_ms:
            self.update()
            return
        view = self.view
        self._header.show(view.tab, view.title, self.playback.transport)
        self.show_hints()
        self._too_small.show(too_small(self.size.width, self.size.height))

    def show_way(self) -> None:
        """Show how far playback is on its way. All else stays as it is, so that a frame shows one moment."""
        way = self.playback.transport.way
        if way is not None and not self.is_left:
            self._header.show_way(way)

    def show_hints(self) -> None:
        """Show the keys that are useful in the pane with the focus."""
        said = [(self.keymap.shown(identities), does) for identities, does in self.hints()]
        self._prompt.show_hints(said, LAST_HINTS)

    def hints(self) -> list[tuple[str, str]]:
        """Return the ids of the bindings that are useful now, each with what it does in a word or two.

        Among them is how far a study is that is under way.
        """
        is_low, is_page, study = self.has_class("-low"), self.detail_page is not None, self.studies.shown
        found = of_use(self.view.hints, self.session, self.playback.transport, is_low=is_low, is_page=is_page)
        if study is not None and study.background.is_under_way:
            found.insert(1, ("study.show", f"study {study.share:.0%}"))
        return found

    def ask(self, question: Question) -> None:
        """Ask for a text in the prompt; a pane has the focus again before the answer is reported.

        It gets the focus at once: ``Widget.focus`` would take it later, from a question that follows the answer.
        """

        def answered(answer: str) -> None:
            self.set_focus(self._first_pane)
            self.update_header()
            question.on_answer(answer)

        def cancelled() -> None:
            self.set_focus(self._first_pane)
            question.on_cancel()
            self.update()

        self._prompt.ask(question._replace(on_answer=answered, on_cancel=cancelled))

    def open_files(self, place: FileLocation) -> None:
        """Open the dialog with the files on a node, at one of them."""
        playback = dialogs.files.FilesPlayback(self.playback.play, self.playback.step, self.playback.back)
        self.app.push_screen(dialogs.files.Files(self.session, place, playback, self.keymap))

    def pick(
        self,
        title: str,
        texts: Sequence[str],
        on_pick: Callable[[int], None],
        if_empty: str,
    ) -> None:
        """Let the user pick one of several texts by its digit, and report its number; say ``if_empty`` without any.

        More texts than digits are filtered by what is typed.
        """
        if not texts:
            say(self, if_empty)
            return
        shown = [self.session.text(text) for text in texts]
        if len(shown) > len(_DIGITS):
            finder = dialogs.pickers.NameFinder(title, shown, pointer=self.session.glyphs.cursor)
            self.app.push_screen(finder, lambda at: None if at is None else on_pick(at))
            return
        numbered = enumerate(zip(shown, _DIGITS, strict=False))
        self.choose(title, *((Pick(digit, text), partial(on_pick, at)) for at, (text, digit) in numbered))

    def choose(self, title: str, *offers: tuple[Pick, Callable[[], object] | None], about: Sequence[str] = ()) -> None:
        """Let the user choose what to do, below texts about it; None does nothing, as Escape does."""

        def picked(number: int | None) -> None:
            do = None if number is None else offers[number][1]
            if do is not None:
                do()

        picks = [pick for pick, _ in offers]
        texts = [self.session.text(each) for each in about]
        self.app.push_screen(Picker(self.session.text(title), picks, texts, pointer=self.session.glyphs.cursor), picked)
