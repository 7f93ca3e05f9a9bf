"""Failures of tasks as data: their codes, categories and messages (ERR-T)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from engine.base.terms import ErrorCategory, TaskResult

_USER, _SERVER = ErrorCategory.USER_ERROR, ErrorCategory.SERVER_ERROR

# Category and message of each code (ERR-T).
_CODES: dict[str, tuple[ErrorCategory, str]] = {
    "FailureExitCode": (_USER, "The task exited with an exit code representing a failure"),
    "TaskEnded": (_USER, "task ended"),
    "BlobNotFound": (_USER, "One of the specified Azure Blob(s) is not found."),
    "BlobAccessDenied": (_USER, "Access for one of the specified Azure Blob(s) is denied."),
    "BlobDownloadTimedOut": (_SERVER, "The download of one of the specified Azure Blob(s) timed out."),
    "BlobDownloadMiscError": (_SERVER, "One of the specified Azure Blob(s) could not be downloaded."),
    "ResourceContainerNotFound": (_USER, "The specified Azure Blob container is not found."),
    "ResourceContainerAccessDenied": (_USER, "Access for the specified Azure Blob container is denied."),
    "ResourceContainerListTimedOut": (_SERVER, "Listing the specified Azure Blob container timed out."),
    "ResourceContainerListMiscError": (_SERVER, "The specified Azure Blob container could not be listed."),
    "DiskFull": (_SERVER, "There is not enough disk space on the node selected to run the task."),
    "CommandProgramNotFound": (_USER, "The specified command program is not found."),
    "CommandLaunchFailed": (_USER, "The specified command could not be launched."),
    "ApplicationPackageError": (_SERVER, "One of the specified application packages could not be installed."),
    "ContainerInvalidImage": (_USER, "The specified container image is invalid."),
    "ContainerInvalidRegistry": (_USER, "The specified container registry is invalid."),
    "ContainerInvalidSettings": (_USER, "The container settings of the task do not suit its pool."),
    "MountConfigurationError": (_USER, "A file system could not be mounted."),
    "FileUploadContainerNotFound": (_USER, "The container of an output file is not found."),
    "FileUploadAccessDenied": (_USER, "Access to the container of an output file is denied."),
    "FileUploadTimedOut": (_SERVER, "The upload of an output file timed out."),
    "FileUploadMiscError": (_SERVER, "An output file could not be uploaded."),
    "JobPreparationTaskFailed": (_USER, "Task cannot run because the job preparation task failed on node"),
    "JobBeingTerminated": (_USER, "The task could not start because its job is being terminated."),
    "TaskSchedulingConstraintFailed": (
        _USER,
        "The task cannot be scheduled: it needs more than a node of the pool has.",
    ),
    "MaxInternalRetryCountReached": (_USER, "The task was interrupted by the service too many times."),
}


class FailureInfo(NamedTuple):
    """The ``failureInfo`` of a task, or of a preparation, release or start task (TASK-10)."""

    code: str
    category: ErrorCategory
    message: str
    details: tuple[tuple[str, str], ...] = ()

    def wire(self) -> dict[str, object]:
        """Return the failure as the service writes it."""
        body: dict[str, object] = {"category": self.category, "code": self.code, "message": self.message}
        if self.details:
            body["details"] = [{"name": name, "value": value} for name, value in self.details]
        return body


def failure(code: str, *details: tuple[str, str], category: ErrorCategory | None = None) -> FailureInfo:
    """Return the failure ``code`` with its message (ERR-T); pass ``category`` only where the cause decides it."""
    usual, message = _CODES[code]
    return FailureInfo(code, category or usual, message, details)


def ended(by: str, category: ErrorCategory = _USER) -> FailureInfo:
    """Return the failure of a process that was stopped; ServerError after a time limit or fault (RETRY-8, PREP-19)."""
    return failure("TaskEnded", ("Message", by), category=category)


def result_of(exit_code: int | None, failure: FailureInfo | None) -> TaskResult:
    """Return the result of a process that has ended (RETRY-11)."""
    return TaskResult.FAILURE if failure or exit_code else TaskResult.SUCCESS


def end_fields(exit_code: int | None, failure: FailureInfo | None) -> tuple[tuple[str, Hashable], ...]:
    """Return the fields of an event about the end of a process; without an exit code it never ran."""
    code = () if exit_code is None else (("exitCode", exit_code),)
    why = () if failure is None else (("failureInfo", failure),)
    return (*code, ("result", result_of(exit_code, failure)), *why)


FAILURE_EXIT_CODE = failure("FailureExitCode")

# The exit code of a stopped process on every operating system, 0xC000013A (RETRY-8).
STOPPED_EXIT_CODE = -1073741510
