"""Verdicts about jobs (chapter 9): what the service refuses, by the state of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import JobState, PoolLifetimeOption

if TYPE_CHECKING:
    from engine.specs.job import PoolInfo
    from engine.state.jobs import Job

_J = JobState
_OF_JOB = PoolLifetimeOption.JOB

UNDER_WAY = (_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING)

_ALLOWED = {
    "disable": (_J.ACTIVE, _J.DISABLING, _J.DISABLED),
    "enable": (_J.DISABLED,),
    "terminate": UNDER_WAY,
    "add": UNDER_WAY,
    "update": (*UNDER_WAY, _J.TERMINATING),
    "delete": tuple(state for state in _J if state is not _J.DELETING),
}

# JOB-19: the code for a job that is past what is asked of it.
_CODES = {_J.COMPLETED: "JobCompleted", _J.TERMINATING: "JobBeingTerminated", _J.DELETING: "JobBeingDeleted"}


def command_verdict(command: str, state: JobState) -> BatchError | None:
    """Return why the service refuses a command on a job in this state; None if it takes it.

    A job is disabled while active, disabling or disabled (JOB-11), and enabled only while disabled (JOB-12). Tasks are
    added and the job is terminated until it ends (JOB-19), while disabled too (JOB-13). It can always be deleted, once
    (JOB-16).
    """
    if state in _ALLOWED[command]:
        return None
    return BatchError(_CODES.get(state, "OperationInvalidForCurrentState"), f"the job is {state.wire}")


def check(command: str, job: Job) -> None:
    """Refuse a command that the job's state does not allow (JOB-19)."""
    assert job.state is not None
    refusal = command_verdict(command, job.state)
    if refusal is not None:
        raise refusal


def pool_verdict(job: Job, info: PoolInfo) -> BatchError | None:
    """Return why the service refuses this change of the job's ``poolInfo``; None if it accepts it (JOB-14)."""
    own, wanted = job.spec.pool_info.auto_pool_specification, info.auto_pool_specification
    reason = ""
    if job.state is not _J.DISABLED:
        reason = "poolInfo can change only while the job is disabled"
    elif own is None and wanted is not None:
        reason = "the job has a pool by poolId: another one can be named"
    elif own is not None and (wanted is None or {own.pool_lifetime_option, wanted.pool_lifetime_option} != {_OF_JOB}):
        reason = "of an auto pool only keepAlive can change, with poolLifetimeOption job"
    return BatchError("OperationInvalidForCurrentState", reason, PropertyName="poolInfo") if reason else None


def ends_with_manager(job: Job) -> bool:
    """Return whether the end of its job manager task terminates the job (JM-4)."""
    manager = job.spec.job_manager_task
    return manager is not None and manager.kill_job_on_completion
