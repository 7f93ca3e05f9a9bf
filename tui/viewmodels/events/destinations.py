"""The views and rows that events lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.views.pages.events import EventRow

_HOOKS = {"JobPreparationTaskStateChanged": "preparation", "JobReleaseTaskStateChanged": "release"}
_MADE = {"createPool": "poolId", "createJob": "jobId", "createJobSchedule": "jobScheduleId"}


class Destination(NamedTuple):
    """A view, its focus, and a row: a task or node by number, or the id of a job, pool or schedule."""

    view: str
    job_id: str | None
    pool_id: str | None
    row: int | str | None


def destination_of(event: EventRow) -> Destination | None:
    """Return the destination of an event, or None. That of a command is what its body names."""
    if event.task is not None:
        return Destination("tasks", event.job_id, None, event.task)
    if event.node is not None:
        if event.event in _HOOKS:
            return Destination(_HOOKS[event.event], event.job_id, None, event.node)
        return Destination("nodes", None, event.pool_id, event.node)
    if event.job_id is not None:
        return Destination("jobs", event.job_id, None, event.job_id)
    if event.schedule_id is not None:
        return Destination("schedules", None, None, event.schedule_id)
    if event.pool_id is not None:
        return Destination("pools", None, event.pool_id, event.pool_id)
    body = event.fields.get("body")
    return _named_in(str(event.fields.get("command")), body) if isinstance(body, dict) else None


def _named_in(command: str, body: dict[str, object]) -> Destination | None:
    """Return the job, schedule or pool that a command names or adds."""
    if command in _MADE:
        body = {_MADE[command]: body["id"]}
    if "jobId" in body:
        job_id = str(body["jobId"])
        return Destination("jobs", job_id, None, job_id)
    if "jobScheduleId" in body:
        return Destination("schedules", None, None, str(body["jobScheduleId"]))
    if "poolId" in body:
        pool_id = str(body["poolId"])
        return Destination("nodes" if "node" in body else "pools", None, pool_id, None if "node" in body else pool_id)
    return None
