"""The tasks of the job in focus over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.terms import TaskState
from engine.views.estimates.planned_ends import planned_task_end_ms
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import Glyph, task_glyph
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, line
from tui.viewmodels.timeline.rows import (
    NEVER_MS,
    NOTHING,
    RUNNING,
    SUCCEEDED,
    Columns,
    LaneRows,
    Sort,
    There,
    filled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.lanes.lanes import Lanes
    from engine.views.pages.tasks import TaskRow
    from tui.viewmodels.session.session import Session

_WAITING = Glyph("◌", "a", Role.QUIET, "waiting")


class TaskRows(LaneRows):
    """The tasks of the job in focus: waiting, running, how they ended. Earlier tries are not kept."""

    name = "tasks"
    legend = (_WAITING, RUNNING, SUCCEEDED, Glyph("✗", "x", Role.FAILED, "failed"))
    sorts = (Sort.TROUBLE, Sort.NUMBER, Sort.FIRST_START)

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Nothing has been looked at yet."""
        super().__init__(session, lanes)
        self._page = session.tasks(session.job_id)

    @property
    def whose(self) -> str:
        """The job in focus."""
        return self.session.job_id

    def order(self, sort: Sort, *, only_failed: bool) -> Sequence[int]:
        """Trouble first, as in the list of tasks, or as they were added."""
        self._page = self.session.tasks(self.session.job_id)
        if only_failed:
            return self._page.failed()
        return self._page.order() if sort is Sort.TROUBLE else self._page.as_added()

    def value(self, sort: Sort) -> Callable[[int], Any] | None:
        """First start; tasks that have not started come last."""
        started = self._page.sort_key("Start time") if sort is Sort.FIRST_START else None
        if started is None:
            return None

        def first_start(task: int) -> int:
            when_ms: int = started(task)
            return NEVER_MS if when_ms < 0 else when_ms

        return first_start

    def label(self, key: int) -> str:
        """The task's id."""
        return self._page.id_of(key)

    def cells(self, key: int, columns: Columns) -> list[Glyph]:
        """Waiting, running, ended: the end and the start always show."""
        task = self._page.row(key)
        marks = [(columns.column_at(task.created_ms), _WAITING)]
        if task.start_ms is not None:
            marks.append((columns.column_at(task.start_ms), RUNNING))
        if task.end_ms is not None:
            column = columns.column_at(task.end_ms)
            marks += [(column, _ended(task)), (column + 1, NOTHING)]
        return filled(columns.begun(self.session.now_ms), marks)

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """The end or start of the task if it lies within the cell."""
        task = self._page.row(key)
        moments = (task.end_ms, task.start_ms, task.created_ms)
        return next((when for when in moments if when is not None and begin_ms <= when < end_ms), begin_ms)

    def told(self, key: int, when_ms: int) -> Line:
        """The task's states with their times."""
        task, clock = self._page.row(key), self.session.clock
        words = [f"added {clock(task.created_ms)}"]
        if task.start_ms is not None:
            words.append(f"began {clock(task.start_ms)}")
        if task.end_ms is not None:
            words.append(f"ended {clock(task.end_ms)}, exit {fmt.optional(task.exit_code)}")
        (glyph,) = self.cells(key, Columns(when_ms, 1, 1)) or (NOTHING,)
        return line(Span(glyph.name, glyph.role), Span("  " + ", ".join(words)))

    def subject(self, key: int) -> ItemRef:
        """The task."""
        return ItemRef("task", key)

    def asked(self, key: int, when_ms: int) -> ItemRef:
        """The task; before it was added, its job."""
        was_added = when_ms >= self._page.row(key).created_ms
        return ItemRef("task", key) if was_added else ItemRef("job", self.session.job_id)

    def there(self, key: int, when_ms: int) -> list[There]:  # noqa: ARG002  # those that are not there have no row
        """The task."""
        return [There(f"task {self.label(key)}", self.subject(key))]

    def planned_ms(self, key: int) -> int | None:
        """When the task is planned to end."""
        return planned_task_end_ms(self.session.simulation, key)

    def estimated_ms(self, key: int) -> int | None:
        """When the job's tasks will be done; one that runs ends as planned, unless it is retried."""
        is_running = self._page.state_of(key) is TaskState.RUNNING
        return self.planned_ms(key) if is_running else self.session.forecast().tasks_ms

    def is_over(self, key: int) -> bool:
        """Whether the task is completed or deleted."""
        return self._page.state_of(key) in (TaskState.COMPLETED, None)


def _ended(task: TaskRow) -> Glyph:
    return task_glyph(task.state, task.result, is_blocked=False, awaits_retry=False, was_ended=False)
