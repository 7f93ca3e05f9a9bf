"""Jobs as the service returns them (JOB-2, JOB-3, GEN-6, STAT-1)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState, TaskResult
from engine.base.units import format_duration
from engine.state.columns import NEVER_MS, PAGE_BITS
from engine.state.tasks import ACTIVE, COMPLETED, GONE, PREPARING, RUNNING
from engine.views.rest.common import job_url, previous_state, resource_head, utc

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.views.log.transitions import TaskTransitions
    from engine.world.world import World


def job_body(world: World, job: Job) -> dict[str, object]:
    """Return the REST body of a job that is not deleted, without ``$expand=stats``."""
    body = resource_head(world, job, job_url(world, job.id)) | previous_state(world, job.previous)
    settings = {name: value for name, value in job.spec.wire().items() if name != "metadata"}
    return body | settings | _changed_settings(job) | {"executionInfo": _execution_info(world, job)}


def _changed_settings(job: Job) -> dict[str, object]:
    """Return the settings that a PATCH may have changed since the job was added (JOB-2)."""
    settings: dict[str, object] = {
        "priority": job.priority,
        "allowTaskPreemption": job.preemptible,
        "maxParallelTasks": job.max_parallel,
        "constraints": {
            "maxWallClockTime": format_duration(job.max_wall_clock_ms),
            "maxTaskRetryCount": job.max_retries,
        },
        "onAllTasksComplete": job.on_all_tasks_complete.value,
    }
    auto_pool = job.spec.pool_info.auto_pool_specification
    if auto_pool is None:
        settings["poolInfo"] = {"poolId": job.pool_id}
    else:
        settings["poolInfo"] = {"autoPoolSpecification": auto_pool.wire() | {"keepAlive": job.keeps_pool}}
    if job.metadata:
        settings["metadata"] = [item.wire() for item in job.metadata]
    return settings


def _execution_info(world: World, job: Job) -> dict[str, object]:
    """Return ``executionInfo``: start, end, pool, scheduling error, and why the job ended (JOB-3)."""
    info: dict[str, object] = {"startTime": utc(world, job.created_ms)}
    if job.end_ms is not None:
        info["endTime"] = utc(world, job.end_ms)
    if job.pool_id:
        info["poolId"] = job.pool_id
    if job.scheduling_error is not None:
        category, code, message, _ = job.scheduling_error
        info["schedulingError"] = {"category": category, "code": code, "message": message}
    if job.terminate_reason is not None and job.state is JobState.COMPLETED:
        info["terminateReason"] = job.terminate_reason
    return info


class Usage(NamedTuple):
    """Resources that tasks have used, with times in ms (STAT-1)."""

    ran_ms: int = 0
    waited_ms: int = 0
    succeeded: int = 0
    failed: int = 0
    retries: int = 0

    def wire(self, until: str) -> dict[str, object]:
        """Return the usage as the service writes it, without its URL and start time.

        A simulated process computes all the time that it runs and does no I/O: its CPU time is its wall clock time.
        """
        return {
            "lastUpdateTime": until,
            "userCPUTime": format_duration(self.ran_ms),
            "kernelCPUTime": format_duration(0),
            "wallClockTime": format_duration(self.ran_ms),
            "readIOps": "0",
            "writeIOps": "0",
            "readIOGiB": 0.0,
            "writeIOGiB": 0.0,
            "numSucceededTasks": str(self.succeeded),
            "numFailedTasks": str(self.failed),
            "numTaskRetries": str(self.retries),
            "waitTime": format_duration(self.waited_ms),
        }


def usage_of(world: World, job: Job, transitions: TaskTransitions, now_ms: int) -> Usage:
    """Sum up what the present tasks of a job have used, always up to date (STAT-1, TIME-17)."""
    tasks = world.tasks
    ran_ms = waited_ms = retries = 0
    for number in job.blocks:
        block = tasks.blocks[number]
        for task in block.rows:
            if tasks.state[task] == GONE or tasks.started[task] == NEVER_MS:
                continue
            ran_ms += transitions.ran_ms(task, now_ms)
            waited_ms += tasks.started[task] - block.created_ms
            retries += tasks.extra(task).retry_count
    return Usage(ran_ms, waited_ms, job.counts[COMPLETED] - job.failed, job.failed, retries)


def job_stats(world: World, job: Job, transitions: TaskTransitions, now_ms: int) -> dict[str, object]:
    """Return ``stats`` of a job (STAT-1), and the bytes of its resource files and output files (TASK-21)."""
    url = f"{job_url(world, job.id)}/lifetimejobstats"
    usage = usage_of(world, job, transitions, now_ms)
    transferred = {"downloadedBytes": job.downloaded_bytes, "uploadedBytes": job.uploaded_bytes}
    return {"url": url, "startTime": utc(world, job.created_ms)} | usage.wire(utc(world, now_ms)) | transferred


def task_counts(world: World, job: Job) -> dict[str, dict[str, int]]:
    """Return the exact ``taskCounts`` and ``taskSlotCounts`` of a job (GEN-13, TASK-16)."""
    tasks = world.tasks
    slots = [0] * (GONE + 1)
    failed_slots = 0
    for number in job.blocks:
        block = tasks.blocks[number]
        rows = slice(block.first, block.rows.stop)
        for (state, profile), times in Counter(zip(tasks.state[rows], tasks.profile[rows], strict=True)).items():
            slots[state] += times * tasks.profiles[profile].required_slots
        for page in tasks.sparse[rows.start >> PAGE_BITS : (rows.stop >> PAGE_BITS) + 1]:
            for task in page:  # a task without an entry there has not failed
                if rows.start <= task < rows.stop and tasks.result(task) is TaskResult.FAILURE:
                    failed_slots += tasks.profile_of(task).required_slots
    each = {"taskCounts": (job.counts, job.failed), "taskSlotCounts": (slots, failed_slots)}
    return {
        name: counts_of(found[ACTIVE], found[PREPARING], found[RUNNING], found[COMPLETED] - failed, failed)
        for name, (found, failed) in each.items()
    }


def counts_of(active: int, preparing: int, running: int, succeeded: int, failed: int) -> dict[str, int]:
    """Return task counts as the service returns them, where preparing tasks count as running (PREP-21)."""
    return {
        "active": active,
        "running": running + preparing,
        "completed": succeeded + failed,
        "succeeded": succeeded,
        "failed": failed,
    }
