"""One resource at a time as the service would return it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.events.log_json import json_lines
from engine.views.log.node_history import NodeHistory
from engine.views.log.transitions import last_transitions
from engine.views.rest.account import account_body
from engine.views.rest.job_schedules import schedule_body
from engine.views.rest.jobs import job_body
from engine.views.rest.nodes import node_body
from engine.views.rest.pools import pool_body
from engine.views.rest.prep_release import prep_release_entry
from engine.views.rest.tasks import subtask_bodies, task_body, task_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation

Body = dict[str, Any]


def account_wire(simulation: Simulation) -> Body:
    """Return the account with its quotas, applications and certificates."""
    return account_body(simulation.world)


def pool_wire(simulation: Simulation, pool_id: str) -> Body | None:
    """Return a pool; None while there is none of this id."""
    pool = simulation.world.pools.find(pool_id)
    return None if pool is None else pool_body(simulation.world, pool)


def node_wire(simulation: Simulation, node: int) -> Body:
    """Return a node with its recent tasks; one that has left its pool as it was last seen."""
    nodes = simulation.world.nodes
    has_run = nodes.ran[node] or nodes.busy(node)  # since it has its present disk (NODE-6)
    return node_body(simulation.world, node, NodeHistory(simulation, node).recent_tasks() if has_run else ())


def node_settings(simulation: Simulation, node: int) -> Body:
    """Return a node without its recent tasks, which take longer to find."""
    return node_body(simulation.world, node)


def job_wire(simulation: Simulation, job_id: str) -> Body | None:
    """Return a job; None while there is none of this id."""
    job = simulation.world.jobs.find(job_id)
    return None if job is None else job_body(simulation.world, job)


def schedule_wire(simulation: Simulation, schedule_id: str) -> Body | None:
    """Return a job schedule; None while there is none of this id."""
    schedule = simulation.world.job_schedules.find(schedule_id)
    return None if schedule is None else schedule_body(simulation.world, schedule, simulation.now_ms)


def task_wire(simulation: Simulation, task: int) -> Body | None:
    """Return a task, a multi-instance one with its subtasks; None once it has been deleted."""
    world = simulation.world
    if world.tasks.state_of(task) is None:
        return None
    body = task_body(world, task, last_transitions(world, task))
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
