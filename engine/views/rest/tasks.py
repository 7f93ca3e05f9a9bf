"""Tasks, preparation tasks and release tasks as the service returns them, and all tasks of a job as lines of JSON.

Tasks: TASK-2, TASK-10, TASK-11, NOP-13, GEN-6. The status of preparation and release, node by node: PREP-24 to PREP-26,
REL-15.

Most tasks of a sweep succeed in their first attempt, and their bodies differ in names, times and node alone. So the
body of the first of them is written with gaps, which are filled in for the others. Any other task is written by itself.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import chain, count, repeat
from json.encoder import encode_basestring as _quoted
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError, result_of
from engine.base.paths import subtask_directory, task_directory
from engine.base.terms import InstanceState, TaskResult, TaskState
from engine.base.values import format_duration, format_utc, format_utcs, lazy_regex, words
from engine.scenario.factory import TaskFactory
from engine.specs.bodies import JobPreparationTask
from engine.state.tables import NEVER_MS, PAGE_BITS
from engine.state.tasks import COMPLETED, GONE, PREPARING
from engine.views.rest.account import (
    container_info,
    etag,
    job_url,
    node_url,
    present,
    previous_state,
    root_directory,
    utc,
    utc_if,
    wire_if,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.specs.bodies import JobReleaseTask, TaskSpec
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.state.task_records import TaskBlock
    from engine.state.task_tables import Subtask
    from engine.views.log.latest import TaskTransitions, Transitions
    from engine.world import World


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
    state, begun_ms, extra = tasks.state[task], tasks.begun_ms(task), tasks.extra(task)
    result = result_of(extra.exit_code, extra.failure) if state == COMPLETED else None
    info: Body = {}
    if begun_ms is not None:
        info["startTime"] = moment(begun_ms)
    if state == COMPLETED:
        info["endTime"] = moment(tasks.ended[task])
        exit_code = 0 if result is TaskResult.SUCCESS else extra.exit_code
        if exit_code is not None:
            info["exitCode"] = exit_code
        if extra.failure is not None:
            info["failureInfo"] = wire_if(extra.failure)
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
    ending, previous = subtask.ending, previous_state(world, subtask.previous)
    return present(
        id=number,
        nodeInfo=_place(world, node) | root_directory(world, node, directory),
        startTime=utc_if(world, subtask.start_ms),
        endTime=None if ending is None else utc(world, subtask.since_ms),
        exitCode=None if ending is None else ending.exit_code,
        failureInfo=None if ending is None else wire_if(ending.failure),
        state=subtask.state.wire,
        stateTransitionTime=utc(world, subtask.since_ms),
        **previous,
        result=None if subtask.result is None else subtask.result.value,
    )


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
        # One that differs from the task before in id and command line alone is not written anew.
        self._rest: Body = {}
        self._body: Body = {}
        self._start = world.scenario.start
        self._nodes: dict[int, tuple[Body, tuple[str, str]]] = {}  # the parts that name a node, and the job's directory

    def body(self, task: int, block: BlockParts, last: Transitions) -> Body:
        """Return the body of a task; ``last`` are its last transitions."""
        world = self._world
        settings = self._settings(block, task)
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

    def _settings(self, block: BlockParts, task: int) -> Body:
        """Return the settings of a task as it was added."""
        settings = block.settings(task)
        if settings is not None:
            return settings
        spec = block.spec(task)
        rest = {**vars(spec), "id": "", "command_line": ""}
        if rest != self._rest:
            self._rest, self._body = rest, spec.wire()
        return {**self._body, "id": spec.id, "commandLine": spec.command_line}

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


def _without_names(settings: Body) -> Body:
    return settings | {"id": "", "commandLine": ""}


def prep_release_status(world: World, job: Job) -> Iterator[Body]:
    """Return an entry for each node that ran preparation or release, also where the node is gone (PREP-25).

    Entries are sorted by the first start of the preparation, then by node id.

    Raises:
        BatchError: JobPreparationTaskNotSpecified for a job without preparation.
    """
    if not job.has_prep:
        raise BatchError("JobPreparationTaskNotSpecified", jobId=job.id)
    instances, nodes = world.instances, world.nodes
    rows = instances.rows_of_job(job.row)
    in_order = sorted(rows, key=lambda row: (instances.prep_first[row], nodes[instances.node[row]].id))
    return (prep_release_entry(world, job, row) for row in in_order)


def instance_on(world: World, job: Job, node: int, *, is_release: bool) -> Body:
    """Return the preparation or the release of a job on a node (PREP-24, REL-15).

    Raises:
        BatchError: JobPreparationTaskNotSpecified, JobPreparationTaskNotRunOnNode, or the same of release (PREP-26).
    """
    spec = job.spec.job_release_task if is_release else job.spec.job_preparation_task
    name = "JobReleaseTask" if is_release else "JobPreparationTask"
    if spec is None:
        raise BatchError(f"{name}NotSpecified", jobId=job.id)
    row, instances = world.instances.row(job.row, node), world.instances
    view = None if row < 0 else instances.release(row) if is_release else instances.prep(row)
    info = _info(world, job, node, view, spec)
    if info is None:
        raise BatchError(f"{name}NotRunOnNode", jobId=job.id, nodeId=world.nodes[node].id)
    return info


def prep_release_entry(world: World, job: Job, row: int) -> Body:
    """Return the entry of one row of the table of instances."""
    node = world.instances.node[row]
    preparation, release = world.instances.prep(row), world.instances.release(row)
    return present(
        poolId=world.pool_of(node).id,
        nodeId=world.nodes[node].id,
        nodeUrl=node_url(world, node),
        jobPreparationTaskExecutionInfo=_info(world, job, node, preparation, job.spec.job_preparation_task),
        jobReleaseTaskExecutionInfo=_info(world, job, node, release, job.spec.job_release_task),
    )


def _info(
    world: World, job: Job, node: int, view: InstanceView | None, spec: JobPreparationTask | JobReleaseTask | None
) -> Body | None:
    """Return ``jobPreparationTaskExecutionInfo`` or that of release; None where it has not run."""
    if view is None or spec is None:
        return None
    directory, is_running = task_directory(job.id, spec.id), view.state is InstanceState.RUNNING
    has_container = is_running or view.exit_code is not None
    is_retried = isinstance(spec, JobPreparationTask)
    return present(
        startTime=utc(world, view.start_ms),
        endTime=utc_if(world, view.end_ms),
        state=view.state.wire,
        **root_directory(world, node, directory),
        exitCode=None if is_running else view.exit_code,
        **(container_info(world, spec, node, directory, view.start_ms, view.exit_code) if has_container else {}),
        failureInfo=wire_if(view.failure),
        result=None if view.result is None else view.result.value,
        retryCount=view.retry_count if is_retried else None,
        lastRetryTime=utc(world, view.start_ms) if is_retried and view.retry_count else None,
    )


encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode

TOGETHER = 1000  # tasks of which the names are made together
MOST_NODES = 4096  # texts that are kept
# A hole is text that no body has; where one has it nevertheless, its line is not used for others.
_ID, _LINE, _STARTED, _ENDED, _NODE = _NAMES = tuple(f"\0{name}\0" for name in words("id line started ended node"))
_HOLES = [_quoted(name)[1:-1] for name in _NAMES]  # as they stand in JSON
_HOLE = lazy_regex("|".join(map(re.escape, _HOLES)))
_Form = tuple[list[Iterable[str]], Callable[[tuple[Iterable[str], ...]], tuple[Iterable[str], ...]]]
"""The JSON of a task around its holes, each part endlessly repeated, and the order of columns and these parts."""


def task_lines(world: World, job: Job, transitions: TaskTransitions) -> Iterator[list[str]]:
    """Return an iterator over the tasks of a job as JSON, in the order in which they were added, many at a time.

    Multi-instance tasks have ``subtasks`` as ``subtasksinfo`` lists them (MI-7); deleted tasks are left out.
    """
    writer = _Writer(world, job, transitions)
    blocks = (BlockParts(world, world.tasks.blocks[number]) for number in job.blocks)
    return chain.from_iterable(map(writer.lines, blocks))


class _Writer:
    """Writes the tasks of one job."""

    def __init__(self, world: World, job: Job, transitions: TaskTransitions) -> None:
        self._world = world
        self._transitions = transitions
        self._bodies = TaskBodies(world, job)
        self._nodes: dict[int, list[str]] = {}

    def whole(self, block: BlockParts, task: int) -> Body:
        """Return the body of a task, with its subtasks if it may have some."""
        body = self._bodies.body(task, block, self._transitions[task])
        return body | {"subtasks": subtask_bodies(self._world, task)} if "multiInstanceSettings" in body else body

    def lines(self, block: BlockParts) -> Iterator[list[str]]:
        """Yield the lines of a block's tasks in lists of about a thousand, which takes less time."""
        tasks, sweep, begin = self._world.tasks, block.sweep, block.rows.start
        forms: dict[int, _Form | None] = {}  # by profile
        for first in range(begin, block.rows.stop, TOGETHER):
            rows = [row for row in block.rows[first - begin : first - begin + TOGETHER] if tasks.state[row] != GONE]
            groups: dict[int, list[int]] = {}  # by profile, places in ``rows`` of tasks that may have one form
            for place, task in enumerate(rows if sweep is not None else ()):
                if tasks.state[task] == COMPLETED and task not in tasks.sparse[task >> PAGE_BITS]:
                    groups.setdefault(tasks.profile[task], []).append(place)
            lines = [""] * len(rows)
            for profile, places in groups.items():
                alike = [rows[place] for place in places]
                if profile not in forms:
                    forms[profile] = self._form(block, alike[0])
                form = forms[profile]
                if sweep is not None and form is not None:
                    for place, line in zip(places, self._filled(form, sweep, begin, alike), strict=True):
                        lines[place] = line
            yield [line or encode(self.whole(block, task)) for line, task in zip(lines, rows, strict=True)]

    def _filled(self, form: _Form, sweep: TaskFactory, begin: int, rows: list[int]) -> Iterator[str]:
        """Return the lines of tasks of one form."""
        tasks, start, nodes = self._world.tasks, self._world.scenario.start, self._nodes
        ordinals = [row - begin for row in rows]
        names, lines = _inner(sweep.task_ids(ordinals)), _inner(sweep.command_lines(ordinals))
        started, ended = (format_utcs(start, [column[row] for row in rows]) for column in (tasks.started, tasks.ended))
        parts = [nodes.get(node) or self._node(node) for node in map(tasks.node.__getitem__, rows)]
        columns = names, lines, started, ended, list(map(str.join, names, parts))
        return map("".join, zip(*form[1]((*columns, *form[0])), strict=False))

    def _form(self, block: BlockParts, task: int) -> _Form | None:
        """Return the form of an ordinary task's line; None if others cannot be filled into it."""
        body = self.whole(block, task)
        info: Body = body["executionInfo"]
        if "multiInstanceSettings" in body or "containerInfo" in info:  # these differ from task to task
            return None
        text = encode(
            body
            | {"id": _ID, "url": body["url"].removesuffix(body["id"]) + _ID, "commandLine": _LINE}
            | {"stateTransitionTime": _ENDED, "previousStateTransitionTime": _STARTED}
            | {"executionInfo": info | {"startTime": _STARTED, "endTime": _ENDED}, "nodeInfo": _NODE}
        )
        text = text.replace(f'"{_HOLES[-1]}"', _HOLES[-1])
        parts: list[Iterable[str]] = [repeat(part) for part in _HOLE.split(text)]
        holes = map(_HOLES.index, _HOLE.findall(text))
        order = chain.from_iterable(zip(count(len(_HOLES)), holes, strict=False))  # a part comes before each hole
        form = parts, itemgetter(*order, len(_HOLES) + len(parts) - 1)
        name, line = (_inner([body[key]]) for key in ("id", "commandLine"))
        times = [body["previousStateTransitionTime"]], [body["stateTransitionTime"]]
        values = name, line, *times, [name[0].join(self._node(self._world.tasks.node[task]))]
        return form if next(map("".join, zip(*form[1]((*values, *parts)), strict=False))) == encode(body) else None

    def _node(self, node: int) -> list[str]:
        """Return what stands in ``nodeInfo`` around the id of the task."""
        if len(self._nodes) >= MOST_NODES:
            self._nodes.clear()
        parts = self._nodes[node] = encode(self._bodies.node_info(_ID, node)).split(_HOLES[0])
        return parts


def _inner(texts: list[str]) -> list[str]:
    """Return texts as they stand between the quotation marks of JSON; most are the same there."""
    together = "".join(texts)
    return texts if len(_quoted(together)) == len(together) + 2 else [_quoted(text)[1:-1] for text in texts]
