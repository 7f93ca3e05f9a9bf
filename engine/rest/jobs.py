"""The operations on jobs, job schedules and tasks, and on the files of tasks and nodes (FILE-10, FILE-11).

Each table of handlers has them by operation id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from engine.base.errors import BatchError, PartlyRefused
from engine.rest import handlers, messages
from engine.rest.handlers import Resources, Target, action, created, creation, existence, one, path_of, removal
from engine.rest.messages import Answer
from engine.rest.pools import node_named
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
    schedule_body,
    schedule_stats,
    task_counts,
    utc,
)
from engine.views.rest.nodes import FileTree, content_type, node_tree, task_tree
from engine.views.rest.tasks import prep_release_entry, subtask_bodies, task_bodies_after, task_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engine.rest.handlers import Call, Handler
    from engine.rest.messages import Body
    from engine.rules.processes.node_disk import FileEntry
    from engine.specs.command import Command
    from engine.state.jobs import Job, JobSchedule


# Of a scenario's job, but not of the service's.
_WITHOUT = ("tasks", "taskfactory")


JOBS = Resources("jobs", "jobId", lambda world: world.jobs)


def job_named(call: Call) -> Job:
    """Return the job that the path names. Raises BatchError: JobNotFound."""
    return verdicts.job_named(call.world, call.names["jobId"])


def get_job(call: Call) -> Answer:
    """Answer with one job."""
    job = job_named(call)
    stats = stats_of(call, job) if handlers.wants_stats(call) else None
    return one(call, "jobs", job_body(call.world, job), JOBS.named(call), stats)


def list_jobs(call: Call) -> Answer:
    """Answer with a page of the jobs."""
    world, rows = call.world, call.world.jobs.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((job.row, job_body(world, job)) for job in handlers.after(rows, row) if job.state is not None)

    return handlers.page(call, "jobs", after, -1, lambda row: stats_of(call, rows[row]))


def stats_of(call: Call, job: Job) -> dict[str, object]:
    """Return ``stats`` of a job (STAT-1)."""
    return job_stats(call.world, job, call.transitions.now(), call.now_ms)


def get_task_counts(call: Call) -> Answer:
    """Answer with the numbers of tasks and of their slots by state (TASK-16)."""
    counts = task_counts(call.world, job_named(call))
    head = {"odata.metadata": messages.metadata(call.base, "taskcounts/@Element")}
    return messages.json_body(call.route.status, {**head, **counts})


def list_preparation_and_release(call: Call) -> Answer:
    """Answer with a page of the preparation and release tasks of a job, node by node (PREP-25)."""
    world, job = call.world, job_named(call)
    if not (job.has_prep or job.has_release):
        raise BatchError("JobPreparationTaskNotSpecified", jobId=job.id)

    def after(last: int) -> Iterator[tuple[int, Body]]:
        rows = (row for row in sorted(world.instances.rows_of_job(job.row)) if row > last)
        return ((row, prep_release_entry(world, job, row)) for row in rows)

    return handlers.page(call, "jobpreparationandreleasetaskstatuslist", after, -1)


def _without_tasks(_: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in body.items() if name.lower() not in _WITHOUT}


def _as_replacement(call: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    """Return the PATCH that has the effect of a PUT: what can be replaced and is left out gets its default.

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


JOB_HANDLERS: dict[str, Handler] = {
    "create_job": creation(c.CreateJob, JOBS.target_of, _without_tasks),
    "list_jobs": list_jobs,
    "get_job": get_job,
    "delete_job": removal(c.DeleteJob, JOBS.named),
    "update_job": action(c.UpdateJob, JOBS.named),
    "replace_job": action(c.UpdateJob, JOBS.named, _as_replacement),
    "disable_job": action(c.DisableJob, JOBS.named),
    "enable_job": action(c.EnableJob, JOBS.named),
    "terminate_job": action(c.TerminateJob, JOBS.named),
    "get_job_task_counts": get_task_counts,
    "list_job_preparation_and_release_task_status": list_preparation_and_release,
}


JOB_SCHEDULES = Resources("jobschedules", "jobScheduleId", lambda world: world.job_schedules)


def schedule_named(call: Call) -> JobSchedule:
    """Return the job schedule that the path names. Raises BatchError: JobScheduleNotFound."""
    return verdicts.schedule_named(call.world, call.names["jobScheduleId"])


def get_job_schedule(call: Call) -> Answer:
    """Answer with one job schedule."""
    schedule = schedule_named(call)
    stats = _stats(call, schedule) if handlers.wants_stats(call) else None
    return one(call, "jobschedules", schedule_body(call.world, schedule, call.now_ms), JOB_SCHEDULES.named(call), stats)


def list_job_schedules(call: Call) -> Answer:
    """Answer with a page of the job schedules."""
    world, rows = call.world, call.world.job_schedules.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        present = (schedule for schedule in handlers.after(rows, row) if schedule.state is not None)
        return ((schedule.row, schedule_body(world, schedule, call.now_ms)) for schedule in present)

    return handlers.page(call, "jobschedules", after, -1, lambda row: _stats(call, rows[row]))


def list_jobs_from_schedule(call: Call) -> Answer:
    """Answer with a page of the jobs that a schedule has created (JS-8)."""
    world, schedule = call.world, schedule_named(call)

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((job.row, job_body(world, job)) for job in world.jobs_under(schedule) if job.row > row)

    return handlers.page(call, "jobs", after, -1, lambda row: stats_of(call, world.jobs[row]))


def _stats(call: Call, schedule: JobSchedule) -> dict[str, object]:
    return schedule_stats(call.world, schedule, call.transitions.now(), call.now_ms)


def _as_schedule_replacement(_: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    """Return the PATCH that has the effect of a PUT: what is left out gets its default."""
    return {"schedule": {}, "metadata": [], **messages.lenient(c.UpdateJobSchedule, body)}


JOB_SCHEDULE_HANDLERS: dict[str, Handler] = {
    "create_job_schedule": creation(c.CreateJobSchedule, JOB_SCHEDULES.target_of),
    "list_job_schedules": list_job_schedules,
    "get_job_schedule": get_job_schedule,
    "job_schedule_exists": existence(JOB_SCHEDULES.named),
    "delete_job_schedule": removal(c.DeleteJobSchedule, JOB_SCHEDULES.named),
    "update_job_schedule": action(c.UpdateJobSchedule, JOB_SCHEDULES.named),
    "replace_job_schedule": action(c.UpdateJobSchedule, JOB_SCHEDULES.named, _as_schedule_replacement),
    "disable_job_schedule": action(c.DisableJobSchedule, JOB_SCHEDULES.named),
    "enable_job_schedule": action(c.EnableJobSchedule, JOB_SCHEDULES.named),
    "terminate_job_schedule": action(c.TerminateJobSchedule, JOB_SCHEDULES.named),
    "list_jobs_from_schedule": list_jobs_from_schedule,
}


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
    head = {"odata.metadata": messages.metadata(call.base, "taskaddresult")}
    return messages.json_body(call.route.status, head | {"value": list(_results(call, results))})


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
    tasks_url = call.base + path_of("jobs", job.id, "tasks", "")
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
    last = plain_transitions(call.world, task) or call.transitions.now()[task]
    return one(call, "tasks", task_body(call.world, task, last), named(call))


def list_tasks(call: Call) -> Answer:
    """Answer with a page of the tasks of a job."""
    job = job_named(call)

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return task_bodies_after(call.world, job, call.transitions.now(), row)

    return handlers.page(call, "tasks", after, -1)


def list_subtasks(call: Call) -> Answer:
    """Answer with the subtasks of a task; there are none of a task on one node."""
    found = subtask_bodies(call.world, task_named(call))

    def after(number: int) -> Iterator[tuple[int, Body]]:
        return ((body["id"], body) for body in found if body["id"] > number)

    return handlers.page(call, "subtasks", after, 0)


TASK_HANDLERS: dict[str, Handler] = {
    "create_task": create_task,
    "create_task_collection": create_task_collection,
    "list_tasks": list_tasks,
    "get_task": get_task,
    "delete_task": removal(c.DeleteTask, named),
    "replace_task": action(c.UpdateTask, named),
    "list_subtasks": list_subtasks,
    "reactivate_task": action(c.ReactivateTask, named),
    "terminate_task": action(c.TerminateTask, named),
}


TreeOf = Callable[["Call"], FileTree]


def of_node(call: Call) -> FileTree:
    """Return the files of the node that the path names. Raises BatchError: PoolNotFound or NodeNotFound."""
    return node_tree(call.world, node_named(call))


def of_task(call: Call) -> FileTree:
    """Return the files of the task that the path names.

    Raises:
        BatchError: JobNotFound, TaskNotFound, TaskFilesUnavailable or TaskFilesCleanedup.
    """
    return task_tree(call.world, task_named(call), call.now_ms)


def file_listing(tree_of: TreeOf) -> Handler:
    """Return the handler that answers with a page of files: those at the root, or all with ``recursive``."""

    def handle(call: Call) -> Answer:
        tree = tree_of(call)
        entries = tree.entries(call.now_ms, recursive=messages.flag(call.query, "recursive"))

        def after(last: str) -> Iterator[tuple[str, Body]]:
            return ((entry.path, tree.body(entry)) for entry in entries if entry.path > last)

        return handlers.page(call, "files", after, "")

    return handle


def file_download(tree_of: TreeOf) -> Handler:
    """Return the handler that answers with a file, or the part of it that ``ocp-range`` asks for.

    The status is 200 for a part, too. A directory has no bytes.
    """

    def handle(call: Call) -> Answer:
        tree = tree_of(call)
        entry = tree.find(call.names["filePath"], call.now_ms)
        headers = _headers(call, tree, entry)
        part = range(0) if entry.is_directory else messages.asked_range(call.request, entry.size)
        if entry.has_unknown_text:
            return Answer(call.route.status, headers=headers, zeros=len(part))
        content = (entry.text or "").encode("utf-8", "surrogatepass")
        return Answer(call.route.status, content[part.start : part.stop], headers)

    return handle


def file_properties(tree_of: TreeOf) -> Handler:
    """Return the handler that answers with the headers of a file alone."""

    def handle(call: Call) -> Answer:
        tree = tree_of(call)
        entry = tree.find(call.names["filePath"], call.now_ms)
        return Answer(call.route.status, headers=_headers(call, tree, entry), length=entry.size)

    return handle


def _headers(call: Call, tree: FileTree, entry: FileEntry) -> dict[str, str]:
    """Return the headers of a file or directory. Raises NotModified, or BatchError if a condition does not hold."""
    address = call.base + tree.address(entry).removeprefix(account_url(call.world))
    headers = {"ocp-batch-file-isdirectory": str(entry.is_directory), "ocp-batch-file-url": quote(address, safe="")}
    if entry.is_directory:
        return headers
    created, modified = call.moment(entry.times.created_ms), call.moment(entry.times.modified_ms)
    messages.check_preconditions(call.request, None, modified)
    headers |= {"Content-Type": content_type(entry), "ocp-creation-time": messages.http_date(created)}
    headers |= messages.modified_headers(None, modified)
    return headers if tree.file_mode is None else {**headers, "ocp-batch-file-mode": tree.file_mode}


def file_deletion(command: type[Command]) -> Handler:
    """Return the handler that deletes a file or directory."""

    def handle(call: Call) -> Answer:
        names = {**call.names, "recursive": messages.flag(call.query, "recursive")}
        call.submit(messages.read_body(command, {}, names))
        return Answer(call.route.status)

    return handle


FILE_HANDLERS: dict[str, Handler] = {
    "list_node_files": file_listing(of_node),
    "download_node_file": file_download(of_node),
    "get_node_file_properties": file_properties(of_node),
    "delete_node_file": file_deletion(c.DeleteNodeFile),
    "list_task_files": file_listing(of_task),
    "download_task_file": file_download(of_task),
    "get_task_file_properties": file_properties(of_task),
    "delete_task_file": file_deletion(c.DeleteTaskFile),
}
