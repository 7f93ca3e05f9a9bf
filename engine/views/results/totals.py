"""Totals of a run: tasks, preparations and releases, node hours, slot utilization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.base.terms import TaskResult
from engine.base.units import HOUR_MS
from engine.state.columns import NEVER_MS
from engine.state.tasks import ACTIVE, COMPLETED, RUNNING
from engine.views.log.transitions import ready_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.run.simulation import Simulation
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskBlock
    from engine.world.world import World


@dataclass(frozen=True, slots=True)
class TaskTotals:
    """The tasks of a run or job, with deleted ones and those of deleted jobs."""

    total: int  # ever added
    succeeded: int
    failed: int
    active: int  # neither completed nor deleted: queued, preparing or running

    @property
    def completed(self) -> int:
        """The number of completed tasks."""
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True)
class InstanceTotals:
    """Preparations or releases of a run: one for each job and node on which it ran."""

    count: int
    failed: int


def job_totals(job: Job) -> TaskTotals:
    """Return the totals of a job's tasks; none of a deleted job is active."""
    return TaskTotals(
        job.total + sum(job.deleted.values()),
        job.counts[COMPLETED] - job.failed + job.deleted.get(TaskResult.SUCCESS, 0),
        job.failed + job.deleted.get(TaskResult.FAILURE, 0),
        job.counts[ACTIVE] + job.busy,
    )


def task_totals(sim: Simulation) -> TaskTotals:
    """Return the totals of all tasks so far; loops over all jobs, which is cheap enough for every frame."""
    each = list(map(job_totals, sim.world.jobs.rows))
    succeeded, failed = sum(job.succeeded for job in each), sum(job.failed for job in each)
    return TaskTotals(sim.world.tasks.length, succeeded, failed, sum(job.active for job in each))


def preparation_totals(world: World, rows: Iterable[int] | None = None) -> InstanceTotals:
    """Return the totals of the run's preparations, or of those in some rows of the table of instances."""
    instances = world.instances
    return _instance_totals(map(instances.prep, range(instances.length) if rows is None else rows))


def release_totals(world: World, rows: Iterable[int] | None = None) -> InstanceTotals:
    """Return the totals of the run's releases, or of those in some rows of the table of instances."""
    instances = world.instances
    return _instance_totals(map(instances.release, range(instances.length) if rows is None else rows))


def _instance_totals(views: Iterable[InstanceView | None]) -> InstanceTotals:
    results = [view.result for view in views if view is not None]
    return InstanceTotals(len(results), results.count(TaskResult.FAILURE))


def task_waits_ms(world: World) -> list[int]:
    """Return the times from creation to the latest start of the tasks that have started, without deleted ones."""
    tasks, found = world.tasks, list[int]()
    for block, rows in _present_blocks(world):
        found += [
            started_ms - block.created_ms
            for state, started_ms in zip(tasks.state[rows], tasks.started[rows], strict=True)
            if state in (RUNNING, COMPLETED) and started_ms != NEVER_MS
        ]
    return found


def task_runs_ms(world: World) -> list[int]:
    """Return the times from the latest start to the end of the tasks that have run and ended, without deleted ones."""
    tasks, found = world.tasks, list[int]()
    for _, rows in _present_blocks(world):
        found += [
            ended_ms - started_ms
            for state, started_ms, ended_ms in zip(
                tasks.state[rows], tasks.started[rows], tasks.ended[rows], strict=True
            )
            if state == COMPLETED and started_ms != NEVER_MS
        ]
    return found


def _present_blocks(world: World) -> Iterator[tuple[TaskBlock, slice]]:
    """Yield the blocks of tasks of jobs that are not deleted, with their rows."""
    for job in world.jobs.present():
        for number in job.blocks:
            block = world.tasks.blocks[number]
            yield block, slice(block.first, block.rows.stop)


def preparation_ms(world: World) -> int:
    """Return the time that the preparations of present jobs have taken, the last run of each on each node."""
    return _run_ms(map(world.instances.prep, _present_instances(world)))


def release_ms(world: World) -> int:
    """Return the time that the releases of present jobs have taken, the last run of each on each node."""
    return _run_ms(map(world.instances.release, _present_instances(world)))


def _present_instances(world: World) -> Iterator[int]:
    jobs = (job for job in world.jobs.present() if job.has_prep)
    return (row for job in jobs for row in world.instances.rows_of_job(job.row))


def _run_ms(views: Iterable[InstanceView | None]) -> int:
    return sum(view.end_ms - view.start_ms for view in views if view is not None and view.end_ms is not None)


def node_hours(world: World, now_ms: int, pools: Iterable[Pool] | None = None) -> float:
    """Return the hours for which VMs have been billed, of all pools or of some (ACC-10)."""
    chosen = world.pools.rows if pools is None else pools
    return sum(sum(world.nodes.billed_in_all_ms(pool.nodes, now_ms)) for pool in chosen) / HOUR_MS


def slot_utilization(world: World, now_ms: int) -> float:
    """Return the share, 0 to 1, of the slot time of idle and running nodes in which a task ran; 0 if there was none."""
    offered_ms = sum(ms * world.pool_of(node).slots for node, ms in ready_ms(world, now_ms).items())
    busy_ms = sum(pool.busy_slot_ms_at(now_ms) for pool in world.pools.rows)
    return min(1.0, busy_ms / offered_ms) if offered_ms else 0.0
