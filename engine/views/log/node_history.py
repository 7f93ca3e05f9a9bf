"""The history of one node: its states, its tasks, and the runs of preparation and release there."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.failures import FAILURE_EXIT_CODE, FailureInfo
from engine.base.node_states import NODE_STATES, Interruption
from engine.base.terms import InstanceState, NodeState, TaskResult, TaskState
from engine.events.log import LogSubject
from engine.state.tasks import GONE
from engine.views.log.reader import LogReader, about, numbers_of
from engine.views.log.state_spans import StateSpan, state_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine import Simulation
    from engine.events.log import Shape
    from engine.world.world import World

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

    def _own(self) -> Iterator[tuple[int, Shape]]:
        """Yield the entries whose second row number is a node."""
        return ((at, shape) for at, shape in self._reader if shape.subject is not LogSubject.TASKS_ADDED)

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
        for at, shape in self._own():
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
        for at, shape in self._own() if job is not None else ():
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
        tasks = [log.row_a[at] for at, shape in self._own() if _is_requeue(shape)]
        return [task for task in tasks if world.tasks.block_of(task).job == job.row]


def _is_requeue(shape: Shape) -> bool:
    return shape.event == "TaskStateChanged" and dict(shape.fields).get("rule") == "PREP-8"


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
