"""The Watch view: how far, where, which, what to do next, what just happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.containers import Container

from engine.base.terms import JobState
from tui.panes.attention import Attention
from tui.panes.map import MapPane
from tui.panes.pinned import Pinned
from tui.panes.view import View
from tui.viewmodels.events.event_list import EventsModel
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.nodes import NodesModel
from tui.viewmodels.lists.pools import PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.watch import phase_rail
from tui.viewmodels.watch.estimates import HELP as HOW_ESTIMATED
from tui.widgets.legend import Legend
from tui.widgets.lines import LinesView
from tui.widgets.messages import ShowView
from tui.widgets.node_map import NodeMap
from tui.widgets.redraw import set_title
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from tui.viewmodels.lists.instances import InstancesModel
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session.session import Session

HELP = (
    "The three bars say how far the job in focus is: on how many nodes it has prepared, how many tasks are done, "
    "where release has run.\n"
    "The map shows every node of the pool, always in the same place; l and L change what it looks at. "
    "Beside a cell - stands for scheduling disabled, and a dot for Spot. Very many nodes have half a cell each. "
    "Age is since the present state began. Failures are runs of tasks that did not end well, and preparation and "
    "release of the job in focus. On the legend enter dims all else, and m marks all nodes that look like that.\n"
    "Below the list p50, p95 and slowest are derived: how long the last runs took that have succeeded.\n"
    "Needs attention groups what is wrong by cause, newest first; enter goes to the first of a group, "
    "a acts on the whole group, m marks it.\n"
) + HOW_ESTIMATED

_HINTS = {
    "map": (("map.lens", "lens"), ("map.open", "open")),
    "legend": (("legend.only", "dim the others"), ("row.mark", "mark all of it")),
    "attention": (("choices.open", "go there"),),
    "hooks": (("table.open", "open"),),
}


class Watch(View):
    """The job in focus on its pool."""

    title = "Watch"
    help_text = HELP

    def __init__(self, session: Session) -> None:
        """A view of this session."""
        super().__init__(id="watch")
        self._session = session
        self._preparation = PreparationModel(session)
        self._release = ReleaseModel(session)
        self._events = EventsModel(session)
        self._models: dict[str, RowsModel] = {
            "node": NodesModel(session),
            "task": TasksModel(session),
            "job": JobsModel(session),
            "pool": PoolsModel(session),
        }
        self._map = MapPane(session)

    def compose(self) -> ComposeResult:
        """The rail across; on the left where, on the right which and when."""
        yield LinesView(id="rail", classes="panel")
        with Container(id="panes"):
            with Container(id="where"):
                yield self._map
                yield Attention(self._session)
            with Container(id="which"):
                yield Pinned(self._session)
                yield Table(self._preparation, id="hooks")
                yield LinesView(id="recent", classes="panel")
            yield LinesView(id="about", classes="panel")

    @property
    def hints(self) -> tuple[tuple[str, str], ...]:
        """What is of use in the pane with the focus."""
        return ("pane.next", "next pane"), *_HINTS.get(self.screen.focused.id or "" if self.screen.focused else "", ())

    def remembered(self) -> dict[str, Any]:
        """What was chosen here."""
        return self._map.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        """Be as it was left."""
        self._map.recall(values)

    def on_mount(self) -> None:
        """Headings that do not change."""
        self.query_one("#recent").border_title = "Events"

    def look(self) -> None:
        """Bring every pane up to date."""
        session = self._session
        rail = self.query_one("#rail", LinesView)
        set_title(rail, phase_rail.title(session), phase_rail.subtitle(session))
        rail.show(phase_rail.rail(session, rail.size.width, rail.size.height))
        self._map.look()
        self.query_one(Pinned).look()
        self._look_at_hooks()
        self.query_one(Attention).look()
        self._look_at_events()
        self._look_at_subject()

    def _look_at_hooks(self) -> None:
        """Preparation while the job is active, release once it ends."""
        job = self._session.job(self._session.job_id)
        is_ending = job is not None and job.state in (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING)
        model: InstancesModel = (
            self._release if is_ending and job and job.phases.release.is_specified else self._preparation
        )
        table = self.query_one(Table)
        table.model = model
        table.look()
        opens = f"{'6' if model is self._preparation else '7'} open"
        set_title(table, f"{model.title}, {model.of_all()}", "   ".join(filter(None, (model.spread(), opens))))

    def _look_at_events(self) -> None:
        recent = self.query_one("#recent", LinesView)
        if not recent.region.height:
            return
        self._events.refresh()
        first = max(0, self._events.count - recent.size.height)
        recent.show([self._events.one_line(self._events.key(at)) for at in reversed(range(first, self._events.count))])

    def _look_at_subject(self) -> None:
        """Where there is room, all that is known of what is under the cursor."""
        about = self.query_one("#about", LinesView)
        if not about.region.height:
            return
        focused = self.screen.focused
        subject = focused.subject if isinstance(focused, Table | NodeMap | Legend | Attention | Pinned) else None
        model = self._models.get(subject.kind) if subject is not None else None
        if isinstance(focused, Table):
            model = focused.model
        blocks = []
        if model is not None and subject is not None:
            model.refresh()
            key = subject.key if isinstance(subject.key, int) else model.row_of(subject.key)
            blocks = [] if key is None else list(model.details(key))
        set_title(about, "Details")
        text = self._session.text
        lines = block_lines(blocks, max(10, about.size.width - 1))
        about.show([tuple(span._replace(text=text(span.text)) for span in each) for each in lines])

    def on_node_map_changed(self) -> None:
        """Another node is under the cursor."""
        self._look_at_subject()

    def on_table_moved(self) -> None:
        """Another row is under the cursor."""
        self._look_at_subject()

    def on_choices_moved(self) -> None:
        """Another group is under the cursor."""
        self._look_at_subject()

    def on_descendant_focus(self) -> None:
        """Another pane has the focus."""
        self._look_at_subject()

    def on_table_opened(self, message: Table.Opened) -> None:
        """Open the blade of the list with the cursor on the same node."""
        message.stop()
        name = "preparation" if message.table.model is self._preparation else "release"
        self.post_message(ShowView(name, message.key))

    def show_all(self) -> bool:
        """Dim nothing of the map any more; returns whether something was."""
        return self._map.show_all()

    def focus_first(self) -> None:
        """The map has the focus at first."""
        self.query_one(NodeMap).focus()
