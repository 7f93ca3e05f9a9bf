"""The vocabulary of diagnosis: findings, of which the answers to "why?" and the list of what needs attention are made.

A finding is a condition on which work depends, how it stands, the rules that this rests on, its effect and its remedy.
Findings on the cause of a failure name the blob or container that could not be read and why, or add what the service
says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from engine.base.errors import exit_text
from engine.base.values import HOUR_MS, called, format_time, shortened
from engine.rules.processes.setup import url_of_resource_file
from engine.run.agenda import cut_short, next_words
from engine.specs.account import without_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from engine.base.errors import FailureInfo
    from engine.base.terms import NodeState
    from engine.run.agenda import Cut, PlannedInput
    from engine.specs.common import CommandLine
    from engine.state.jobs import Job
    from engine.world import World


ConcernKind = Literal[
    "preparation", "release", "node", "task", "pool", "job", "job schedule", "command", "certificate", "expectation"
]


class Severity(IntEnum):
    """The order of what needs attention, the worst first."""

    STANDSTILL = 0  # a job goes nowhere unless a user acts
    FAILURE = 1  # work has failed for good, or nodes are out of order
    SHORTAGE = 2  # the run goes on with less than was asked for
    NOTICE = 3  # the consequence of a setting or command that is perhaps not meant


class Condition(Enum):
    """A condition on which it depends whether something goes on.

    Its name is a stable code. Its values are a label, the kind of item that it is about, and how bad it is in the list
    of what needs attention.
    """

    # Whether the tasks of a job run.
    JOB_STATE = "job state", "job", Severity.NOTICE
    JOB_DISABLED = "job disabled"
    JOB_POOL = "job pool"
    KNOWN = "known to the scheduler"
    DEPENDENCIES = "dependencies"
    PARALLEL_LIMIT = "job parallel limit"
    SIZE = "size"
    MULTI_INSTANCE = "multi-instance"
    TURN = "turn in the job"
    ROOM = "free slots"
    PRIORITY = "priority"
    NODES = "nodes that take tasks"
    NO_NODES = "nodes"
    INELIGIBLE = "ineligible nodes"
    NETWORK = "network"
    # Whether a job ends, or a job schedule makes one.
    MINIMUM_TIME = "minimum time in this state"
    TASKS = "tasks"
    RELEASE = "release tasks"
    QUOTA = "quota"
    JOB_ENDED_EARLY = "job ended early", "job", Severity.FAILURE
    JOB_RAN_NOTHING = "job ran nothing", "job", Severity.SHORTAGE
    JOB_NEVER_ENDS = "job never ends", "job", Severity.NOTICE
    RELEASE_NEVER_RUNS = "release never runs", "job", Severity.SHORTAGE
    NO_JOB_MANAGER = "job manager task", "job schedule", Severity.NOTICE
    OCCURRENCE_MISSED = "occurrence missed", "job schedule", Severity.SHORTAGE
    # Whether processes run and succeed.
    SUPPLIES = "what it needs"
    PREPARATION = "preparation on the node", "preparation", Severity.SHORTAGE
    PREPARATION_FAILED = "preparation failed", "preparation", Severity.FAILURE
    PREPARATION_UNHEEDED = "preparation failed without effect", "preparation", Severity.SHORTAGE
    PREPARATION_RETRIED = "preparation retried", "preparation", Severity.SHORTAGE
    RELEASE_FAILED = "release failed", "release", Severity.SHORTAGE
    TASK_FAILED = "task failed", "task", Severity.FAILURE
    TASK_STOPPED = "task stopped", "task", Severity.NOTICE
    TASK_RETRIED = "task retried", "task", Severity.NOTICE
    TASK_RETRIED_IN_VAIN = "task retried in vain", "task", Severity.SHORTAGE
    TASK_HANGS = "task hangs", "task", Severity.SHORTAGE
    INTERRUPTED_AGAIN = "interrupted again", "task", Severity.SHORTAGE
    WAS_INTERRUPTED = "was interrupted", "task", Severity.NOTICE
    # Whether a pool has nodes that are in order.
    NODE_STATE = "state", "node", Severity.FAILURE
    NODE_ERROR = "error"
    NODE_FAILS_TASKS = "node fails tasks", "node", Severity.FAILURE
    SCHEDULING = "scheduling"
    START_TASK = "start task"
    START_TASK_HANGS = "start task hangs", "node", Severity.SHORTAGE
    EVICTION = "eviction", "node", Severity.SHORTAGE
    PREEMPTED = "preempted", "node", Severity.SHORTAGE
    ALLOCATION = "allocation state", "pool", Severity.SHORTAGE
    RESIZE_FAILED = "resize error", "pool", Severity.SHORTAGE
    RESIZE_STOPPED = "resize stopped", "pool", Severity.NOTICE
    NODES_KEPT = "nodes kept", "pool", Severity.NOTICE
    SPOT_MISSING = "Spot nodes missing", "pool", Severity.SHORTAGE
    FORMULA_FAILED = "formula failed", "pool", Severity.SHORTAGE
    IDLE_POOL = "idle pool", "pool", Severity.NOTICE
    NODES_PARKED = "nodes out of service", "node", Severity.NOTICE
    SLOTS_UNUSED = "slots unused", "pool", Severity.NOTICE
    # Of the scenario.
    COMMAND_REFUSED = "command refused", "command", Severity.SHORTAGE
    CERTIFICATE_USED = "certificate used", "certificate", Severity.SHORTAGE
    EXPECTATION_BROKEN = "expectation broken", "expectation", Severity.FAILURE
    EXPECTATION_FAILING = "expectation failing", "expectation", Severity.SHORTAGE
    # Statements on which nothing depends, and what a user can do.
    FACT = "fact"
    REMEDY = "remedy"

    def __init__(self, label: str, about: ConcernKind = "job", severity: Severity = Severity.STANDSTILL) -> None:
        """Store the values as attributes."""
        self.label, self.about, self.severity = label, about, severity


class Next(NamedTuple):
    """An event that can change something; ``rule`` is empty where nothing changes.

    ``basis`` are the commands and faults of the timeline that come before it.
    """

    text: str
    when_ms: int
    rule: str = ""
    basis: Sequence[PlannedInput] = ()


class Clause(NamedTuple):
    """A part of an effect, with the rule that it rests on, if any."""

    text: str
    rule: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.rule})" if self.rule else self.text


class Items(NamedTuple):
    """The items that a finding is about: rows of nodes and tasks, ids of the others."""

    nodes: Sequence[int] = ()
    tasks: Sequence[int] = ()
    jobs: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    expectations: tuple[int, ...] = ()  # their numbers
    named: tuple[tuple[str, object], ...] = ()  # ids that a refused command names; there need not be such items

    @classmethod
    def of_kind(cls, kind: str, *ids: str) -> Items:
        """Return jobs, pools or job schedules; no items of any other kind."""
        jobs, pools, schedules = (ids if kind == each else () for each in ("job", "pool", "job schedule"))
        return cls(jobs=jobs, pools=pools, schedules=schedules)


_NOTHING = Items()


class Finding(NamedTuple):
    """A condition and how it stands. Times are ms since the start; texts of concerns are phrases without a full stop.

    A concern is a finding that needs attention. In an answer, checks have a label and reasons a size.
    """

    condition: Condition
    text: str
    rule: str = ""
    ok: bool | None = False  # None: not met, and yet no trouble
    label: str = ""
    size: int = 0  # of the nodes, or release tasks, for which it is the reason
    soonest: Next | None = None  # which of them changes first, and when
    since_ms: int = 0  # of several items, since when the first that still counts has been so
    effects: tuple[Clause, ...] = ()
    remedy: str = ""  # what a user can do, alternatives in words, the first one first to be tried
    command: str = ""  # the name of the command by which the first of them that is one of the service's is done
    items: Items = _NOTHING
    names: tuple[str, ...] = ()  # the first of the nodes or tasks, where ``text`` gives only their number
    state: NodeState | None = None  # of the nodes, where it is the trouble
    cause: str = ""  # of a failed process: its exit code or failure code
    is_coming: bool = False  # it has not happened yet, but playing ahead has shown it; ``since_ms`` lies in the future

    @property
    def about(self) -> ConcernKind:
        """The kind of the item that it is about."""
        return self.condition.about

    @property
    def severity(self) -> Severity:
        """The severity of its condition, or of a shortage while it has not happened yet."""
        return Severity.SHORTAGE if self.is_coming else self.condition.severity

    @property
    def effect(self) -> str:
        """Its consequence, with the rules behind it."""
        return "; ".join(map(str, self.effects))

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that it rests on."""
        return tuple(dict.fromkeys(rule for rule in (self.rule, *(each.rule for each in self.effects)) if rule))

    @property
    def order(self) -> tuple[int, bool, int]:
        """The sort key: the worst first, then the newest; then what is coming, the next first."""
        return self.severity, self.is_coming, self.since_ms if self.is_coming else -self.since_ms

    @property
    def is_failure(self) -> bool:
        """True if something has failed for good. A job that merely waits, as for a pool, has not failed."""
        return self.severity is Severity.FAILURE or self.condition is Condition.INELIGIBLE

    @property
    def full_text(self) -> str:
        """The text, and the names of a few nodes or tasks."""
        size = len(self.items.tasks) or len(self.items.nodes)
        names = ", ".join(self.names)
        return f"{self.text}  {names}{' …' if len(self.names) < size else ''}" if names else self.text

    def said(self, clock: Callable[[int], str]) -> str:
        """Return the text, and of many items which one changes first, and when."""
        soonest = self.soonest
        return self.text if soonest is None else f"{self.text}; soonest {soonest.text} at {clock(soonest.when_ms)}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to one question about a run that began at ``start``, and which ``until_ms`` ends."""

    start: datetime
    until_ms: int | None
    question: str
    findings: tuple[Finding, ...] = ()  # checks, reasons, then others
    next_change: Next | None = None
    nothing: str = ""  # the rule by which nothing due changes the answer; empty where something can
    planned: Sequence[PlannedInput] = ()  # what the timeline has for the subject, where nothing else is due

    @property
    def checks(self) -> list[Finding]:
        """The conditions, in the order in which the rules check them."""
        return [one for one in self.findings if one.label]

    def clock(self, when_ms: int) -> str:
        """Return a moment, with words where the run does not come to it."""
        is_cut_off = self.until_ms is not None and when_ms > self.until_ms
        return f"{format_time(self.start, when_ms)}{', after the end of the run' if is_cut_off else ''}"

    def lines(self) -> list[str]:
        """Return the answer as plain text, each sentence with its rule."""
        wide = max((len(check.label) for check in self.checks), default=0)
        lines = [self.question]
        for one in self.findings:
            head = f"{_SIGNS[one.ok]} {one.label:<{wide}}  " if one.label else f"{one.size:>6,} " if one.size else ""
            lines.append(f"{head}{one.said(self.clock)} [{one.rule}]")
        following = self.following(self.clock)
        return [*lines, f"Next: {following.text} [{following.rule}]"] if following is not None else lines

    def following(self, clock: Callable[[int], str]) -> Clause | None:
        """Return what can change the answer, and when; or that a user has to act, and what the timeline has planned."""
        if self.next_change is not None:
            return Clause(f"{self.next_change.text} at {clock(self.next_change.when_ms)}", self.next_change.rule)
        words = (NOTHING, next_words(self.planned, clock))
        return Clause("; ".join(filter(None, words)), self.nothing) if self.nothing else None


# The words for an answer that nothing due can change.
NOTHING = "nothing by itself, a user has to act"
_SIGNS = {True: "✓", False: "✗", None: "·"}


def check(what: Condition | str, ok: bool | None, text: str, rule: str, label: str = "") -> Finding:
    """Return a check. ``what`` is its condition, or only a label if nothing depends on it."""
    if isinstance(what, str):
        return Finding(Condition.FACT, text, rule, ok, what)
    return Finding(what, text, rule, ok, label or what.label)


def going_on(since_ms: int, until_ms: int | None) -> bool | None:
    """Return how something stands that goes on between two moments: within an hour it is no trouble."""
    return None if until_ms is not None and until_ms - since_ms < HOUR_MS else False


def note(text: str, rule: str) -> Finding:
    """Return a sentence that is no condition."""
    return Finding(Condition.FACT, text, rule, None)


def helps(text: str, rule: str) -> Finding:
    """Return a sentence that says what a user can do."""
    return Finding(Condition.REMEDY, text, rule, None, remedy=text)


def concern(
    condition: Condition,
    text: str,
    since_ms: int,
    *effects: Clause | str,
    remedy: str = "",
    items: Items = _NOTHING,
    names: tuple[str, ...] = (),
) -> Finding:
    """Return a finding that needs attention. Effects that are empty are left out."""
    found = tuple(each for part in effects if (each := Clause(part) if isinstance(part, str) else part).text)
    return Finding(condition, text, since_ms=since_ms, effects=found, remedy=remedy, items=items, names=names)


def answer(
    world: World, question: str, findings: Iterable[Finding | None], following: Next | None = None, nothing: str = ""
) -> Explanation:
    """Return the answer to a question. Findings that are None are left out."""
    found = tuple(one for one in findings if one is not None)
    if following is not None and not world.is_known(following.when_ms):
        found, following = (*found, note(f"When {following.text} is not known yet.", following.rule)), None
    return Explanation(world.scenario.start, world.scenario.until_ms, question, found, following, nothing)


def due(text: str, when_ms: int | None, rule: str) -> Next | None:
    """Return a future event; None while its moment is not known."""
    return None if when_ms is None else Next(text, when_ms, rule)


def until_cut(world: World, job: Job, node: int, planned: Next) -> Next:
    """Return the planned end of a process of a job on a node, or what is known to stop the process before that."""
    cut = cut_short(world, job, node)
    if cut is None or cut.when_ms > planned.when_ms:
        return planned
    loss = {"SPOT-3": "is preempted", "NODE-13": "becomes unusable"}.get(cut.rule)
    return Next(f"{name_of(world, node)} {loss}" if loss else limit_words(job, cut), cut.when_ms, cut.rule)


def limit_words(job: Job, limit: Cut) -> str:
    """Return what ends a job at its limit."""
    if limit.rule == "JOB-9":
        return f"the time limit of {called('job', job.id)} is over"
    return f"the timeline {'deletes' if limit.rule == 'JOB-16' else 'ends'} {called('job', job.id)}"


def earliest(events: Iterable[Next | None]) -> Next | None:
    """Return the first of these events; None if there is none."""
    return min((event for event in events if event is not None), key=lambda event: event.when_ms, default=None)


def first_of(found: Iterable[tuple[int | None, int]]) -> tuple[int, int] | None:
    """Return the first known moment, and its node; None where no moment is known."""
    return min(((when_ms, node) for when_ms, node in found if when_ms is not None), default=None)


def reason(
    world: World, condition: Condition, found: Sequence[tuple[int | None, int]], noun: str, text: str, rule: str
) -> Finding:
    """Return the reason that nodes share; each of them comes with the moment when it changes, where that is known."""
    first = first_of(found)
    is_known = first is not None and world.is_known(first[0])
    soonest = Next(name_of(world, first[1]), first[0]) if first is not None and is_known else None
    return Finding(condition, f"{plural(len(found), noun)} {text}", rule, size=len(found), soonest=soonest)


def name_of(world: World, node: int) -> str:
    """Return a node as scenarios name it, by its index in the pool: ``n3``."""
    return f"n{world.nodes[node].position}"


def task_name(world: World, task: int) -> str:
    """Return a task with its job: ``task 7 of job risk``."""
    tasks = world.tasks
    return f"{called('task', tasks.task_id(task))} of {called('job', world.jobs[tasks.block_of(task).job].id)}"


def moment(world: World, ms: int) -> str:
    """Return a moment of the run: ``10:42:58``."""
    return format_time(world.scenario.start, ms)


def some(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 task``, ``2,000 tasks``, ``no tasks``."""
    return f"{f'{count:,}' if count else 'no'} {plural(count, noun)}"


def plural(count: int, noun: str) -> str:
    """Return the noun as it follows a count: ``task``, ``tasks``."""
    return noun if count == 1 else f"{noun}s"


# -- words of concerns -----------------------------------------------------------------------------------------------

MOST_NAMED = 3  # of the items of a concern
MOST_APART = 3  # jobs with the same trouble that have a concern each; more of them share one

ItemT = TypeVar("ItemT")


def apart(items: Sequence[ItemT]) -> list[Sequence[ItemT]]:
    """Return a few jobs with the same trouble one by one, and many of them as one group."""
    return [[item] for item in items] if len(items) <= MOST_APART else [items]


def whose(ids: Sequence[str], noun: str = "job") -> str:
    """Return the only one of these ids, or how many there are: ``j``, ``4 jobs``."""
    return ids[0] if len(ids) == 1 else some(len(ids), noun)


def named(noun: str, names: Sequence[str], count: int) -> tuple[str, tuple[str, ...]]:
    """Return the only item by its name, after ``noun``; or the number of items, and the first of their names."""
    return (f"{noun} {names[0]}", ()) if count == 1 else (some(count, noun), tuple(names[:MOST_NAMED]))


def ids_of(owners: Sequence[str]) -> str:
    """Return the ids of several jobs, or other owners, as a part of an effect; nothing for a single one."""
    return listed(owners) if len(owners) > 1 else ""


def first_names(world: World, nodes: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the first few nodes."""
    return tuple(name_of(world, node) for node in nodes[:MOST_NAMED])


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return the first names, and how many follow: ``a, b, c and 4 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def cause_of(failure: FailureInfo | None, exit_code: int | None) -> str:
    """Return the cause of a failed process: its exit code, or the failure code with the reason that it states."""
    if failure is None or failure.code == "FailureExitCode":
        return f"exit code {exit_text(exit_code)}"
    reason = dict(failure.details).get("Message")
    return f"{failure.code} ({reason})" if reason else failure.code


# Codes of failures because of a signature that is not valid any more.
DENIED = ("BlobAccessDenied", "ResourceContainerAccessDenied", "FileUploadAccessDenied")
_NOT_FOUND = ("BlobNotFound", "ResourceContainerNotFound", "FileUploadContainerNotFound")
_LONGEST = 160


def cause_notes(world: World, failure: FailureInfo, spec: CommandLine) -> list[Finding]:
    """Return the cause of a failure; nothing if the service gives no details.

    Details are the service's: of a resource file they name the path on the node. The URL follows from ``spec``.
    """
    details = dict(failure.details)
    if not details:
        return []
    url = _url(world, details, spec)
    said, rule = details.get("Message") or ", ".join(details.values()), "RETRY-1"
    if url is not None:
        name, until_ms = shortened(without_query(url), _LONGEST), world.storage.until_ms(url)
        if failure.code in DENIED and until_ms is not None:
            said, rule = f"access to {name} expired at {moment(world, until_ms)}", "TASK-20"
        elif failure.code in _NOT_FOUND and world.storage.is_missing(url):
            said, rule = f"{name} is missing, as the scenario says", "TASK-6"
        elif failure.code == "BlobNotFound":
            said, rule = f"{name} was neither named by the scenario nor uploaded (strictStorage)", "TASK-19"
        elif failure.code in _NOT_FOUND:
            said, rule = f"{name} is no container that the scenario names (strictStorage)", "TASK-19"
    return [check("cause", False, said, rule)]


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
