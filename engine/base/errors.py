"""Errors, by who made the mistake.

A command that the service would refuse raises ``BatchError``. A mistake in a scenario file is a ``Problem``; all of
them are collected into one ``ScenarioError``. A mistake in the engine raises ``BrokenInvariant`` (``state.tables``). A
failure inside the simulated world is data (``failureInfo``), never an exception.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

# The HTTP status of error codes that do not end as those of what is not found and are no conflict (ERR-H).
_STATUS: dict[str, int] = dict.fromkeys(
    (
        "EmptyMetadataKey",
        "InvalidMetadata",
        "MetadataTooLarge",
        "InvalidPropertyValue",
        "MissingRequiredProperty",
        "UnsupportedProperty",
        "UnsupportedRequestVersion",
        "InvalidRequestBody",
        "OutOfRangeInput",
        "OutOfRangePriority",
        "UnsupportedConstraint",
        "InvalidConstraintValue",
        "InvalidAutoScalingSettings",
        "AutoScalingFormulaSyntaxError",
        "AutoScalingFormulaTooLong",
        "OSVersionNotFound",
        "OSVersionDisabled",
        "OSVersionExpired",
        "PoolVersionEqualsUpgradeVersion",
        "PoolNotEligibleForOSVersionUpgrade",
        "InvalidAuthenticationInfo",
        "InvalidHeaderValue",
        "InvalidInput",
        "InvalidQueryParameterValue",
        "InvalidUri",
        "MissingRequiredQueryParameter",
        "OutOfRangeQueryParameterValue",
        "UnsupportedQueryParameter",
        "TaskDependenciesNotSpecifiedOnJob",
        "TaskDependencyListTooLong",
        "TaskDependencyRangesTooLong",
    ),
    400,
)
_STATUS |= {
    "Unauthorized": 401,
    "AuthenticationFailed": 403,
    "OriginNotAllowed": 403,
    "UnsupportedHttpVerb": 405,
    "ConditionNotMet": 412,
    "RequestBodyTooLarge": 413,
    "RequestEntityTooLarge": 413,
    "InvalidRange": 416,
    "MisdirectedRequest": 421,
    "InternalError": 500,
    "ServerBusy": 503,
    "TooManyEnableAutoScaleRequests": 503,
}
_NOT_FOUND, _CONFLICT = 404, 409
_KEYS = (
    "PropertyName",
    "PropertyValue",
    "QueryParameterName",
    "QueryParameterValue",
    "HeaderName",
    "HeaderValue",
    "Reason",
)

# The service's message for each error code (ERR-1). The default is "not valid for the current state".
_MESSAGES: dict[str, str] = {
    "InvalidPropertyValue": "The value provided for one of the properties in the request body is invalid.",
    "MissingRequiredProperty": "A required property was not specified in the request body.",
    "OutOfRangePriority": "The priority is outside the range -1000 to 1000.",
    "InvalidConstraintValue": "The value of one of the constraints is invalid.",
    "TaskDependenciesNotSpecifiedOnJob": "The job does not use task dependencies.",
    "TaskDependencyListTooLong": "The list of task dependencies is too long.",
    "TaskDependencyRangesTooLong": "The list of task dependency ranges is too long.",
    "PoolQuotaReached": "The account has reached its quota of pools.",
    "ActiveJobAndScheduleQuotaReached": "The account has reached its quota of active jobs and job schedules.",
    "PoolBeingResized": "The specified pool is being resized.",
    "PoolBeingDeleted": "The specified pool is being deleted.",
    "NodeBeingCreated": "The specified node is being created.",
    "NodeBeingStarted": "The specified node is being started.",
    "NodeBeingRebooted": "The specified node is being rebooted.",
    "NodeBeingReimaged": "The specified node is being reimaged.",
    "NodeAlreadyInTargetSchedulingState": "The specified node is already in the target scheduling state.",
    "OperationNotValidOnNode": "The specified operation is not valid on the node.",
    "OperationNotValidOnPool": "The specified operation is not valid on the pool.",
    "NodeStateUnusable": "The specified node is unusable.",
    "JobCompleted": "The specified job is already in a completed state.",
    "JobBeingTerminated": "The specified job is being terminated.",
    "JobBeingDeleted": "The specified job is being deleted.",
    "JobDisabled": "The specified job is disabled.",
    "JobNotActive": "The specified job is not active.",
    "JobPreparationTaskNotSpecified": "The specified job has no job preparation task.",
    "JobReleaseTaskNotSpecified": "The specified job has no job release task.",
    "JobWithSameIdExists": "A job with the specified id already exists.",
    "JobScheduleWithSameIdExists": "A job schedule with the specified id already exists.",
    "TaskCompleted": "The specified task is already in a completed state.",
    "TaskNotCompleted": "The specified task is not in a completed state.",
    "TaskSucceeded": "The specified task has succeeded.",
    "TaskFilesUnavailable": "The files of the specified task are not available.",
    "TaskFilesCleanedup": "The files of the specified task have been cleaned up.",
    "TaskIdSameAsJobPreparationTask": "The task id is the same as the id of the job preparation task.",
    "TaskIdSameAsJobReleaseTask": "The task id is the same as the id of the job release task.",
    "JobPreparationTaskNotRunOnNode": "The job preparation task has not run on the specified node.",
    "JobReleaseTaskNotRunOnNode": "The job release task has not run on the specified node.",
    "InvalidApplicationPackageReferences": "One or more application package references are invalid.",
    "InvalidCertificateReferences": "One or more certificate references are invalid.",
    "AutoPoolCreationFailedWithQuotaReached": "The auto pool could not be created: a quota has been reached.",
    "InvalidApplicationPackageReferencesInAutoPool": "The auto pool has invalid application package references.",
    "InvalidAutoPoolSettings": "The settings of the auto pool are invalid.",
    "InvalidAutoScaleFormulaInAutoPool": "The autoscale formula of the auto pool is invalid.",
    "InvalidCertificatesInAutoPool": "The auto pool has invalid certificate references.",
    "InvalidAutoScalingSettings": "The autoscale settings are invalid.",
    "AutoScalingFormulaSyntaxError": "The autoscale formula has a syntax error.",
    "AutoScalingFormulaTooLong": "The autoscale formula is too long.",
    "TooManyEnableAutoScaleRequests": "There have been too many requests to enable autoscale on the pool.",
    "EmptyMetadataKey": "The name of a metadata item is empty.",
    "InvalidMetadata": "A metadata item has characters that are not allowed.",
    "RequestBodyTooLarge": "The request has more than 100 tasks or is larger than 1 MB.",
    "ResourceNotFound": "The specified resource does not exist.",
    "Unauthorized": "The request has no authentication information.",
    "AuthenticationFailed": "Server failed to authenticate the request. Make sure the value of Authorization header is "
    "formed correctly including the signature.",
    "InvalidAuthenticationInfo": "The authentication information was not provided in the correct format.",
    "OriginNotAllowed": "Requests from web pages of other origins are not allowed.",
    "MisdirectedRequest": "This server does not answer for the host that the request names.",
    "InvalidInput": "One of the request inputs is not valid.",
    "InvalidHeaderValue": "The value provided for one of the HTTP headers was not in the correct format.",
    "InvalidQueryParameterValue": "Value for one of the query parameters specified in the request URI is invalid.",
    "InvalidRange": "The range specified is invalid for the current size of the resource.",
    "InvalidRequestBody": "The specified Request Body is not syntactically valid.",
    "InvalidUri": "The requested URI does not represent any resource on the server.",
    "MissingRequiredQueryParameter": "A query parameter that's mandatory for this request is not specified.",
    "OutOfRangeQueryParameterValue": "A query parameter specified in the request URI is outside the permissible range.",
    "UnsupportedQueryParameter": "One of the query parameters specified in the request URI is not supported.",
    "UnsupportedHttpVerb": "The resource doesn't support the specified HTTP verb.",
    "ConditionNotMet": "The condition specified using HTTP conditional header(s) is not met.",
    "InternalError": "Server encountered an internal error. Please try again after some time.",
    "ServerBusy": "Server is currently unable to receive requests. Please retry your request.",
    "OperationInvalidForCurrentState": "The specified operation is not valid for the current state of the resource.",
}


def _kind(code: str, ending: str) -> str:
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in code.removesuffix(ending))
    return words.strip()


def _message(code: str) -> str:
    if code in _MESSAGES:
        return _MESSAGES[code]
    if code.endswith("NotFound"):
        return f"The specified {_kind(code, 'NotFound')} does not exist."
    if code.endswith("Exists"):
        return f"The specified {_kind(code, 'Exists')} already exists."
    return _MESSAGES["OperationInvalidForCurrentState"]


class BatchError(Exception):
    """A command that the service refuses: code, HTTP status, message and values (GEN-10, ERR-1).

    It is raised before anything has changed.
    """

    def __init__(self, code: str, reason: str = "", **values: str) -> None:
        """Create the error ``code``; ``values`` and then ``reason`` give the details, as the service's ``values`` do.

        A refusal that names a property has ``PropertyName``, and ``PropertyValue`` where one was given.
        """
        self.code = code
        otherwise = _NOT_FOUND if code.endswith(("NotFound", "NotRunOnNode")) else _CONFLICT
        self.status = _STATUS.get(code, otherwise)
        self.message = _message(code)
        self.values = {key: shortened(value) for key, value in values.items()} | ({"Reason": reason} if reason else {})
        super().__init__(code)

    def __str__(self) -> str:
        detail = "; ".join(f"{key}: {value}" for key, value in self.values.items())
        return f"{self.code}: {self.message}" + (f" ({detail})" if detail else "")

    def body(self) -> dict[str, object]:
        """Return the error body as the service sends it (GEN-10)."""
        return {
            "code": self.code,
            "message": {"lang": "en-us", "value": self.message},
            "values": self.listed(),
        }

    def listed(self) -> list[dict[str, str]]:
        """Return ``values`` as the service sends them; an id that is unknown or taken is a property, too."""
        listed: dict[str, str] = {}
        for key, value in self.values.items():
            listed |= {key: value} if key in _KEYS else {"PropertyName": key, "PropertyValue": value}
        return [{"key": key, "value": value} for key, value in listed.items()]


def raise_refusal(refusal: BatchError | None) -> None:
    """Raise a refusal, if there is one."""
    if refusal is not None:
        raise refusal


class PartlyRefused(BatchError):
    """Some tasks of a collection were refused; the others have been added (TASK-3).

    ``refused`` has the refusals of listed tasks by their places in the collection. Those of a factory are not in it.
    """

    def __init__(self, first: BatchError, refused: Mapping[int, BatchError]) -> None:
        """Report the first refusal as the one of the collection."""
        super().__init__(first.code)
        self.values = first.values
        self.refused = refused


class Position(NamedTuple):
    """A position in a scenario file or an autoscale formula; line and column count from 1 (AS-75)."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"Line {self.line}, Col {self.column}"


class Severity(StrEnum):
    """The weight of a problem: a scenario with an error cannot be run, one with a warning can."""

    ERROR = "error"
    WARNING = "warning"


class Problem(NamedTuple):
    """One mistake or warning in a scenario and its position. Lines and columns count from 1; 0 means unknown.

    ``code`` is a stable word for warnings of one kind, such as ``size-unknown``.
    """

    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    file: str = ""
    severity: Severity = Severity.ERROR
    code: str = ""

    @property
    def word(self) -> str:
        """The code, or the general word for what has none of its own."""
        return self.code or ("warning" if self.severity is Severity.WARNING else "mistake")

    def __str__(self) -> str:
        """Return ``file:line:column: path: message``, a form that editors understand; warnings say so."""
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        word = "warning" if self.severity is Severity.WARNING else ""
        said = f"{self.path}: {self.message}" if self.path else self.message
        return ": ".join(part for part in (place, word, f"[{self.code}] {said}" if self.code else said) if part)


WARNINGS = {
    "builtin-as-program": "A command of the shell is the program of a line that runs in no shell.",
    "core-quota": "Nodes are asked for that the account's quota of cores does not allow.",
    "dependency-circle": "Tasks depend on each other in a circle, so that none of them ever runs.",
    "disk-too-small": "What a node keeps until `retentionTime` is over does not fit on its disk.",
    "formula-ignores-slots": "A formula counts tasks as if each took a node, or a slot, although that is not so.",
    "image-retired": "The support of a marketplace image has ended.",
    "image-unknown": "A marketplace image is not in the catalogue.",
    "job-without-tasks": "A job ends with its last task, and nothing ever adds one.",
    "multi-instance-pool": "A multi-instance task waits for ever in a pool with slots or without communication.",
    "no-effect": "A property changes nothing in a simulation.",
    "no-shell": "A variable, a pattern or an operator stands in a line that runs in no shell.",
    "no-storage-account": "A container is named by its name alone, and the account has no storage account.",
    "preparation-without-limit": "A preparation can hang until the end of the run, and has no `maxWallClockTime`.",
    "price-missing": "A size has no list price, or none in the price list that the scenario names.",
    "returned-by-service": "A body has properties that only the service writes, which are left out.",
    "shell-syntax": "Every shell refuses a command line.",
    "shell-unreadable": "The small shell cannot read a command line, which counts as an unknown program.",
    "signature-expires": "A shared access signature ends before a process can need it.",
    "size-retired": "A VM size is retired when the run begins, or within it.",
    "size-unknown": "A VM size is not listed: its cores, memory and price are derived from its name.",
    "system-file": "A command line reads a file of the operating system that the simulator does not know.",
    "too-few-slots": "A task requires more slots than any node of its pool has.",
    "unknown-code": "A comment ignores a warning that does not exist.",
    "unknown-dependency": "A task depends on a task that nothing adds to its job.",
    "unknown-job": "A command names a job that nothing creates.",
    "unknown-node": "A command names a node by an index that its pool never has.",
    "unknown-pool": "A command or a job names a pool that nothing creates.",
    "unknown-schedule": "A command names a job schedule that nothing creates.",
    "unknown-task": "A command names a task that nothing adds to its job.",
    "wrong-shell": "A command line is written for the shell of another operating system, or for another shell.",
}
"""The codes of the warnings about a scenario, each with what it says."""

TRAPS = frozenset(
    {
        *("dependency-circle", "disk-too-small", "formula-ignores-slots", "job-without-tasks", "multi-instance-pool"),
        *("preparation-without-limit", "signature-expires"),
        *("unknown-dependency", "unknown-job", "unknown-node", "unknown-schedule", "unknown-task"),
    }
)
"""The codes of what the service accepts, and of which nothing comes. A history may have been caught in it."""


@dataclass
class ScenarioError(Exception):
    """A scenario that cannot be run, with all its problems and warnings in the order of the file."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))
