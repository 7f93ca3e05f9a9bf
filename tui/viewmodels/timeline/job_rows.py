"""Timeline rows of the jobs of the account, and of the tasks of the job in focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import exit_text
from engine.base.terms import JobState, TaskState
from engine.views.diagnosis.estimates import planned_task_end_ms
from engine.views.log.lanes import PhasesOverTime
from engine.views.resources.jobs import job_ids
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import JOB, TASK, Glyph, task_glyph
from tui.viewmodels.text import ItemRef, Line, Role, Span, line
from tui.viewmodels.timeline.rows import (
    FAILED,
    NEVER_MS,
    NOTHING,
    PREPARING,
    RELEASING,
    RUNNING,
    Bar,
    Extent,
    TimeColumns,
    TimelineRows,
    cut_to_job,
    filled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.log.lanes import Lanes
    from engine.views.resources.jobs import NodeCounts
    from engine.views.resources.tasks import TaskPage
    from tui.viewmodels.session import Session


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
