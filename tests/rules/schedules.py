"""A job schedule, and the jobs that it has made."""

from __future__ import annotations

from tests.builders import a_line, events, times


def at(clock):
    """A moment of the first day, which begins for a scenario at eight."""
    return f"2026-01-05T{clock}:00Z"


def a_schedule(schedule_id="s", minutes=10, job=None, metadata=(), **schedule):
    """A schedule whose jobs have one task, a manager that takes so many minutes and ends its job."""
    manager = {"id": "boss"} | a_line(minutes * 60)
    specification = {"poolInfo": {"poolId": "p"}, "jobManagerTask": manager} | (job or {})
    return {"id": schedule_id, "schedule": schedule, "jobSpecification": specification, "metadata": list(metadata)}


def made(sim, schedule_id="s"):
    """The jobs that a schedule has made, and when in minutes from the start."""
    jobs = events(sim, "JobStateChanged", from_=None)
    return {event["jobId"]: event["t"] / 60 for event in jobs if event["jobId"].startswith(f"{schedule_id}:")}


def record(sim, schedule_id="s"):
    return sim.world.job_schedules.find(schedule_id)


def ended(sim, schedule_id="s"):
    """When a schedule was completed, in minutes."""
    (when,) = times(sim, "JobScheduleStateChanged", scheduleId=schedule_id, to="completed")
    return when / 60
