"""The vocabulary of diagnosis: an explanation as data and as plain text, and a concern with the items that it affects.

A concern is one cause of trouble. Notes on the cause of a failure name the blob or container that could not be read
and why, or add what the service says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from engine.base.values import format_time, shortened
from engine.rules.processes.setup import url_of_resource_file
from engine.run.agenda import cut_short, next_words
from engine.specs.account import without_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from engine.base.terms import FailureInfo, NodeState
    from engine.run.agenda import PlannedInput
    from engine.specs.common import CommandLine
    from engine.state.jobs import Job
    from engine.world import World


# The words for an answer that nothing due can change.
NOTHING = "nothing by itself, a user has to act"


class Condition(StrEnum):
    """The conditions on which it depends what a task waits for, with their labels."""

    JOB_STATE = "job state"
    JOB_POOL = "job pool"
    KNOWN = "known to the scheduler"
    DEPENDENCIES = "dependencies"
    PARALLEL_LIMIT = "job parallel limit"
    SIZE = "size"
    MULTI_INSTANCE = "multi-instance"


class Check(NamedTuple):
    """A condition in the order in which the rules check them, and the value that decided."""

    label: str
    ok: bool | None  # None: not met, and yet no trouble
    value: str
    rule: str


class Reason(NamedTuple):
    """The number of nodes, or release tasks, with one reason; which of them changes first, and when, where known."""

    size: int
    text: str
    soonest_ms: int | None
    rule: str
    soonest_on: str = ""


class Next(NamedTuple):
    """The next event that can change the answer."""

    text: str
    when_ms: int
    rule: str


class Note(NamedTuple):
    """A sentence that is no condition."""

    text: str
    rule: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to one question about a run that began at ``start``."""

    start: datetime
    question: str
    checks: tuple[Check, ...] = ()
    candidates: tuple[Reason, ...] = ()
    next_change: Next | None = None
    notes: tuple[Note, ...] = ()
    nothing: str = ""  # the rule by which nothing due changes the answer; empty where something can
    planned: Sequence[PlannedInput] = ()  # what the timeline has for the subject, where nothing else is due

    def lines(self) -> list[str]:
        """Return the answer as plain text, each sentence with its rule."""
        lines = [self.question]
        wide = max((len(check.label) for check in self.checks), default=0)
        signs = {True: "✓", False: "✗", None: "·"}
        lines += [f"{signs[ok]} {label:<{wide}}  {value} [{rule}]" for label, ok, value, rule in self.checks]
        lines += [self._candidate(reason) for reason in self.candidates]
        lines += [f"{note.text} [{note.rule}]" for note in self.notes]
        if self.next_change is not None:
            text, when_ms, rule = self.next_change
            lines.append(f"Next: {text} at {format_time(self.start, when_ms)} [{rule}]")
        elif self.nothing:
            lines.append(f"Next: {self.nothing_words(partial(format_time, self.start))} [{self.nothing}]")
        return lines

    def nothing_words(self, clock: Callable[[int], str]) -> str:
        """Return that a user has to act, and what the timeline has planned."""
        return "; ".join(filter(None, (NOTHING, next_words(self.planned, clock))))

    def _candidate(self, reason: Reason) -> str:
        soonest = ""
        if reason.soonest_ms is not None:
            soonest = f"; soonest {reason.soonest_on} at {format_time(self.start, reason.soonest_ms)}"
        return f"{reason.size:>6,} {reason.text}{soonest} [{reason.rule}]"


def answer(
    world: World,
    question: str,
    checks: Iterable[Check | None] = (),
    candidates: Iterable[Reason] = (),
    next_change: Next | None = None,
    notes: Iterable[Note | None] = (),
    nothing: str = "",
) -> Explanation:
    """Return the answer to a question. Checks and notes that are None are left out."""
    given = tuple(check for check in checks if check is not None)
    said = tuple(note for note in notes if note is not None)
    if next_change is not None and not world.is_known(next_change.when_ms):
        said = (*said, Note(f"When {next_change.text} is not known yet.", next_change.rule))
        next_change = None
    return Explanation(world.scenario.start, question, given, tuple(candidates), next_change, said, nothing)


def due(text: str, when_ms: int | None, rule: str) -> Next | None:
    """Return an event of the future; None while its moment is not known."""
    return None if when_ms is None else Next(text, when_ms, rule)


def until_cut(world: World, job: Job, node: int, planned: Next) -> Next:
    """Return the planned end of a process of a job on a node, or what is known to stop the process before that."""
    cut = cut_short(world, job, node)
    if cut is None or cut.when_ms > planned.when_ms:
        return planned
    stops = (
        f"{name_of(world, node)} is preempted" if cut.rule == "SPOT-3" else f"the time limit of job {job.id} is over"
    )
    return Next(stops, cut.when_ms, cut.rule)


def first_of(found: Iterable[tuple[int | None, int]]) -> tuple[int, int] | None:
    """Return the first known moment, and its node; None where no moment is known."""
    return min(((when_ms, node) for when_ms, node in found if when_ms is not None), default=None)


def reason(world: World, found: Sequence[tuple[int | None, int]], text: str, rule: str) -> Reason:
    """Return the reason that nodes share; each of them comes with the moment when it changes, where that is known."""
    first = first_of(found)
    if first is None or not world.is_known(first[0]):
        return Reason(len(found), text, None, rule)
    return Reason(len(found), text, first[0], rule, name_of(world, first[1]))


def time_in_state(*, is_over: bool) -> Check:
    """Check that a job or job schedule has been in its state for the minimum time (TIME-19)."""
    return Check("minimum time in this state", is_over, "over" if is_over else "not over yet", "TIME-19")


def earliest(events: Iterable[Next | None]) -> Next | None:
    """Return what happens first; None where nothing is to happen."""
    return min((event for event in events if event is not None), key=lambda event: event.when_ms, default=None)


def name_of(world: World, node: int) -> str:
    """Return a node as scenarios name it, by its index in the pool: ``n3``."""
    return f"n{world.nodes[node].position}"


def task_name(world: World, task: int) -> str:
    """Return a task with its job: ``task 7 of job risk``."""
    tasks = world.tasks
    return f"task {tasks.task_id(task)} of job {world.jobs[tasks.block_of(task).job].id}"


def moment(world: World, ms: int) -> str:
    """Return a moment of the run: ``10:42:58``."""
    return format_time(world.scenario.start, ms)


def some(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 task``, ``2,000 tasks``, ``no tasks``."""
    return f"{f'{count:,}' if count else 'no'} {plural(count, noun)}"


def plural(count: int, noun: str) -> str:
    """Return the noun as it follows a count: ``task``, ``tasks``."""
    return noun if count == 1 else f"{noun}s"


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


def whose(ids: Sequence[str], noun: str = "job") -> str:
    """Return the only one of these ids, or how many there are: ``j``, ``4 jobs``."""
    return ids[0] if len(ids) == 1 else some(len(ids), noun)


def joined(*phrases: str) -> str:
    """Return the phrases that are not empty as one."""
    return "; ".join(filter(None, phrases))


def shared(ids: Sequence[str], *effects: str) -> str:
    """Return the effects on these jobs, or other owners, after their ids if there are several."""
    return joined(listed(ids) if len(ids) > 1 else "", *effects)


def first_names(world: World, nodes: Sequence[int]) -> tuple[str, ...]:
    """Return the first of some nodes as scenarios name them."""
    return tuple(name_of(world, node) for node in nodes[:MOST_NAMED])


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


_DENIED = ("BlobAccessDenied", "ResourceContainerAccessDenied", "FileUploadAccessDenied")
_NOT_FOUND = ("BlobNotFound", "ResourceContainerNotFound", "FileUploadContainerNotFound")
_LONGEST = 160


def cause_notes(world: World, failure: FailureInfo, spec: CommandLine) -> list[Note]:
    """Return the cause of a failure; nothing if the service gives no details.

    Details are the service's: of a resource file they name the path on the node. The URL follows from ``spec``.
    """
    details = dict(failure.details)
    if not details:
        return []
    url = _url(world, details, spec)
    if url is not None and failure.code in _DENIED:
        until_ms = world.storage.until_ms(url)
        if until_ms is not None:
            return [Note(f"Cause: access to {_short(url)} expired at {moment(world, until_ms)}.", "TASK-20")]
    if url is not None and failure.code in _NOT_FOUND:
        if world.storage.is_missing(url):
            return [Note(f"Cause: {_short(url)} is missing, as the scenario says.", "TASK-6")]
        is_blob = failure.code == "BlobNotFound"
        why = "was neither named by the scenario nor uploaded" if is_blob else "is no container that the scenario names"
        return [Note(f"Cause: {_short(url)} {why} (strictStorage).", "TASK-19")]
    return [Note(f"Cause: {details.get('Message') or ', '.join(details.values())}.", "RETRY-1")]


def _url(world: World, details: dict[str, str], spec: CommandLine) -> str | None:
    """Return the URL, or the name of the container, that the details of a failure are about; None if it is unknown."""
    for output in getattr(spec, "output_files", ()):
        container = output.destination.container.container_url
        if without_query(container) == details.get("Container"):
            return str(container)
    for file in spec.resource_files:
        url = url_of_resource_file(file)
        auto = file.auto_storage_container_name
        known = {file.file_path, url} | (set() if auto is None else {world.account.container_url(auto)})
        if details.get("FilePath") in known:
            return url
    return None


def _short(url: str) -> str:
    return shortened(without_query(url), _LONGEST)
