"""Task dependencies (chapter 15): who must wait, and who need not any longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rules.decisions.tasks import is_seen
from engine.state.dependencies import DependencyBook
from engine.state.tasks import ACTIVE

if TYPE_CHECKING:
    from engine.specs.task import TaskDependencies
    from engine.state.jobs import Job
    from engine.world.world import World


def enter(world: World, job: Job, task: int, wanted: TaskDependencies) -> None:
    """A new task depends on others: ids that do not exist yet, and its own, block it too (DEP-4, DEP-5, DEP-7)."""
    book_of(world, job).add(task, wanted)


def book_of(world: World, job: Job) -> DependencyBook:
    """The job's book of dependencies, made when it is needed first."""
    book = world.dependencies.get(job.row)
    if book is None:
        book = world.dependencies[job.row] = DependencyBook(job.row)
    return book


def satisfied(world: World, job: Job, task: int) -> None:
    """The task has completed and satisfies its dependents: those that wait for nothing more are ready (DEP-4).

    DEP-6 that is after its last retry, or after it was reactivated; those that have run are left alone.
    """
    if not job.spec.uses_task_dependencies:
        return
    tasks = world.tasks
    tasks.set_satisfied(task)
    freed = book_of(world, job).satisfy(tasks.task_id(task))
    freed = [one for one in freed if tasks.state[one] == ACTIVE and is_seen(world, one)]
    for one in freed:
        job.queue_of(tasks.profile_of(one).lane).add_late(one)
    if freed:
        world.scheduler.tasks_became_ready(job, len(freed))
