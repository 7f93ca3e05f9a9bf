"""Planned ends of running processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, TaskState

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
