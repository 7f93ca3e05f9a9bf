"""Errors and failures, by who made the mistake.

A command that the service would refuse raises ``BatchError``. A mistake in a scenario file is a ``Problem``; all of
them are collected into one ``ScenarioError``. A mistake in the engine raises ``BrokenInvariant`` (``state.tables``). A
failure inside the simulated world is data, never an exception: a code with its category and message (ERR-T).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import TaskResult
from engine.base.values import read_table, shortened

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

# The codes whose status or message their endings do not give (ERR-1, ERR-H).
_KNOWN = {code: (status, message) for code, status, message in read_table("errors.csv", __file__)}
_STATUS = {code: int(status) for code, (status, _) in _KNOWN.items() if status}
_MESSAGES = {code: message for code, (_, message) in _KNOWN.items() if message}
_NOT_FOUND, _CONFLICT = 404, 409
_KEYS = tuple(f"{kind}{part}" for kind in ("Property", "QueryParameter", "Header") for part in ("Name", "Value"))


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
        return {"code": self.code, "message": {"lang": "en-us", "value": self.message}, "values": self.listed()}

    def listed(self) -> list[dict[str, str]]:
        """Return ``values`` as the service sends them; an id that is unknown or taken is a property, too."""
        listed: dict[str, str] = {}
        for key, value in self.values.items():
            listed |= {key: value} if key in (*_KEYS, "Reason") else {"PropertyName": key, "PropertyValue": value}
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


_WARNINGS = read_table("warnings.csv", __file__)
WARNINGS = {code: text for code, _, text in _WARNINGS}
"""The codes of the warnings about a scenario, each with what it says."""
TRAPS = frozenset(code for code, kind, _ in _WARNINGS if kind == "trap")
"""The codes of what the service accepts, and of which nothing comes. A history may have been caught in it."""


@dataclass
class ScenarioError(Exception):
    """A scenario that cannot be run, with all its problems and warnings in the order of the file."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class ErrorCategory(StrEnum):
    """The category of a failure; it keeps its capitals on the wire (GEN-5)."""

    USER_ERROR = "UserError"
    SERVER_ERROR = "ServerError"


# Category and message of each code (ERR-T).
_CODES = {code: (ErrorCategory(kind), message) for code, kind, message in read_table("failures.csv", __file__)}


def with_pairs(body: dict[str, object], name: str, pairs: tuple[tuple[str, str], ...]) -> dict[str, object]:
    """Return a body with these pairs as the service writes them under this name; without any they are left out."""
    listed = [{"name": name, "value": value} for name, value in pairs]
    return body | ({name: listed} if listed else {})


class FailureInfo(NamedTuple):
    """The ``failureInfo`` of a task, or of a preparation, release or start task (TASK-10)."""

    code: str
    category: ErrorCategory
    message: str
    details: tuple[tuple[str, str], ...] = ()

    def wire(self) -> dict[str, object]:
        """Return the failure as the service writes it."""
        return with_pairs(
            {"category": self.category, "code": self.code, "message": self.message}, "details", self.details
        )


FAILURE_CODES = frozenset(_CODES)


def failure(code: str, *details: tuple[str, str], category: ErrorCategory | None = None) -> FailureInfo:
    """Return the failure ``code`` with its message (ERR-T); pass ``category`` only where the cause decides it."""
    usual, message = _CODES[code]
    return FailureInfo(code, category or usual, message, details)


def ended(by: str, category: ErrorCategory = ErrorCategory.USER_ERROR) -> FailureInfo:
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

_MEANINGS = {int(code): meaning for code, meaning in read_table("exit_codes.csv", __file__)}


def exit_text(exit_code: int | None) -> str:
    """Return an exit code, with what it means if that is known: ``137 (killed: SIGKILL, ...)``; empty for None."""
    said, meaning = "" if exit_code is None else str(exit_code), _MEANINGS.get(exit_code or 0)
    return f"{said} ({meaning})" if meaning else said
