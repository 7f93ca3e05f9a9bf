"""The list of the tasks of the job in focus, and the blocks of a task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.base.terms import TaskResult, TaskState
from engine.base.values import natural_key
from engine.views.diagnosis.questions import task_waits_for
from engine.views.log.reader import ChangedTasks
from engine.views.resources.processes import task_needs
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import TASK_GLYPHS, glyph_of_task
from tui.viewmodels.items import task_resources, task_transfers
from tui.viewmodels.lists.columns import ChangedRows, Column
from tui.viewmodels.lists.filters import RESULTS
from tui.viewmodels.lists.kept_rows import NO_TEXT, KeptRowsModel
from tui.viewmodels.lists.rows import AT_ONCE
from tui.viewmodels.text import Block, ItemRef, Line, Role, Span, block_of, failure_rows, line, link, row

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Hashable, Iterable, Mapping, Sequence

    from engine.views.resources.tasks import SubtaskRow, TaskBrief, TaskRow
    from tui.viewmodels.lists.columns import SortValues
    from tui.viewmodels.session import Session


def task_general(session: Session, task: TaskRow) -> Block:
    """Return id, job, state, command line and slots."""
    glyph = glyph_of_task(task.brief)
    return Block(
        "General",
        (
            row("ID", task.brief.task_id),
            ("Job", link(task.job_id, ItemRef("job", task.job_id))),
            row("State", task.brief.state.wire if task.brief.state else glyph.name, glyph.role),
            row("Command line", task.command_line),
            row("Required slots", task.required_slots),
            *((row("Number of instances", task.instances),) if task.instances else ()),
            row("Created", session.clock(task.brief.created_ms)),
        ),
    )


def task_execution(session: Session, task: TaskRow) -> Block:
    """Return node, times, result and counters."""
    brief, clock = task.brief, session.clock
    glyph = glyph_of_task(brief)
    on_node = None if task.node is None else ItemRef("node", task.node)
    return Block(
        "Execution",
        (
            ("Node", link(task.node_id, on_node)) if task.node_id else row("Node", None),
            row("Start time", clock(brief.start_ms)),
            row("End time", clock(brief.end_ms)),
            row("Exit code", brief.exit_code, Role.FAILED if brief.exit_code else Role.PLAIN),
            row("Result", brief.result.value if brief.result else None, glyph.role),
            row("Retry count", brief.retry_count),
            *([row("Last retry time", clock(task.last_retry_ms))] if task.last_retry_ms is not None else []),
            row("Requeue count", brief.requeue_count),
            *([row("Last requeue time", clock(task.last_requeue_ms))] if task.last_requeue_ms is not None else []),
            row("Attempts", task.attempts, Role.DERIVED),
        ),
    )


def task_failure(task: TaskRow) -> list[Block]:
    """Return why the task failed; nothing if it has not."""
    return block_of("Failure information", failure_rows(task.brief.failure))


def task_environment(variables: Mapping[str, str]) -> list[Block]:
    """Return the variables of the process; nothing before it starts."""
    return block_of("Environment", (("", Span(f"{name}={value}")) for name, value in variables.items()))


def task_subtasks(session: Session, found: Sequence[SubtaskRow]) -> list[Block]:
    """Return the subtasks of a multi-instance task. The primary task is described by the other blocks."""
    clock = session.clock
    rows = []
    for each in found:
        said = [each.state.wire, f"on n{each.position}"]
        said += [f"since {clock(each.start_ms)}"] if each.start_ms is not None and each.end_ms is None else []
        said += [f"until {clock(each.end_ms)}"] if each.end_ms is not None else []
        said += [f"exit {each.exit_code}"] if each.exit_code is not None else []
        has_failed = each.result is TaskResult.FAILURE
        rows.append(row(str(each.number), ", ".join(said), Role.FAILED if has_failed else Role.PLAIN))
    return block_of("Subtasks", rows)


_STATES = tuple(state.wire for state in TaskState)
_OF_RUNNING = frozenset(("Duration", "End time"))  # columns that change without an entry of the log while a task runs
_RISING = ("Task", "Command line")  # columns with sort keys in which mostly the order of the rows is that of the texts
_OF_TIMES = frozenset(("Created", "Start time", "End time"))
_DURATION = 11  # the number of that column, the last usual one
_NO_DURATION = Span("", Role.DERIVED)
_MOST_ENTRIES = 65_536  # of the log, between two moments
_MOST_CHANGED = 60_000  # rows that are judged at once, for some 50 ms


class TasksModel(KeptRowsModel["TaskBrief"]):
    """Tasks, failed ones first, then running ones."""

    title = "Tasks"
    kind = "task"
    log_column = "row_a"
    at_once = AT_ONCE
    text_column = "Command line"
    columns = (
        Column("", 1),
        Column("Task", 14, "the task's id", stretch=True, is_id=True),
        Column("State", 10, "the service's state; all states are listed below", least=9, words=_STATES),
        Column(
            "Result", 8, "success or failure, once completed", from_width=56, least=7, words=tuple(RESULTS.values())
        ),
        Column("Node", 6, "the node's index in its pool, as in scenarios; a filter also finds its id", is_name=True),
        Column("Created", 8, "when it was added", from_width=92, is_common=True, is_whole=True),
        Column("Start time", 10, "when it last started", least=8, is_whole=True),
        Column("End time", 10, "when it ended", from_width=60, least=8, is_whole=True),
        Column("Exit code", 9, "exit code of the process; empty while it runs", is_whole=True, short="Exit code"),
        Column("Retries", 7, "runs repeated after a failure", from_width=70),
        Column("Requeues", 8, "times the service requeued the task, after a lost or rebooted node", from_width=100),
        Column(
            "Duration",
            9,
            "end time minus start time, or time since the start",
            from_width=112,
            is_derived=True,
            is_whole=True,
        ),
        Column("Required slots", 14, "task slots that the task needs on its node", is_extra=True, is_right=True),
        Column("Waiting for", 26, "what it waits for; w explains more", is_extra=True, is_derived=True),
        Column(
            "Attempts",
            8,
            "starts of the task, retries and requeues included",
            is_extra=True,
            is_right=True,
            is_derived=True,
        ),
        Column("Depends on", 22, "the tasks that must complete first", is_extra=True),
        Column("Affinity", 22, "the node that the task prefers", is_extra=True),
        Column("Failure category", 16, "user error or server error", is_extra=True),
        Column("Failure code", 20, "the service's code for the failure", is_extra=True),
        Column("Command line", 24, "the command that runs", is_extra=True),
    )
    help_text = (
        "The tasks of the job in focus. Active tasks wait for a node. Preparing tasks wait for the job's preparation "
        "on their node.\nDuration, Attempts and Waiting for are derived."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._page = session.tasks(session.job_id)
        self._changed = ChangedTasks(session.simulation)
        self._rose = True  # the texts by which tasks are sorted, in the order of the tasks, when all were read

    def order(self) -> Sequence[int]:
        """Return the tasks of the job in focus, or only its failed ones."""
        self._page = self.session.tasks(self.session.job_id)
        return self._page.failed() if self.only_failed else self._page.order()

    def begin_reading(self) -> None:
        self._changed.skip()
        self._rose = self._rises()

    def changed_rows(self, columns: Collection[str]) -> ChangedRows | None:
        """Return the tasks that the log names, and running ones if a column in use changes while they run."""
        changed = self._changed.take(_MOST_ENTRIES)
        has_moved_on = self.session.time_format == "relative" and not _OF_TIMES.isdisjoint(columns)
        if changed is None or self.only_failed or has_moved_on or "Waiting for" in columns:
            return None
        if self._rose is not self._rises():
            return None
        if not _OF_RUNNING.isdisjoint(columns):
            changed.update(self._page.running())
        there = self._page.among(changed)
        return ChangedRows(changed, there) if len(there) <= _MOST_CHANGED else None

    def place(self, key: int) -> tuple[int, ...]:
        return self._page.place(key)

    def is_failed(self, key: int) -> bool:  # noqa: ARG002  # ``order`` returns failed tasks only
        return True

    def failed_rows(self) -> Container[int]:
        return frozenset(self._page.failed())

    def find(self, identity: str) -> int | None:
        """Return the task with this id, however many there are; else search as in any list."""
        task = self.session.tasks(self.session.job_id).find(identity)
        return super().find(identity) if task is None else task

    def sort_values(self, name: str) -> SortValues:
        """Return the function that gives the sort keys of many tasks, from the table where it holds the column."""
        if name in _RISING:  # sort keys of a million would take seconds; mostly rows are in their order already
            return partial(map, int) if self._page.rise(name) else partial(self._natural_keys, name)
        if name == "Duration":
            return self._page.groups.durations
        value = self._page.sort_key(name)
        return super().sort_values(name) if value is None else partial(map, value)

    def _rises(self) -> bool:
        """Return whether rows are in the order of the column by which they are sorted, if they can be."""
        return self.sort_column not in _RISING or self._page.rise(self.sort_column)

    def _natural_keys(self, name: str, keys: Sequence[int]) -> Iterable[str]:
        return map(natural_key, self._page.ids_of(keys) if name == "Task" else self._page.command_lines_of(keys))

    def groups_of(self, keys: Sequence[int], column: int) -> Sequence[Hashable] | None:
        """Return for each task what decides on its text in a column."""
        from_ms = self.session.now_ms if self.session.time_format == "relative" else 0
        return self._page.groups.of(self.column_names[column], keys, from_ms)

    def texts_of(self, keys: Sequence[int], column: int) -> Sequence[str]:
        """Return the texts of many tasks; command lines are made together."""
        if self.column_names[column] == "Command line":
            return self._page.command_lines_of(keys)
        return super().texts_of(keys, column)

    def text_of(self, key: int, column: int) -> str:
        """Return the text by which a column is filtered: that of the node has its id as well."""
        match self.column_names[column]:
            case "Node":
                return " ".join(self._page.node_names(key))
            case "Start time" | "End time" | "Created" | "Duration" as name:
                return self._times(key)[name]
            case "Depends on" | "Affinity" as name:
                return self._page.preferences(key)[name == "Affinity"]
            case _:
                return self.cells(key)[column].text

    def _times(self, key: int) -> dict[str, str]:
        """Return the texts of the columns of times."""
        times, clock = self._page.times(key), self.session.clock
        return {
            "Created": clock(times.created_ms),
            "Start time": clock(times.start_ms),
            "End time": clock(times.end_ms),
            "Duration": fmt.span(times.runs_ms),
        }

    def identity_of(self, key: int) -> str:
        return self._page.id_of(key)

    def identities_of(self, keys: Sequence[int]) -> Sequence[str]:
        return self._page.ids_of(keys)

    def briefs(self, keys: Sequence[int]) -> Sequence[TaskBrief]:
        return self._page.briefs(keys)

    def usual_cells(self, brief: TaskBrief) -> tuple[Span, ...]:
        glyph, clock = glyph_of_task(brief), self.session.clock
        role = Role.FAILED if glyph.role is Role.FAILED else Role.PLAIN
        return (
            self.session.glyphs.span(glyph),
            Span(brief.task_id, role),
            Span(brief.state.wire if brief.state is not None else "deleted"),
            Span(brief.result.value, role) if brief.result else NO_TEXT,
            Span(f"n{brief.position}") if brief.position is not None else NO_TEXT,
            Span(clock(brief.created_ms)),
            Span(clock(brief.start_ms)),
            Span(clock(brief.end_ms)),
            Span(fmt.optional(brief.exit_code), Role.FAILED if brief.exit_code else Role.PLAIN),
            Span(f"{brief.retry_count:,}") if brief.retry_count else NO_TEXT,
            Span(f"{brief.requeue_count:,}") if brief.requeue_count else NO_TEXT,
            _NO_DURATION,
        )

    def at_this_moment(self, brief: TaskBrief, cells: tuple[Span, ...]) -> tuple[Span, ...]:
        """Return a task's cells with the duration of its last attempt, so far."""
        if brief.end_ms is not None and cells[_DURATION].text:
            return cells
        duration = fmt.span(brief.runs_ms(self.session.now_ms))
        return cells if cells[_DURATION].text == duration else (*cells[:_DURATION], Span(duration, Role.DERIVED))

    def extra_cells(self, key: int) -> tuple[Span, ...]:
        task = self._page.row(key)
        failure = task.brief.failure
        return (
            Span(f"{task.required_slots:,}"),
            Span(self._waits_for(key), Role.DERIVED),
            Span(f"{task.attempts:,}"),
            *map(Span, self._wishes(key)),
            Span(failure.category.value if failure else ""),
            Span(failure.code if failure else "", Role.FAILED),
            Span(task.command_line),
        )

    def _waits_for(self, key: int) -> str:
        return task_waits_for(self.session.simulation, key) if self.shows("Waiting for") else ""

    def _wishes(self, key: int) -> tuple[str, str]:
        """Return the tasks that it depends on, and the node of its affinity."""
        if not (self.shows("Depends on") or self.shows("Affinity")):
            return "", ""
        return self._page.preferences(key)

    def summary(self) -> Line:
        counts = self.session.tasks(self.session.job_id).counts()
        return self.session.glyphs.counts(zip(TASK_GLYPHS, counts, strict=False))

    def sentence(self, key: int) -> Line:
        task = self._page.brief(key)
        words = [task.task_id, glyph_of_task(task).name]
        if task.exit_code is not None:
            words.append(f"exit {task.exit_code}")
        if task.failure is not None:
            words.append(task.failure.code)
        return line(Span(", ".join(words), Role.DERIVED))

    def traits(self, key: int) -> object:
        """Return a task's brief: the ends of other tasks satisfy its dependencies."""
        return self._page.brief(key)

    def new_details(self, key: int) -> tuple[Sequence[Block], int | None]:
        task, session = self._page.row(key), self.session
        needs = task_needs(session.simulation, key)
        return [
            task_general(session, task),
            *task_resources(session, key, needs),
            task_execution(session, task),
            *task_transfers(session, key),
            *task_subtasks(session, self._page.subtasks(key)),
            *task_failure(task),
            *task_environment(self._page.environment(key)),
        ], needs.ready_ms

    def empty(self) -> Sequence[str]:
        if not self.session.job_id:
            return self.session.none_yet("job")
        job = self.session.job(self.session.job_id)
        if self.only_failed and job is not None and job.phases.tasks.total:
            return ("No task has failed for good.", f"! shows all {job.phases.tasks.total:,}.")
        return (f"Job {self.session.job_id} has no tasks.", "ctrl+n adds some.")
