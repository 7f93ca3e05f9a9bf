"""Histories of one job, task or node, read from the log.

They list the states over time, the attempts of a task on nodes, the tasks of a node, and its runs of preparation and
release with their causes.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from engine.base.errors import FAILURE_EXIT_CODE, FailureInfo
from engine.base.lifecycles import NODE_STATES, Interruption
from engine.base.log import LogSubject
from engine.base.paths import task_directory
from engine.base.terms import InstanceState, JobState, NodeState, TaskResult, TaskState
from engine.state.tasks import COMPLETED, GONE
from engine.views.log.reader import LogReader, about, is_event, numbers_of, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine import Simulation
    from engine.base.log import Shape
    from engine.world import World


_JOB_EVENT = "JobStateChanged"
StateT = TypeVar("StateT", JobState, NodeState, TaskState)


class StateSpan(NamedTuple, Generic[StateT]):
    """A state from ``begin_ms`` until ``end_ms`` (ms since the start); None is deleted, or gone."""

    begin_ms: int
    end_ms: int
    state: StateT | None


def state_spans(
    simulation: Simulation, entries: Iterable[tuple[int, Shape]], event: str, states: type[StateT]
) -> list[StateSpan[StateT]]:
    """Return the states that the entries of this event tell of, in order; the last one lasts until now."""
    log = simulation.log
    changes = [(log.when[at], dict(shape.fields)["to"]) for at, shape in entries if shape.event == event]
    changes.append((simulation.now_ms, None))
    return [
        StateSpan(begin_ms, end_ms, state if isinstance(state, states) else None)
        for (begin_ms, state), (end_ms, _) in pairwise(changes)
    ]


class JobHistory:
    """One job from its addition on."""

    def __init__(self, simulation: Simulation, job: int) -> None:
        """Read the log for the job in this row: a job has an entry for each of its nodes, but few of its own."""
        self._simulation = simulation
        self._job = job
        self._reader = LogReader(simulation, of_kind(is_event(_JOB_EVENT)))

    def states(self) -> list[StateSpan[JobState]]:
        """Return its states, in order."""
        rows = self._simulation.log.row_a
        own = ((at, shape) for at, shape in self._reader if rows[at] == self._job)
        return state_spans(self._simulation, own, _JOB_EVENT, JobState)


class TaskStep(NamedTuple):
    """A task comes into a state; None is deleted. ``when_ms`` is since the start."""

    when_ms: int
    state: TaskState | None
    node: int | None
    attempt: int
    exit_code: int | None
    failure: FailureInfo | None
    rule: str


class Attempt(NamedTuple):
    """A task on a node, from when it was assigned to it. Times are ms since the start."""

    number: int
    node: int
    placed_ms: int
    start_ms: int | None  # None: it has not started
    end_ms: int | None  # None: it is still there
    ended_as: TaskState | None  # active: it is to run again; None: it is still there, or was deleted
    exit_code: int | None
    failure: FailureInfo | None
    rule: str  # the rule that ended it; empty where it ended by itself


class TimeInState(NamedTuple):
    """When a task first came into a state, in ms since the start, how often it did, and the time spent in it in all."""

    entered_ms: int
    times: int
    spent_ms: int


class TaskHistory:
    """One task from its addition on."""

    def __init__(self, simulation: Simulation, task: int) -> None:
        """Create the history of the task in this row, which reads the log when it is asked."""
        self._simulation = simulation
        self._task = task

    def steps(self) -> list[TaskStep]:
        """Return every state that it has come into, in order."""
        log, tasks, task = self._simulation.log, self._simulation.world.tasks, self._task
        created_ms = tasks.block_of(task).created_ms
        until_ms = tasks.ended[task] if tasks.state[task] == COMPLETED else self._simulation.now_ms
        steps = [TaskStep(created_ms, TaskState.ACTIVE, None, 1, None, None, "")]
        for at in numbers_of(log.row_a, task, log.index_at(created_ms - 1), log.index_at(until_ms)):
            shape = log.shapes[log.shape_of[at]]
            if shape.subject is not LogSubject.TASK or shape.event != "TaskStateChanged":
                continue
            fields = dict(shape.fields)
            if fields["from"] is None:
                continue
            state, exit_code, failure = fields["to"], fields.get("exitCode"), fields.get("failureInfo")
            attempt, node = fields.get("attempt"), log.row_b[at]
            steps.append(
                TaskStep(
                    when_ms=log.when[at],
                    state=state if isinstance(state, TaskState) else None,
                    node=node if node >= 0 else None,
                    attempt=attempt if isinstance(attempt, int) else 0,
                    exit_code=exit_code if isinstance(exit_code, int) else None,
                    failure=failure if isinstance(failure, FailureInfo) else None,
                    rule=str(fields.get("rule", "")),
                )
            )
        return steps

    def attempts(self) -> list[Attempt]:
        """Return every assignment to a node, in order."""
        attempts: list[Attempt] = []
        is_there = False
        for step in self.steps():
            if step.state in (TaskState.PREPARING, TaskState.RUNNING) and step.node is not None:
                start_ms = step.when_ms if step.state is TaskState.RUNNING else None
                if is_there:
                    attempts[-1] = attempts[-1]._replace(start_ms=start_ms, number=step.attempt)
                else:
                    one = Attempt(step.attempt, step.node, step.when_ms, start_ms, None, None, None, None, "")
                    attempts.append(one)
                is_there = True
            elif is_there:
                attempts[-1] = attempts[-1]._replace(
                    end_ms=step.when_ms,
                    ended_as=step.state,
                    exit_code=step.exit_code,
                    failure=step.failure,
                    rule=step.rule,
                )
                is_there = False
        return attempts

    def times(self) -> dict[TaskState, TimeInState]:
        """Return the states in which it has been, and for how long."""
        times: dict[TaskState, TimeInState] = {}
        for begin_ms, end_ms, state in self._spans():
            if state is not None:
                first_ms, count, spent_ms = times.get(state, (begin_ms, 0, 0))
                times[state] = TimeInState(first_ms, count + 1, spent_ms + end_ms - begin_ms)
        return times

    def states(self) -> list[StateSpan[TaskState]]:
        """Return its states before it completed or was deleted, in order; one that goes on lasts until now."""
        return [span for span in self._spans() if span.state not in (None, TaskState.COMPLETED)]

    def _spans(self) -> list[StateSpan[TaskState]]:
        """Return all its states, in order; the last one lasts until now."""
        steps = self.steps()
        ends = [*(step.when_ms for step in steps[1:]), self._simulation.now_ms]
        return [StateSpan(step.when_ms, end_ms, step.state) for step, end_ms in zip(steps, ends, strict=True)]


def last_directory(simulation: Simulation, task: int) -> tuple[int, str] | None:
    """Return the node on which a task started last, and its directory there; None if it has not started anywhere."""
    world, log = simulation.world, simulation.log
    added = log.index_at(world.tasks.block_of(task).created_ms - 1)
    for at in reversed(list(numbers_of(log.row_a, task, added))):
        shape = log.shapes[log.shape_of[at]]
        if shape.event == "TaskStateChanged" and ("to", TaskState.RUNNING) in shape.fields:
            job = world.jobs[world.tasks.block_of(task).job]
            return log.row_b[at], task_directory(job.id, world.tasks.task_id(task))
    return None


RECENT_TASKS = 10  # that a node shows (NODE-6)
TASK_EVENTS = ("TaskStateChanged", "SubtaskStateChanged")
_INSTANCE_EVENTS = ("JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged")


class RecentTask(NamedTuple):
    """A task that was on a node; ``subtask`` is its number there if it is a multi-instance task (MI-8)."""

    task: int
    subtask: int | None


class RunCause(Enum):
    """Why preparation or release ran."""

    FIRST = "first"
    RETRY = "retry"
    REBOOT = "reboot"
    REIMAGE = "reimage"
    RECOVERY = "recovery"  # the node had been out of order, or had a new disk for another reason
    RERUN = "rerun"


class InstanceRun(NamedTuple):
    """One run of preparation or release on a node. Times are ms since the start."""

    number: int
    cause: RunCause
    start_ms: int
    end_ms: int | None  # None: it runs, or was interrupted
    exit_code: int | None
    result: TaskResult | None
    failure: FailureInfo | None


CAUSES = {
    Interruption.REBOOT: RunCause.REBOOT,
    Interruption.REIMAGE: RunCause.REIMAGE,
    Interruption.UPGRADE: RunCause.REIMAGE,
    Interruption.LOSS: RunCause.RECOVERY,
    Interruption.PREEMPTION: RunCause.RECOVERY,
    Interruption.DEALLOCATION: RunCause.RECOVERY,
    Interruption.REMOVAL: RunCause.RECOVERY,  # nothing runs afterwards
}


class NodeHistory:
    """One node from its allocation on."""

    def __init__(self, simulation: Simulation, node: int) -> None:
        """Read the log for the node in this row."""
        self._simulation = simulation
        self._reader = LogReader(simulation, about("row_b", node))

    def states(self) -> list[StateSpan[NodeState]]:
        """Return its states, in order."""
        return state_spans(self._simulation, self._reader, "NodeStateChanged", NodeState)

    def recent_tasks(self) -> list[RecentTask]:
        """Return the tasks that changed last here, newest first, at most ten; deleted ones are left out (NODE-6)."""
        found: dict[int, RecentTask] = {}
        for at in reversed(self._reader.entries()):
            recent = recent_task(self._simulation.world, at)
            if recent is not None:
                found.setdefault(recent.task, recent)
                if len(found) == RECENT_TASKS:
                    break
        return list(found.values())

    def tasks_started(self) -> dict[str, int]:
        """Return how many times tasks of each job have started here, by job id; deleted jobs are left out."""
        log, world = self._simulation.log, self._simulation.world
        found: dict[str, int] = {}
        for at, shape in self._reader:
            if shape.event in TASK_EVENTS and dict(shape.fields)["to"] == TaskState.RUNNING:
                job = world.jobs[world.tasks.block_of(log.row_a[at]).job]
                if job.state is not None:
                    found[job.id] = found.get(job.id, 0) + 1
        return found

    def instance_runs(self, job_id: str, *, is_release: bool) -> list[InstanceRun]:
        """Return every run of the job's preparation or release here, in order; none while there is no such job."""
        log, world = self._simulation.log, self._simulation.world
        job = world.jobs.find(job_id)
        runs: list[InstanceRun] = []
        cause = RunCause.FIRST
        for at, shape in self._reader if job is not None else ():
            fields = dict(shape.fields)
            state = fields.get("to")
            if shape.event == "NodeStateChanged" and isinstance(state, NodeState):
                interruption = NODE_STATES[state].interruption
                cause = CAUSES[interruption] if runs and interruption is not None else cause
                continue
            if shape.event != _INSTANCE_EVENTS[is_release] or job is None or log.row_a[at] != job.row:
                continue
            if state is InstanceState.RUNNING:
                failed_code, why = world.instances.retried_code.get(at) if fields["rule"] == "PREP-12" else None, cause
                if failed_code is not None:
                    runs[-1] = runs[-1]._replace(
                        end_ms=log.when[at], exit_code=failed_code, result=TaskResult.FAILURE, failure=FAILURE_EXIT_CODE
                    )
                    why = RunCause.RETRY
                runs.append(InstanceRun(len(runs) + 1, why, log.when[at], None, None, None, None))
                cause = RunCause.RERUN
            elif runs:
                exit_code, result, failure = (fields.get(name) for name in ("exitCode", "result", "failureInfo"))
                runs[-1] = runs[-1]._replace(
                    end_ms=log.when[at],
                    exit_code=exit_code if isinstance(exit_code, int) else None,
                    result=result if isinstance(result, TaskResult) else None,
                    failure=failure if isinstance(failure, FailureInfo) else None,
                )
        return runs

    def requeued(self, job_id: str) -> list[int]:
        """Return the tasks of a job that went back to the queue when its preparation failed here (PREP-8)."""
        log, world = self._simulation.log, self._simulation.world
        job = world.jobs.find(job_id)
        if job is None:
            return []
        is_requeue = is_event("TaskStateChanged", rule="PREP-8")
        tasks = [log.row_a[at] for at, shape in self._reader if is_requeue(shape)]
        return [task for task in tasks if world.tasks.block_of(task).job == job.row]


def recent_task(world: World, at: int) -> RecentTask | None:
    """Return the task whose state changed in an entry about a node; None for other entries, and deleted tasks."""
    log, tasks = world.log, world.tasks
    shape, task = log.shapes[log.shape_of[at]], log.row_a[at]
    if shape.subject is not LogSubject.TASK or shape.event not in TASK_EVENTS or tasks.state[task] == GONE:
        return None
    subtask = dict(shape.fields).get("subtaskId", 0)
    assert isinstance(subtask, int)
    return RecentTask(task, subtask if tasks.profile_of(task).instances else None)


def recent_tasks(world: World, nodes: Iterable[int]) -> dict[int, list[RecentTask]]:
    """Return ``NodeHistory.recent_tasks`` of many nodes, found in one pass over the log."""
    log, table = world.log, world.nodes
    found: dict[int, dict[int, RecentTask]] = {node: {} for node in nodes}
    open_nodes = {node for node in found if table.ran[node] or table.busy(node)}
    for at in range(len(log) - 1, -1, -1):
        if not open_nodes:
            break
        node = log.row_b[at]
        if node in open_nodes and (recent := recent_task(world, at)) is not None:
            found[node].setdefault(recent.task, recent)
            if len(found[node]) == RECENT_TASKS:
                open_nodes.discard(node)
    return {node: list(tasks.values()) for node, tasks in found.items()}


def trigger_of(simulation: Simulation, job_id: str, node: int) -> int | None:
    """Return the task for which a job first prepared on a node (PREP-3).

    None where it has not prepared, or none of that is left.
    """
    world, log = simulation.world, simulation.log
    job = world.jobs.find(job_id)
    row = -1 if job is None else world.instances.row(job.row, node)
    if job is None or row < 0 or world.instances.prep_first[row] < 0:
        return None
    start = log.index_at(world.instances.prep_first[row] - 1)
    for at in numbers_of(log.row_b, node, start, log.index_at(log.when[start])):
        shape = log.shapes[log.shape_of[at]]
        comes = shape.event in TASK_EVENTS and dict(shape.fields)["to"] in (TaskState.PREPARING, TaskState.RUNNING)
        if comes and world.tasks.block_of(log.row_a[at]).job == job.row:
            return log.row_a[at]
    return None
