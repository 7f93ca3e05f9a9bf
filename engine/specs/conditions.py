"""Conditions on the state of a run: a subject, the values expected of it, and their comparison with actual values.

They stand in ``expect``, ``when`` and ``until``. ``does`` and ``until`` of a process are kept as text (``Unread``),
which ``engine.scenario.timeline`` reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isclose
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from engine.base.values import called, quoted


@dataclass(frozen=True, slots=True)
class Bounds:
    """``{atLeast: a, atMost: b}``, both ends included; None is open."""

    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text that is compared exactly, such as a file's content, except for line ends."""

    text: str


Wanted: TypeAlias = "bool | int | float | str | Verbatim | Bounds | tuple[Wanted, ...] | Mapping[str, Wanted] | None"
"""The expectation of a property: a value, bounds of a number, codes in order, or such expectations by part."""


OWN_JOB = ""
"""Stands for the id of the job to which the process belongs that gives a command or waits for a condition (JM-11)."""


_STATE_OF_JOB = {"state", "terminateReason"}


class SubjectKind(StrEnum):
    """The kind of object that an expectation or a condition refers to."""

    RUN = "run"
    POOL = "pool"
    NODE = "node"
    JOB = "job"
    TASK = "task"
    JOB_SCHEDULE = "job schedule"


class ConditionSubject(NamedTuple):
    """The object that a condition refers to. ``kind`` decides which ids are set; their case is the file's (GEN-1).

    A node has ``pool_id`` and either ``node_id`` or ``node_index`` (from 0, over all nodes that the pool ever had).
    """

    kind: SubjectKind
    pool_id: str | None = None
    node_id: str | None = None
    node_index: int | None = None
    job_id: str | None = None
    task_id: str | None = None
    job_schedule_id: str | None = None

    def within(self, job_id: str) -> ConditionSubject:
        """Return the subject as a process of this job means it."""
        return self._replace(job_id=job_id) if self.job_id == OWN_JOB else self

    @property
    def called(self) -> str:
        """Its kind and its ids, as a sentence names it: ``node n3 of pool``, ``its job``."""
        match self.kind:
            case SubjectKind.RUN:
                return "the run"
            case SubjectKind.NODE:
                return f"node {f'n{self.node_index}' if self.node_id is None else self.node_id} of {self.pool_id}"
            case SubjectKind.TASK:
                return f"{called('task', str(self.task_id))} of {self.job_id or 'its job'}"
            case SubjectKind.POOL | SubjectKind.JOB_SCHEDULE:
                return called(self.kind.value, str(self.pool_id or self.job_schedule_id))
            case SubjectKind.JOB:
                return called("job", self.job_id) if self.job_id else "its job"


class Condition(NamedTuple):
    """A condition that holds when every wanted property matches; see ``engine.specs.conditions.matches``.

    ``wanted`` has the property names of the file. A job: ``state``, ``terminateReason``, ``tasks``,
    ``preparationTasks``, ``releaseTasks``; a pool: ``state``, ``allocationState``, ``nodes``, ``cost``,
    ``resizeErrors``; a task: ``state``, ``result``, ``exitCode``, ``retryCount``, ``node`` (index or id); a node:
    ``state``, ``file``; a job schedule: ``state``, ``jobs`` (created so far); the run: ``events``, ``makespan``
    (seconds), ``cost``. ``state: null`` expects absence.
    """

    subject: ConditionSubject
    wanted: Mapping[str, Wanted]

    @property
    def needs_job_move(self) -> bool:
        """True if only a job that changes its state can make this true."""
        return self.subject.kind is SubjectKind.JOB and self.wanted.keys() <= _STATE_OF_JOB


def matches(wanted: Wanted, seen: object) -> bool:
    """Return whether ``seen`` satisfies ``wanted``.

    Text is compared without regard to case like the service's values (GEN-5), except ``Verbatim``. Numbers are compared
    exactly, or with ``Bounds`` including both ends, up to rounding. A mapping needs all wanted parts, where an absent
    part counts as None; a list needs all items in order. None matches only None.
    """
    if isinstance(wanted, Bounds):
        return _within(wanted, seen)
    if isinstance(wanted, str):
        return isinstance(seen, str) and wanted.casefold() == seen.casefold()
    if isinstance(wanted, Verbatim):
        return isinstance(seen, str) and _lines(wanted.text) == _lines(seen)
    if isinstance(wanted, bool) or wanted is None:
        return seen is wanted
    if isinstance(wanted, int | float):
        return _within(Bounds(wanted, wanted), seen)
    if isinstance(wanted, tuple):
        if not isinstance(seen, Sequence) or isinstance(seen, str):
            return False
        return len(wanted) == len(seen) and all(map(matches, wanted, seen))
    return isinstance(seen, Mapping) and all(matches(inner, seen.get(key)) for key, inner in wanted.items())


def _within(bounds: Bounds, seen: object) -> bool:
    if isinstance(seen, bool) or not isinstance(seen, int | float):
        return False
    low, high = bounds.at_least, bounds.at_most
    reaches = low is None or seen >= low or _rounds_to(low, seen)
    return reaches and (high is None or seen <= high or _rounds_to(high, seen))


def _rounds_to(bound: float, seen: float) -> bool:
    """Return whether both differ by rounding only, which needs a number that is not whole."""
    return not (isinstance(bound, int) and isinstance(seen, int)) and isclose(seen, bound)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\n")


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a scenario that holds commands or conditions, as JSON text; ``engine.scenario.timeline`` reads it.

    Bodies of commands hold ``simulate`` themselves, so their classes cannot be named here.
    """

    text: str

    @classmethod
    def of(cls, value: object) -> Unread:
        """Return the text of JSON data."""
        return cls(json.dumps(value, separators=(",", ":"), ensure_ascii=False))

    @property
    def plain(self) -> Any:  # noqa: ANN401 - any JSON
        """The value as JSON data."""
        return json.loads(self.text)

    def __bool__(self) -> bool:
        return self.text != "[]"


OTHERS_COMPLETED = "othersCompleted"


def is_others_completed(until: object) -> bool:
    """Return whether an ``until`` is the word for the completion of all others, in any case."""
    return isinstance(until, str) and until.lower() == OTHERS_COMPLETED.lower()


def _parse_acts(value: object) -> Unread | None:
    if value is None or isinstance(value, Unread):
        return value
    if not isinstance(value, list):
        raise ValueError("must be a list of commands such as {after: PT10S, addTasks: {tasks: [...]}}")
    return Unread.of(value)


def _parse_until(value: object) -> Unread | None:
    if value is None or isinstance(value, Unread):
        return value
    if is_others_completed(value):
        return Unread.of(OTHERS_COMPLETED)
    if not isinstance(value, dict):
        raise ValueError(
            f"must be {OTHERS_COMPLETED} or a condition such as {{jobId: risk, state: completed}}, "
            f"not {quoted(value)}; a time is a 'duration'"
        )
    return Unread.of(value)


def _write_unread(value: Unread | None) -> Any:  # noqa: ANN401 - any JSON
    return None if value is None else value.plain


ActList = Annotated[
    Unread | None,
    PlainValidator(_parse_acts),
    PlainSerializer(_write_unread),
    WithJsonSchema({"type": "array", "items": {"type": "object"}}),
]
Until = Annotated[
    Unread | None,
    PlainValidator(_parse_until),
    PlainSerializer(_write_unread),
    WithJsonSchema({"type": ["string", "object"]}),
]
