"""Planned ends of running processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, TaskState
from engine.views.pages.instances import Hook

if TYPE_CHECKING:
    from engine import Simulation


def planned_task_end_ms(simulation: Simulation, task: int) -> int | None:
    """Return the planned end of a running task, in ms since the start; None while it does not run."""
    tasks = simulation.world.tasks
    return tasks.ended[task] if tasks.state_of(task) is TaskState.RUNNING else None


def planned_end_ms(simulation: Simulation, node: int) -> int | None:
    """Return the last planned end of what runs on a node, in ms since the start; None where nothing runs.

    A process that is stopped or retried ends at another moment.
    """
    world = simulation.world
    ends = [world.tasks.ended[task] for task in world.nodes.running[node]]
    instances = world.instances
    for row in instances.rows_on(node):
        if instances.prep_state[row] == InstanceState.RUNNING:
            ends.append(instances.prep_end[row])
        if instances.release_state[row] == InstanceState.RUNNING:
            ends.append(instances.release_end[row])
    return max(ends, default=None)


def planned_hook_end_ms(simulation: Simulation, hook: Hook, job_id: str, node: int) -> int | None:
    """Return the planned end of a job's preparation or release on a node, in ms since the start.

    None while it does not run. An attempt that fails is followed by another one, which ends later.
    """
    job, instances = simulation.world.jobs.find(job_id), simulation.world.instances
    row = -1 if job is None else instances.row(job.row, node)
    if row < 0:
        return None
    if hook is Hook.PREPARATION:
        return instances.prep_end[row] if instances.prep_state[row] == InstanceState.RUNNING else None
    return instances.release_end[row] if instances.release_state[row] == InstanceState.RUNNING else None
