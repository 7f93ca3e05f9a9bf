"""The tasks of one job: an order that stays cheap for a million rows, and rows made one by one.

The dependencies of a task are listed in both directions (DEP-2).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import result_of
from engine.base.terms import TaskResult, TaskState
from engine.base.values import natural_key, rows_in_state, values
from engine.rules.processes import execution
from engine.rules.processes.setup import Work
from engine.state.tables import NEVER_MS, PAGE_BITS
from engine.state.tasks import COMPLETED, GONE, PREPARING, RUNNING
from engine.views.log.reader import KeptByKey, LogReader, is_event, of_kind
from engine.views.resources.instances import task_counts
from engine.views.resources.task_order import AFTER_OTHERS, RunningTasks, TaskGroups, TaskKey, TasksInOrder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine import Simulation
    from engine.state.jobs import Job
    from engine.state.task_records import TaskExtra, TaskProfile
    from engine.state.task_tables import Subtask


def job_of_task(simulation: Simulation, task: int) -> str:
    """Return the id of the job of a task; empty where there is no such row yet."""
    world = simulation.world
    return world.jobs[world.tasks.block_of(task).job].id if task < world.tasks.length else ""


class TaskBrief(NamedTuple):
    """The part of a task's row that a list shows. Times are ms since the start."""

    task_id: str
    state: TaskState | None
    result: TaskResult | None
    position: int | None  # of its node in the pool
    created_ms: int
    start_ms: int | None
    end_ms: int | None
    exit_code: int | None
    extra: TaskExtra
    is_blocked: bool  # a dependency is not satisfied yet (DEP-4)

    def runs_ms(self, now_ms: int) -> int | None:
        """Return how long its last attempt took, or has taken so far."""
        if self.start_ms is None or self.state is TaskState.ACTIVE:
            return None
        return (now_ms if self.end_ms is None else self.end_ms) - self.start_ms


class TaskRow(NamedTuple):
    """A task as the service shows it: what a list shows, and the rest. Times are ms since the start."""

    task: int
    brief: TaskBrief
    job_id: str
    node: int | None  # its row number
    node_id: str | None
    profile: TaskProfile
    command_line: str


class SubtaskRow(NamedTuple):
    """A subtask of a multi-instance task, beside the primary task (MI-7), and its node's index in the pool."""

    record: Subtask
    position: int


class TaskPage:
    """The tasks of one job that have not been deleted."""

    def __init__(self, simulation: Simulation, job_id: str) -> None:
        """List a job's tasks; the page is empty while there is no job of this id."""
        self._simulation = simulation
        self.job_id = job_id
        self.groups = TaskGroups(simulation)
        self._failures = LogReader(simulation, of_kind(is_event("TaskStateChanged", result=TaskResult.FAILURE)))
        self._failed: list[int] = []
        self._risen: KeptByKey[bool] = KeptByKey()

    @property
    def _job(self) -> Job | None:
        return self._simulation.world.jobs.find(self.job_id)

    @property
    def _states(self) -> bytearray:
        return self._simulation.world.tasks.state

    def order(self) -> Sequence[int]:
        """Return failed tasks, running ones, newest start first, preparing ones, then the others as they were added."""
        job = self._job
        if job is None:
            return ()
        ranges, failed = self.ranges(), self.failed()
        running = RunningTasks(self._simulation, ranges, job.counts[RUNNING])
        preparing = rows_in_state(self._states, ranges, PREPARING) if job.counts[PREPARING] else []
        gone, first = sum(job.deleted.values()), (failed, running, preparing)
        return TasksInOrder(self._states, ranges, gone, first=first, follow=AFTER_OTHERS, apart=failed)

    def counts(self) -> Sequence[int]:
        """Return the numbers of active, preparing, running, succeeded and failed tasks; empty while there is no job."""
        job = self._job
        return () if job is None else task_counts(job)[:-1]

    def as_added(self) -> Sequence[int]:
        """Return all tasks in the order in which they were added."""
        job = self._job
        return () if job is None else TasksInOrder(self._states, self.ranges(), sum(job.deleted.values()))

    def rise(self, key: TaskKey) -> bool:
        """Return whether ids or command lines rise as people count, in the order in which the tasks were added."""
        job, simulation = self._job, self._simulation
        if job is None:
            return True

        def rises() -> bool:
            sources = [simulation.world.tasks.blocks[number].source for number in job.blocks]
            if key is TaskKey.ID:
                rise = all(each.ids_rise for each in sources)
                texts = [each.task_id(at) for each in sources for at in (0, each.count - 1)]
            else:
                rise = all(each.command_lines_rise for each in sources)
                texts = [each.command_line(at) for each in sources for at in (0, each.count - 1)]
            return rise and all(one <= other for one, other in pairwise(map(natural_key, texts)))

        # Blocks are only added, and their tasks stay the same, unless another moment is shown.
        return self._risen.get((simulation.jumps, job.row, len(job.blocks)), key, rises)

    def ranges(self) -> list[range]:
        """Return the job's tasks by row number, with deleted ones."""
        job = self._job
        return [] if job is None else self._simulation.world.tasks.ranges_of(job.blocks)

    def running(self) -> list[int]:
        """Return the job's running tasks, as they were added."""
        return rows_in_state(self._states, self.ranges(), RUNNING)

    def failed(self) -> Sequence[int]:
        """Return the completed tasks that have failed, as they were added; each call reads only what is new."""
        job = self._job
        if job is None or not job.failed:
            return ()
        is_other, entries = self._failures.news()
        if is_other or not self._failed:
            self._failed = self._all_failed()
            return self._failed
        rows, ranges = self._simulation.log.row_a, self.ranges()
        self._failed += [row for row in map(rows.__getitem__, entries) if any(row in tasks for tasks in ranges)]
        self._failed.sort()
        if len(self._failed) != job.failed:  # some were reactivated or deleted
            self._failed = self._all_failed()
        return self._failed

    def _all_failed(self) -> list[int]:
        tasks = self._simulation.world.tasks
        state = tasks.state
        found: list[int] = []
        for rows in self.ranges():
            for page in tasks.sparse[rows.start >> PAGE_BITS : (rows.stop >> PAGE_BITS) + 1]:
                found += [
                    task
                    for task, extra in page.items()
                    if (extra.exit_code or extra.failure) and state[task] == COMPLETED and task in rows
                ]
        return sorted(found)

    def find(self, task_id: str) -> int | None:
        """Return the task with this id, compared without regard to case (GEN-1); None where there is none."""
        job = self._job
        return None if job is None else self._simulation.world.tasks.find(job.row, task_id)

    def has(self, task: int) -> bool:
        """Return whether a task of any job has this row at this moment; a recording knows of later ones."""
        return task < self._simulation.world.tasks.length

    def job_and_id(self, task: int) -> tuple[str, str]:
        """Return the ids of the task's job and of the task."""
        world = self._simulation.world
        return world.jobs[world.tasks.block_of(task).job].id, world.tasks.task_id(task)

    def id_of(self, task: int) -> str:
        """Return the task's id."""
        return self._simulation.world.tasks.task_id(task)

    def ids_of(self, tasks: Sequence[int]) -> list[str]:
        """Return the ids of many tasks; those of one block are found together."""
        return self._simulation.world.tasks.task_ids(tasks)

    def command_lines_of(self, tasks: Sequence[int]) -> list[str]:
        """Return the command lines of many tasks; those of one block are found together."""
        return self._simulation.world.tasks.command_lines(tasks)

    def state_of(self, task: int) -> TaskState | None:
        """Return the task's state; None when it has been deleted."""
        return self._simulation.world.tasks.state_of(task)

    def node_names(self, task: int) -> tuple[str, str]:
        """Return index and id of the node on which a task prepares, runs or has run; empty without one."""
        tasks = self._simulation.world.tasks
        node = tasks.node[task]
        if node < 0 or (tasks.started[task] == NEVER_MS and tasks.state[task] != PREPARING):
            return "", ""
        record = self._simulation.world.nodes[node]
        return f"n{record.position}", record.id

    def environment(self, task: int) -> dict[str, str]:
        """Return the variables of the task's process, its own and the service's, sorted by name (TASK-17).

        A program that really runs sees the paths of this machine. Empty while the task has no node, and once its node
        has left the pool.
        """
        world = self._simulation.world
        node, tasks = world.tasks.node[task], world.tasks
        if node < 0 or tasks.state_of(task) is None or world.nodes.state_of(node) is None:
            return {}
        job = world.jobs[tasks.profile_of(task).job]
        launch, pace = execution.task_launch(world, task, node, 1), self._simulation.pace
        work = Work(tasks.spec(task), job, tasks.task_id(task), task)
        if pace is not None and world.executor.executes(launch):
            return pace.environment(node, launch, work)
        return execution.environment_of(world, node, launch, work)

    def brief(self, task: int) -> TaskBrief:
        """Return what a list shows of one task."""
        return self.briefs((task,))[0]

    def briefs(self, tasks: Sequence[int]) -> list[TaskBrief]:
        """Return what a list shows of each of these tasks."""
        world = self._simulation.world
        table, nodes = world.tasks, world.nodes
        found = []
        for task, task_id in zip(tasks, table.task_ids(tasks), strict=True):
            block, state, extra, node = table.block_of(task), table.state_of(task), table.extra(task), table.node[task]
            is_over = state is TaskState.COMPLETED
            result = result_of(extra.exit_code, extra.failure) if is_over else None
            is_on_node = node >= 0 and (table.started[task] != NEVER_MS or state is TaskState.PREPARING)
            book = world.dependencies.get(block.job) if state is TaskState.ACTIVE else None
            found.append(
                TaskBrief(
                    task_id,
                    state,
                    result,
                    nodes[node].position if is_on_node else None,
                    block.created_ms,
                    table.begun_ms(task),
                    table.ended[task] if is_over else None,
                    0 if result is TaskResult.SUCCESS else extra.exit_code,
                    extra,
                    book is not None and book.is_waiting(task),
                )
            )
        return found

    def row(self, task: int) -> TaskRow:
        """Return one task's row."""
        world = self._simulation.world
        tasks, brief = world.tasks, self.brief(task)
        block = tasks.block_of(task)
        node = tasks.node[task] if brief.position is not None else None
        return TaskRow(
            task=task,
            brief=brief,
            job_id=world.jobs[block.job].id,
            node=node,
            node_id=None if node is None else world.nodes[node].id,
            profile=tasks.profile_of(task),
            command_line=block.source.command_line(task - block.first),
        )

    def preferences(self, task: int) -> tuple[str, str]:
        """Return the dependencies of the task and the node that it prefers, in words; empty where it names none."""
        spec = self._simulation.world.tasks.spec(task)
        wanted = spec.depends_on
        parts = (
            [] if wanted is None else [*wanted.task_ids, *(f"{one.start}-{one.end}" for one in wanted.task_id_ranges)]
        )
        return ", ".join(parts), spec.affinity_info.affinity_id if spec.affinity_info else ""

    def subtasks(self, task: int) -> list[SubtaskRow]:
        """Return the subtasks of the latest attempt, from number 1 on; none for a task on one node."""
        gang, nodes = self._simulation.world.gangs.find(task), self._simulation.world.nodes
        found = () if gang is None else zip(gang.subtasks, gang.nodes[1:], strict=False)
        return [SubtaskRow(subtask, nodes[node].position) for subtask, node in found]


_FEW = 8  # tasks of a range that are named one by one


class Parent(NamedTuple):
    """A task that another one names; ``task`` is None where there is none of this id."""

    task_id: str
    task: int | None


class ParentRange(NamedTuple):
    """The numbers from ``low`` to ``high``, and how many tasks with one of them are not satisfied."""

    low: int
    high: int
    missing: int
    tasks: Sequence[Parent] = ()  # if they are few


class Dependencies(NamedTuple):
    """The dependencies of a task in both directions; ``children`` are row numbers."""

    is_used: bool  # the job uses task dependencies (DEP-1)
    parents: Sequence[Parent] = ()
    ranges: Sequence[ParentRange] = ()
    children: Sequence[int] = ()


def dependencies_of(simulation: Simulation, task: int) -> Dependencies:
    """Return the dependencies of the task in this row."""
    world = simulation.world
    tasks = world.tasks
    job = world.jobs[tasks.block_of(task).job]
    book = world.dependencies.get(job.row)
    if not job.spec.uses_task_dependencies or book is None:
        return Dependencies(job.spec.uses_task_dependencies)
    wanted = tasks.spec(task).depends_on
    ids = () if wanted is None else wanted.task_ids
    spans = () if wanted is None else dict.fromkeys((part.start, part.end) for part in wanted.task_id_ranges)

    def parents(names: Iterable[str]) -> list[Parent]:
        return [Parent(name, tasks.find(job.row, name)) for name in names]

    ranges = [
        ParentRange(low, high, book.missing_in(low, high), parents(map(str, _few(low, high)))) for low, high in spans
    ]
    children = book.dependents_of(tasks.task_id(task))  # there may be many
    states = bytes(values(tasks.state, children)) if len(children) > 1 else b""
    if not states or GONE in states:
        children = [each for each in children if tasks.state[each] != GONE]
    return Dependencies(is_used=True, parents=parents(ids), ranges=ranges, children=children)


def _few(low: int, high: int) -> range:
    """Return the numbers of a range that are named one by one: none if it is long."""
    return range(low, high + 1 if high - low < _FEW else low)
