"""The rows of the timeline: nodes, tasks or jobs, and what each did in each column of time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from engine.terms import JobState, TaskState
from engine.views.lanes import Doing
from engine.views.pages.jobs import job_ids
from engine.views.pages.nodes import NodePage
from engine.views.planned import planned_end_ms, planned_task_end_ms
from tui import format as fmt
from tui.viewmodels.glyphs import JOB, NODE, Glyph, task_glyph
from tui.viewmodels.subject import Subject
from tui.viewmodels.text import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.lanes import JobStretch, Lane, Lanes, Stretch
    from engine.views.pages.tasks import TaskRow
    from tui.viewmodels.session import Session

NOTHING = Glyph(" ", " ", Role.PLAIN, "")
_IDLE = Glyph("·", ".", Role.QUIET, "idle")
_BARRED = Glyph("×", "x", Role.OFF, "barred")
_PREPARING = Glyph("▒", "p", Role.PREPARING, "preparing")
_RETRYING = Glyph("▚", "/", Role.PREPARING, "retrying")
_WORKING = Glyph("█", "#", Role.RUNNING, "task")
_TASK_BEGINS = Glyph("▌", "|", Role.RUNNING, "task begins")
_RELEASING = Glyph("▓", "v", Role.RELEASING, "releasing")
_FAILED = Glyph("✗", "X", Role.FAILED, "failed")
_CHANGING = Glyph("◔", "s", Role.TRANSITION, "node changes")
_DOING = {
    Doing.ABSENT: NOTHING,
    Doing.IDLE: _IDLE,
    Doing.BARRED: _BARRED,
    Doing.PREPARING: _PREPARING,
    Doing.RETRYING: _RETRYING,
    Doing.WORKING: _WORKING,
    Doing.RELEASING: _RELEASING,
    Doing.FAILED: _FAILED,
}
_MOST_NAMED = 4
_MOST_CACHED = 100_000


class Columns(NamedTuple):
    """Columns of the timeline: each lasts ``step_ms``, the first one begins ``first`` steps after the start."""

    first: int
    number: int
    step_ms: int

    def begin_ms(self, column: int) -> int:
        """When a column begins, counted from the first one shown."""
        return (self.first + column) * self.step_ms


class LaneRows(ABC):
    """Rows of one kind."""

    name: ClassVar[str]
    legend: ClassVar[tuple[Glyph, ...]]

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Rows of a session whose log ``lanes`` has read."""
        self.session = session
        self.lanes = lanes

    @abstractmethod
    def order(self, *, only_failed: bool) -> Sequence[int]:
        """The rows as they are now, or those among them where something has failed."""

    @abstractmethod
    def label(self, key: int) -> str:
        """What a row is called."""

    @abstractmethod
    def cells(self, key: int, columns: Columns) -> list[Glyph]:
        """What filled each column, as far as it is recorded; fewer than asked for where it is not."""

    @abstractmethod
    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """The moment that a cell stands for: when what it shows began, if that was within the cell."""

    @abstractmethod
    def told(self, key: int, when_ms: int) -> Line:
        """What a row did at a moment, in words."""

    @abstractmethod
    def subject(self, key: int) -> Subject:
        """What is asked about or acted on."""

    def planned_ms(self, key: int) -> int | None:  # noqa: ARG002  # a job plans nothing
        """Until when what a row does now is planned; None where nothing is."""
        return None

    @abstractmethod
    def is_over(self, key: int) -> bool:
        """Whether nothing more can come in a row."""

    def recorded_columns(self, columns: Columns) -> int:
        """How many of the columns have begun in what is recorded."""
        return max(0, min(columns.number, self.recorded_ms // columns.step_ms + 1 - columns.first))

    @property
    def recorded_ms(self) -> int:
        """How far the recording goes, in ms since the start."""
        return max(self.lanes.recorded_ms, self.session.newest_ms)


class NodeRows(LaneRows):
    """The nodes of the pool in focus."""

    name = "nodes"
    legend = (_PREPARING, _RETRYING, _FAILED, _BARRED, _WORKING, _TASK_BEGINS, _RELEASING, _CHANGING, _IDLE)

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Nothing is remembered yet."""
        super().__init__(session, lanes)
        self._page: NodePage | None = None
        self._final: dict[tuple[int, int], Glyph] = {}  # node and column -> what will not change any more
        self._valid = (0, 0)

    def order(self, *, only_failed: bool) -> Sequence[int]:
        """In the order in which the nodes appeared."""
        self._page = self.session.nodes()
        nodes = self._page.nodes()
        return [node for node in nodes if self.lanes.has_failed(node)] if only_failed else nodes

    def label(self, key: int) -> str:
        """The index of the node in its pool."""
        assert self._page is not None
        return f"n{self._page.row(key).position}"

    def cells(self, key: int, columns: Columns) -> list[Glyph]:
        """What the node did; columns that are over are remembered."""
        lanes, final = self.lanes, self._final
        valid = lanes.version, columns.step_ms
        if valid != self._valid or len(final) > _MOST_CACHED:
            final.clear()
            self._valid = valid
        lane = lanes.lane(key)
        over = self.recorded_ms // columns.step_ms
        found = []
        for column in range(columns.first, columns.first + self.recorded_columns(columns)):
            glyph = final.get((key, column))
            if glyph is None:
                glyph = _node_glyph(lane, column * columns.step_ms, (column + 1) * columns.step_ms)
                if column < over:
                    final[key, column] = glyph
            found.append(glyph)
        return found

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """When what the cell shows began."""
        return max(begin_ms, self.lanes.lane(key).shown(begin_ms, end_ms).begin_ms)

    def told(self, key: int, when_ms: int) -> Line:
        """What the node did, since when, for how long."""
        lane = self.lanes.lane(key)
        stretch = lane.at(when_ms)
        glyph = _stretch_glyph(stretch)
        until_ms = lane.until_ms(when_ms)
        lasted = fmt.span((self.recorded_ms if until_ms is None else until_ms) - stretch.begin_ms)
        since = f" since {self.session.clock(stretch.begin_ms)}, {lasted}{'' if until_ms else ' so far'}"
        words = [] if stretch.doing is Doing.ABSENT else [Span(since)]
        if stretch.doing is Doing.WORKING:
            page = self.session.tasks(self.session.job_id)
            tasks = self.lanes.tasks_at(key, when_ms)
            named = ", ".join(page.id_of(task) for task in tasks[:_MOST_NAMED])
            more = f" and {len(tasks) - _MOST_NAMED} more" if len(tasks) > _MOST_NAMED else ""
            words.append(Span(f": {named}{more}", Role.STRONG))
        return line(Span(glyph.name or "not in the pool", glyph.role if glyph.name else Role.DIM), *words)

    def subject(self, key: int) -> Subject:
        """The node."""
        return Subject("node", key)

    def planned_ms(self, key: int) -> int | None:
        """When what runs there is planned to end."""
        return planned_end_ms(self.session.simulation, key)

    def is_over(self, key: int) -> bool:
        """Whether the node has left its pool."""
        assert self._page is not None
        return self._page.state_of(key) is None


def _node_glyph(lane: Lane, begin_ms: int, end_ms: int) -> Glyph:
    stretch = lane.shown(begin_ms, end_ms)
    if stretch.doing is Doing.WORKING and lane.tasks_begun(begin_ms, end_ms) == 1:
        return _TASK_BEGINS
    return _stretch_glyph(stretch)


def _stretch_glyph(stretch: Stretch) -> Glyph:
    return NODE[stretch.state] if stretch.doing is Doing.CHANGING else _DOING[stretch.doing]


class TaskRows(LaneRows):
    """The tasks of the job in focus: waiting, running, how they ended. Earlier tries are not kept."""

    name = "tasks"
    legend = (
        Glyph("◌", "a", Role.QUIET, "waiting"),
        _WORKING,
        Glyph("✓", "+", Role.OK, "succeeded"),
        Glyph("✗", "x", Role.FAILED, "failed"),
    )

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Nothing has been looked at yet."""
        super().__init__(session, lanes)
        self._page = session.tasks(session.job_id)

    def order(self, *, only_failed: bool) -> Sequence[int]:
        """Trouble first, as in the list of tasks."""
        self._page = self.session.tasks(self.session.job_id)
        return self._page.failed() if only_failed else self._page.order()

    def label(self, key: int) -> str:
        """The task's id."""
        return self._page.id_of(key)

    def cells(self, key: int, columns: Columns) -> list[Glyph]:
        """Waiting, running, ended."""
        task = self._page.row(key)
        until_ms = self.session.now_ms
        count = min(columns.number, max(0, until_ms // columns.step_ms + 1 - columns.first))
        return [_task_cell(task, columns.begin_ms(at), columns.begin_ms(at + 1), until_ms) for at in range(count)]

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
        glyph = _task_cell(task, when_ms, when_ms + 1, self.session.now_ms)
        return line(Span(glyph.name, glyph.role), Span("  " + ", ".join(words)))

    def subject(self, key: int) -> Subject:
        """The task."""
        return Subject("task", key)

    def planned_ms(self, key: int) -> int | None:
        """When the task is planned to end."""
        return planned_task_end_ms(self.session.simulation, key)

    def is_over(self, key: int) -> bool:
        """Whether the task is completed or deleted."""
        return self._page.state_of(key) in (TaskState.COMPLETED, None)


def _task_cell(task: TaskRow, begin_ms: int, end_ms: int, until_ms: int) -> Glyph:
    """A task in a cell: its end and its start always show."""
    if end_ms <= task.created_ms or begin_ms > until_ms:
        return NOTHING
    if task.end_ms is not None and task.end_ms < end_ms:
        ended = task_glyph(task.state, task.result, is_blocked=False, awaits_retry=False, was_ended=False)
        return ended if task.end_ms >= begin_ms else NOTHING
    if task.start_ms is not None and task.start_ms < end_ms:
        return _WORKING
    return task_glyph(TaskState.ACTIVE, None, is_blocked=False, awaits_retry=False, was_ended=False)


class JobRows(LaneRows):
    """The jobs of the account, deleted ones not among them."""

    name = "jobs"
    legend = tuple(glyph for state, glyph in JOB.items() if state is not None)

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Nothing has been looked at yet."""
        super().__init__(session, lanes)
        self._ids: list[str] = []

    def order(self, *, only_failed: bool) -> Sequence[int]:
        """Oldest first; those with a failed task."""
        self._ids = job_ids(self.session.simulation)
        rows = range(len(self._ids))
        return [row for row in rows if self._has_failed(self._ids[row])] if only_failed else rows

    def _has_failed(self, job_id: str) -> bool:
        job = self.session.job(job_id)
        return job is not None and job.phases.tasks.failed > 0

    def label(self, key: int) -> str:
        """The job's id."""
        return self._ids[key]

    def cells(self, key: int, columns: Columns) -> list[Glyph]:
        """The state at the end of each column."""
        stretches = self.lanes.job(self._ids[key])
        return [
            _job_glyph(stretches, columns.begin_ms(column + 1) - 1) for column in range(self.recorded_columns(columns))
        ]

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """When the job's state changed, if it did in this cell."""
        changes = [each.begin_ms for each in self.lanes.job(self._ids[key]) if begin_ms <= each.begin_ms < end_ms]
        return changes[-1] if changes else begin_ms

    def told(self, key: int, when_ms: int) -> Line:
        """The job's state, and since when."""
        glyph = _job_glyph(stretches := self.lanes.job(self._ids[key]), when_ms)
        begun = [each.begin_ms for each in stretches if each.begin_ms <= when_ms]
        since = f" since {self.session.clock(begun[-1])}" if begun else "not added yet"
        return line(Span(glyph.name, glyph.role), Span(since))

    def subject(self, key: int) -> Subject:
        """The job."""
        return Subject("job", self._ids[key])

    def is_over(self, key: int) -> bool:
        """Whether the job is completed."""
        stretches = self.lanes.job(self._ids[key])
        return bool(stretches) and stretches[-1].state is JobState.COMPLETED


def _job_glyph(stretches: Sequence[JobStretch], when_ms: int) -> Glyph:
    begun = [each.state for each in stretches if each.begin_ms <= when_ms]
    return JOB[begun[-1]] if begun else NOTHING


KINDS: tuple[type[LaneRows], ...] = (NodeRows, TaskRows, JobRows)
