"""The operations on tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.rest.operations.common import Target, action, created, one, path_of, removal
from engine.rest.operations.jobs import job_named
from engine.rest.protocol import bodies, paging
from engine.specs import commands as c
from engine.specs.task import TaskSpec
from engine.views.log.transitions import last_transitions
from engine.views.rest.tasks import task_bodies_after, task_body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call, Handler


def target_of(call: Call, task_id: str) -> Target | None:
    """Return the task with this id of the job that the path names, None if there is none."""
    job = call.world.jobs.find(call.names["jobId"])
    task = None if job is None else call.world.tasks.find(job.row, task_id)
    if job is None or task is None:
        return None
    tasks = call.world.tasks
    return Target(path_of("jobs", job.id, "tasks", tasks.task_id(task)), tasks.block_of(task).created_ms)


def named(call: Call) -> Target | None:
    """Return the task that the path names, None if there is none."""
    return target_of(call, call.names["taskId"])


def task_named(call: Call) -> int:
    """Return the row of the task that the path names. Raises BatchError: JobNotFound or TaskNotFound."""
    task = call.world.tasks.find(job_named(call).row, call.names["taskId"])
    if task is None:
        raise BatchError("TaskNotFound", taskId=call.names["taskId"])
    return task


def create_task(call: Call) -> Answer:
    """Add one task to a job."""
    task = bodies.read(TaskSpec, call.body())
    call.submit(c.AddTasks(job_id=call.names["jobId"], tasks=(task,)))
    return created(call, target_of(call, task.id))


def get_task(call: Call) -> Answer:
    """Answer with one task."""
    task = task_named(call)
    return one(call, "tasks", task_body(call.world, task, last_transitions(call.world, task)), named(call))


def list_tasks(call: Call) -> Answer:
    """Answer with a page of the tasks of a job."""
    job = job_named(call)

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return task_bodies_after(call.world, job, call.transitions.now(), row)

    return paging.page(call, "tasks", after, -1)


HANDLERS: dict[str, Handler] = {
    "create_task": create_task,
    "list_tasks": list_tasks,
    "get_task": get_task,
    "delete_task": removal(c.DeleteTask, named),
    "replace_task": action(c.UpdateTask, named),
    "reactivate_task": action(c.ReactivateTask, named),
    "terminate_task": action(c.TerminateTask, named),
}
