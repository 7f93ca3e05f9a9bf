"""What there is to be said about whatever somebody points at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.explain.attempts import why_again, why_there
from engine.views.explain.autoscale import why_targets
from engine.views.explain.counts import why_counts
from engine.views.explain.job_schedules import why_schedule
from engine.views.explain.jobs import why_job
from engine.views.explain.nodes import why_node
from engine.views.explain.pools import why_pool
from engine.views.explain.preparation import why_preparation
from engine.views.explain.tasks import why_task

if TYPE_CHECKING:
    from engine.views.explain.explanation import Explanation
    from engine.world.world import World


def about_task(world: World, task: int, now_ms: int) -> list[Explanation]:
    """Why a task is in its state at ``now_ms``, why it went to its node, and why it runs again, if it does."""
    state = why_task(world, task, now_ms)
    more = (why_there(world, task, state.next_change), why_again(world, task, state.next_change))
    return [state, *(each for each in more if each is not None)]


def about_node(world: World, node: int, job_id: str) -> list[Explanation]:
    """Why a node is in its state, and how preparation of this job stands there if it has one."""
    job = world.jobs.find(job_id)
    if job is None or not job.has_prep:
        return [why_node(world, node)]
    return [why_node(world, node), why_preparation(world, job, node)]


def about_job(world: World, job_id: str) -> list[Explanation]:
    """Why a job has not ended, or has, and why its counts differ; nothing while there is none of this id."""
    job = world.jobs.find(job_id)
    if job is None:
        return []
    state = why_job(world, job)
    counts = why_counts(world, job, state.next_change)
    return [state] if counts is None else [state, counts]


def about_schedule(world: World, schedule_id: str, now_ms: int) -> list[Explanation]:
    """Why a job schedule makes no job at ``now_ms``, or has ended; nothing while there is none of this id."""
    schedule = world.job_schedules.find(schedule_id)
    return [] if schedule is None else [why_schedule(world, schedule, now_ms)]


def about_pool(world: World, pool_id: str) -> list[Explanation]:
    """Why a pool has the nodes that it has, and the targets; nothing while there is none of this id."""
    pool = world.pools.find(pool_id)
    if pool is None:
        return []
    targets = why_targets(world, pool)
    return [why_pool(world, pool), *([targets] if targets is not None else [])]
