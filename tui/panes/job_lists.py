"""The lists of the job in focus, one at a time: preparation tasks, tasks, release tasks, events, expectations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tui.viewmodels.curves.curves import CurvesModel
from tui.viewmodels.events.event_list import EventsModel
from tui.viewmodels.lists.expectations import ExpectationsModel
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.lists.preparation import PreparationModel
from tui.viewmodels.lists.release import ReleaseModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.text.styled import Line, link_at
from tui.viewmodels.watch.arrangement import MUCH, Wish
from tui.viewmodels.watch.curves_tab import CurvesTabModel
from tui.viewmodels.watch.job_tabs import (
    CURVES,
    EVENTS,
    EXPECTATIONS,
    PREPARATION,
    RELEASE,
    TASKS,
    tab_spans,
    tab_that_matters,
    tabs_of,
)
from tui.widgets import palette
from tui.widgets.lines import strip_of
from tui.widgets.redraw import set_title, title_of
from tui.widgets.table import Table

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session.session import Session

_FRAME = 2  # lines
_TITLE_CELLS = 6  # of the frame beside its title
_TITLE_LEFT = 2
_BEST = 14  # lines for a list that has more
_READ_AGAIN_S = 0.02


@dataclass
class _Place:
    """The row at which a list was left."""

    key: int | None = None
    follows: bool = False


class JobLists(Table):
    """A table under tabs. The tab is the one that matters now, unless the user has chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", "the previous tab", id="lists.before"),
        Binding("right", "turn(1)", "the next tab", id="lists.next"),
    ]

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lists: dict[str, RowsModel] = {
            PREPARATION: PreparationModel(session),
            TASKS: TasksModel(session),
            RELEASE: ReleaseModel(session),
            EVENTS: EventsModel(session),
            EXPECTATIONS: ExpectationsModel(session),
            CURVES: CurvesTabModel(session),
        }
        self._curves = CurvesModel(session)
        self.has_curves = False  # which have no pane of their own then
        super().__init__(self._lists[TASKS], id="job-lists")
        self._places = {name: _Place(follows=name == EVENTS) for name in self._lists}
        self.name_shown = TASKS
        self.chosen = ""  # by the user
        self._tabs: Line = ()
        self._titled: tuple[Line, str] = ((), "")

    @property
    def names(self) -> tuple[str, ...]:
        """The lists that there are for the job in focus."""
        has_expectations = bool(self._session.simulation.scenario.expect)
        job = self._session.job(self._session.job_id)
        return tabs_of(job, has_expectations=has_expectations, has_curves=self.has_curves)

    @property
    def _name_that_matters(self) -> str:
        return tab_that_matters(self._session.job(self._session.job_id))

    def update(self) -> None:
        self._show(self.chosen if self.chosen in self.names else self._name_that_matters)
        super().update()
        self._set_title()
        if self.name_shown == CURVES:
            self._curves.has_grounds = palette.has_grounds(self.app.theme)
            self.refresh()
            if self._curves.is_behind:  # it reads a part at a time
                self._curves.go_on()
                self.set_timer(_READ_AGAIN_S, self.update)

    def render_line(self, y: int) -> Strip:
        if self.name_shown != CURVES:
            return super().render_line(y)
        lines = self._curves.lines(self.size.width, self.size.height)
        return strip_of(self, lines[y] if y < len(lines) else ())

    def _show(self, name: str) -> None:
        if name == self.name_shown:
            return
        self._places[self.name_shown] = _Place(self.chosen_key, self.follows)
        self.name_shown = name
        self.show_model(self._lists[name])
        place = self._places[name]
        self.model.update()
        self.follows = place.follows
        if place.key is not None and not place.follows:
            self.move_to_key(place.key)

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002  # Table draws its rows anew by its own handler
        """Show the longest titles of the tabs for which there is room now."""
        self._set_title()

    def _set_title(self) -> None:
        model = self.model
        told = model.told(self.outer_size.width - _TITLE_CELLS) if isinstance(model, InstancesModel) else ""
        tabs = tab_spans(self.names, self.name_shown, self._counts(), self.outer_size.width - _TITLE_CELLS)
        if (tabs, told) != self._titled:
            self._tabs, self._titled = tabs, (tabs, told)
            set_title(self, title_of(tabs), told)

    def _counts(self) -> dict[str, str]:
        """Return the number beside each tab."""
        job = self._session.job(self._session.job_id)
        expected = {EXPECTATIONS: f"{len(self._session.simulation.scenario.expect):,}"}
        if job is None:
            return expected
        preparation, release = self._session.pages(job.job_id)
        return expected | {
            TASKS: f"{job.phases.tasks.total:,}",
            PREPARATION: f"{preparation.count():,}",
            RELEASE: f"{release.count():,}",
        }

    def wish(self, width: int, height: int) -> Wish:  # noqa: ARG002  # all panes have the same signature
        """Return the rows for header and list."""
        if self.name_shown == CURVES:
            return Wish(5, _BEST, MUCH)
        lines = max(2, self.model.count) + 1 + _FRAME
        return Wish(5, min(lines, _BEST), lines)

    def action_turn(self, by: int) -> None:
        """Show the list of another tab."""
        names = self.names
        at = names.index(self.name_shown) if self.name_shown in names else 0
        self.choose(names[(at + by) % len(names)])

    def choose(self, name: str) -> None:
        """Show this list from now on; the one that matters now leaves the choice to time again."""
        self.chosen = "" if name == self._name_that_matters else name
        self.update()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        place = event.get_content_offset(self)
        name = link_at(self._tabs, event.x - _TITLE_LEFT) if place is None and event.y == 0 else None
        if isinstance(name, str):
            event.prevent_default()
            self.choose(name)
