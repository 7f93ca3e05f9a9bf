"""The fields for the usual properties of job schedules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tui.viewmodels.actions.fields import DURATION, ID, AnyField, Field, duration, duration_or_value
from tui.viewmodels.actions.job_fields import ALL_COMPLETE, JOB_FIELDS, PREPARATION, PRIORITY, RELEASE

_SCHEDULE = (
    Field[Any]("schedule.recurrenceInterval", "Every", f"a job each time; once if empty; {DURATION}", read=duration),
    Field[Any]("schedule.doNotRunUntil", "Not before", "2026-01-06T08:00:00Z; at once if empty"),
    Field[Any]("schedule.doNotRunAfter", "Not after", "2026-01-07T08:00:00Z; for ever if empty"),
    Field[Any]("schedule.startWindow", "Start window", f"how late a job may begin; {DURATION}", read=duration),
)
_OF_JOB = "jobSpecification"


def _in_job(field: AnyField, section: str = "") -> AnyField:
    return replace(field, name=f"{_OF_JOB}.{field.name}", section=section or field.section)


_MANAGER = (
    Field[Any](
        f"{_OF_JOB}.jobManagerTask.commandLine",
        "Command line",
        "the first task of each job; it may add others",
        section="Job manager task",
    ),
    Field[Any](f"{_OF_JOB}.jobManagerTask.id", "Id", "needed with a command line"),
    Field[Any](
        f"{_OF_JOB}.jobManagerTask.simulate.duration",
        "Runs for",
        f"{DURATION}; in the simulation",
        read=duration_or_value,
    ),
)
_JOBS_OF_SCHEDULE = (
    _in_job(JOB_FIELDS[1], "Its jobs"),
    _in_job(PRIORITY),
    _in_job(ALL_COMPLETE),
    *_MANAGER,
    *map(_in_job, (*PREPARATION[:3], *RELEASE)),
)
SCHEDULE_FIELDS: tuple[AnyField, ...] = (ID, *_SCHEDULE, *_JOBS_OF_SCHEDULE)
SCHEDULE_CHANGES: tuple[AnyField, ...] = (*_SCHEDULE, *_JOBS_OF_SCHEDULE)
