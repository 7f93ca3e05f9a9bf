"""The deck: header, one view at a time, a line of hints. What is done there is divided among eight objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from tui.dialogs.modal import Modal
from tui.panes.attention import Attention
from tui.panes.blade import Blade
from tui.panes.header import Header
from tui.panes.introduction import Introduction
from tui.panes.pinned import Pinned
from tui.panes.thing import ThingPane
from tui.panes.timeline import Timeline
from tui.panes.watch import Watch
from tui.screens.breakdown import Breakdown
from tui.screens.by_hand import ByHand
from tui.screens.event_log import EventLog
from tui.screens.listing import Listing
from tui.screens.navigation import Navigation
from tui.screens.places import Places
from tui.screens.playback import Playback
from tui.screens.search import Search
from tui.screens.telling import Telling
from tui.settings.keymap import Keymap
from tui.viewmodels.events.event_list import EventsModel
from tui.viewmodels.frame.header import of_use, too_small
from tui.viewmodels.frame.tabs import TABS, Tab
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.text.styled import ItemRef
from tui.widgets.legend import Legend
from tui.widgets.lines import LinesView
from tui.widgets.messages import (
    Answered,
    Dismissed,
    GoTo,
    GoToFailure,
    OpenOneOf,
    OpenSubject,
    ShowView,
    Typed,
)
from tui.widgets.node_map import NodeMap
from tui.widgets.page import PageView
from tui.widgets.prompt import Prompt
from tui.widgets.table import Table
from tui.widgets.timeline import TimelineGrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from tui.saving.recorder import Recorder
    from tui.settings.values import Settings
    from tui.viewmodels.session.session import Session


_WITH_SUBJECTS = (NodeMap, Legend, PageView, Table, TimelineGrid, Attention, Pinned)
_RIGHT = 3  # the button


class Deck(Screen[None]):
    """One simulation on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *Playback.KEYS,
        *Navigation.KEYS,
        *ByHand.KEYS,
        *Telling.KEYS,
        *Places.KEYS,
        *Search.KEYS,
        *EventLog.KEYS,
        Binding("tab", "app.focus_next", "next pane", show=False, id="pane.next"),
        Binding("shift+tab", "app.focus_previous", "pane before", show=False, id="pane.before"),
        *Listing.KEYS,
        Binding("ctrl+q", "quit", "quit", id="quit"),
    ]

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (100, "-wide"), (160, "-broad")]  # noqa: RUF012  # as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (16, "-low"), (24, "-short"), (36, "-tall")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, recorder: Recorder, settings: Settings, *, at_ms: int, plays: bool) -> None:
        """A deck over a session that goes to ``at_ms``; then time goes by at once if ``plays``."""
        super().__init__()
        self.session = session
        self.keymap = Keymap(settings.keys)
        self.breakdown = Breakdown(self, session, recorder)
        self.playback = Playback(self, session)
        self.navigation = Navigation(self, session, settings)
        self.by_hand = ByHand(self, session, recorder)
        self.telling = Telling(self, session)
        self.places = Places(self, session)
        self.search = Search(self, session)
        self.event_log = EventLog(self, session)
        self.listing = Listing(self)
        self._settings = settings
        self._views: list[Watch | Timeline | Blade] = [Watch(session), Timeline(session)]
        self._views += [Blade(tab.model(session), id=tab.name) for tab in TABS if tab.model is not None]
        for view in self._views:
            view.recall(settings.of(view.id or ""))
        self._at_ms = at_ms
        self._plays = plays

    # -- arrangement ---------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Header, views, hints."""
        yield Header(self.session, self._tabs())
        yield LinesView(id="too-small")
        with ContentSwitcher(initial="watch", id="views"):
            yield from self._views
            yield ThingPane(self.session)
        yield Prompt()

    def _tabs(self) -> list[Tab]:
        """The views with the keys that open them."""
        return [tab._replace(key=self.keymap.shown(f"view.{tab.name}")) for tab in TABS]

    def use_keys(self, keymap: Keymap) -> None:
        """Hints and tabs show these keys."""
        self.keymap = keymap
        self.query_one(Header).name_tabs(self._tabs())
        self.look_at_header()

    def introduce(self) -> None:
        """Show the first keys to whoever is new here."""
        self.mount(Introduction(self.keymap))

    def end_introduction(self) -> None:
        """Whoever presses a key has read it."""
        self.query(Introduction).remove()

    def on_mount(self) -> None:
        """The first look, and the clock starts."""
        self.view.focus_first()
        self.call_after_refresh(self.look)
        if self._at_ms:
            self.call_after_refresh(self.playback.seek, self._at_ms, self.playback.play if self._plays else None)
        elif self._plays:
            self.call_after_refresh(self.playback.play)

    def on_unmount(self) -> None:
        """Time stands still when nobody looks."""
        self.playback.stand_still()

    def on_resize(self) -> None:
        """Everything is arranged anew."""
        self.call_after_refresh(self.look)

    def on_descendant_focus(self) -> None:
        """Other keys are of use now."""
        self.look_at_header()

    @property
    def view(self) -> Watch | Blade | ThingPane | Timeline:
        """The view that is shown."""
        shown = self.query_one(ContentSwitcher).visible_content
        assert isinstance(shown, Watch | Blade | ThingPane | Timeline)
        return shown

    @property
    def under_cursor(self) -> ItemRef | None:
        """What is under the cursor; None where that is nothing to act on."""
        focused = self.focused
        return focused.subject if isinstance(focused, _WITH_SUBJECTS) else None

    @property
    def group_under_cursor(self) -> Sequence[ItemRef]:
        """All that is under the cursor: a group where that is one."""
        if isinstance(self.focused, Attention | Legend):
            return self.focused.subjects
        return [self.under_cursor] if self.under_cursor is not None else []

    @property
    def subject(self) -> ItemRef | None:
        """What is under the cursor, else the job in focus."""
        return self.under_cursor or (ItemRef("job", self.session.job_id) if self.session.job_id else None)

    def look(self) -> None:
        """Bring everything on the screen up to date."""
        self.session.noted()
        self.look_at_header()
        self.view.look()
        if isinstance(self.app.screen, Modal):
            self.app.screen.look()

    def look_at_header(self) -> None:
        """Bring clock, tabs and hints up to date."""
        view = self.view
        tab = view.tab if isinstance(view, ThingPane) else view.id or ""
        self.query_one(Header).show(tab, view.title, self.playback.transport)
        self.query_one(Prompt).show_hints([(self.keymap.shown(identities), does) for identities, does in self.hints()])
        self.query_one("#too-small", LinesView).show(too_small(self.size.width, self.size.height))

    def hints(self) -> list[tuple[str, str]]:
        """The ids of bindings that are of use now, and what they do in a word."""
        is_past, is_low = self.session.is_past, self.has_class("-low")
        return of_use(self.view.hints, self.playback.transport, is_past=is_past, is_low=is_low)

    def say(self, text: str, severity: Literal["information", "warning", "error"] = "information") -> None:
        """Say something in a corner of the screen; a refusal stays longer."""
        self.notify(text, severity=severity, markup=False, timeout=10 if severity == "error" else None)

    # -- keys: each of the eight does its part --------------------------------------------------------------------

    def action_time(self, verb: str, *values: float) -> None:
        """Playback does this."""
        getattr(self.playback, verb)(*values)

    def action_go(self, verb: str, *values: str | int) -> None:
        """Navigation does this."""
        getattr(self.navigation, verb)(*values)

    def action_do(self, verb: str, *values: str) -> None:
        """This is done by hand."""
        getattr(self.by_hand, verb)(*values)

    def action_tell(self, verb: str, *values: str) -> None:
        """This is told."""
        getattr(self.telling, verb)(*values)

    def action_place(self, verb: str, *values: str) -> None:
        """A place is gone to, or remembered."""
        getattr(self.places, verb)(*values)

    def action_search(self, verb: str, *values: str) -> None:
        """Something is looked for."""
        getattr(self.search, verb)(*values)

    def action_event(self, verb: str, *values: str) -> None:
        """Something is done in the log of events."""
        getattr(self.event_log, verb)(*values)

    def action_list(self, verb: str) -> None:
        """The list is shown in another way."""
        getattr(self.listing, verb)()

    async def action_quit(self) -> None:
        """Leave."""
        self.playback.stand_still()
        self.app.exit()

    # -- what panes ask for --------------------------------------------------------------------------------------

    def on_show_view(self, message: ShowView) -> None:
        """A pane asks for a view."""
        self.navigation.show(message.name, message.key)

    def on_click(self, event: events.Click) -> None:
        """A right click acts on what is under it."""
        if event.button == _RIGHT and isinstance(event.widget, NodeMap | Table | TimelineGrid):
            self.by_hand.act()

    def on_go_to_failure(self, message: GoToFailure) -> None:
        """Failures are gone through in time."""
        if message.by > 0:
            self.search.failure()
        else:
            self.search.failure_before()

    def on_go_to(self, message: GoTo) -> None:
        """A moment was clicked."""
        self.playback.seek(message.when_ms)

    def on_open_subject(self, message: OpenSubject) -> None:
        """Something is opened."""
        self.navigation.open(message.subject)

    def on_page_view_followed(self, message: PageView.Followed) -> None:
        """A link of a blade is followed."""
        self.navigation.follow(message.leads_to)

    def on_open_one_of(self, message: OpenOneOf) -> None:
        """What was at a place of the timeline is opened."""
        self.places.open_one_of(message.choices)

    def on_table_opened(self, message: Table.Opened) -> None:
        """A row is opened: an event leads to its moment, another to its blade, or to details that are not shown."""
        model, view = message.table.model, self.view
        is_bare = isinstance(model, InstancesModel) and isinstance(view, Blade) and not view.has_details
        if isinstance(model, EventsModel):
            self.event_log.open(model, message.key)
        elif is_bare or not self.navigation.into(model, message.key):
            self.telling.details(model, message.key)

    def on_table_arranged(self) -> None:
        """Columns, sort order or filter have changed: show it."""
        self.look()

    def forget(self, name: str) -> None:
        """A view is shown as it is for everybody."""
        self.view_named(name).recall({})
        self.look()

    def view_named(self, name: str) -> Watch | Blade | Timeline:
        """The view of this name."""
        return next(view for view in self._views if view.id == name)

    def remember(self) -> None:
        """Enter into the settings how each view is shown."""
        for view in self._views:
            self._settings.views[view.id or ""] = view.remembered()

    # -- what is typed -------------------------------------------------------------------------------------------

    def ask(self, purpose: str, label: str, text: str = "") -> None:
        """Ask for a text in the last line."""
        self.query_one(Prompt).ask(purpose, label, text)

    def on_typed(self, message: Typed) -> None:
        """Some texts are of use while they are typed."""
        if message.purpose == "filter":
            self.listing.filter_by(message.text)
        elif message.purpose == "line":
            self.navigation.line.offer(message.text)

    def on_answered(self, message: Answered) -> None:
        """Something was typed to the end."""
        self.view.focus_first()
        self.look_at_header()
        match message.purpose:
            case "time":
                self.playback.go_to(message.text)
            case "line":
                self.navigation.line.go_to(message.text)
            case "export":
                self.telling.export(message.text)
            case "save":
                self.by_hand.save(message.text)

    def on_dismissed(self, message: Dismissed) -> None:
        """Nothing was typed after all; a filter is cleared."""
        self.view.focus_first()
        if message.purpose == "filter":
            self.listing.clear_filter()
        self.look()
