"""Tasks as the service returns them (TASK-2, TASK-10, TASK-11, NOP-13, GEN-6)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from engine.base.failures import result_of
from engine.base.paths import subtask_directory, task_directory
from engine.base.terms import TaskResult, TaskState
from engine.base.units import format_duration, format_utc
from engine.scenario.factory import TaskFactory
from engine.state.columns import NEVER_MS
from engine.state.tasks import COMPLETED, GONE, PREPARING, RUNNING
from engine.views.rest.common import container_info, etag, job_url, node_url, previous_state, root_directory, utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engine.specs.task import TaskSpec
    from engine.state.gangs import Subtask
    from engine.state.jobs import Job
    from engine.state.task_records import TaskBlock
    from engine.views.log.transitions import TaskTransitions, Transitions
    from engine.world.world import World

Body = dict[str, Any]

_WIRE = tuple(state.wire for state in TaskState)


def task_body(world: World, task: int, last: Transitions) -> Body:
    """Return the REST body of a task that is not deleted; ``last`` are its last transitions."""
    block = world.tasks.block_of(task)
    return TaskBodies(world, world.jobs[block.job]).body(task, BlockParts(world, block), last)


def task_bodies_after(world: World, job: Job, transitions: TaskTransitions, last: int) -> Iterator[tuple[int, Body]]:
    """Yield rows and bodies of a job's tasks that were added after row ``last``, without deleted ones.

    Tasks share parts of their bodies: copy a body before changing it.
    """
    bodies, tasks = TaskBodies(world, job), world.tasks
    # Rows of later blocks are higher. The block with ``last`` is the last one that does not begin after it.
    begin = max(0, bisect_right(job.blocks, last, key=lambda number: tasks.blocks[number].first) - 1)
    for place in range(begin, len(job.blocks)):
        block = BlockParts(world, tasks.blocks[job.blocks[place]])
        for task in range(max(block.rows.start, last + 1), block.rows.stop):
            if tasks.state[task] != GONE:
                yield task, bodies.body(task, block, transitions[task])


def task_limits(world: World, task: int) -> Body:
    """Return the constraints in force: those of an update, and the job's retries where the task has none (RETRY-3)."""
    profile = world.tasks.profile_of(task)
    retries = world.jobs[profile.job].max_retries if profile.max_retries is None else profile.max_retries
    return {
        "maxWallClockTime": format_duration(profile.wall_clock_ms),
        "retentionTime": format_duration(profile.retention_ms),
        "maxTaskRetryCount": retries,
    }


def _modification(world: World, task: int) -> Body:
    """Return entity tag and time of the last update of a task; empty without one (GEN-6)."""
    updated_ms = world.tasks.profile_of(task).modified_ms
    return {} if updated_ms is None else {"eTag": etag(world, updated_ms), "lastModified": utc(world, updated_ms)}


def execution_info(world: World, task: int, moment: Callable[[int], str] | None = None) -> Body:
    """Return ``executionInfo``: times, exit code, failure, retries and requeues of the task so far (TASK-10).

    ``moment`` writes times, for many tasks at once.
    """
    tasks = world.tasks
    moment = moment or (lambda ms: utc(world, ms))
    state, started_ms = tasks.state[task], tasks.started[task]
    extra = tasks.extra(task)
    result = result_of(extra.exit_code, extra.failure) if state == COMPLETED else None
    info: Body = {}
    if started_ms != NEVER_MS and state in (RUNNING, COMPLETED):
        info["startTime"] = moment(started_ms)
    if state == COMPLETED:
        info["endTime"] = moment(tasks.ended[task])
        exit_code = 0 if result is TaskResult.SUCCESS else extra.exit_code
        if exit_code is not None:
            info["exitCode"] = exit_code
        if extra.failure is not None:
            info["failureInfo"] = extra.failure.wire()
    if info:
        info |= _container(world, task, info.get("exitCode"))
    info["retryCount"] = extra.retry_count
    if extra.last_retry_ms is not None:
        info["lastRetryTime"] = moment(extra.last_retry_ms)
    info["requeueCount"] = extra.requeue_count
    if extra.last_requeue_ms is not None:
        info["lastRequeueTime"] = moment(extra.last_requeue_ms)
    if result is not None:
        info["result"] = result.value
    return info


def _container(world: World, task: int, exit_code: int | None) -> Body:
    """Return ``containerInfo``; a process that ended without an exit code never had a container."""
    tasks = world.tasks
    profile = tasks.profile_of(task)
    if profile.process is not None or (exit_code is None and tasks.state[task] == COMPLETED):
        return {}
    directory = task_directory(world.jobs[profile.job].id, tasks.task_id(task))
    return container_info(world, tasks.spec(task), tasks.node[task], directory, tasks.started[task], exit_code)


def subtask_bodies(world: World, task: int) -> list[Body]:
    """Return the subtasks of a multi-instance task's latest attempt as ``subtasksinfo`` lists them (MI-7)."""
    gang = world.gangs.find(task)
    if gang is None:
        return []
    directory = task_directory(world.jobs[world.tasks.profile_of(task).job].id, world.tasks.task_id(task))
    return [
        _subtask_body(world, number, subtask, gang.nodes[number], subtask_directory(directory, number))
        for number, subtask in enumerate(gang.subtasks, start=1)
    ]


def _subtask_body(world: World, number: int, subtask: Subtask, node: int, directory: str) -> Body:
    body: Body = {"id": number, "nodeInfo": _place(world, node) | root_directory(world, node, directory)}
    if subtask.start_ms is not None:
        body["startTime"] = utc(world, subtask.start_ms)
    ending = subtask.ending
    if ending is not None:
        body["endTime"] = utc(world, subtask.since_ms)
        if ending.exit_code is not None:
            body["exitCode"] = ending.exit_code
        if ending.failure is not None:
            body["failureInfo"] = ending.failure.wire()
    body |= {"state": subtask.state.wire, "stateTransitionTime": utc(world, subtask.since_ms)}
    body |= previous_state(world, subtask.previous)
    if subtask.result is not None:
        body["result"] = subtask.result.value
    return body


def _place(world: World, node: int) -> Body:
    """Return the parts of ``nodeInfo`` that name a node."""
    record = world.nodes[node]
    return {
        "affinityId": f"TVM:{record.id}",
        "nodeUrl": node_url(world, node),
        "poolId": world.pool_of(node).id,
        "nodeId": record.id,
    }


class TaskBodies:
    """Makes the bodies of one job's tasks; parts that they share are made once."""

    def __init__(self, world: World, job: Job) -> None:
        self._world = world
        self._job = job
        self._url = f"{job_url(world, job.id)}/tasks/"
        self._updated: dict[int, Body] = {}  # by profile: constraints, and when they were updated
        self._written = _Written()
        self._start = world.scenario.start
        self._nodes: dict[int, tuple[Body, tuple[str, str]]] = {}  # the parts that name a node, and the job's directory

    def body(self, task: int, block: BlockParts, last: Transitions) -> Body:
        """Return the body of a task; ``last`` are its last transitions."""
        world = self._world
        settings = self._written.settings(block, task)
        task_id, state = settings["id"], world.tasks.state[task]
        body: Body = {
            "id": task_id,
            "url": self._url + task_id,
            **block.creation,
            "state": _WIRE[state],
            "stateTransitionTime": self._moment(last.since_ms),
        }
        if last.previous is not None:
            body["previousState"] = _WIRE[last.previous]
            body["previousStateTransitionTime"] = self._moment(last.previous_since_ms)
        body |= settings
        profile = world.tasks.profile[task]
        updated = self._updated.get(profile)
        if updated is None:
            updated = self._updated[profile] = _modification(world, task) | {"constraints": task_limits(world, task)}
        body |= updated
        body["executionInfo"] = execution_info(world, task, self._moment)
        if state == PREPARING or world.tasks.started[task] != NEVER_MS:
            body["nodeInfo"] = self.node_info(task_id, world.tasks.node[task])
        return body

    def _moment(self, ms: int) -> str:
        return format_utc(self._start, ms)

    def node_info(self, task_id: str, node: int) -> Body:
        """Return ``nodeInfo``: where the task ran last (TASK-11)."""
        known = self._nodes.get(node)
        if known is None:
            root = root_directory(self._world, node, task_directory(self._job.id, ""))
            paths = root["taskRootDirectory"], root["taskRootDirectoryUrl"]
            known = self._nodes[node] = _place(self._world, node), paths
        place, (directory, url) = known
        return {**place, "taskRootDirectory": directory + task_id, "taskRootDirectoryUrl": url + task_id}


class BlockParts:
    """Parts that the tasks of a block share: their creation, and most of their settings.

    The tasks of a sweep often differ only in id and command line. Each parameter differs between the first task and the
    last, so a property that is equal in these two is equal in all.
    """

    def __init__(self, world: World, block: TaskBlock) -> None:
        source = self._source = block.source
        self.rows = range(block.first, block.first + source.count)
        created = utc(world, block.created_ms)
        # Running does not modify a task (GEN-6).
        self.creation = {"eTag": etag(world, block.created_ms), "creationTime": created, "lastModified": created}
        self.sweep: TaskFactory | None = None  # if its tasks differ in nothing but names
        self._shared: Body = {}
        if isinstance(source, TaskFactory) and source.count > 2:
            first, last = source.spec(0).wire(), source.spec(source.count - 1).wire()
            if _without_names(first) == _without_names(last):
                self.sweep, self._shared = source, first

    def settings(self, task: int) -> Body | None:
        """Return the settings of a task of a sweep as it was added; None of one that must be written by itself."""
        sweep, ordinal = self.sweep, task - self.rows.start
        if sweep is None:
            return None
        return self._shared | {"id": sweep.task_id(ordinal), "commandLine": sweep.command_line(ordinal)}

    def spec(self, task: int) -> TaskSpec:
        """Return the body with which a task was added."""
        return self._source.spec(task - self.rows.start)


class _Written:
    """The settings of tasks. One that differs from the task before in id and command line alone is not written anew."""

    def __init__(self) -> None:
        self._rest: Body = {}
        self._body: Body = {}

    def settings(self, block: BlockParts, task: int) -> Body:
        """Return the settings of a task as it was added."""
        settings = block.settings(task)
        if settings is not None:
            return settings
        spec = block.spec(task)
        rest = {**vars(spec), "id": "", "command_line": ""}
        if rest != self._rest:
            self._rest, self._body = rest, spec.wire()
        return {**self._body, "id": spec.id, "commandLine": spec.command_line}


def _without_names(settings: Body) -> Body:
    return settings | {"id": "", "commandLine": ""}
