"""The bodies that create and change a job schedule (JS-1, JS-2)."""

from __future__ import annotations

from engine.specs.base import Identified, OptionalDuration, Spec, Text, UtcTime
from engine.specs.common import MetadataItem
from engine.specs.job import JobSpecification


class Schedule(Spec):
    """When jobs are due (JS-2). Milliseconds; None: at once, never, any time, once."""

    do_not_run_until: UtcTime | None = None
    do_not_run_after: UtcTime | None = None
    start_window: OptionalDuration = None
    recurrence_interval: OptionalDuration = None


class JobScheduleSpec(Identified):
    """The body that creates a job schedule (JS-1)."""

    display_name: Text | None = None
    schedule: Schedule
    job_specification: JobSpecification
    metadata: tuple[MetadataItem, ...] = ()


class JobScheduleUpdate(Spec):
    """The body that changes a job schedule (JS-9): ``model_fields_set`` says which properties were given."""

    schedule: Schedule | None = None
    job_specification: JobSpecification | None = None
    metadata: tuple[MetadataItem, ...] = ()
