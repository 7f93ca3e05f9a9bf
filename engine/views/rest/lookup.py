"""One resource at a time as the service would return it, and as the body that would create it once more.

Bodies of creation are those of the present pools, jobs, tasks and job schedules.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.base.log import json_lines
from engine.specs.commands import AddTasks, CreateJob
from engine.views.log.histories import NodeHistory
from engine.views.log.latest import last_transitions
from engine.views.rest.account import account_body, job_body, pool_body, schedule_body
from engine.views.rest.nodes import node_body
from engine.views.rest.tasks import prep_release_entry, subtask_bodies, task_body, task_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation


Body = dict[str, Any]


def wire(simulation: Simulation, kind: str, key: int | str) -> Body | None:
    """Return an item as the service would return it; None if it does not exist now.

    Args:
        simulation: The run.
        kind: account, pool, node, job, job schedule or task.
        key: The row of a node or task, else the id.
    """
    world = simulation.world
    match kind:
        case "account":
            return account_body(world)
        case "pool":
            pool = world.pools.find(str(key))
            return None if pool is None else pool_body(world, pool)
        case "node":
            return _node_wire(simulation, int(key))
        case "job":
            job = world.jobs.find(str(key))
            return None if job is None else job_body(world, job)
        case "task":
            return _task_wire(simulation, int(key))
        case _:
            schedule = world.job_schedules.find(str(key))
            return None if schedule is None else schedule_body(world, schedule, simulation.now_ms)


def _node_wire(simulation: Simulation, node: int) -> Body:
    """Return a node with its recent tasks; one that has left its pool as it was last seen."""
    nodes = simulation.world.nodes
    has_run = nodes.ran[node] or nodes.busy(node)  # since it has its present disk (NODE-6)
    return node_body(simulation.world, node, NodeHistory(simulation, node).recent_tasks() if has_run else ())


def _task_wire(simulation: Simulation, task: int) -> Body | None:
    """Return a task, a multi-instance one with its subtasks; None once it has been deleted."""
    world = simulation.world
    if world.tasks.state_of(task) is None:
        return None
    body = task_body(world, task, last_transitions(simulation, task))
    return body | {"subtasks": subtask_bodies(world, task)} if "multiInstanceSettings" in body else body


def task_settings(simulation: Simulation, task: int) -> Body:
    """Return a task as it was added, with the constraints in force."""
    world = simulation.world
    return world.tasks.spec(task).wire() | {"constraints": task_limits(world, task)}


def hook_wire(simulation: Simulation, job_id: str, node: int) -> Body | None:
    """Return preparation and release of a job on a node (PREP-25); None where neither has run."""
    job = simulation.world.jobs.find(job_id)
    row = -1 if job is None else simulation.world.instances.row(job.row, node)
    return None if job is None or row < 0 else prep_release_entry(simulation.world, job, row)


def event_lines(simulation: Simulation) -> Iterator[str]:
    """Yield the event log up to now, each event as a line of JSON."""
    return json_lines(simulation.log, simulation.names)


def event_wire(simulation: Simulation, index: int) -> Body:
    """Return an entry of the log; of tasks that were added together, the first one's."""
    lines = json_lines(simulation.log, simulation.names, index, index + 1)
    body: Body = json.loads(next(lines))
    return body


_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes")
_FORMULA = ("enableAutoScale", "autoScaleFormula", "autoScaleEvaluationInterval")
_CHANGES = ("priority", "allowTaskPreemption", "maxParallelTasks", "constraints", "onAllTasksComplete", "metadata")


def pool_as_created(simulation: Simulation, pool_id: str) -> Body | None:
    """Return the body of a pool as it is now; None while there is none of this id."""
    pool = simulation.world.pools.find(pool_id)
    if pool is None:
        return None
    answer = pool_body(simulation.world, pool)
    body = pool.spec.written() | {name: answer[name] for name in (*_TARGETS, *_FORMULA) if name in answer}
    without = _TARGETS if answer.get("enableAutoScale") else _FORMULA
    without = (*without, "targetDedicated", "maxTasksPerNode")  # by the names of today (GEN-15)
    return {name: value for name, value in body.items() if name not in without}


def job_as_created(simulation: Simulation, job_id: str) -> Body | None:
    """Return the body of a job as it is now, without its tasks; None while there is none of this id."""
    job = simulation.world.jobs.find(job_id)
    if job is None:
        return None
    answer, body, before = job_body(simulation.world, job), job.spec.written(), job.spec.wire()
    body |= {name: answer[name] for name in _CHANGES if name in answer and answer[name] != before.get(name)}
    if body.get("poolInfo", {}).get("autoPoolSpecification") is None and "poolInfo" in answer:
        body["poolInfo"] = answer["poolInfo"]
    return body


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
    if world.tasks.state_of(task) is None:
        return None
    spec = world.tasks.spec(task)
    body, job = spec.written(), world.jobs[world.tasks.profile_of(task).job]
    # The job's retries where the task has none (RETRY-3).
    before = {"maxTaskRetryCount": job.max_retries, **spec.wire().get("constraints", {})}
    changed = {name: value for name, value in task_limits(world, task).items() if value != before.get(name)}
    return body | ({"constraints": {**body.get("constraints", {}), **changed}} if changed else {})


def task_constraints(simulation: Simulation, task: int) -> Body:
    """Return the constraints of a task as the service answers them; empty once it has been deleted."""
    world = simulation.world
    return {} if world.tasks.state_of(task) is None else task_limits(world, task)


def schedule_as_created(simulation: Simulation, schedule_id: str) -> Body | None:
    """Return the body of a job schedule as it is now; None while there is none of this id."""
    schedule = simulation.world.job_schedules.find(schedule_id)
    return None if schedule is None else schedule.spec.written()
