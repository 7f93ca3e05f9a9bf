"""Conditions on the state of a run, in ``expect``, ``when`` and ``until``: a subject and what is wanted of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias


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


class Condition(NamedTuple):
    """A condition that holds when every wanted property matches; see ``engine.scenario.expect.matches``.

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
