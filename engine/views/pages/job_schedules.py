"""Job schedules: one row each, in the order in which they were added."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.rules.job_schedules import active_job, missed, next_run_ms
from engine.state.job_schedules import NO_JOB
from engine.state.jobs import NO_SCHEDULE
from engine.views.log.reader import matching

if TYPE_CHECKING:
    from engine import Simulation
    from engine.base.terms import JobScheduleState, JobState
    from engine.events.log import Shape
    from engine.specs.schedule import JobScheduleSpec


class JobScheduleRow(NamedTuple):
    """A job schedule as the service shows it. Times are ms since the start."""

    schedule_id: str
    state: JobScheduleState | None
    since_ms: int
    previous: JobScheduleState | None
    created_ms: int
    end_ms: int | None
    next_run_ms: int | None
    recent_job: str  # empty before the first
    recent_job_state: JobState | None
    has_active_job: bool
    jobs_made: int
    jobs_left: int  # those not deleted
    missed: int  # occurrences that created no job
    pool_id: str  # the pool that its jobs share (AUTO-2); empty where there is none
    spec: JobScheduleSpec


class MissedOccurrence(NamedTuple):
    """An occurrence that made no job (JS-15): its number from 0, when it was lost, and why."""

    occurrence: int
    when_ms: int
    reason: str


def missed_occurrences(simulation: Simulation, schedule_id: str, most: int) -> list[MissedOccurrence]:
    """Return the last occurrences of a job schedule that made no job, the newest first."""
    log, schedule = simulation.log, simulation.world.job_schedules.find(schedule_id)
    if schedule is None or schedule.missed_ms is None:
        return []
    lost = [at for at in matching(log, is_loss) if log.row_a[at] == schedule.row]
    found = []
    for at in reversed(lost[-most:]):
        fields = dict(log.shapes[log.shape_of[at]].fields)
        assert isinstance(fields["occurrence"], int)
        found.append(MissedOccurrence(fields["occurrence"], log.when[at], str(fields["reason"])))
    return found


def is_loss(shape: Shape) -> bool:
    """Return whether an event says that an occurrence made no job."""
    return shape.event == "JobScheduleOccurrenceMissed"


def schedule_ids(simulation: Simulation) -> list[str]:
    """Return the job schedules that have not been deleted, oldest first."""
    return [schedule.id for schedule in simulation.world.job_schedules.present()]


def latest_jobs(simulation: Simulation, schedule_id: str, most: int) -> list[str]:
    """Return the last jobs of a schedule that have not been deleted, the newest first."""
    schedule = simulation.world.job_schedules.find(schedule_id)
    jobs = [] if schedule is None else [job.id for job in simulation.world.jobs_under(schedule)]
    return jobs[: -most - 1 : -1]


def last_job_like(simulation: Simulation, job_id: str) -> str:
    """Return the last job of the schedule that made this one; the job itself if there is no such job."""
    jobs, schedules = simulation.world.jobs, simulation.world.job_schedules
    job = jobs.find(job_id)
    if job is None or job.schedule == NO_SCHEDULE:
        return job_id
    recent = jobs[schedules[job.schedule].recent_job]
    return job_id if recent.state is None else recent.id


def schedule_row(simulation: Simulation, schedule_id: str) -> JobScheduleRow | None:
    """Return one schedule's row; None while there is no schedule of this id."""
    world, now_ms = simulation.world, simulation.now_ms
    schedule = world.job_schedules.find(schedule_id)
    if schedule is None:
        return None
    recent = world.jobs[schedule.recent_job] if schedule.recent_job != NO_JOB else None
    return JobScheduleRow(
        schedule_id=schedule.id,
        state=schedule.state,
        since_ms=schedule.since_ms,
        previous=schedule.previous[0] if schedule.previous else None,
        created_ms=schedule.created_ms,
        end_ms=schedule.end_ms,
        next_run_ms=next_run_ms(world, schedule, now_ms),
        recent_job="" if recent is None else recent.id,
        recent_job_state=None if recent is None else recent.state,
        has_active_job=active_job(world, schedule) is not None,
        jobs_made=schedule.jobs_made,
        jobs_left=sum(1 for _ in world.jobs_under(schedule)),
        missed=missed(world, schedule, now_ms),
        pool_id=schedule.pool_id,
        spec=schedule.spec,
    )
