"""Task dependencies (chapter 15): tasks that need not wait any longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import DependencyAction
from engine.rules.decisions.tasks import is_seen
from engine.state.tasks import ACTIVE

if TYPE_CHECKING:
    from engine.world.facts import TaskCompleted
    from engine.world.world import World


def task_completed(world: World, completed: TaskCompleted) -> None:
    """Queue the dependents of a completed task that satisfies them and that wait for nothing more (DEP-4).

    The task may have been retried or reactivated before (DEP-6). Dependents that have run are left alone.
    """
    task, tasks = completed.task, world.tasks
    job = world.jobs.rows[tasks.profile_of(task).job]
    if completed.dependency_action is not DependencyAction.SATISFY or not job.spec.uses_task_dependencies:
        return
    tasks.set_satisfied(task)
    freed = world.dependency_book(job.row).satisfy(tasks.task_id(task))
    freed = [one for one in freed if tasks.state[one] == ACTIVE and is_seen(world, one)]
    for one in freed:
        job.queue_of(tasks.profile_of(one).lane).add_late(one)
    if freed:
        world.scheduler.tasks_became_ready(job, len(freed))
