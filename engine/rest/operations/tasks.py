"""The operations on tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from engine.base.errors import BatchError, PartlyRefused
from engine.rest.operations.common import Target, action, created, one, path_of, removal
from engine.rest.operations.jobs import job_named
from engine.rest.protocol import answers, bodies, paging
from engine.rules.decisions import lookups
from engine.specs import commands as c
from engine.specs.refusals.job import COLLECTION_MAX_TASKS
from engine.specs.task import TaskSpec
from engine.views.log.transitions import plain_transitions
from engine.views.rest.common import etag, utc
from engine.views.rest.tasks import subtask_bodies, task_bodies_after, task_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call, Handler


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
    return lookups.task_named(call.world, job_named(call), call.names["taskId"])


def create_task(call: Call) -> Answer:
    """Add one task to a job."""
    task = bodies.read(TaskSpec, call.body())
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
    head = {"odata.metadata": answers.metadata(call.base, "taskaddresult")}
    return answers.json_body(call.route.status, head | {"value": list(_results(call, results))})


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
        task = bodies.read(TaskSpec, body)
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

    return paging.page(call, "tasks", after, -1)


def list_subtasks(call: Call) -> Answer:
    """Answer with the subtasks of a task; there are none of a task on one node."""
    found = subtask_bodies(call.world, task_named(call))

    def after(number: int) -> Iterator[tuple[int, Body]]:
        return ((body["id"], body) for body in found if body["id"] > number)

    return paging.page(call, "subtasks", after, 0)


HANDLERS: dict[str, Handler] = {
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
