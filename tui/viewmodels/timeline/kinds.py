"""The kinds of timeline rows: nodes of the pool in focus, tasks of the job in focus, and jobs of the account."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.base.errors import exit_text
from engine.base.terms import JobState, NodeState, TaskState
from engine.base.values import called
from engine.views.diagnosis.estimates import planned_end_ms, planned_task_end_ms
from engine.views.hook_status import Hook, HookStatus
from engine.views.log.lanes import PhasesOverTime
from engine.views.log.node_lane import Activity
from engine.views.resources.jobs import job_ids, pool_of_job
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import INELIGIBLE, JOB, NODE, RELEASE, TASK, Glyph, task_glyph
from tui.viewmodels.text import ItemRef, Line, Role, Span, line
from tui.viewmodels.timeline.rows import (
    FAILED,
    NEVER_MS,
    NOTHING,
    PREPARING,
    RELEASING,
    RETRYING,
    RUNNING,
    Bar,
    ColumnCache,
    Extent,
    Openable,
    TimeColumns,
    TimelineRows,
    cut_to_job,
    filled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.log.lanes import Lanes
    from engine.views.log.node_lane import Lane, Stretch, TaskSpan
    from engine.views.resources.jobs import NodeCounts
    from engine.views.resources.nodes import NodePage
    from engine.views.resources.tasks import TaskPage
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
        return [_IDLE if glyph is RUNNING else glyph for glyph in self.cells(key, columns)]

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
    return glyph_of_stretch(lane.shown(column * step_ms, (column + 1) * step_ms))


def glyph_of_stretch(stretch: Stretch) -> Glyph:
    """Return the glyph of what a node did for a while."""
    state = NODE[stretch.state]
    has_failed = stretch.activity is Activity.FAILED and state.role is Role.FAILED
    return state if has_failed or stretch.activity is Activity.CHANGING else _DOING[stretch.activity]


_ACTIVE = JOB[JobState.ACTIVE]
_OVER = (JOB[JobState.COMPLETED], JOB[None])
_WAITING_JOB = TASK[TaskState.ACTIVE]._replace(name="waiting")
_DONE = Glyph("·", ".", Role.QUIET, "no task left")


class JobRows(TimelineRows):
    """The jobs of the account, without deleted ones."""

    name = "jobs"
    _ids: Sequence[str] = ()

    def __init__(self, session: Session, lanes: Lanes) -> None:
        super().__init__(session, lanes)
        self._phases = PhasesOverTime(session.simulation, lanes, session.first_starts)

    whose = ""

    def order(self, *, only_failed: bool) -> Sequence[int]:
        """Return the jobs, oldest first, or only those with a failed task."""
        self._ids = job_ids(self.session.simulation)
        rows = range(len(self._ids))
        return [row for row in rows if self._failed(row)] if only_failed else rows

    def of_pool(self) -> Sequence[int]:
        """Return the jobs of the pool in focus: the job in focus, then the others, the newest first."""
        session, keys = self.session, self.order(only_failed=False)
        pool = session.pool(session.pool_id)
        mine = set(() if pool is None else pool.jobs)
        found = [key for key in reversed(keys) if self._ids[key] in mine]
        return sorted(found, key=lambda key: self._ids[key] != session.job_id)

    def _failed(self, row: int) -> int:
        job = self.session.job(self._ids[row])
        return 0 if job is None else job.phases.tasks.failed

    def label(self, key: int) -> str:
        return self._ids[key]

    def cells(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the state at the end of each column."""
        stretches = self.lanes.job(self._ids[key])
        changes = [(columns.column_at(each.begin_ms), JOB[each.state]) for each in stretches]
        return filled(columns.begun(self.known_ms()), changes)

    def extent(self) -> Extent:
        """Return the time from the creation of the first job to the end of the last one."""
        whole = super().extent()
        jobs = [cut_to_job(whole, self.lanes.job(job_id)) for job_id in self._ids]
        if not jobs:
            return whole
        is_over = all(each.is_over for each in jobs)
        return Extent(min(each.begin_ms for each in jobs), max(each.end_ms for each in jobs), is_over)

    def tracks(self, key: int, columns: TimeColumns) -> Sequence[Sequence[Bar]]:  # noqa: ARG002  # there are three
        """Return the phases of a job."""
        phases = self._phases_of(key)
        return [phases] if phases else ()

    def _phases_of(self, key: int) -> list[Bar]:
        """Return the phases of a job with their counts: preparation, up to the first task, then tasks, then release.

        Counts are those of the strip of jobs.
        """
        phases, job = self._phases.of(self._ids[key]), self.session.progress(self._ids[key])
        bars: list[Bar] = []
        if job is None:
            return bars
        if phases.preparation is not None:
            begin_ms, end_ms = phases.preparation
            if phases.tasks is not None:
                end_ms = max(begin_ms + 1, phases.tasks.begin_ms)
            # Failures are counted by the name: the end of the bar is the start of the first task, not of a failure.
            failed = job.preparation.failed if job.preparation is not None else 0
            sign = f" {self.session.glyphs.bad}{failed:,}" if failed else ""
            note = _nodes(job.preparation)
            bars.append(Bar(begin_ms, end_ms, PREPARING, f"preparation{sign}", (note,), short=f"prep{sign}"))
        if phases.tasks is not None:
            tasks = job.tasks
            note = f"{tasks.succeeded + tasks.failed:,} of {tasks.total:,}"
            begin_ms, end_ms = phases.tasks
            if phases.release is not None:
                end_ms = min(end_ms or NEVER_MS, phases.release.begin_ms)
            ending = FAILED if tasks.failed and end_ms is not None else None
            bars.append(Bar(begin_ms, end_ms, RUNNING, "tasks", (note,), ending))
        if phases.release is not None:
            ending = FAILED if job.release is not None and job.release.failed else None
            bars.append(Bar(*phases.release, RELEASING, "release", (_nodes(job.release),), ending))
        return bars

    def ground(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the states in which the job does nothing: waiting, without a task left, disabled, terminating."""
        tasks = self._phases.of(self._ids[key]).tasks
        done_ms = NEVER_MS if tasks is None or tasks.end_ms is None else tasks.end_ms
        cells = [
            each if each is not _ACTIVE else _WAITING_JOB if columns.begin_ms(at) < done_ms else _DONE
            for at, each in enumerate(self.cells(key, columns))
        ]
        end = next((at + 1 for at, glyph in enumerate(cells) if glyph in _OVER), len(cells))
        return cells[:end] + [NOTHING] * (len(cells) - end)

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """Return the last change of state within the cell, or its begin."""
        changes = [each.begin_ms for each in self.lanes.job(self._ids[key]) if begin_ms <= each.begin_ms < end_ms]
        return changes[-1] if changes else begin_ms

    def description_at(self, key: int, when_ms: int) -> Line:
        """Return what the bar shows at a moment with its counts and times, and the job's state, since when it lasts."""
        begun, clock = [each for each in self.lanes.job(self._ids[key]) if each.begin_ms <= when_ms], self.session.clock
        if not begun:
            return line(Span("not added yet", NOTHING.role))
        glyph, since = JOB[begun[-1].state], f" since {clock(begun[-1].begin_ms)}"
        phase = self._phase_at(key, when_ms)
        if phase is None:
            return line(Span(glyph.name, glyph.role), Span(since))
        times = f"since {clock(phase.begin_ms)}"
        if phase.end_ms is not None:
            times = f"{clock(phase.begin_ms)} to {clock(phase.end_ms)}"
        counts = "".join(f"  {note}" for note in phase.notes if note)
        return line(Span(phase.name, phase.glyph.role), Span(f"{counts}, {times}; {glyph.name}{since}"))

    def _phase_at(self, key: int, when_ms: int) -> Bar | None:
        """Return the phase of a job at a moment; None if it does nothing then."""
        phases = (each for each in self._phases_of(key) if each.begin_ms <= when_ms < (each.end_ms or NEVER_MS))
        return next(phases, None)

    def subject(self, key: int) -> ItemRef:
        return ItemRef("job", self._ids[key])

    def note(self, key: int) -> str:
        """Return the present phase of the job; its state where it has none, or is not active."""
        job, phase = self.session.progress(self._ids[key]), self._phase_at(key, self.session.now_ms)
        if job is None:
            return ""
        return phase.name if phase is not None and job.state is JobState.ACTIVE else JOB[job.state].name

    def estimated_ms(self, key: int) -> int | None:
        """Return the end of the job that is simulated, or of the job in focus estimated; None if it is not known."""
        end = self.session.job_end(self._ids[key])
        return None if end is None or end.is_of_tasks else end.when_ms

    def is_over(self, key: int) -> bool:
        stretches = self.lanes.job(self._ids[key])
        return bool(stretches) and stretches[-1].state is JobState.COMPLETED


def _nodes(counts: NodeCounts | None) -> str:
    return "" if counts is None else f"{counts.done + counts.failed:,} of {counts.total:,} nodes"


_ACTIVE_TASK = TASK[TaskState.ACTIVE]


class TaskRows(TimelineRows):
    """The tasks of the job in focus: waiting, running, ended. Earlier attempts are not shown."""

    name = "tasks"
    _page: TaskPage

    def order(self, *, only_failed: bool) -> Sequence[int]:
        """Return the tasks with failures first, as in the list of tasks."""
        self._page = self.session.tasks(self.session.job_id)
        return self._page.failed() if only_failed else self._page.order()

    def label(self, key: int) -> str:
        return self._page.id_of(key)

    def cells(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the cells of waiting and running. Start and end always show."""
        task = self._page.brief(key)
        changes = [(columns.column_at(task.created_ms), _ACTIVE_TASK)]
        if task.start_ms is not None:
            changes.append((columns.column_at(task.start_ms), RUNNING))
        if task.end_ms is not None:
            column = columns.column_at(task.end_ms)
            changes += [(column, task_glyph(task.state, task.result)), (column + 1, NOTHING)]
        return filled(columns.begun(self.session.now_ms), changes)

    def extent(self) -> Extent:
        """Return the time from the job's creation to its end."""
        return cut_to_job(super().extent(), self.lanes.job(self.session.job_id))

    def tracks(self, key: int, columns: TimeColumns) -> Sequence[Sequence[Bar]]:  # noqa: ARG002  # there is one bar
        """Return the last attempt, with its node and its duration."""
        task = self._page.brief(key)
        if task.start_ms is None or task.state is TaskState.ACTIVE:
            return ()
        until_ms = self.session.now_ms if task.end_ms is None else task.end_ms
        node = f"n{task.position}" if task.position is not None else ""
        ending = None if task.end_ms is None else task_glyph(task.state, task.result)
        note = fmt.short_span(until_ms - task.start_ms)
        until = None if task.end_ms is None else max(task.end_ms, task.start_ms) + 1
        return [[Bar(task.start_ms, until, RUNNING, node, (note,), ending)]]

    def ground(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the cells of the time in which the task waited."""
        return [each if each is _ACTIVE_TASK else NOTHING for each in self.cells(key, columns)]

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """Return the end or start of the task within the cell."""
        task = self._page.brief(key)
        moments = (task.end_ms, task.start_ms, task.created_ms)
        return next((when for when in moments if when is not None and begin_ms <= when < end_ms), begin_ms)

    def description_at(self, key: int, when_ms: int) -> Line:
        """Return the task's states with their times."""
        task, clock = self._page.brief(key), self.session.clock
        words = [f"added {clock(task.created_ms)}"]
        if task.start_ms is not None:
            words.append(f"started {clock(task.start_ms)}")
        if task.end_ms is not None:
            words.append(f"ended {clock(task.end_ms)}, exit {exit_text(task.exit_code)}")
        (glyph,) = self.cells(key, TimeColumns(when_ms, 1, 1)) or (NOTHING,)
        return line(Span(glyph.name, glyph.role), Span("  " + ", ".join(words)))

    def subject(self, key: int) -> ItemRef:
        return ItemRef("task", key)

    def item_to_explain(self, key: int, when_ms: int) -> ItemRef:
        """Return the task, or its job before the task was added."""
        was_added = when_ms >= self._page.brief(key).created_ms
        return ItemRef("task", key) if was_added else ItemRef("job", self.session.job_id)

    def note(self, key: int) -> str:
        """Return the present state of the task."""
        task = self._page.brief(key)
        return task_glyph(task.state, task.result).name

    def planned_ms(self, key: int) -> int | None:
        return planned_task_end_ms(self.session.simulation, key)

    def estimated_ms(self, key: int) -> int | None:
        """Return the planned end of a running task, else the estimated end of all tasks of the job."""
        is_running = self._page.state_of(key) is TaskState.RUNNING
        return self.planned_ms(key) if is_running else self.session.forecast().tasks_ms

    def is_over(self, key: int) -> bool:
        return self._page.state_of(key) in (TaskState.COMPLETED, None)
