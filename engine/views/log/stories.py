"""Stories: what the log tells of one task, of one job, and of one node with the preparations and releases there.

A story reads the log as it grows and remembers which entries are its own, so that it can be told in every frame.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple

from engine.base.failures import FailureInfo
from engine.base.terms import InstanceState, JobState, NodeState, TaskResult, TaskState
from engine.events.log import LogSubject
from engine.state.tasks import GONE
from engine.views.log.history import RECENT_TASKS, RecentTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine import Simulation
    from engine.events.log import Shape

_TASK_EVENTS = ("TaskStateChanged", "SubtaskStateChanged")
_HOOK_EVENTS = ("JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged")


class Story:
    """The numbers of the entries that name a row; those after the present moment are not told."""

    def __init__(self, simulation: Simulation, column: Literal["row_a", "row_b"], row: int) -> None:
        self._simulation = simulation
        self._column = column
        self._row = row
        self._found = array("I")
        self._read = 0
        self._cuts_seen = len(simulation.log.cuts)

    def _entries(self) -> Sequence[int]:
        log = self._simulation.log
        if self._cuts_seen < len(log.cuts):  # what was recorded beyond is no more
            length = min(log.cuts[self._cuts_seen :])
            del self._found[bisect_left(self._found, length) :]
            self._read, self._cuts_seen = min(self._read, length), len(log.cuts)
        if self._read < len(log):
            self._found.extend(_places(getattr(log, self._column), self._row, self._read))
            self._read = len(log)
        return self._found[: bisect_left(self._found, len(log))]

    def _shapes(self) -> Iterator[tuple[int, Shape]]:
        log = self._simulation.log
        for at in self._entries():
            yield at, log.shapes[log.shape_of[at]]


def _places(column: array[int], value: int, start: int, stop: int | None = None) -> Iterator[int]:
    """Where a value stands in a column from ``start`` on; found in its bytes, which takes 4 ms for a million."""
    size = column.itemsize
    data, wanted = column[start:stop].tobytes(), array(column.typecode, [value]).tobytes()
    at = data.find(wanted)
    while at >= 0:
        if at % size == 0:
            yield start + at // size
        at = data.find(wanted, at + 1)


# -- a task ----------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """A task comes into a state; None is deleted. ``when_ms`` is since the start."""

    when_ms: int
    state: TaskState | None
    node: int | None
    attempt: int
    exit_code: int | None
    failure: FailureInfo | None
    rule: str


class Attempt(NamedTuple):
    """A task on a node, from when it was put there. Times are ms since the start."""

    number: int
    node: int
    placed_ms: int
    start_ms: int | None  # None: it has not come to run
    end_ms: int | None  # None: it is still there
    ended_as: TaskState | None  # active: it is to be done again; None: it is still there, or was deleted
    exit_code: int | None
    failure: FailureInfo | None
    rule: str  # why it ended; empty where that was its own end


class Stay(NamedTuple):
    """When a task last came into a state, in ms since the start, and how long it has been in it, all told."""

    entered_ms: int
    spent_ms: int


class TaskStory(Story):
    """One task from its addition on."""

    def __init__(self, simulation: Simulation, task: int) -> None:
        """The task in this row."""
        super().__init__(simulation, "row_a", task)

    def steps(self) -> list[Step]:
        """Every state that it has come into, in order."""
        log = self._simulation.log
        created_ms = self._simulation.world.tasks.block_of(self._row).created_ms
        steps = [Step(created_ms, TaskState.ACTIVE, None, 1, None, None, "")]
        for at, shape in self._shapes():
            if shape.subject is not LogSubject.TASK or shape.event != "TaskStateChanged":
                continue
            fields = dict(shape.fields)
            state, exit_code, failure = fields["to"], fields.get("exitCode"), fields.get("failureInfo")
            if fields["from"] is None:
                continue
            node = log.row_b[at]
            steps.append(
                Step(
                    when_ms=log.when[at],
                    state=state if isinstance(state, TaskState) else None,
                    node=node if node >= 0 else None,
                    attempt=_number(fields.get("attempt")),
                    exit_code=exit_code if isinstance(exit_code, int) else None,
                    failure=failure if isinstance(failure, FailureInfo) else None,
                    rule=str(fields.get("rule", "")),
                )
            )
        return steps

    def attempts(self) -> list[Attempt]:
        """Every time that it was put on a node, in order."""
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

    def stays(self) -> dict[TaskState, Stay]:
        """The states in which it has been, and for how long."""
        steps = self.steps()
        ends = [step.when_ms for step in steps[1:]] + [self._simulation.now_ms]
        stays: dict[TaskState, Stay] = {}
        for step, end_ms in zip(steps, ends, strict=True):
            if step.state is not None:
                before = stays.get(step.state)
                spent_ms = end_ms - step.when_ms + (before.spent_ms if before else 0)
                stays[step.state] = Stay(step.when_ms, spent_ms)
        return stays


# -- a node ----------------------------------------------------------------------------------------------------------


class NodeStay(NamedTuple):
    """From ``begin_ms`` until ``end_ms`` (ms since the start) the node was in this state; None is gone."""

    begin_ms: int
    end_ms: int
    state: NodeState | None


class Cause(Enum):
    """Why preparation or release ran."""

    FIRST = "first"
    RETRY = "retry"
    REBOOT = "reboot"
    REIMAGE = "reimage"
    RECOVERY = "recovery"  # the node had been out of order, or its disk new for another reason
    RERUN = "rerun"


class HookRun(NamedTuple):
    """One run of preparation or release on a node. Times are ms since the start."""

    number: int
    cause: Cause
    start_ms: int
    end_ms: int | None  # None: it runs, was broken off, or was tried again
    exit_code: int | None
    result: TaskResult | None
    failure: FailureInfo | None


_CAUSES = {
    NodeState.REIMAGING: Cause.REIMAGE,
    NodeState.UPGRADING_OS: Cause.REIMAGE,
    NodeState.REBOOTING: Cause.REBOOT,
    NodeState.UNUSABLE: Cause.RECOVERY,
    NodeState.UNKNOWN: Cause.RECOVERY,
    NodeState.PREEMPTED: Cause.RECOVERY,
    NodeState.DEALLOCATED: Cause.RECOVERY,
}


class NodeStory(Story):
    """One node from its appearance on."""

    def __init__(self, simulation: Simulation, node: int) -> None:
        """The node in this row."""
        super().__init__(simulation, "row_b", node)

    def _own(self) -> Iterator[tuple[int, Shape]]:
        return ((at, shape) for at, shape in self._shapes() if shape.subject is not LogSubject.TASKS_ADDED)

    def stays(self) -> list[NodeStay]:
        """Its states, in order; the last one lasts."""
        log, now_ms = self._simulation.log, self._simulation.now_ms
        stays: list[NodeStay] = []
        for at, shape in self._own():
            if shape.event != "NodeStateChanged":
                continue
            state = dict(shape.fields)["to"]
            if stays:
                stays[-1] = stays[-1]._replace(end_ms=log.when[at])
            stays.append(NodeStay(log.when[at], now_ms, state if isinstance(state, NodeState) else None))
        return stays

    def recent_tasks(self) -> list[RecentTask]:
        """The tasks that changed last here, newest first, at most ten (NODE-6). Deleted ones are gone."""
        log, tasks = self._simulation.log, self._simulation.world.tasks
        found: dict[int, RecentTask] = {}
        for at in reversed(self._entries()):
            shape, task = log.shapes[log.shape_of[at]], log.row_a[at]
            if shape.subject is not LogSubject.TASK or shape.event == "TaskScheduleFail" or tasks.state[task] == GONE:
                continue
            subtask = _number(dict(shape.fields).get("subtaskId"))
            found.setdefault(task, RecentTask(task, subtask if tasks.profile_of(task).instances else None))
            if len(found) == RECENT_TASKS:
                break
        return list(found.values())

    def tasks_started(self) -> dict[str, int]:
        """How many times a task of each job came to run here, by job id; deleted jobs are left out."""
        log, world = self._simulation.log, self._simulation.world
        found: dict[str, int] = {}
        for at, shape in self._own():
            fields = dict(shape.fields)
            if shape.event in _TASK_EVENTS and fields["to"] == TaskState.RUNNING:
                job = world.jobs[world.tasks.block_of(log.row_a[at]).job]
                if job.state is not None:
                    found[job.id] = found.get(job.id, 0) + 1
        return found

    def hook_runs(self, job_id: str, *, is_release: bool) -> list[HookRun]:
        """Every run of the job's preparation or release here, in order; none while there is no such job."""
        log, world = self._simulation.log, self._simulation.world
        job = world.jobs.find(job_id)
        runs: list[HookRun] = []
        cause = Cause.FIRST
        for at, shape in self._own() if job is not None else ():
            fields = dict(shape.fields)
            state = fields.get("to")
            if shape.event == "NodeStateChanged" and isinstance(state, NodeState):
                cause = _CAUSES.get(state, cause) if runs else cause
                continue
            if shape.event != _HOOK_EVENTS[is_release] or job is None or log.row_a[at] != job.row:
                continue
            if state is InstanceState.RUNNING:
                is_retry = bool(runs) and runs[-1].end_ms is None and cause is Cause.RERUN
                start_ms, why = log.when[at], Cause.RETRY if is_retry else cause
                runs.append(HookRun(len(runs) + 1, why, start_ms, None, None, None, None))
                cause = Cause.RERUN
            elif runs:
                exit_code, result, failure = (fields.get(name) for name in ("exitCode", "result", "failureInfo"))
                runs[-1] = runs[-1]._replace(
                    end_ms=log.when[at],
                    exit_code=exit_code if isinstance(exit_code, int) else None,
                    result=result if isinstance(result, TaskResult) else None,
                    failure=failure if isinstance(failure, FailureInfo) else None,
                )
        return runs

    def returned(self, job_id: str) -> list[int]:
        """The tasks of a job that went back to the queue when its preparation failed here (PREP-8)."""
        log, world = self._simulation.log, self._simulation.world
        job = world.jobs.find(job_id)
        found = []
        for at, shape in self._own() if job is not None else ():
            if shape.event == "TaskStateChanged" and dict(shape.fields).get("rule") == "PREP-8":
                task = log.row_a[at]
                if job is not None and world.tasks.block_of(task).job == job.row:
                    found.append(task)
        return found


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def trigger_of(simulation: Simulation, job_id: str, node: int) -> int | None:
    """The task for which a job first prepared on a node (PREP-3); None where it has not, or none of it is left."""
    world, log = simulation.world, simulation.log
    job = world.jobs.find(job_id)
    row = -1 if job is None else world.instances.row(job.row, node)
    if job is None or row < 0 or world.instances.prep_first[row] < 0:
        return None
    start = log.index_at(world.instances.prep_first[row] - 1)
    for at in _places(log.row_b, node, start, log.index_at(log.when[start])):
        shape = log.shapes[log.shape_of[at]]
        comes = shape.event in _TASK_EVENTS and dict(shape.fields)["to"] in (TaskState.PREPARING, TaskState.RUNNING)
        if comes and world.tasks.block_of(log.row_a[at]).job == job.row:
            return log.row_a[at]
    return None


# -- a job -----------------------------------------------------------------------------------------------------------


class JobStay(NamedTuple):
    """From ``begin_ms`` until ``end_ms`` (ms since the start) the job was in this state; None is deleted."""

    begin_ms: int
    end_ms: int
    state: JobState | None


class JobStory(Story):
    """One job from its addition on."""

    def __init__(self, simulation: Simulation, job: int) -> None:
        """The job in this row."""
        super().__init__(simulation, "row_a", job)

    def stays(self) -> list[JobStay]:
        """Its states, in order; the last one lasts."""
        log, now_ms = self._simulation.log, self._simulation.now_ms
        stays: list[JobStay] = []
        for at, shape in self._shapes():
            if shape.event != "JobStateChanged":
                continue
            state = dict(shape.fields)["to"]
            if stays:
                stays[-1] = stays[-1]._replace(end_ms=log.when[at])
            stays.append(JobStay(log.when[at], now_ms, state if isinstance(state, JobState) else None))
        return stays
