"""Verdicts about tasks (chapters 8, 10, 13, 14 and 15): retries, exit conditions, and whether one may be queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import DependencyAction, JobAction
from engine.specs.catalogue import SCHEDULING_LATENCY_MS

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.pool import StartTask
    from engine.specs.task import ExitConditions, ExitOptions
    from engine.state.jobs import Job
    from engine.state.task_records import TaskExtra, TaskProfile
    from engine.world.world import World

# ERR-T: the prefix of the codes of failed uploads; exit conditions call them fileUploadError (EXIT-2).
_CODES_OF_UPLOADS = "FileUpload"


def may_retry(most: int, retries: int) -> bool:
    """Return whether a process that was retried ``retries`` times may be retried again; -1 is no limit (RETRY-3)."""
    return most < 0 or retries < most


def start_retry_verdict(spec: StartTask, retries: int, exit_code: int | None) -> bool:
    """Return whether a start task that has just ended runs again: only after a nonzero exit code (START-4)."""
    return bool(exit_code) and may_retry(spec.max_task_retry_count, retries)


def retry_verdict(profile: TaskProfile, job: Job, extra: TaskExtra, exit_code: int | None) -> bool:
    """Return whether a task that has just ended runs again.

    n retries are 1 + n attempts, -1 is no limit, and the task's value wins over the job's (RETRY-3). Only a nonzero
    exit code of the process itself is retried (RETRY-4).
    """
    if not exit_code:
        return False
    limit = profile.max_retries if profile.max_retries is not None else job.max_retries
    return may_retry(limit, extra.retry_count)


def exit_options(
    conditions: ExitConditions | None, exit_code: int | None, failure: FailureInfo | None
) -> tuple[JobAction, DependencyAction]:
    """Return what the end of a task does to its job and to its dependents (EXIT-2, EXIT-3).

    A user who terminates a task before it has started was recorded to leave its job active.
    """
    well = exit_code == 0 and failure is None
    never_ran = exit_code is None and failure is not None and failure.code == "TaskEnded"
    chosen = _chosen(conditions, exit_code, failure) if conditions is not None else None
    job_action = chosen.job_action if chosen is not None else None
    dependency_action = chosen.dependency_action if chosen is not None else None
    return (
        job_action or (JobAction.NONE if well or never_ran else JobAction.TERMINATE),
        dependency_action or (DependencyAction.SATISFY if well else DependencyAction.BLOCK),
    )


def _chosen(conditions: ExitConditions, exit_code: int | None, failure: FailureInfo | None) -> ExitOptions | None:
    if exit_code is None:
        stopped = failure is not None and failure.code == "TaskEnded"
        return conditions.default if stopped else conditions.pre_processing_error or conditions.default
    for mapping in conditions.exit_codes:
        if mapping.code == exit_code:
            return mapping.exit_options
    for span in conditions.exit_code_ranges:
        if span.start <= exit_code <= span.end:
            return span.exit_options
    if exit_code != 0:
        return conditions.default
    if failure is not None and failure.code.startswith(_CODES_OF_UPLOADS):
        return conditions.file_upload_error or conditions.default
    return None


def is_restarted(profile: TaskProfile, extra: TaskExtra) -> bool:
    """Return whether the task is a job manager that has run before: it may displace other tasks (JM-6, JM-7)."""
    return profile.manager and extra.attempts > 0


def is_blocked(world: World, job: Job, task: int) -> bool:
    """Return whether the task waits for another one (DEP-4)."""
    book = world.dependencies.get(job.row)
    return book is not None and book.is_waiting(task)


def is_seen(world: World, task: int) -> bool:
    """Return whether the scheduler knows of the task by now (TIME-9); until then only its block may queue it."""
    return world.now_ms > world.tasks.block_of(task).created_ms + SCHEDULING_LATENCY_MS
