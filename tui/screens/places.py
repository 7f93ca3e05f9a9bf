"""Places: moments to come back to, runs to compare with, what belongs to what is under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from engine.views.pages.jobs import job_ids, pool_ids
from tui.dialogs.jump import Jump, Target
from tui.dialogs.picker import Pick, Picker
from tui.dialogs.sheet import Sheet
from tui.panes.blade import Blade
from tui.panes.thing import ThingPane
from tui.panes.watch import Watch
from tui.viewmodels.events.bookmarks import Bookmarks, compare_lines
from tui.viewmodels.frame.tabs import TABS
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.session.focus import focus_on
from tui.viewmodels.session.links import links_of, links_of_hook
from tui.viewmodels.text.styled import ItemRef
from tui.viewmodels.watch.pins import PINNED, toggle_pin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui.screens.deck import Deck
    from tui.viewmodels.session.links import Link
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Kind
    from tui.viewmodels.timeline.rows import There

_DIGITS = "123456789"
_LISTS: dict[Kind, str] = {
    "pool": "pools",
    "job": "jobs",
    "node": "nodes",
    "task": "tasks",
    "job schedule": "schedules",
}


class Places:
    """Bookmarks, comparisons, links, and what is in focus."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("g", "place('follow')", "go to the pool, node, job or task of the row", id="row.links"),
        Binding("p", "place('pin')", "pin to the Watch view, or unpin", id="row.pin"),
        Binding("J", "place('choose_job')", "choose the job in focus", id="focus.job"),
        Binding("P", "place('choose_pool')", "choose the pool in focus", id="focus.pool"),
        Binding("B", "place('bookmark')", "bookmark this moment", id="time.bookmark"),
        Binding("apostrophe", "place('jump')", "then a letter: a pane; then a digit: a bookmark", id="go.jump"),
        Binding("c", "place('compare')", "compare with a bookmark or a run that was left", id="time.compare"),
    )

    def __init__(self, deck: Deck, session: Session) -> None:
        """On this deck."""
        self._deck = deck
        self._session = session
        self.bookmarks = Bookmarks(session)

    def _pick(self, title: str, picks: Sequence[Pick], then: Callable[[int], None], otherwise: str) -> None:
        """Let one be picked; where there is nothing to pick, say so."""
        if not picks:
            self._deck.say(otherwise)
            return

        def picked(number: int | None) -> None:
            if number is not None:
                then(number)

        text = self._session.text
        shown = [pick._replace(text=text(pick.text)) for pick in picks]
        self._deck.app.push_screen(Picker(title, shown, mark=self._session.glyphs.cursor), picked)

    def open_one_of(self, choices: Sequence[There]) -> None:
        """Open the blade of a thing, or the details of a row; where there are several, what is picked."""

        def show(number: int) -> None:
            _, subject, view = choices[number]
            model = next((tab.model for tab in TABS if tab.name == view), None)
            if model is None:
                self._deck.navigation.open(subject)
            else:
                self._deck.telling.details(model(self._session), int(subject.key))

        if len(choices) == 1:
            show(0)
            return
        picks = [Pick(_DIGITS[at : at + 1], choice.text) for at, choice in enumerate(choices)]
        self._pick("Open", picks, show, "There was nothing here at this moment.")

    # -- moments and runs ----------------------------------------------------------------------------------------

    def bookmark(self) -> None:
        """Remember the present moment."""
        number = self.bookmarks.add()
        self._deck.say(f"Bookmark {number}: {self._session.clock(self._session.now_ms)}. ' goes there, c compares.")

    def jump(self) -> None:
        """Go to a pane by its letter, or to a bookmark by its digit."""
        deck, moments_ms = self._deck, self.bookmarks.moments_ms

        def go(target: Target | None) -> None:
            if target is not None and target.pane is not None:
                deck.set_focus(target.pane)
            elif target is not None:
                deck.playback.seek(moments_ms[target.bookmark])

        panes = [pane for pane in deck.focus_chain if pane.region.area]
        deck.app.push_screen(Jump(panes, [self._session.clock(when_ms) for when_ms in moments_ms]), go)

    def compare(self) -> None:
        """Compare the present moment with another one, or with a run that was left."""
        self._deck.playback.stand_still()
        session, here, others = self._session, self.bookmarks.here(), self.bookmarks.others()

        def show(number: int) -> None:
            other = others[number]
            self._deck.app.push_screen(Sheet("Compare", lambda cells: compare_lines(session, here, other, cells)))

        picks = [Pick(_DIGITS[at : at + 1], other.name) for at, other in enumerate(others)]
        nothing = "There is nothing to compare with yet: B bookmarks a moment, b branches from one."
        self._pick("Compare this moment with", picks, show, nothing)

    # -- focus and links -----------------------------------------------------------------------------------------

    def choose_job(self) -> None:
        """Another job in focus."""
        jobs = job_ids(self._session.simulation)
        picks = [Pick(_DIGITS[at : at + 1], job_id) for at, job_id in enumerate(jobs)]
        self._pick("Job in focus", picks, lambda at: self._focus(ItemRef("job", jobs[at])), "There is no job yet.")

    def choose_pool(self) -> None:
        """Another pool in focus."""
        pools = pool_ids(self._session.simulation)
        picks = [Pick(_DIGITS[at : at + 1], pool_id) for at, pool_id in enumerate(pools)]
        self._pick("Pool in focus", picks, lambda at: self._focus(ItemRef("pool", pools[at])), "There is no pool yet.")

    def _focus(self, subject: ItemRef) -> None:
        """Bring it into focus; where the blade of another job or pool is open, open that of this one."""
        focus_on(self._session, subject)
        view = self._deck.view
        if isinstance(view, ThingPane) and view.subject is not None and view.subject.kind == subject.kind:
            self._deck.navigation.open(subject)
        self._deck.look()

    def follow(self) -> None:
        """Go to something that belongs to what is under the cursor."""
        view, subject = self._deck.view, self._deck.subject
        links: Sequence[Link] = []
        if isinstance(view, Blade) and isinstance(view.model, InstancesModel) and view.table.key is not None:
            links = links_of_hook(self._session, view.table.key)
        elif subject is not None:
            links = links_of(self._session, subject)
        picks = [Pick(link.letter, link.text) for link in links]
        self._pick("Go to", picks, lambda number: self._go(links[number].subject), "There is nothing here to go to.")

    def pin(self) -> None:
        """Keep what is under the cursor in the Watch view, or not any more."""
        subject = self._deck.subject
        if subject is None or subject.kind not in PINNED:
            self._deck.say("p pins a node, a job or a task: put the cursor on one.")
            return
        is_pinned = toggle_pin(self._session, subject)
        if not isinstance(self._deck.view, Watch):
            self._deck.say("Pinned to the Watch view." if is_pinned else "Unpinned.")
        self._deck.look()

    def _go(self, subject: ItemRef) -> None:
        """From a blade to a blade, from a list to the row of a list."""
        navigation = self._deck.navigation
        if isinstance(self._deck.view, ThingPane):
            navigation.open(subject)
            return
        focus_on(self._session, subject)
        navigation.show_row(_LISTS[subject.kind], subject.key)
