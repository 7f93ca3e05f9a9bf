"""The Watch view, with its pane of problems.

It shows progress, node map, preparation or release, the problems that need attention in groups, and the last events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.message import Message

from engine.views.hook_status import HookStatus
from tui.panes.watch_panes import JobLists, JobStrip, NodeMapPane
from tui.textual.overrides import set_title
from tui.textual.screens import GoToTime, ShowView, View
from tui.textual.views import LinesView, Regions, ResizeFilter, entitle
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import NODE, PREPARATION, RELEASE, TASK_GLYPHS, glyph_of_job
from tui.viewmodels.lists.events import EventsModel, brief_lines
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.text import block_lines
from tui.viewmodels.watch.arrangement import (
    ABOUT,
    CURVES,
    EVENTS,
    HIGH,
    WIDE,
    Arrangement,
    Wish,
    arrange,
)
from tui.viewmodels.watch.attention import AttentionModel
from tui.viewmodels.watch.job_strip import EVENTS_TAB, EXPECTATIONS_TAB, PREPARATION_TAB, RELEASE_TAB, TASKS_TAB
from tui.viewmodels.watch.node_map import Form
from tui.widgets.charts import Curves, NodeMap
from tui.widgets.rows import Choices
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from textual.app import ComposeResult

    from engine.views.diagnosis.model import Finding
    from engine.views.resources.instances import HookCounts
    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Block, ItemRef


_ATTENTION_KEYS = (("row.act", "act"), ("row.mark", "mark"))
_FEWEST_CELLS = 10
_TITLE_CELLS = 28
_LEAST_LINES, _BEST_LINES = 5, 14


class Attention(ResizeFilter, Choices):
    """Groups of problems. Keys open, explain, mark and act on a whole group."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.glyphs.cursor, id="attention")
        self._model = AttentionModel(session)

    @property
    def subjects(self) -> Sequence[ItemRef]:
        """All items of the group under the cursor."""
        return self._model.subjects(self.number)

    @property
    def subject(self) -> ItemRef | None:
        """The first of these items."""
        return self._model.subject(self.number)

    @property
    def concern(self) -> Finding | None:
        """The entry under the cursor."""
        return self._model.concerns[self.number] if 0 <= self.number < len(self._model.concerns) else None

    @property
    def worst(self) -> ItemRef | None:
        """The first item of the worst problem; None while nothing has failed."""
        return self._model.worst

    def update(self) -> None:
        self._model.update()
        self.pointer = self._model.session.glyphs.cursor
        count = len(self._model.concerns)
        title = "Needs attention" if self.outer_size.width >= _TITLE_CELLS else "Attention"
        entitle(self, f"{title} ({count})" if count else title, _ATTENTION_KEYS if count else ())
        room = self.outer_size.width - self.gutter.width - self.styles.scrollbar_size_vertical
        rows = self.outer_size.height - self.gutter.height
        self.show(self._model.lines(max(_FEWEST_CELLS, room - self.POINTER_CELLS), rows))

    def resized(self) -> None:
        """Break the lines anew: the first ones are drawn before the pane has its size."""
        self.update()

    def wish(self, width: int, height: int) -> Wish:  # noqa: ARG002  # all panes have the same signature
        """Return the rows for all problems; at least the first one is shown."""
        room = width - self.gutter.width - self.styles.scrollbar_size_vertical - self.POINTER_CELLS
        lines = len(self._model.lines(max(_FEWEST_CELLS, room))) + self.gutter.height
        return Wish(min(lines, _LEAST_LINES), min(lines, _BEST_LINES), lines)

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Show the list with the items of the group; their job or pool gets the focus. Go to what is coming."""
        concern = self._model.concerns[message.number]
        if concern.is_coming:
            self.post_message(GoToTime(concern.since_ms))
            return
        there = self._model.destination(message.number)
        self.post_message(ShowView(there.view, there.row, there.focus))


_HINTS = {
    "strip": (("jobs.up jobs.down", "job in focus"), ("pane.zoom", "all jobs"), ("jobs.open", "open the job")),
    "map": (("map.open", "open the node"),),
    "attention": (("choices.open", "go there"),),
}
_OPENS = {
    PREPARATION_TAB: "all preparations",
    TASKS_TAB: "all tasks",
    RELEASE_TAB: "all releases",
    EVENTS_TAB: "go there",
    EXPECTATIONS_TAB: "all expectations",
}


_ABOUT_WISH = Wish(10, 24, 36)
_Pane = JobStrip | NodeMapPane | Attention | Curves | JobLists
_WITH_SUBJECT = (Table, NodeMap, Attention, JobStrip)


class SidePane(LinesView):
    """Lines that the view draws for the size of the pane."""

    class Resized(Message):
        """The pane has another size."""

    def on_resize(self) -> None:
        self.post_message(self.Resized())


class Watch(View):
    """The job in focus on its pool."""

    title = "Watch"
    help_text = f"{fmt.help_on('Watch')}\n{fmt.help_on('Estimates')}"

    def __init__(self, session: Session) -> None:
        super().__init__(id="watch")
        self._session = session
        self._events = EventsModel(session)
        self._models: dict[str, RowsModel] = {
            "node": NodesModel(session),
            "task": TasksModel(session),
            "job": JobsModel(session),
            "pool": PoolsModel(session),
        }
        self._map, self._lists = NodeMapPane(session), JobLists(session)
        others = Attention(session), Curves(session)
        self._panes: tuple[_Pane, ...] = (JobStrip(session), self._map, *others, self._lists)
        self._recent, self._about = SidePane(id="recent", classes="panel"), SidePane(id="about", classes="panel")
        self._arrangement: Arrangement | None = None
        self._regions = Regions(id="panes")

    def compose(self) -> ComposeResult:
        with self._regions:
            yield from (*self._panes, self._recent, self._about)

    @property
    def symbols(self) -> Iterable[Glyph]:
        session, strip = self._session, self._panes[0]
        has_words = self._map.nodes.layout_now.form in (Form.CARD, Form.LINE)  # which show states through any lens
        nodes, tasks = session.nodes().counts() if has_words else {}, session.tasks(session.job_id).counts()
        jobs = map(session.progress, strip.model.rows if isinstance(strip, JobStrip) else ())
        job = session.job(session.job_id)
        is_rail = isinstance(strip, JobStrip) and strip.model.is_single
        phases, shown = None if job is None else job.phases, self._lists.name_shown
        hooks: list[tuple[dict[HookStatus, Glyph], HookCounts]] = []
        if phases is not None and (is_rail or shown == PREPARATION_TAB):
            hooks.append((PREPARATION, phases.preparation))
        if phases is not None and (is_rail or shown == RELEASE_TAB):
            hooks.append((RELEASE, phases.release))
        return (
            *self._map.model.symbols(),
            *(glyph for state, glyph in NODE.items() if nodes.get(state)),
            *(glyph for glyph, count in zip(TASK_GLYPHS, tasks, strict=False) if count),
            *(
                glyph
                for table, counts in hooks
                for status, glyph in table.items()
                if counts[status] and status is not HookStatus.WILL_RUN
            ),
            *map(glyph_of_job, filter(None, jobs)),
        )

    @property
    def hints(self) -> Sequence[tuple[str, str]]:
        """The keys that are useful in the pane with the focus."""
        focused = self.screen.focused
        here = _HINTS.get(focused.id or "" if focused else "", ())
        if isinstance(focused, NodeMap) and not focused.model.nodes:
            here = tuple(each for each in here if each[0] != "map.open")
        if focused is self._lists and self._lists.name_shown in _OPENS:
            here = (*here, ("table.open", _OPENS[self._lists.name_shown]))
        return ("pane.next", "next pane"), *here

    def remembered(self) -> dict[str, Any]:
        return self._map.model.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        self._map.model.recall(values)

    def on_mount(self) -> None:
        self._recent.border_title = "Events, newest first"

    def update(self) -> None:
        """Update the panes, and divide the room anew if what they show needs it."""
        self._update_panes()
        self._arrange()

    def _arrange(self) -> None:
        width, height = self._regions.size
        if not height or not self._regions.is_attached:
            return
        wishes = self._wishes(has_curves=width >= WIDE or height >= HIGH)
        self._arrangement = arrange(width, height, wishes, self._arrangement)
        if self._regions.place(self._arrangement.regions):
            self.is_filled = False
            self.call_after_refresh(self._show_arrangement)

    def _show_arrangement(self) -> None:
        """Fill the panes for their new places before anybody sees them there."""
        self._update_panes()
        self.refresh()

    on_resize = _arrange

    def _wishes(self, *, has_curves: bool) -> dict[str, Callable[[int, int], Wish | None]]:
        """Return the wishes of the panes for rows, by id."""
        shown = (each for each in self._panes if each.id != CURVES or has_curves)
        wishes: dict[str, Callable[[int, int], Wish | None]] = {each.id or "": each.wish for each in shown}
        return {**wishes, EVENTS: self._events_wish, ABOUT: lambda *_: _ABOUT_WISH}

    def _events_wish(self, width: int, height: int) -> Wish | None:  # noqa: ARG002
        lines = self._events.count + 2
        return Wish(3, min(lines, 8), lines) if self._lists.name_shown != EVENTS_TAB else None

    def _update_panes(self) -> None:
        self.is_filled = True
        if not self._map.nodes.is_attached:
            return  # the run is being left: its panes are gone
        for pane in self._panes:
            pane.update()
        self._update_events()
        self._update_details()

    def _update_events(self) -> None:
        recent = self._recent
        self._events.update()
        if not recent.size.height:
            return
        first = max(0, self._events.count - recent.size.height)
        keys = map(self._events.key, reversed(range(first, self._events.count)))
        recent.show(brief_lines(self._events, keys, recent.size.width))

    def _update_details(self) -> None:
        """Show the details of the item under the cursor, else of the job in focus, on a wide screen."""
        about = self._about
        if not about.region.height:
            return
        focused = self.screen.focused
        subject = focused.subject if isinstance(focused, _WITH_SUBJECT) else None
        model = self._models.get(subject.kind) if subject is not None else None
        if isinstance(focused, Table):
            model = focused.model
        blocks = [] if model is None or subject is None else self._details_of(model, subject.key)
        blocks = blocks or self._details_of(self._models["job"], self._session.job_id)
        set_title(about, "Details")
        about.show(block_lines(blocks, max(10, about.size.width - 1)))

    @staticmethod
    def _details_of(model: RowsModel, item: int | str) -> Sequence[Block]:
        model.update()
        key = item if isinstance(item, int) else model.row_of(item)
        return [] if key is None else model.details(key)

    def on_side_pane_resized(self) -> None:
        """Draw events and details anew for the sizes that their panes have now."""
        self._update_events()
        self._update_details()

    on_job_strip_focused = update

    # Something else is under the cursor of the pane with the focus.
    on_node_map_changed = on_table_moved = on_choices_moved = on_descendant_focus = _update_details

    def on_table_opened(self, message: Table.Opened) -> None:
        """Open the whole list with the cursor on the same row; an event leads to its moment."""
        if self._lists.name_shown == EXPECTATIONS_TAB:
            message.stop()
            self.post_message(ShowView(EXPECTATIONS_TAB))
        elif self._lists.name_shown != EVENTS_TAB:
            message.stop()
            self.post_message(ShowView(self._lists.name_shown, message.key))

    @property
    def first_pane(self) -> NodeMap:
        return self._map.nodes
