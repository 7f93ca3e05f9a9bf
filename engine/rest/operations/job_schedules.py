"""The operations on job schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.rest.operations.common import Resources, action, creation, existence, one, removal
from engine.rest.operations.jobs import stats_of
from engine.rest.protocol import bodies, paging
from engine.rules.decisions import lookups
from engine.specs import commands as c
from engine.views.rest.job_schedules import schedule_body, schedule_stats
from engine.views.rest.jobs import job_body

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call, Handler
    from engine.state.job_schedules import JobSchedule


JOB_SCHEDULES = Resources("jobschedules", "jobScheduleId", lambda world: world.job_schedules)


def schedule_named(call: Call) -> JobSchedule:
    """Return the job schedule that the path names. Raises BatchError: JobScheduleNotFound."""
    return lookups.schedule_named(call.world, call.names["jobScheduleId"])


def get_job_schedule(call: Call) -> Answer:
    """Answer with one job schedule."""
    schedule = schedule_named(call)
    stats = _stats(call, schedule) if paging.wants_stats(call) else None
    return one(call, "jobschedules", schedule_body(call.world, schedule, call.now_ms), JOB_SCHEDULES.named(call), stats)


def list_job_schedules(call: Call) -> Answer:
    """Answer with a page of the job schedules."""
    world, rows = call.world, call.world.job_schedules.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        present = (schedule for schedule in paging.after(rows, row) if schedule.state is not None)
        return ((schedule.row, schedule_body(world, schedule, call.now_ms)) for schedule in present)

    return paging.page(call, "jobschedules", after, -1, lambda row: _stats(call, rows[row]))


def list_jobs_from_schedule(call: Call) -> Answer:
    """Answer with a page of the jobs that a schedule has created (JS-8)."""
    world, schedule = call.world, schedule_named(call)

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((job.row, job_body(world, job)) for job in world.jobs_under(schedule) if job.row > row)

    return paging.page(call, "jobs", after, -1, lambda row: stats_of(call, world.jobs[row]))


def _stats(call: Call, schedule: JobSchedule) -> dict[str, object]:
    return schedule_stats(call.world, schedule, call.transitions.now(), call.now_ms)


def _as_replacement(_: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    """Return the PATCH that has the effect of a PUT: what is left out gets its default."""
    return {"schedule": {}, "metadata": [], **bodies.lenient(c.UpdateJobSchedule, body)}


HANDLERS: dict[str, Handler] = {
    "create_job_schedule": creation(c.CreateJobSchedule, JOB_SCHEDULES.target_of),
    "list_job_schedules": list_job_schedules,
    "get_job_schedule": get_job_schedule,
    "job_schedule_exists": existence(JOB_SCHEDULES.named),
    "delete_job_schedule": removal(c.DeleteJobSchedule, JOB_SCHEDULES.named),
    "update_job_schedule": action(c.UpdateJobSchedule, JOB_SCHEDULES.named),
    "replace_job_schedule": action(c.UpdateJobSchedule, JOB_SCHEDULES.named, _as_replacement),
    "disable_job_schedule": action(c.DisableJobSchedule, JOB_SCHEDULES.named),
    "enable_job_schedule": action(c.EnableJobSchedule, JOB_SCHEDULES.named),
    "terminate_job_schedule": action(c.TerminateJobSchedule, JOB_SCHEDULES.named),
    "list_jobs_from_schedule": list_jobs_from_schedule,
}
