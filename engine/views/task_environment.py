"""The environment of a task's process, as its client can read it back (TASK-17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rules.processes import execution, launches

if TYPE_CHECKING:
    from engine.world.world import World


def task_environment(world: World, task: int) -> dict[str, str]:
    """The variables that the task's process has on its node, its own settings and the service's, sorted by name.

    Empty as long as the task has no node, and when its node has left the pool.
    """
    node, tasks = world.tasks.node[task], world.tasks
    if node < 0 or tasks.state_of(task) is None or world.nodes.state_of(node) is None:
        return {}
    job = world.jobs[tasks.profile_of(task).job]
    launch = launches.task_launch(world, task, node, 1, 0)
    return execution.environment_of(world, node, launch, job, tasks.task_id(task), tasks.spec(task))
