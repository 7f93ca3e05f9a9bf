"""The bodies that create and change a job schedule (JS-1, JS-2)."""

from engine.specs.base import Identified, Occasional, OptionalDuration, Text, UtcTime
from engine.specs.common import MetadataItem
from engine.specs.job import JobSpecification


class Schedule(Occasional):
    """The times of jobs; what is absent means at once, never, at any time, once (JS-2)."""

    do_not_run_until: UtcTime | None = None
    do_not_run_after: UtcTime | None = None
    start_window: OptionalDuration = None
    recurrence_interval: OptionalDuration = None


class JobScheduleSpec(Identified, Occasional):
    """The body that creates a job schedule (JS-1)."""

    display_name: Text | None = None
    schedule: Schedule
    job_specification: JobSpecification
    metadata: tuple[MetadataItem, ...] = ()


class JobScheduleUpdate(Occasional):
    """The body that changes a job schedule; ``model_fields_set`` holds the given properties (JS-9)."""

    schedule: Schedule | None = None
    job_specification: JobSpecification | None = None
    metadata: tuple[MetadataItem, ...] = ()
