"""The bodies that would create the present pools, jobs, tasks and job schedules once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.specs.commands import AddTasks, CreateJob
from engine.views.rest import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine import Simulation
    from engine.specs.base import Spec

_SCALING = (
    "targetDedicatedNodes",
    "targetLowPriorityNodes",
    "enableAutoScale",
    "autoScaleFormula",
    "autoScaleEvaluationInterval",
)
_JOB = ("priority", "allowTaskPreemption", "maxParallelTasks", "constraints", "onAllTasksComplete", "metadata")

Body = dict[str, Any]


def pool_as_created(simulation: Simulation, pool_id: str) -> Body | None:
    """Return the body of a pool as it is now; None while there is none of this id."""
    pool = simulation.world.pools.find(pool_id)
    answer = lookup.pool_wire(simulation, pool_id)
    if pool is None or answer is None:
        return None
    body = pool.spec.written()
    for name in ("targetDedicated", "maxTasksPerNode"):  # by the names of today (GEN-15)
        body.pop(name, None)
    body |= {name: answer[name] for name in _SCALING if name in answer}
    without: tuple[str, ...]
    if answer.get("enableAutoScale"):
        without = ("targetDedicatedNodes", "targetLowPriorityNodes")
    else:
        without = ("enableAutoScale", "autoScaleFormula", "autoScaleEvaluationInterval")
    return {name: value for name, value in body.items() if name not in without}


def job_as_created(simulation: Simulation, job_id: str) -> Body | None:
    """Return the body of a job as it is now, without its tasks; None while there is none of this id."""
    job = simulation.world.jobs.find(job_id)
    answer = lookup.job_wire(simulation, job_id)
    if job is None or answer is None:
        return None
    body = _with_changes(job.spec, answer, _JOB)
    auto_pool = property_of(body, "poolInfo", "autoPoolSpecification")
    if auto_pool is None and "poolInfo" in answer:
        body["poolInfo"] = answer["poolInfo"]
    return body


def property_of(body: Mapping[str, Any], *names: str) -> Any:  # noqa: ANN401 - a value of JSON
    """Return a property of a property of a body, None if it is absent."""
    found: Any = body
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def tasks_as_created(simulation: Simulation, job_id: str) -> Body:
    """Return the tasks that a job was created with: ``tasks``, ``taskFactory`` or both; empty without any."""
    for entry in simulation.scenario.jobs:
        if entry.spec.id.lower() == job_id.lower():
            listed = [task.written() for task in entry.tasks]
            factory = {} if entry.factory is None else {"taskFactory": entry.factory.wire()}
            return {**({"tasks": listed} if listed else {}), **factory}
    found: Body = {}
    for given in simulation.journal.by_hand():
        command = given.command
        is_its = isinstance(command, CreateJob) and command.id.lower() == job_id.lower()
        if is_its or (isinstance(command, AddTasks) and command.job_id.lower() == job_id.lower() and not found):
            found = {name: value for name, value in command.wire().items() if name in ("tasks", "taskFactory")}
    return found


def task_as_created(simulation: Simulation, task: int) -> Body | None:
    """Return the body of a task as it is now; None once it has been deleted."""
    world = simulation.world
    answer = lookup.task_wire(simulation, task)
    if answer is None:
        return None
    spec = world.tasks.spec(task)
    body, before = spec.written(), spec.wire().get("constraints", {})
    job = world.jobs[world.tasks.profile_of(task).job]
    before = {"maxTaskRetryCount": job.max_retries, **before}  # the job's where the task has none (RETRY-3)
    changed = {name: value for name, value in answer.get("constraints", {}).items() if value != before.get(name)}
    return body | ({"constraints": {**body.get("constraints", {}), **changed}} if changed else {})


def task_constraints(simulation: Simulation, task: int) -> Body:
    """Return the constraints of a task as the service answers them; empty once it has been deleted."""
    answer = lookup.task_wire(simulation, task)
    return {} if answer is None else dict(answer.get("constraints", {}))


def schedule_as_created(simulation: Simulation, schedule_id: str) -> Body | None:
    """Return the body of a job schedule as it is now; None while there is none of this id."""
    schedule = simulation.world.job_schedules.find(schedule_id)
    return None if schedule is None else schedule.spec.written()


def _with_changes(spec: Spec, answer: Mapping[str, Any], names: tuple[str, ...]) -> Body:
    """Return a body as it was given, with the properties that have changed since."""
    body, before = spec.written(), spec.wire()
    return body | {name: answer[name] for name in names if name in answer and answer[name] != before.get(name)}
