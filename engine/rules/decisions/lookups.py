"""Lookups of what a command or a request names, for reading; a name that nothing has is refused (GEN-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from engine.state.job_schedules import JobSchedule
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World

FoundT = TypeVar("FoundT")


def existing(found: FoundT | None, code: str, **names: str) -> FoundT:
    """Return what was found under these names. Raises BatchError with this code if that is nothing."""
    if found is None:
        raise BatchError(code, **names)
    return found


def pool_named(world: World, pool_id: str) -> Pool:
    """Return the pool of this id. Raises BatchError: PoolNotFound."""
    return existing(world.pools.find(pool_id), "PoolNotFound", poolId=pool_id)


def node_named(world: World, pool: Pool, name: str | int) -> int:
    """Return the row of a node, named by id or by its index in the pool's history.

    Raises:
        BatchError: NodeNotFound if there is no such node now.
    """
    if isinstance(name, int):
        found = pool.nodes[name] if name < len(pool.nodes) else None
    else:
        wanted = name.lower()
        found = next((node for node in pool.nodes if world.nodes[node].id.lower() == wanted), None)
    if found is None or world.nodes.state_of(found) is None:
        raise BatchError("NodeNotFound", node=str(name))
    return found


def job_named(world: World, job_id: str) -> Job:
    """Return the job of this id. Raises BatchError: JobNotFound."""
    return existing(world.jobs.find(job_id), "JobNotFound", jobId=job_id)


def task_named(world: World, job: Job, task_id: str) -> int:
    """Return the row of a task. Raises BatchError: TaskNotFound."""
    return existing(world.tasks.find(job.row, task_id), "TaskNotFound", taskId=task_id)


def schedule_named(world: World, schedule_id: str) -> JobSchedule:
    """Return the job schedule of this id. Raises BatchError: JobScheduleNotFound."""
    return existing(world.job_schedules.find(schedule_id), "JobScheduleNotFound", jobScheduleId=schedule_id)
