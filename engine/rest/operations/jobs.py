"""The operations on jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError
from engine.rest.operations.common import Resources, action, creation, one, removal
from engine.rest.protocol import answers, bodies, paging
from engine.rules.decisions import lookups
from engine.specs import commands as c
from engine.specs.job import PoolInfo
from engine.views.rest.jobs import job_body, job_stats, task_counts
from engine.views.rest.prep_release import prep_release_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call, Handler
    from engine.state.jobs import Job

# Of a scenario's job, but not of the service's.
_WITHOUT = ("tasks", "taskfactory")


JOBS = Resources("jobs", "jobId", lambda world: world.jobs)


def job_named(call: Call) -> Job:
    """Return the job that the path names. Raises BatchError: JobNotFound."""
    return lookups.job_named(call.world, call.names["jobId"])


def get_job(call: Call) -> Answer:
    """Answer with one job."""
    job = job_named(call)
    stats = stats_of(call, job) if paging.wants_stats(call) else None
    return one(call, "jobs", job_body(call.world, job), JOBS.named(call), stats)


def list_jobs(call: Call) -> Answer:
    """Answer with a page of the jobs."""
    world, rows = call.world, call.world.jobs.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((job.row, job_body(world, job)) for job in paging.after(rows, row) if job.state is not None)

    return paging.page(call, "jobs", after, -1, lambda row: stats_of(call, rows[row]))


def stats_of(call: Call, job: Job) -> dict[str, object]:
    """Return ``stats`` of a job (STAT-1)."""
    return job_stats(call.world, job, call.transitions.now(), call.now_ms)


def get_task_counts(call: Call) -> Answer:
    """Answer with the numbers of tasks and of their slots by state (TASK-16)."""
    counts = task_counts(call.world, job_named(call))
    head = {"odata.metadata": answers.metadata(call.base, "taskcounts/@Element")}
    return answers.json_body(call.route.status, {**head, **counts})


def list_preparation_and_release(call: Call) -> Answer:
    """Answer with a page of the preparation and release tasks of a job, node by node (PREP-25)."""
    world, job = call.world, job_named(call)
    if not (job.has_prep or job.has_release):
        raise BatchError("JobPreparationTaskNotSpecified", jobId=job.id)

    def after(last: int) -> Iterator[tuple[int, Body]]:
        rows = (row for row in sorted(world.instances.rows_of_job(job.row)) if row > last)
        return ((row, prep_release_entry(world, job, row)) for row in rows)

    return paging.page(call, "jobpreparationandreleasetaskstatuslist", after, -1)


def _without_tasks(_: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in body.items() if name.lower() not in _WITHOUT}


def _as_replacement(call: Call, body: dict[str, Any]) -> Mapping[str, Any]:
    """Return the PATCH that has the effect of a PUT: what can be replaced and is left out gets its default.

    The pool is left out where it stays the same: to name another one, the job must be disabled (JOB-14).
    """
    sent = bodies.lenient(c.UpdateJob, body)
    kept: dict[str, Any] = {"priority": 0, "constraints": {}, "metadata": []} | sent
    job = call.world.jobs.find(call.names["jobId"])
    if job is not None and isinstance(kept.get("poolInfo"), dict):
        present = job_body(call.world, job)["poolInfo"]
        if bodies.read(PoolInfo, kept["poolInfo"]).wire() == present:
            del kept["poolInfo"]
    return kept


HANDLERS: dict[str, Handler] = {
    "create_job": creation(c.CreateJob, JOBS.target_of, _without_tasks),
    "list_jobs": list_jobs,
    "get_job": get_job,
    "delete_job": removal(c.DeleteJob, JOBS.named),
    "update_job": action(c.UpdateJob, JOBS.named),
    "replace_job": action(c.UpdateJob, JOBS.named, _as_replacement),
    "disable_job": action(c.DisableJob, JOBS.named),
    "enable_job": action(c.EnableJob, JOBS.named),
    "terminate_job": action(c.TerminateJob, JOBS.named),
    "get_job_task_counts": get_task_counts,
    "list_job_preparation_and_release_task_status": list_preparation_and_release,
}
