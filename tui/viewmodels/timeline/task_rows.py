"""Timeline rows of the tasks of the job in focus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.terms import TaskState
from engine.views.estimates.forecast import planned_task_end_ms
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import TASK, Glyph, task_glyph
from tui.viewmodels.text.styled import ItemRef, Line, Span, line
from tui.viewmodels.timeline.bars import Bar
from tui.viewmodels.timeline.columns import Extent, TimeColumns
from tui.viewmodels.timeline.rows import (
    FAILED,
    NEVER_MS,
    NOTHING,
    RUNNING,
    SUCCEEDED,
    Openable,
    Sort,
    TimelineRows,
    cut_to_job,
    filled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.pages.tasks import TaskPage


_WAITING = TASK[TaskState.ACTIVE]


class TaskRows(TimelineRows):
    """The tasks of the job in focus: waiting, running, ended. Earlier attempts are not shown."""

    name = "tasks"
    legend = (_WAITING, RUNNING, SUCCEEDED, FAILED)
    sorts = (Sort.TROUBLE, Sort.NUMBER, Sort.FIRST_START)

    _page: TaskPage

    @property
    def whose(self) -> str:
        return self.session.job_id

    def order(self, sort: Sort, *, only_failed: bool) -> Sequence[int]:
        """Return the tasks with failures first, as in the list of tasks, or in the order of their creation."""
        self._page = self.session.tasks(self.session.job_id)
        if only_failed:
            return self._page.failed()
        return self._page.order() if sort is Sort.TROUBLE else self._page.as_added()

    def value(self, sort: Sort) -> Callable[[int], Any] | None:
        """Return the sort key of the first start. Tasks that have not started come last."""
        started = self._page.sort_key("Start time") if sort is Sort.FIRST_START else None
        if started is None:
            return None

        def first_start(task: int) -> int:
            when_ms: int = started(task)
            return NEVER_MS if when_ms < 0 else when_ms

        return first_start

    def label(self, key: int) -> str:
        return self._page.id_of(key)

    def cells(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the cells of waiting and running. Start and end always show."""
        task = self._page.brief(key)
        changes = [(columns.column_at(task.created_ms), _WAITING)]
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
        return [each if each is _WAITING else NOTHING for each in self.cells(key, columns)]

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
            words.append(f"ended {clock(task.end_ms)}, exit {fmt.optional(task.exit_code)}")
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

    def openables(self, key: int, when_ms: int) -> list[Openable]:  # noqa: ARG002  # only existing tasks have a row
        return [Openable(f"task {self.label(key)}", self.subject(key))]

    def planned_ms(self, key: int) -> int | None:
        return planned_task_end_ms(self.session.simulation, key)

    def estimated_ms(self, key: int) -> int | None:
        """Return the planned end of a running task, else the estimated end of all tasks of the job."""
        is_running = self._page.state_of(key) is TaskState.RUNNING
        return self.planned_ms(key) if is_running else self.session.forecast().tasks_ms

    def is_over(self, key: int) -> bool:
        return self._page.state_of(key) in (TaskState.COMPLETED, None)
