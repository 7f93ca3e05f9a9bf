"""The operations on jobs, job schedules and tasks, and on the files of tasks and nodes (FILE-10, FILE-11).

Each table of handlers has them by operation id.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from engine.base.errors import BatchError, PartlyRefused
from engine.rest import messages
from engine.rest.handlers import (
    Resources,
    Route,
    Target,
    action,
    after,
    created,
    creation,
    described,
    existence,
    one,
    page,
    path_of,
    removal,
    without,
)
from engine.rest.messages import Answer
from engine.rest.pools import NODE, node_named
from engine.rules.decisions import verdicts
from engine.specs import commands as c
from engine.specs.bodies import PoolInfo, TaskSpec
from engine.specs.job_refusals import COLLECTION_MAX_TASKS
from engine.views.log.latest import plain_transitions
from engine.views.rest.account import (
    account_url,
    etag,
    job_body,
    job_stats,
    lifetime_job_stats,
    schedule_body,
    schedule_stats,
    task_counts,
    utc,
)
from engine.views.rest.nodes import FileTree, content_type, node_tree, task_tree
from engine.views.rest.tasks import prep_release_entry, subtask_bodies, task_bodies_after, task_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engine.rest.handlers import Call
    from engine.rest.messages import Body
    from engine.rules.processes.node_disk import FileEntry
    from engine.state.jobs import Job, JobSchedule


_JOB = "/jobs/{jobId}"
_STATUS = f"{_JOB}/jobpreparationandreleasetaskstatus"
_TASK = f"{_JOB}/tasks/{{taskId}}"
_SCHEDULE = "/jobschedules/{jobScheduleId}"


def job_named(call: Call) -> Job:
    """Return the job that the path names. Raises BatchError: JobNotFound."""
    return verdicts.job_named(call.world, call.names["jobId"])


def stats_of(call: Call, job: Job) -> dict[str, object]:
    """Return ``stats`` of a job (STAT-1)."""
    return job_stats(call.world, job, call.latest.transitions.now(), call.now_ms)


JOBS = Resources(
    "jobs", "jobId", lambda world: world.jobs, job_named, lambda call, job: job_body(call.world, job), stats_of
)


def get_task_counts(call: Call) -> Answer:
    """Answer with the numbers of tasks and of their slots by state (TASK-16)."""
    return described(call, "taskcounts/@Element", task_counts(call.world, job_named(call)))


def list_preparation_and_release(call: Call) -> Answer:
    """Answer with a page of the preparation and release tasks of a job, node by node (PREP-25)."""
    world, job = call.world, job_named(call)
    if not (job.has_prep or job.has_release):
        raise BatchError("JobPreparationTaskNotSpecified", jobId=job.id)
    listed = ((row, row) for row in sorted(world.instances.rows_of_job(job.row)))
    body = partial(prep_release_entry, world, job)
    return page(call, "jobpreparationandreleasetaskstatuslist", after(listed, body), -1)


def _as_replacement(call: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    """Return the PATCH that has the effect of a PUT: replaceable properties that are absent get their defaults.

    The pool is left out where it stays the same: to name another one, the job must be disabled (JOB-14).
    """
    sent = messages.lenient(c.UpdateJob, body)
    kept: dict[str, Any] = {"priority": 0, "constraints": {}, "metadata": []} | sent
    job = call.world.jobs.find(call.names["jobId"])
    if job is not None and isinstance(kept.get("poolInfo"), dict):
        present = job_body(call.world, job)["poolInfo"]
        if messages.read_body(PoolInfo, kept["poolInfo"]).wire() == present:
            del kept["poolInfo"]
    return kept


_without_tasks = without("tasks", "taskfactory")  # of a scenario's job, but not of the service's
_on_job = partial(action, find=JOBS.named)
JOB_ROUTES = (
    Route("POST", "/jobs", "create_job", 201, creation(c.CreateJob, JOBS.made, _without_tasks)),
    Route("GET", "/jobs", "list_jobs", 200, JOBS.list),
    Route("GET", _JOB, "get_job", 200, JOBS.get),
    Route("DELETE", _JOB, "delete_job", 202, removal(c.DeleteJob, JOBS.named)),
    Route("PATCH", _JOB, "update_job", 200, _on_job(c.UpdateJob)),
    Route("PUT", _JOB, "replace_job", 200, _on_job(c.UpdateJob, change=_as_replacement)),
    Route("POST", f"{_JOB}/disable", "disable_job", 202, _on_job(c.DisableJob)),
    Route("POST", f"{_JOB}/enable", "enable_job", 202, _on_job(c.EnableJob)),
    Route("POST", f"{_JOB}/terminate", "terminate_job", 202, _on_job(c.TerminateJob)),
    Route("GET", f"{_JOB}/taskcounts", "get_job_task_counts", 200, get_task_counts),
    Route("GET", _STATUS, "list_job_preparation_and_release_task_status", 200, list_preparation_and_release),
)


def schedule_named(call: Call) -> JobSchedule:
    """Return the job schedule that the path names. Raises BatchError: JobScheduleNotFound."""
    return verdicts.schedule_named(call.world, call.names["jobScheduleId"])


def list_jobs_from_schedule(call: Call) -> Answer:
    """Answer with a page of the jobs that a schedule has created (JS-8)."""
    world, schedule = call.world, schedule_named(call)
    listed = after(((job.row, job) for job in world.jobs_under(schedule)), partial(job_body, world))
    return page(call, "jobs", listed, -1, lambda row: stats_of(call, world.jobs[row]))


SCHEDULES = Resources(
    "jobschedules",
    "jobScheduleId",
    lambda world: world.job_schedules,
    schedule_named,
    lambda call, schedule: schedule_body(call.world, schedule, call.now_ms),
    lambda call, schedule: schedule_stats(call.world, schedule, call.latest.transitions.now(), call.now_ms),
)


def _with_defaults(_: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    """Return the PATCH that has the effect of a PUT: what is left out gets its default."""
    return {"schedule": {}, "metadata": [], **messages.lenient(c.UpdateJobSchedule, body)}


_on_schedule = partial(action, find=SCHEDULES.named)


def get_lifetime_job_stats(call: Call) -> Answer:
    """Answer with what all jobs since the start have used, deleted ones included (STAT-1)."""
    return described(call, _JOB_STATS, lifetime_job_stats(call.world, call.latest.transitions.now(), call.now_ms))


_JOB_STATS = "Microsoft.Azure.Batch.Protocol.Entities.Container.jobs/@Element/stats/@Element"
OLDER_JOB_ROUTES = (Route("GET", "/lifetimejobstats", "get_lifetime_job_stats", 200, get_lifetime_job_stats),)
"""The operation on jobs that later API versions have dropped (GEN-15)."""

JOB_SCHEDULE_ROUTES = (
    Route("POST", "/jobschedules", "create_job_schedule", 201, creation(c.CreateJobSchedule, SCHEDULES.made)),
    Route("GET", "/jobschedules", "list_job_schedules", 200, SCHEDULES.list),
    Route("GET", _SCHEDULE, "get_job_schedule", 200, SCHEDULES.get),
    Route("HEAD", _SCHEDULE, "job_schedule_exists", 200, existence(SCHEDULES.named)),
    Route("DELETE", _SCHEDULE, "delete_job_schedule", 202, removal(c.DeleteJobSchedule, SCHEDULES.named)),
    Route("PATCH", _SCHEDULE, "update_job_schedule", 200, _on_schedule(c.UpdateJobSchedule)),
    Route("PUT", _SCHEDULE, "replace_job_schedule", 200, _on_schedule(c.UpdateJobSchedule, change=_with_defaults)),
    Route("POST", f"{_SCHEDULE}/disable", "disable_job_schedule", 204, _on_schedule(c.DisableJobSchedule)),
    Route("POST", f"{_SCHEDULE}/enable", "enable_job_schedule", 204, _on_schedule(c.EnableJobSchedule)),
    Route("POST", f"{_SCHEDULE}/terminate", "terminate_job_schedule", 202, _on_schedule(c.TerminateJobSchedule)),
    Route("GET", f"{_SCHEDULE}/jobs", "list_jobs_from_schedule", 200, list_jobs_from_schedule),
)


def target_of(call: Call, task_id: str) -> Target | None:
    """Return the task with this id of the job that the path names, None if there is none."""
    job = call.world.jobs.find(call.names["jobId"])
    task = None if job is None else call.world.tasks.find(job.row, task_id)
    if job is None or task is None:
        return None
    tasks = call.world.tasks
    return Target(path_of("jobs", job.id, "tasks", tasks.task_id(task)), tasks.modified_ms(task))


def named(call: Call) -> Target | None:
    """Return the task that the path names, None if there is none."""
    return target_of(call, call.names["taskId"])


def task_named(call: Call) -> int:
    """Return the row of the task that the path names. Raises BatchError: JobNotFound or TaskNotFound."""
    return verdicts.task_named(call.world, job_named(call), call.names["taskId"])


def create_task(call: Call) -> Answer:
    """Add one task to a job."""
    task = messages.read_body(TaskSpec, call.body())
    call.submit(c.AddTasks(job_id=call.names["jobId"], tasks=(task,)))
    return created(call, target_of(call, task.id))


def create_task_collection(call: Call) -> Answer:
    """Add tasks to a job, each of which is accepted or refused by itself (TASK-3)."""
    results = [_task_or_refusal(body) for body in _collection_of(call)]
    places = [place for place, (_, _, refusal) in enumerate(results) if refusal is None]
    tasks = tuple(task for _, task, _ in results if task is not None)
    try:
        call.submit(c.AddTasks(job_id=call.names["jobId"], tasks=tasks))
    except PartlyRefused as error:
        for number, refusal in error.refused.items():
            results[places[number]] = results[places[number]]._replace(refusal=refusal)
    return described(call, "taskaddresult", {"value": list(_results(call, results))})


class _Given(NamedTuple):
    """A task of a collection: its id, and either its body or the refusal of that."""

    task_id: str
    task: TaskSpec | None
    refusal: BatchError | None


def _collection_of(call: Call) -> list[dict[str, Any]]:
    """Return the bodies of a collection. Raises BatchError if there is no list of at most a hundred objects."""
    given = next((value for name, value in call.body().items() if name.lower() == "value"), None)
    if given is None:
        raise BatchError("MissingRequiredProperty", PropertyName="value")
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise BatchError("InvalidRequestBody", "value must be a list of tasks")
    if len(given) > COLLECTION_MAX_TASKS:
        raise BatchError("RequestBodyTooLarge", f"has {len(given)} tasks, {COLLECTION_MAX_TASKS} are allowed")
    return given


def _task_or_refusal(body: dict[str, Any]) -> _Given:
    """Return a task of a collection. Raises BatchError if it has no id, since the result could not name it."""
    try:
        task = messages.read_body(TaskSpec, body)
    except BatchError as error:
        task_id = next((value for name, value in body.items() if name.lower() == "id"), None)
        if not isinstance(task_id, str):
            raise
        return _Given(task_id, None, error)
    return _Given(task.id, task, None)


def _results(call: Call, given: Iterable[_Given]) -> Iterator[Body]:
    """Yield the result of each task of a collection."""
    world, job = call.world, job_named(call)
    tasks_url = call.request.base + path_of("jobs", job.id, "tasks", "")
    for task_id, _, refusal in given:
        if refusal is not None:
            yield {"status": "clienterror", "taskId": task_id, "error": refusal.body()}
            continue
        result = {"status": "Success", "taskId": task_id, "location": tasks_url + quote(task_id, safe=":")}
        task = world.tasks.find(job.row, task_id)
        if task is not None:
            added_ms = world.tasks.modified_ms(task)
            result |= {"eTag": etag(world, added_ms), "lastModified": utc(world, added_ms)}
        yield result


def get_task(call: Call) -> Answer:
    """Answer with one task."""
    task = task_named(call)
    last = plain_transitions(call.world, task) or call.latest.transitions.now()[task]
    return one(call, "tasks", task_body(call.world, task, last), named(call))


def list_tasks(call: Call) -> Answer:
    """Answer with a page of the tasks of a job."""
    job = job_named(call)
    return page(call, "tasks", partial(task_bodies_after, call.world, job, call.latest.transitions.now()), -1)


def list_subtasks(call: Call) -> Answer:
    """Answer with the subtasks of a task; there are none of a task on one node."""
    found = ((body["id"], body) for body in subtask_bodies(call.world, task_named(call)))
    return page(call, "subtasks", after(found, lambda body: body), 0)


_on_task = partial(action, find=named)
TASK_ROUTES = (
    Route("POST", f"{_JOB}/tasks", "create_task", 201, create_task),
    Route("POST", f"{_JOB}/addtaskcollection", "create_task_collection", 200, create_task_collection),
    Route("GET", f"{_JOB}/tasks", "list_tasks", 200, list_tasks),
    Route("GET", _TASK, "get_task", 200, get_task),
    Route("DELETE", _TASK, "delete_task", 200, removal(c.DeleteTask, named)),
    Route("PUT", _TASK, "replace_task", 200, _on_task(c.UpdateTask)),
    Route("GET", f"{_TASK}/subtasksinfo", "list_subtasks", 200, list_subtasks),
    Route("POST", f"{_TASK}/reactivate", "reactivate_task", 204, _on_task(c.ReactivateTask)),
    Route("POST", f"{_TASK}/terminate", "terminate_task", 204, _on_task(c.TerminateTask)),
)


TreeOf = Callable[["Call"], FileTree]


def of_node(call: Call) -> FileTree:
    """Return the files of the node that the path names. Raises BatchError: PoolNotFound or NodeNotFound."""
    try:
        node = node_named(call)
    except BatchError:
        world, wanted = call.world, f"{call.names['poolId']}/{call.names['nodeId']}".lower()
        for each, disk in call.latest.departed.items():
            if wanted == f"{world.pool_of(each).id}/{world.nodes[each].id}".lower():
                return node_tree(world, each, disk)
        raise
    return node_tree(call.world, node)


def of_task(call: Call) -> FileTree:
    """Return the files of the task that the path names.

    Raises:
        BatchError: JobNotFound, TaskNotFound, TaskFilesUnavailable or TaskFilesCleanedup.
    """
    return task_tree(call.world, task_named(call), call.now_ms, call.latest.departed)


def list_files(tree_of: TreeOf, call: Call) -> Answer:
    """Answer with a page of files: those at the root, or all with ``recursive``."""
    tree = tree_of(call)
    entries = tree.entries(call.now_ms, recursive=messages.flag(call.query, "recursive"))
    return page(call, "files", after(((entry.path, entry) for entry in entries), tree.body), "")


def download_file(tree_of: TreeOf, call: Call) -> Answer:
    """Answer with a file, or the part of it that ``ocp-range`` asks for.

    The status is 200 for a part, too. A directory has no bytes.
    """
    tree = tree_of(call)
    entry = tree.find(call.names["filePath"], call.now_ms)
    headers = _headers(call, tree, entry)
    part = range(0) if entry.is_directory else messages.asked_range(call.request, entry.size)
    if entry.has_unknown_text:
        return Answer(call.route.status, headers=headers, zeros=len(part))
    content = (entry.text or "").encode("utf-8", "surrogatepass") if entry.raw is None else entry.raw
    return Answer(call.route.status, content[part.start : part.stop], headers)


def file_properties(tree_of: TreeOf, call: Call) -> Answer:
    """Answer with the headers of a file alone."""
    tree = tree_of(call)
    entry = tree.find(call.names["filePath"], call.now_ms)
    return Answer(call.route.status, headers=_headers(call, tree, entry), length=entry.size)


def _headers(call: Call, tree: FileTree, entry: FileEntry) -> dict[str, str]:
    """Return the headers of a file or directory. Raises NotModified, or BatchError if a condition does not hold."""
    address = call.request.base + tree.address(entry).removeprefix(account_url(call.world))
    headers = {"ocp-batch-file-isdirectory": str(entry.is_directory), "ocp-batch-file-url": quote(address, safe="")}
    if entry.is_directory:
        return headers
    created, modified = call.moment(entry.times.created_ms), call.moment(entry.times.modified_ms)
    messages.check_preconditions(call.request, None, modified)
    headers |= {"Content-Type": content_type(entry), "ocp-creation-time": messages.http_date(created)}
    headers |= messages.modified_headers(None, modified)
    return headers if tree.file_mode is None else {**headers, "ocp-batch-file-mode": tree.file_mode}


FILE_ROUTES = (
    Route("GET", f"{NODE}/files", "list_node_files", 200, partial(list_files, of_node)),
    Route("GET", f"{NODE}/files/{{filePath}}", "download_node_file", 200, partial(download_file, of_node)),
    Route("HEAD", f"{NODE}/files/{{filePath}}", "get_node_file_properties", 200, partial(file_properties, of_node)),
    Route("DELETE", f"{NODE}/files/{{filePath}}", "delete_node_file", 200, removal(c.DeleteNodeFile)),
    Route("GET", f"{_TASK}/files", "list_task_files", 200, partial(list_files, of_task)),
    Route("GET", f"{_TASK}/files/{{filePath}}", "download_task_file", 200, partial(download_file, of_task)),
    Route("HEAD", f"{_TASK}/files/{{filePath}}", "get_task_file_properties", 200, partial(file_properties, of_task)),
    Route("DELETE", f"{_TASK}/files/{{filePath}}", "delete_task_file", 200, removal(c.DeleteTaskFile)),
)
