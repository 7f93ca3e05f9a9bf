"""Job schedules as the service returns them (JS-1, JS-7, GEN-6, STAT-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rules.job_schedules import next_run_ms
from engine.state.job_schedules import NO_JOB
from engine.views.rest.common import account_url, job_url, previous_state, resource_head, utc
from engine.views.rest.jobs import Usage, usage_of

if TYPE_CHECKING:
    from engine.state.job_schedules import JobSchedule
    from engine.views.log.transitions import TaskTransitions
    from engine.world.world import World


def schedule_url(world: World, schedule_id: str) -> str:
    """Return the URL of a job schedule."""
    return f"{account_url(world)}/jobschedules/{schedule_id}"


def schedule_body(world: World, schedule: JobSchedule, now_ms: int) -> dict[str, object]:
    """Return the REST body of a schedule that is not deleted, without ``$expand=stats``."""
    head = resource_head(world, schedule, schedule_url(world, schedule.id))
    body = head | previous_state(world, schedule.previous)
    return body | schedule.spec.wire() | {"executionInfo": _execution_info(world, schedule, now_ms)}


def _execution_info(world: World, schedule: JobSchedule, now_ms: int) -> dict[str, object]:
    """Return ``executionInfo``: the next run, the most recent job, and the end (JS-7)."""
    info: dict[str, object] = {}
    next_ms = next_run_ms(world, schedule, now_ms)
    if next_ms is not None:
        info["nextRunTime"] = utc(world, next_ms)
    if schedule.recent_job != NO_JOB:
        job_id = world.jobs[schedule.recent_job].id
        info["recentJob"] = {"id": job_id, "url": job_url(world, job_id)}
    if schedule.end_ms is not None:
        info["endTime"] = utc(world, schedule.end_ms)
    return info


def schedule_stats(world: World, schedule: JobSchedule, transitions: TaskTransitions, now_ms: int) -> dict[str, object]:
    """Return ``stats`` of a schedule over the tasks that its jobs have now (STAT-1)."""
    each = [usage_of(world, job, transitions, now_ms) for job in world.jobs_under(schedule)]
    usage = Usage(*map(sum, zip(*each, strict=True)))
    url = f"{schedule_url(world, schedule.id)}/lifetimejobschedulestats"
    return {"url": url, "startTime": utc(world, schedule.created_ms)} | usage.wire(utc(world, now_ms))
