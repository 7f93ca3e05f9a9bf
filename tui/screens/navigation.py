"""Navigation: which view is shown, and the ways in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.widgets import ContentSwitcher

from tui.dialogs.picker import Pick, Picker
from tui.panes.blade import Blade
from tui.panes.thing import ThingPane
from tui.panes.watch import Watch
from tui.screens.go_line import GoLine
from tui.viewmodels.frame.tabs import TABS
from tui.viewmodels.session.focus import focus_on
from tui.viewmodels.session.visited import Place, Trail

if TYPE_CHECKING:
    from tui.screens.deck import Deck
    from tui.settings.values import Settings
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef


class Navigation:
    """Views by key, by name and by what is opened, and back again."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        *(Binding(tab.key, f"go('show', '{tab.name}')", tab.title, id=f"view.{tab.name}") for tab in TABS),
        Binding("colon", "go('ask')", "go line: view, id, time, speed, columns", id="go.line"),
        Binding("escape", "go('out')", "out, back", id="go.out"),
        Binding("q", "go('quit')", "leave the blade, or after a question the dashboard", id="quit.ask"),
        Binding("minus", "go('previous')", "the view before, and back again", id="go.previous"),
        Binding("less_than_sign", "go('step', -1)", "back through the views visited", id="go.back"),
        Binding("greater_than_sign", "go('step', 1)", "forward through the views visited", id="go.forward"),
        Binding("z", "go('zoom')", "maximise the pane, restore", id="pane.zoom"),
    )

    def __init__(self, deck: Deck, session: Session, settings: Settings) -> None:
        """On this deck, where the first view is shown."""
        self._deck = deck
        self._settings = settings
        self._session = session
        self._trail = Trail()
        self._left: dict[str, int] = {}  # by view: how often time had jumped when it was left
        self.line = GoLine(deck, session)

    @property
    def _here(self) -> Place:
        view = self._deck.view
        if isinstance(view, ThingPane):
            return Place("thing", self._session.focus, view.subject, view.page)
        return Place(view.id or "", self._session.focus)

    def show(self, name: str, key: int | None = None) -> None:
        """Show a view, with the cursor on a row where one is named."""
        here = self._here
        if here.view != name:
            self._trail.visit(here, Place(name, here.focus))
            self._switch(name)
            if key is None:
                return  # it is looked at as soon as it is laid out
        self._deck.look()
        view = self._deck.view
        if key is not None and isinstance(view, Blade):
            view.table.move_to_key(key)

    def show_row(self, name: str, row: int | str | None) -> None:
        """Show a view, with the cursor on a row: a node or task by number, what else there is by its id."""
        self.show(name)
        self._deck.look()
        view = self._deck.view
        if isinstance(view, Blade) and row is not None:
            key = row if isinstance(row, int) else view.model.row_of(row)
            if key is not None:
                view.table.move_to_key(key)

    def open(self, subject: ItemRef, page: int = 0) -> None:
        """Open the blade of a thing; its job or pool comes into focus."""
        here = self._here
        focus_on(self._session, subject)
        there = Place("thing", self._session.focus, subject, page)
        if here != there:
            self._trail.visit(here, there)
        self._go_to_place(there)

    def follow(self, leads_to: ItemRef | str) -> None:
        """Follow a link: to the blade of a thing, or to what an action does for the thing that is shown."""
        if not isinstance(leads_to, str):
            self.open(leads_to)
            return
        subject = self._deck.subject
        if subject is not None:
            focus_on(self._session, subject)
        self._deck.call_later(self._deck.run_action, leads_to)

    def step(self, by: int) -> None:
        """Back or forward through what has been visited."""
        self._go_to_place(self._trail.step(self._here, by))

    def previous(self) -> None:
        """The place that was left last; from there, back here."""
        self._go_to_place(self._trail.previous(self._here))

    def _go_to_place(self, place: Place | None) -> None:
        if place is None:
            return
        is_shown = self._deck.view.id == place.view
        self._session.focus = place.focus
        if place.subject is not None:
            self._deck.query_one(ThingPane).open(place.subject, place.page)
        self._switch(place.view)
        if is_shown:
            self._deck.look()

    def _switch(self, name: str) -> None:
        if self._deck.maximized is not None:
            self._deck.minimize()
        jumps = self._session.simulation.jumps
        self._left[self._deck.view.id or ""] = jumps
        self._deck.query_one(ContentSwitcher).current = name
        if self._left.get(name) != jumps:
            self._deck.view.look()  # what it looked at last may not be there, and it is drawn before it is shown
        self._deck.view.focus_first()
        self._deck.look_at_header()

    def out(self) -> None:
        """Close what is open: the way to another moment, what was said, a large pane, a filter, marks, the view."""
        view = self._deck.view
        if self._deck.playback.stop_on_the_way():
            return
        if self._deck.query("Toast"):
            self._deck.app.clear_notifications()
            return
        if self._deck.maximized is not None:
            self._deck.minimize()
        elif view.show_all() if isinstance(view, Watch) else isinstance(view, Blade) and view.model.clear_filter():
            self._deck.look()
        elif self._session.marks:
            self._session.marks.clear()
            self._deck.look()
        else:
            self.step(-1)

    def ask(self) -> None:
        """Ask in the go line where to go."""
        self.line.ask()

    def quit(self) -> None:
        """Leave the blade of a thing; in a view the dashboard, if that is meant, or nobody wants to be asked."""
        if isinstance(self._deck.view, ThingPane):
            self.step(-1)
            return

        def leave(number: int | None) -> None:
            if number == 0:
                self._deck.app.exit()

        if not self._settings.value("confirm_quit"):
            leave(0)
            return
        self._deck.playback.stand_still()
        kept = "; what was done by hand is saved" if self._deck.by_hand.is_unsaved else ""
        picks = [Pick("q", f"leave the dashboard{kept}"), Pick("n", "stay")]
        self._deck.app.push_screen(Picker("Leave?", picks, mark=self._session.glyphs.cursor), leave)

    def zoom(self) -> None:
        """Give the whole screen to the pane with the focus, or take it back."""
        if self._deck.maximized is not None:
            self._deck.minimize()
        elif self._deck.focused is not None:
            self._deck.maximize(self._deck.focused)
        self._deck.call_after_refresh(self._deck.look)

    def into(self, model: RowsModel, key: int) -> bool:
        """Open the blade of a row, or watch the last job of a schedule; returns whether the row has one of those."""
        subject = model.subject_of(key)
        if subject is None:
            return False
        if subject.kind != "job schedule":
            self.open(subject)
            return True
        schedule = self._session.schedule(str(subject.key))
        if schedule is None or not schedule.recent_job:
            return False
        focus_on(self._session, subject)
        self.show("watch")
        return True
