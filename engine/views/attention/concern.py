"""The concern: one cause of trouble, with the items that it affects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.base.terms import NodeState

MOST_NAMED = 3  # of the items of a concern
MOST_APART = 3  # jobs with the same trouble that have a concern each; more of them share one

ItemT = TypeVar("ItemT")

ConcernKind = Literal[
    "preparation", "release", "node", "task", "pool", "job", "job schedule", "command", "certificate", "expectation"
]


class Severity(IntEnum):
    """The order of concerns, the worst first."""

    STANDSTILL = 0  # a job goes nowhere unless a user acts
    FAILURE = 1  # work has failed for good, or nodes are out of order
    SHORTAGE = 2  # the run goes on with less than was asked for
    NOTICE = 3  # the consequence of a setting or command that is perhaps not meant


class Concern(NamedTuple):
    """One cause of trouble. Texts are phrases without a full stop; times are ms since the start."""

    kind: ConcernKind
    severity: Severity
    text: str
    since_ms: int  # the newest occurrence
    effect: str = ""  # its consequence
    remedy: str = ""  # what a user can do
    names: tuple[str, ...] = ()  # the first of the nodes or tasks, where ``text`` gives only their number
    nodes: Sequence[int] = ()
    tasks: Sequence[int] = ()
    jobs: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    state: NodeState | None = None  # of the nodes, where it is the trouble
    cause: str = ""  # of a failed process: its exit code or failure code
    is_coming: bool = False  # it has not happened yet, but playing ahead has shown it; ``since_ms`` lies in the future

    @property
    def order(self) -> tuple[int, bool, int]:
        """The sort key: the worst first, then the newest; then what is coming, the next first."""
        return self.severity, self.is_coming, self.since_ms if self.is_coming else -self.since_ms

    @property
    def is_failure(self) -> bool:
        """True if something has failed for good. A job that merely waits, as for a pool, has not failed.

        Of the jobs at a standstill only those have nodes whose preparation has failed on all of them.
        """
        return self.severity is Severity.FAILURE or (self.severity is Severity.STANDSTILL and bool(self.nodes))


def apart(items: Sequence[ItemT]) -> list[Sequence[ItemT]]:
    """Return each of a few jobs with the same trouble, or groups of such, by itself; many of them together."""
    return [[item] for item in items] if len(items) <= MOST_APART else [items]


def some(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 task``, ``2,000 tasks``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    """Return the first names, and how many follow: ``a, b, c and 4 more``."""
    every = list(names)
    more = len(every) - MOST_NAMED
    return ", ".join(every[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def cause_of(failure: FailureInfo | None, exit_code: int | None) -> str:
    """Return the cause of a failed process: its exit code, or the failure code with the reason that it states."""
    if failure is None or failure.code == "FailureExitCode":
        return f"exit code {exit_code}"
    reason = dict(failure.details).get("Message")
    return f"{failure.code} ({reason})" if reason else failure.code
