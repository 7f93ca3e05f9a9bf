"""Timeline rows of the nodes of the pool in focus."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.base.terms import NodeState
from engine.base.values import called
from engine.views.diagnosis.estimates import planned_end_ms
from engine.views.hook_status import Hook, HookStatus
from engine.views.log.node_lane import Activity
from engine.views.resources.jobs import pool_of_job
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import INELIGIBLE, NODE, RELEASE, Glyph
from tui.viewmodels.text import ItemRef, Line, Role, Span, line
from tui.viewmodels.timeline.rows import (
    FAILED,
    NOTHING,
    PREPARING,
    RELEASING,
    RETRYING,
    RUNNING,
    WORKS_ON,
    Bar,
    ColumnCache,
    Extent,
    Openable,
    TimeColumns,
    TimelineRows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.log.lanes import Lanes
    from engine.views.log.node_lane import Lane, Stretch, TaskSpan
    from engine.views.resources.nodes import NodePage
    from tui.viewmodels.session import Session


_IDLE = NODE[NodeState.IDLE]
_DOING = {
    Activity.ABSENT: NOTHING,
    Activity.IDLE: _IDLE,
    Activity.INELIGIBLE: INELIGIBLE,
    Activity.PREPARING: PREPARING,
    Activity.RETRYING: RETRYING,
    Activity.WORKING: RUNNING,
    Activity.RELEASING: RELEASING,
    Activity.FAILED: FAILED,
    Activity.RELEASE_FAILED: RELEASE[HookStatus.FAILED],
}
_HOOK_OF = {
    Activity.PREPARING: (Hook.PREPARATION, "preparation"),
    Activity.RETRYING: (Hook.PREPARATION, "preparation"),
    Activity.RELEASING: (Hook.RELEASE, "release"),
}
# Activities that follow each other as one: a node on which nothing runs may become eligible again meanwhile.
_LASTING = ((Activity.WORKING,), (Activity.IDLE, Activity.INELIGIBLE))
_MOST_NAMED = 4
_LEAST_BAR = 3  # columns that a task has on average, for some to have room for a name


class NodeRows(TimelineRows):
    """The nodes of the pool in focus."""

    name = "nodes"
    _page: NodePage

    def __init__(self, session: Session, lanes: Lanes) -> None:
        super().__init__(session, lanes)
        self._columns: ColumnCache[Glyph] = ColumnCache()
        # As of the last ``order``, which each update asks for.
        self._planned_ms: dict[int, int | None] = {}
        self._estimated_ms: int | None = None

    @property
    def whose(self) -> str:
        return self.session.pool_id

    def order(self, *, only_failed: bool) -> Sequence[int]:
        """Return the nodes in the order in which they joined the pool."""
        self._page = self.session.nodes()
        self._planned_ms.clear()
        is_here = pool_of_job(self.session.simulation, self.session.job_id) == self.session.pool_id
        self._estimated_ms = self.session.forecast().end_ms if is_here else None  # of the job in focus
        nodes = self._page.nodes()
        return self.lanes.failed_among(nodes) if only_failed else nodes

    def label(self, key: int) -> str:
        """Return the index of the node in its pool."""
        return f"n{self._page.position_of(key)}"

    def subject(self, key: int) -> ItemRef:
        return ItemRef("node", key)

    def item_to_explain(self, key: int, when_ms: int) -> ItemRef:
        """Return the node, or its pool before the node joined it."""
        has_come = self.lanes.lane(key).has_begun(when_ms)
        return self.subject(key) if has_come else ItemRef("pool", self.session.pool_id)

    def cells(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return what the node did in each column. Columns that are over are cached."""
        lane, known_ms = self.lanes.lane(key), self.known_ms(key)
        glyph = partial(_glyph, lane, columns.step_ms)
        return self._columns.get(self.lanes.version, key, columns, known_ms, glyph)

    def recorded_of(self, keys: Sequence[int]) -> object:
        return (keys, self.lanes.latest(keys)) if self.lanes.unread_from_ms() is None else None

    def ends_of(self, keys: Sequence[int], columns: TimeColumns) -> object:
        """Return where recorded, estimated and planned cells end.

        A planned end may change without an entry about the node: with a limit, or with what a process waits for.
        """
        estimated_ms = self.estimated_ms(0)
        end = None if estimated_ms is None else columns.column_at(estimated_ms)
        return columns.begun(self.known_ms()), end, self.session.is_past, list(map(self.planned_ms, keys))

    def extent(self) -> Extent:
        """Return the time in which the pool had nodes."""
        whole = super().extent()
        found = self.lanes.in_pool(self.session.pool_id)[0].extent()
        return whole if found is None else whole.between(*found)

    def tracks_wanted(self) -> int:
        """Return the number of slots of a node."""
        pool = self.session.pool(self.session.pool_id)
        return 1 if pool is None else pool.record.slots

    def tracks(self, key: int, columns: TimeColumns) -> Sequence[Sequence[Bar]]:
        """Return the tasks of a node, slot by slot; none where there are too many for their names."""
        begin_ms, end_ms = columns.begin_ms(0), columns.begin_ms(columns.number)
        if not self.is_read(key):
            return ()
        tracks = self.lanes.tracks(key)
        if tracks.number(begin_ms, end_ms) * _LEAST_BAR > columns.number * self.tracks_wanted():
            return ()
        with_job = self.session.has_several_jobs
        return [[self._bar(each, with_job=with_job) for each in spans] for spans in tracks.spans(begin_ms, end_ms)]

    def _bar(self, span: TaskSpan, *, with_job: bool) -> Bar:
        page, until_ms = self.session.tasks(self.session.job_id), span.end_ms or self.known_ms()
        job_id, name = page.job_and_id(span.task) if page.has(span.task) else ("", "")
        duration = fmt.short_span(max(0, until_ms - span.begin_ms))
        notes = (duration, job_id if with_job else "")
        return Bar(span.begin_ms, span.end_ms, RUNNING, name, notes, FAILED if span.has_failed else None, is_id=True)

    def ground(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return what the node did beside its tasks."""
        return [_IDLE if glyph in (RUNNING, WORKS_ON) else glyph for glyph in self.cells(key, columns)]

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """Return the moment when what the cell shows began."""
        return max(begin_ms, self.lanes.lane(key).shown(begin_ms, end_ms).begin_ms)

    def description_at(self, key: int, when_ms: int) -> Line:
        """Return what the node did, since when, and for how long: in the past up to the moment that is shown."""
        lane = self.lanes.lane(key)
        stretch = lane.at(when_ms)
        if stretch.activity is Activity.ABSENT:
            return line(Span("not in the pool", Role.DIM))
        glyph = glyph_of_stretch(stretch)
        begin_ms, until_ms = stretch.begin_ms, lane.until_ms(when_ms)
        for lasting in _LASTING:
            if stretch.activity in lasting:
                begin_ms, until_ms = lane.lasting(when_ms, lasting)
        unread_ms, now_ms, clock = self.unread_from_ms(key), self.session.now_ms, self.session.clock
        if until_ms is not None and when_ms <= now_ms < until_ms:
            until_ms = None  # what was recorded after this moment is yet to come
        lasted = fmt.span((max(when_ms, now_ms) if until_ms is None else until_ms) - begin_ms)
        if until_ms is None:
            lasted = f"{lasted} so far" if unread_ms is None else f"read up to {clock(unread_ms)}"
        since = Span(f" since {clock(begin_ms)}, {lasted}")
        if stretch.activity is Activity.WORKING:
            running = self.lanes.tracks(key).running_at(when_ms)
            return line(Span(glyph.name, glyph.role), since, Span(f": {self._named(running, begin_ms)}", Role.STRONG))
        # A node is idle already while preparation or release runs on it: this is not how long its state has lasted.
        quiet = {Activity.IDLE: "nothing runs", Activity.INELIGIBLE: f"{glyph.name}, nothing runs"}
        return line(Span(quiet.get(stretch.activity, glyph.name), glyph.role), since)

    def _named(self, running: Sequence[TaskSpan], since_ms: int) -> str:
        """Return the first of these tasks by their ids, and the number of the others.

        The moment of the first begin follows if the node has been running, with other tasks, for longer.
        """
        page = self.session.tasks(self.session.job_id)
        named = [page.id_of(each.task) for each in running if page.has(each.task)][:_MOST_NAMED]
        left = len(running) - len(named)
        if not named:
            return "one task added later" if left == 1 else f"{left:,} tasks added later"
        first_ms, last_ms = running[0].begin_ms, running[-1].begin_ms
        since = f" since {self.session.clock(first_ms)}" if last_ms > since_ms else ""
        since += " or later" if last_ms > first_ms else ""
        return ", ".join(named) + (f" and {left:,} more" if left else "") + since

    def note(self, key: int) -> str:
        """Return the present state of the node."""
        return NODE[self._page.state_of(key)].name

    def openables(self, key: int, when_ms: int) -> list[Openable]:
        """Return the tasks that ran there, or the preparation or release of the job in focus, and the node."""
        lane = self.lanes.lane(key)
        if not lane.has_begun(when_ms):
            return []
        doing, page, found = lane.at(when_ms).activity, self.session.tasks(self.session.job_id), []
        if doing is Activity.WORKING:
            tasks = [each.task for each in self.lanes.tracks(key).running_at(when_ms)]
            found = [Openable(called("task", page.id_of(task)), ItemRef("task", task)) for task in tasks]
        elif doing in _HOOK_OF:
            hook, view = _HOOK_OF[doing]
            runs = self.lanes.hook_runs(hook, self.session.job_id, key)
            if any(run.begin_ms <= when_ms and (run.end_ms is None or when_ms < run.end_ms) for run in runs):
                found = [Openable(f"{view} on {self.label(key)}", self.subject(key), view)]
        return [*found, *super().openables(key, when_ms)]

    def planned_ms(self, key: int) -> int | None:
        if key not in self._planned_ms:
            self._planned_ms[key] = planned_end_ms(self.session.simulation, key)
        return self._planned_ms[key]

    def estimated_ms(self, key: int) -> int | None:  # noqa: ARG002  # the same for all nodes
        return self._estimated_ms

    def is_over(self, key: int) -> bool:
        return self.lanes.lane(key).has_left

    def unread_from_ms(self, key: int) -> int | None:
        return self.lanes.unread_from_ms(key)


def _glyph(lane: Lane, step_ms: int, column: int) -> Glyph:
    begin_ms, end_ms = column * step_ms, (column + 1) * step_ms
    stretch = lane.shown(begin_ms, end_ms)
    if stretch.activity is Activity.WORKING:
        begins = stretch.begin_ms >= begin_ms or lane.tasks_begun(begin_ms, end_ms) == 1
        return RUNNING if begins else WORKS_ON
    return glyph_of_stretch(stretch)


def glyph_of_stretch(stretch: Stretch) -> Glyph:
    """Return the glyph of what a node did for a while."""
    state = NODE[stretch.state]
    has_failed = stretch.activity is Activity.FAILED and state.role is Role.FAILED
    return state if has_failed or stretch.activity is Activity.CHANGING else _DOING[stretch.activity]
