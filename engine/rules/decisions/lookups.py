"""What a command or a request names, found for reading: each function refuses a name that nothing has (GEN-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from engine.state.job_schedules import JobSchedule
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World


def pool_named(world: World, pool_id: str) -> Pool:
    """Return the pool of this id. Raises BatchError: PoolNotFound."""
    pool = world.pools.find(pool_id)
    if pool is None:
        raise BatchError("PoolNotFound", poolId=pool_id)
    return pool


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
    job = world.jobs.find(job_id)
    if job is None:
        raise BatchError("JobNotFound", jobId=job_id)
    return job


def task_named(world: World, job: Job, task_id: str) -> int:
    """Return the row of a task. Raises BatchError: TaskNotFound."""
    task = world.tasks.find(job.row, task_id)
    if task is None:
        raise BatchError("TaskNotFound", taskId=task_id)
    return task


def schedule_named(world: World, schedule_id: str) -> JobSchedule:
    """Return the job schedule of this id. Raises BatchError: JobScheduleNotFound."""
    schedule = world.job_schedules.find(schedule_id)
    if schedule is None:
        raise BatchError("JobScheduleNotFound", jobScheduleId=schedule_id)
    return schedule
