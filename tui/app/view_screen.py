"""The arrangement of the main screen: header, one view at a time, prompt; and access to the item under the cursor.

The header has breadcrumb and clock, scrubber, and tabs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from tui.app.playback import Playback
from tui.dialogs.sheets import Pick, Picker
from tui.panes.pages import DetailPage, ListPage
from tui.panes.timeline import Timeline, TimelineGrid
from tui.panes.watch import Attention, Introduction, Pinned, Watch
from tui.panes.watch_panes import JobStrip
from tui.textual.keys import Keymap
from tui.textual.screens import ActsWhileShown, GoToTime, Modal, ScreenCompositor, View, say
from tui.textual.views import LinesView, is_displayed
from tui.viewmodels.frame import LAST_HINTS, Transport, breadcrumb, of_use, scrubber, scrubber_ms, tab_line, too_small
from tui.viewmodels.go_line import TABS, Tab
from tui.viewmodels.text import ItemRef, link_at
from tui.widgets.charts import Legend, NodeMap
from tui.widgets.table import Table
from tui.widgets.texts import PageView, Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult

    from tui.saving.session_files import Recorder
    from tui.saving.settings import Settings
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

    def set_tabs(self, tabs: Sequence[Tab]) -> None:
        """Use these tabs and keys from the next ``show`` on."""
        self._tabs, self._tabs_drawn = tabs, None

    def show(self, view: str, title: str, transport: Transport) -> None:
        """Bring the lines up to date."""
        cells = self._breadcrumb.size.width
        self._breadcrumb.show([breadcrumb(self._session, title, transport, cells)])
        if self._scrubber.display:
            self._scrubber.show([scrubber(self._session, cells)])
        if self._tabs_drawn != (view, cells):
            self._tabs_drawn = view, cells
            self._tab_line.show([tab_line(self._tabs, view, cells)])

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
_WITH_SUBJECT = (NodeMap, Legend, PageView, Table, TimelineGrid, Attention, Pinned, JobStrip)


class _Views(ContentSwitcher):
    BLANK = True  # the view that is shown covers it


class ViewScreen(ActsWhileShown, Screen[None]):
    """The views over one session. Subclasses add keys, each with its bindings and ``action_*`` methods."""

    BLANK = True  # its children cover it
    ALLOW_IN_MAXIMIZED_VIEW = "#header, #prompt, #message"
    ESCAPE_TO_MINIMIZE = False  # a question in the prompt is left first

    def __init__(self, session: Session, recorder: Recorder, settings: Settings) -> None:
        super().__init__()
        self._compositor = ScreenCompositor()
        self.session = session
        self.recorder = recorder
        self.is_left = False
        self._holds = 0  # reasons not to draw
        self._updates = 0  # so far
        self.settings = settings
        self.keymap = Keymap(settings.keys)
        self._header, self._prompt = Header(session, self._tabs()), Prompt()
        self._too_small = LinesView(id="too-small")
        self.switcher = _Views(initial="watch", id="views")
        self.playback = Playback(
            self,
            session,
            recorder,
            update=self.update,
            update_header=self.update_header,
            view_name=lambda: self.view.id or "",
        )
        self._list_pages = {
            tab.name: ListPage(tab.model(session), id=tab.name) for tab in TABS if tab.model is not None
        }
        self._views: list[View] = [Watch(session), Timeline(session), *self._list_pages.values()]
        for view in self._views:
            view.recall(settings.of(view.id or ""))

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._too_small
        with self.switcher:
            yield from (view for view in self._views if view.id not in self._list_pages)
            yield DetailPage(self.session)
        yield self._prompt

    def _tabs(self) -> list[Tab]:
        """Return the tabs with the keys that open them."""
        return [tab._replace(key=self.keymap.shown(f"view.{tab.name}")) for tab in TABS]

    def use_keymap(self, keymap: Keymap) -> None:
        """Show these keys in hints and tabs."""
        self.keymap = keymap
        self._header.set_tabs(self._tabs())
        self.update_header()

    def introduce(self) -> None:
        """Show the first keys to a new user."""
        self.mount(Introduction(self.keymap, self.session.simulation.scenario.description), before=self._prompt)

    def end_introduction(self) -> None:
        """Remove the introduction, if it is shown."""
        for child in self.children:  # a query would search the whole screen at each key
            if isinstance(child, Introduction):
                child.remove()

    # -- views ---------------------------------------------------------------------------------------------------

    @property
    def focus_chain(self) -> list[Widget]:
        """The panes in the order of Tab. The legend is a part of the pane of nodes: arrow keys lead there."""
        return [each for each in super().focus_chain if not isinstance(each, Legend) or each.has_focus]

    @property
    def view(self) -> View:
        """The view that is shown."""
        shown = self.switcher.visible_content
        assert isinstance(shown, View)
        return shown

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

    def reset_view(self, name: str) -> None:
        """Forget the user's choices in a view."""
        self.view_named(name).recall({})
        self.update()

    def remember_views(self) -> None:
        """Store the user's choices in each view in the settings."""
        for view in self._views:
            self.settings.views[view.id or ""] = view.remembered()

    # -- the cursor ----------------------------------------------------------------------------------------------

    @property
    def under_cursor(self) -> ItemRef | None:
        """The subject under the cursor; None if nothing can be acted on there."""
        focused = self.focused
        return focused.subject if isinstance(focused, _WITH_SUBJECT) else None

    @property
    def group_under_cursor(self) -> Sequence[ItemRef]:
        """All subjects under the cursor: an entry of the legend or of the attention pane, or a cell, may be a group."""
        if isinstance(self.focused, Attention | Legend | NodeMap):
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

    # -- updates -------------------------------------------------------------------------------------------------

    def hold_frames(self) -> None:
        """Draw nothing until ``draw_frames``: Textual lays out a screen several times, and would show each step."""
        self._holds += 1

    def draw_frames(self) -> None:
        """Draw what has changed meanwhile, unless frames are held for another reason, too."""
        self._holds -= 1
        self.view.refresh(Region(0, 0, 1, 1))
        # The view would send this with all that waits to be drawn of it, but perhaps only after the screen has drawn.
        self.view._repaint_required = False
        self._dirty_widgets.add(self.view)
        self.check_idle()

    def draw_once_updated(self) -> None:
        """Draw a view that has been switched to only when it has been laid out and updated for its size."""
        self.hold_frames()
        self.call_after_refresh(self.draw_frames)

    def _compositor_refresh(self) -> None:
        """Write what has changed to the terminal, as Textual does, unless frames are held."""
        if not self._holds:
            super()._compositor_refresh()

    def _update_focus_styles(self, focused: Widget | None = None, blurred: Widget | None = None) -> None:
        """Style panes anew in which the focus has come or gone. Textual does so with all that is in them, too."""
        panes = {
            pane
            for widget in (focused, blurred)
            if widget is not None
            for pane in widget.ancestors_with_self
            if pane._has_focus_within and is_displayed(pane)
        }
        self.app.stylesheet.update_nodes(panes, animate=True)

    def update(self) -> None:
        """Bring everything on the screen up to date, unless another run is shown already."""
        if self.is_left:
            return
        self._updates += 1
        self.session.update()
        self.playback.look_ahead()
        self.update_header()
        self.view.update()
        if isinstance(self.app.screen, Modal) and self.app.screen.is_mounted:
            self.app.screen.update()

    @property
    def what_is_shown(self) -> object:
        """A value that differs whenever a view may show something else: all that changes a view updates the screen."""
        return self._updates, self.session.moment, self.session.newest_ms, self.session.focus

    def update_header(self) -> None:
        """Bring clock, tabs and hints up to date."""
        if self.is_left:
            return
        view = self.view
        self._header.show(view.tab, view.title, self.playback.transport)
        self.show_hints()
        self._too_small.show(too_small(self.size.width, self.size.height))

    def show_hints(self) -> None:
        """Show the keys that are useful in the pane with the focus."""
        said = [(self.keymap.shown(identities), does) for identities, does in self.hints()]
        self._prompt.show_hints(said, LAST_HINTS)

    def hints(self) -> list[tuple[str, str]]:
        """Return the ids of the bindings that are useful now, each with what it does in a word."""
        is_past, is_low = self.session.is_past, self.has_class("-low")
        is_empty, is_page = self.session.is_empty, isinstance(self.view, DetailPage)
        return of_use(
            self.view.hints,
            self.playback.transport,
            is_past=is_past,
            is_low=is_low,
            is_empty=is_empty,
            is_page=is_page,
        )

    def ask(
        self,
        label: str,
        on_answer: Callable[[str], None],
        *,
        text: str = "",
        on_typed: Callable[[str], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
    ) -> None:
        """Ask for a text in the prompt; a pane has the focus again before the answer is reported.

        It gets the focus at once: ``Widget.focus`` would take it later, from a question that follows the answer.
        """

        def answered(answer: str) -> None:
            self.set_focus(self._first_pane)
            self.update_header()
            on_answer(answer)

        def cancelled() -> None:
            self.set_focus(self._first_pane)
            if on_cancel is not None:
                on_cancel()
            self.update()

        self._prompt.ask(label, answered, text=text, on_typed=on_typed, on_cancel=cancelled)

    def pick(
        self,
        title: str,
        texts: Sequence[str],
        on_pick: Callable[[int], None],
        if_empty: str,
        *,
        letters: Sequence[str] = _DIGITS,
    ) -> None:
        """Let the user pick one of several texts by its letter, and report its number; say ``if_empty`` without any."""
        if not texts:
            say(self, if_empty)
            return

        def picked(number: int | None) -> None:
            if number is not None:
                on_pick(number)

        picks = [
            Pick(letters[at] if at < len(letters) else "", self.session.text(text)) for at, text in enumerate(texts)
        ]
        self.app.push_screen(Picker(title, picks, pointer=self.session.glyphs.cursor), picked)
