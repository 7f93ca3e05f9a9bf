"""The list of the tasks of the job in focus, and the blocks of a task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from engine.base.errors import exit_text
from engine.base.terms import TaskResult, TaskState
from engine.base.values import called, natural_key
from engine.views.diagnosis.questions import task_waits_for
from engine.views.resources.processes import task_needs
from engine.views.resources.task_order import TaskKey as Key
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import TASK_GLYPHS, glyph_of_task
from tui.viewmodels.items import rest_body, task_resources, task_transfers, told_block
from tui.viewmodels.lists.columns import (
    DURATION,
    END,
    EXIT_CODE,
    FAILURE_CATEGORY,
    FAILURE_CODE,
    NODE,
    RESULT,
    RETRIES,
    START,
    Column,
    exit_code,
    failure_category,
    failure_code,
    if_any,
)
from tui.viewmodels.lists.kept_rows import KeptRowsModel
from tui.viewmodels.lists.rows import AT_ONCE
from tui.viewmodels.text import WHOLE, Block, ItemRef, Line, Role, Span, block, block_of, line, link, row

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from engine.views.resources.processes import Needs
    from engine.views.resources.tasks import SubtaskRow, TaskBrief, TaskPage, TaskRow
    from tui.viewmodels.lists.order import SortValues
    from tui.viewmodels.session import Session


def _general(session: Session, task: TaskRow) -> Block:
    """Return id, job, state, command line and slots."""
    glyph = glyph_of_task(task.brief)
    return block(
        "General",
        row("ID", task.brief.task_id),
        ("Job", link(task.job_id, ItemRef("job", task.job_id))),
        row("State", task.brief.state.wire if task.brief.state else glyph.name, glyph.role),
        row("Command line", task.command_line),
        row("Required slots", task.profile.required_slots),
        *((row("Number of instances", instances),) if (instances := task.profile.instances) else ()),
        row("Created", session.clock(task.brief.created_ms)),
    )


def _execution(session: Session, task: TaskRow) -> Block:
    """Return node, times, result and counters."""
    on_node = None if task.node is None else ItemRef("node", task.node)
    info = (rest_body(session, ItemRef("task", task.task)) or {}).get("executionInfo", {})
    node = ("Node", link(task.node_id, on_node)) if task.node_id else row("Node", None)
    shown = told_block(session, "Execution", info, row("Attempts", task.brief.extra.attempts, Role.DERIVED))
    return shown._replace(rows=(node, *shown.rows))


def task_overview(session: Session, page: TaskPage, key: int, needs: Needs) -> list[Block]:
    """Return all blocks of a task but the variables of its process."""
    task = page.row(key)
    return [
        _general(session, task),
        _execution(session, task),
        *task_resources(session, key, needs),
        *task_transfers(session, key),
        *_subtasks(session, page.subtasks(key)),
    ]


def task_environment(variables: Mapping[str, str]) -> list[Block]:
    """Return the variables of the process; nothing before it starts."""
    return block_of("Environment", (("", Span(f"{name}={value}")) for name, value in variables.items()))


def _subtasks(session: Session, found: Sequence[SubtaskRow]) -> list[Block]:
    """Return the subtasks of a multi-instance task. The primary task is described by the other blocks."""
    clock = session.clock
    rows = []
    for number, (subtask, position) in enumerate(found, start=1):
        said, ending = [subtask.state.wire, f"on n{position}"], subtask.ending
        if ending is not None:
            said.append(f"until {clock(subtask.since_ms)}")
            said += [f"exit {exit_text(ending.exit_code)}"] if ending.exit_code is not None else []
        elif subtask.start_ms is not None:
            said.append(f"since {clock(subtask.start_ms)}")
        has_failed = subtask.result is TaskResult.FAILURE
        rows.append(row(str(number), ", ".join(said), Role.FAILED if has_failed else Role.PLAIN))
    return block_of("Subtasks", rows)


_STATES = tuple(state.wire for state in TaskState)
_RISING = {"Task": Key.ID, "Command line": Key.COMMAND_LINE}  # columns whose texts mostly rise as the rows do


def _role(task: TaskBrief) -> Role:
    has_failed = task.result is TaskResult.FAILURE and glyph_of_task(task).role is Role.FAILED  # not if terminated
    return Role.FAILED if has_failed else Role.PLAIN


def _slots(task: TaskRow) -> str:
    return f"{task.profile.required_slots:,}"


class TasksModel(KeptRowsModel["TaskBrief", "TaskRow"]):
    """Tasks, failed ones first, then running ones."""

    title = "Tasks"
    kind = "task"
    log_column = "row_a"
    at_once = AT_ONCE
    text_column = "Command line"
    help_text = fmt.help_on("Tasks")

    def usual_columns(self) -> Iterator[Column[TaskBrief]]:
        session, clock = self.session, self.session.clock
        yield Column("", 1, cell=lambda task: session.glyphs.span(glyph_of_task(task)))
        task_id = Column[Any]("Task", 14, "the task's id", stretch=True, is_id=True)
        yield task_id.showing(lambda task: Span(task.task_id, _role(task)), Key.ID)
        state = Column[Any]("State", 10, "the service's state; all states are listed below", least=9, words=_STATES)
        yield state.showing(lambda task: task.state.wire if task.state is not None else "deleted", Key.STATE)
        result = RESULT._replace(from_width=56)
        yield result.showing(lambda task: Span(task.result.value, _role(task)) if task.result else "", Key.RESULT)
        node = NODE._replace(texts=lambda keys: [" ".join(self._page.node_names(key)) for key in keys])
        yield node.showing(lambda task: f"n{task.position}" if task.position is not None else "", Key.NODE)
        created = Column[Any]("Created", 8, "when it was added", from_width=92, is_whole=True)
        yield created.showing(lambda task: clock(task.created_ms), Key.CREATED)
        yield START.showing(lambda task: clock(task.start_ms), Key.START)
        yield END._replace(from_width=60).showing(lambda task: clock(task.end_ms), Key.END)
        yield EXIT_CODE.showing(lambda task: exit_code(task.exit_code), Key.EXIT_CODE)
        yield RETRIES._replace(from_width=70).showing(lambda task: if_any(task.extra.retry_count), Key.RETRIES)
        said = "times the service requeued the task, after a lost or rebooted node"
        yield Column("Requeues", 8, said, lambda task: if_any(task.extra.requeue_count), 100, key=Key.REQUEUES)
        duration = DURATION._replace(from_width=112, changes=lambda task: task.end_ms is None)
        yield duration.showing(lambda task: Span(fmt.span(task.runs_ms(session.now_ms)), Role.DERIVED), Key.DURATION)

    def extra_columns(self) -> Iterator[Column[TaskRow]]:
        said, simulation = "task slots that the task needs on its node", self.session.simulation
        yield Column("Required slots", 14, said, _slots, is_right=True, key=Key.SLOTS)
        said = "what it waits for; w explains more"
        waits = Column[Any]("Waiting for", 26, said, is_derived=True)
        yield waits.showing(lambda task: Span(task_waits_for(simulation, task.task), Role.DERIVED), Key.WAITS)
        said = "starts of the task, retries and requeues included"
        attempts = Column[Any]("Attempts", 8, said, is_right=True, is_derived=True)
        yield attempts.showing(lambda task: f"{task.brief.extra.attempts:,}", Key.ATTEMPTS)
        said = "the tasks that must complete first"
        yield Column("Depends on", 22, said, lambda task: self._page.preferences(task.task)[0], key=Key.WISHES)
        said = "the node that the task prefers"
        yield Column("Affinity", 22, said, lambda task: self._page.preferences(task.task)[1], key=Key.WISHES)
        yield FAILURE_CATEGORY.showing(lambda task: failure_category(task.brief.extra.failure), Key.FAILURE)
        yield FAILURE_CODE.showing(lambda task: failure_code(task.brief.extra.failure), Key.FAILURE)
        command_line = Column[Any]("Command line", 24, "the command that runs", texts=self._command_lines)
        yield command_line.showing(lambda task: task.command_line)

    def _command_lines(self, keys: Sequence[int]) -> Sequence[str]:
        return self._page.command_lines_of(keys)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._page = session.tasks(session.job_id)

    def order(self) -> Sequence[int]:
        """Return the tasks of the job in focus, or only its failed ones."""
        self._page = self.session.tasks(self.session.job_id)
        return self._page.failed() if self.only_failed else self._page.order()

    def is_failed(self, key: int) -> bool:  # noqa: ARG002  # ``order`` returns failed tasks only
        return True

    def find(self, identity: str) -> int | None:
        """Return the task with this id, however many there are; else search as in any list."""
        task = self.session.tasks(self.session.job_id).find(identity)
        return super().find(identity) if task is None else task

    def sort_values(self, name: str) -> SortValues:
        """Return the function that gives the sort keys of many tasks, from the table where it holds the column."""
        key = self.columns[self.column_names.index(name)].key
        if name in _RISING:  # sort keys of a million would take seconds; mostly rows are in their order already
            texts_of = self._page.ids_of if key is Key.ID else self._page.command_lines_of
            has_risen = self._page.rise(_RISING[name])
            return partial(map, int) if has_risen else lambda keys: map(natural_key, texts_of(keys))
        values = self._page.groups.in_order.get(key) if isinstance(key, Key) else None
        return values or super().sort_values(name)

    def groups_by(self, key: Key, keys: Sequence[int]) -> Sequence[Hashable] | None:
        return self._page.groups.of(key, keys)

    def identity_of(self, key: int) -> str:
        return self._page.id_of(key)

    def identities_of(self, keys: Sequence[int]) -> Sequence[str]:
        return self._page.ids_of(keys)

    def briefs(self, keys: Sequence[int]) -> Sequence[TaskBrief]:
        return self._page.briefs(keys)

    def row(self, key: int) -> TaskRow:
        return self._page.row(key)

    def summary(self, cells: int = WHOLE) -> Line:
        counts = self.session.tasks(self.session.job_id).counts()
        return self.session.glyphs.counts(zip(TASK_GLYPHS, counts, strict=False), "task", cells)

    def sentence(self, key: int) -> Line:
        task = self._page.brief(key)
        words = [task.task_id, glyph_of_task(task).name]
        if task.exit_code is not None:
            words.append(f"exit {exit_text(task.exit_code)}")
        if task.extra.failure is not None:
            words.append(task.extra.failure.code)
        return line(Span(", ".join(words), Role.DERIVED))

    def traits(self, key: int) -> object:
        """Return a task's brief: the ends of other tasks satisfy its dependencies."""
        return self._page.brief(key)

    def new_details(self, key: int) -> tuple[Sequence[Block], int | None]:
        needs = task_needs(self.session.simulation, key)
        overview = task_overview(self.session, self._page, key, needs)
        return [*overview, *task_environment(self._page.environment(key))], needs.ready_ms

    def empty(self) -> Sequence[str]:
        if not self.session.job_id:
            return self.session.none_yet("job")
        job = self.session.job(self.session.job_id)
        if self.only_failed and job is not None and job.phases.tasks.total:
            return ("No task has failed for good.", f"! shows all {job.phases.tasks.total:,}.")
        return (f"{called('Job', self.session.job_id)} has no tasks.", "ctrl+n adds some.")
