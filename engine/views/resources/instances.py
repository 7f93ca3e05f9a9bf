"""Job preparation and job release node by node: rows, groups for filters, and the progress of a job by phase.

The rows include nodes that are gone and those without a record. Groups join nodes that show the same text in a column,
for filters of ten thousand nodes. The phases of a job are preparation, tasks and release, counted by status.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import task_directory
from engine.base.terms import InstanceState, JobState, NodeState
from engine.base.values import SECOND_MS, places, values
from engine.run.agenda import Agenda
from engine.specs.bodies import JobPreparationTask
from engine.state.instances import ABSENT, PrepFlag
from engine.state.nodes import GONE
from engine.state.tables import NEVER_MS
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.state.tasks import GONE as TASK_GONE
from engine.views.hook_status import OVER, Hook, HookStatus, InstanceStatuses
from engine.views.log.reader import Kept, KeptByKey

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from engine import Simulation
    from engine.specs.bodies import JobReleaseTask
    from engine.state.instances import InstanceView as InstanceView  # noqa: PLC0414  # for the screen
    from engine.state.jobs import Job
    from engine.state.nodes import Node
    from engine.world import World


_NOT_NEEDED, _WILL_RUN = HookStatus.NOT_NEEDED.value, HookStatus.WILL_RUN.value
# Statuses that are counted apart in a list before its job ends, and from then on.
_APART = [bytes(code in apart for code in range(256)) for apart in ({_NOT_NEEDED}, {_NOT_NEEDED, _WILL_RUN})]
_NOT_YET = (HookStatus.WILL_RUN, HookStatus.SKIPPED)
_NO_RUN = {HookStatus.STOPPED, HookStatus.LEAVING, HookStatus.GONE, HookStatus.SKIPPED}


@dataclass(frozen=True, slots=True)
class HookCounts:
    """The nodes of a job by their status in preparation, or in release."""

    is_specified: bool
    by_status: dict[HookStatus, int]
    without_record: int  # nodes in the pool that have no record

    def __getitem__(self, status: HookStatus) -> int:
        """Return the number of nodes with this status."""
        return self.by_status.get(status, 0)

    @property
    def has_begun(self) -> bool:
        """True once it has run on a node, or runs."""
        return any(status not in _NOT_YET for status in self.by_status)

    @property
    def ran(self) -> int:
        """The number of nodes where it has run to its end, failed or not."""
        return self[HookStatus.SUCCEEDED] + self[HookStatus.FAILED]

    @property
    def due(self) -> int:
        """The number of nodes where it has run, runs or will: so far, without those that leave or have no need."""
        return sum(self.by_status[status] for status in self.by_status.keys() - _NO_RUN)

    @property
    def total(self) -> int:
        """The number of nodes with a record, with one to come, and without."""
        return sum(self.by_status.values()) + self.without_record


class TaskCounts(NamedTuple):
    """The tasks of a job (TASK-16)."""

    active: int
    preparing: int
    running: int
    succeeded: int
    failed: int
    oldest_wait_ms: int | None  # how long the first task in the queue has been active; None within a second

    @property
    def total(self) -> int:
        """The number of tasks that have not been deleted."""
        return self.open + self.succeeded + self.failed

    @property
    def open(self) -> int:
        """The number of tasks that are not completed."""
        return self.active + self.preparing + self.running


class Phases(NamedTuple):
    """A job's three phases."""

    preparation: HookCounts
    tasks: TaskCounts
    release: HookCounts


def unfinished(jobs: Iterable[Phases]) -> str:
    """Return what goes on in jobs or is still to come: ``3 running tasks, 2 owed releases``; empty if nothing is."""
    counts: Counter[str] = Counter()
    for job in jobs:
        counts["running task"] += job.tasks.running
        counts["waiting task"] += job.tasks.active + job.tasks.preparing
        for word, hook in (("preparation", job.preparation), ("release", job.release)):
            counts[f"running {word}"] += hook[HookStatus.RUNNING] + hook[HookStatus.RETRYING]
        counts["owed release"] += job.release[HookStatus.WILL_RUN]
    return ", ".join(f"{count:,} {noun}{'s' if count > 1 else ''}" for noun, count in counts.items() if count)


def task_counts(job: Job) -> TaskCounts:
    """Return the tasks of a job, without the time that one has waited."""
    counts = job.counts
    succeeded = counts[COMPLETED] - job.failed
    return TaskCounts(counts[ACTIVE], counts[PREPARING], counts[RUNNING], succeeded, job.failed, None)


def phases_of(simulation: Simulation, job: Job, preparation: InstancePage, release: InstancePage) -> Phases:
    """Return the phases of a job, whose pages these are."""
    task, tasks = oldest_waiting(simulation.world, job), task_counts(job)
    if task is not None:
        wait_ms = simulation.now_ms - simulation.world.tasks.block_of(task).created_ms
        tasks = tasks._replace(oldest_wait_ms=wait_ms if wait_ms >= SECOND_MS else None)
    return Phases(_counts(preparation), tasks, _counts(release))


def _counts(page: InstancePage) -> HookCounts:
    return HookCounts(page.definition() is not None, page.counts(), page.nodes_without_record())


def oldest_waiting(world: World, job: Job) -> int | None:
    """Return the task that has been waiting longest; None if none waits, or none will run as the job has ended."""
    is_over = job.state not in (JobState.ACTIVE, JobState.DISABLING, JobState.DISABLED, JobState.ENABLING)
    for number in () if is_over or not job.counts[ACTIVE] else job.blocks:
        block = world.tasks.blocks[number]
        task = world.tasks.state.find(ACTIVE, block.first, block.rows.stop)
        if task >= 0:
            return task
    return None


def last_task_ms(world: World, job: Job) -> int | None:
    """Return the end of the job's last task, in ms since the start; None while a task is not completed."""
    tasks, last_ms = world.tasks, None
    for number in job.blocks:
        block = tasks.blocks[number]
        rows = slice(block.first, block.rows.stop)
        states = tasks.state[rows]
        if states.count(COMPLETED) + states.count(TASK_GONE) < len(states):
            return None
        ends = tasks.ended[rows]
        found = (
            max(ends)
            if TASK_GONE not in states
            else max(map(ends.__getitem__, places(states, COMPLETED)), default=None)
        )
        if found is not None:
            last_ms = max(found, last_ms or 0)
    return last_ms


_DUE = tuple(status for status in HookStatus if status is not HookStatus.NOT_NEEDED)


class InstanceBrief(NamedTuple):
    """The part of a preparation's or release's row that a list shows."""

    position: int  # of the node in its pool
    status: HookStatus
    view: InstanceView | None  # None where it has never run


class InstanceRow(NamedTuple):
    """A preparation or release task on one node (PREP-25)."""

    node: int
    node_record: Node
    pool_id: str
    node_state: NodeState | None  # None: it has left the pool
    status: HookStatus
    view: InstanceView | None  # None where it has never run
    max_retries: int | None  # -1 is no limit; None: a release task is not retried (REL-8)
    is_ineligible: bool  # the node gets no task of the job: preparation has failed for good (PREP-9)
    root_directory: str  # below the node's root, with forward slashes


def pages_of(simulation: Simulation, job_id: str) -> tuple[InstancePage, InstancePage]:
    """Return preparation and release of a job. Counts, lists and drawings of one moment share these pages."""
    return InstancePage(simulation, job_id, Hook.PREPARATION), InstancePage(simulation, job_id, Hook.RELEASE)


def given_up_ms(world: World, rows: Iterable[int]) -> int | None:
    """Return when jobs give up the last of the releases that they wait for (REL-13); None if one has no such limit."""
    timeouts = Agenda(world).release_timeouts
    ends = [timeouts.get(row) for row in rows]
    known = [when_ms for when_ms in ends if when_ms is not None]
    return max(known) if known and len(known) == len(ends) else None


class InstancePage(InstanceStatuses):
    """The nodes of one job's preparation or release."""

    def __init__(self, simulation: Simulation, job_id: str, hook: Hook) -> None:
        """List a job's nodes; the page is empty while there is no job of this id."""
        super().__init__(simulation, job_id, hook)
        self._counts: Kept[dict[HookStatus, int]] = Kept()
        self._numbers: KeptByKey[int] = KeptByKey()
        self._ordered: Kept[Sequence[int]] = Kept()

    @property
    def has_ended(self) -> bool:
        """True if the job has ended or is ending, so that no more of its tasks run, or if there is none of this id."""
        return self.job_state in OVER

    def definition(self) -> JobPreparationTask | JobReleaseTask | None:
        """Return the task as the job specifies it; None where it does not."""
        job = self._job
        if job is None:
            return None
        return job.spec.job_preparation_task if self.hook is Hook.PREPARATION else job.spec.job_release_task

    @property
    def job_state(self) -> JobState | None:
        """The job's state; None while there is no job of this id."""
        job = self._job
        return None if job is None else job.state

    def counts(self) -> dict[HookStatus, int]:
        """Return the number of nodes with each status, without those where nothing is due."""
        codes = self.codes()
        return self._counts.get(
            self._version, lambda: {status: count for status in _DUE if (count := codes.count(status.value))}
        )

    def order(self, *, with_all: bool = False) -> Sequence[int]:
        """Return the nodes: trouble first, then running ones, newest start first, then the rest.

        Those that a job waits for while it ends are among them, although they have no record yet.

        Args:
            with_all: Add the nodes without a record.
        """
        self._update()
        _, starts, _ = self.columns()
        nodes = self._nodes() if with_all else ()
        known = self._simulation.jumps, self.has_ended, self._codes, values(starts, self._rows), nodes
        return self._ordered.get(known, lambda: self._new_order(starts, nodes, with_all=with_all))

    def count(self) -> int:
        """Return how many nodes ``order`` lists, without ordering them."""
        self._update()
        return self._numbers.get(self._version, "listed", self._count_listed)

    def _count_listed(self) -> int:
        starts, owed = values(self.columns()[1], self._rows), self.counts().get(HookStatus.WILL_RUN, 0)
        aside = tuple(compress(starts, self._codes.translate(_APART[self.has_ended])))
        begun = len(starts) - starts.count(NEVER_MS) - len(aside) + aside.count(NEVER_MS)
        return begun + owed * self.has_ended

    def _new_order(self, starts: array[int], present: Sequence[int], *, with_all: bool) -> Sequence[int]:
        of_row = self._simulation.world.instances.node.__getitem__
        by_status: dict[int, list[int]] = {status.value: [] for status in HookStatus}
        for row, code in zip(self._rows, self._codes, strict=True):
            by_status[code].append(row)
        del by_status[_NOT_NEEDED]
        ordered: list[int] = []
        for code, rows in by_status.items():
            rows.sort(key=of_row)
            rows.sort(key=starts.__getitem__, reverse=code <= HookStatus.RUNNING.value)
            is_owed = self.has_ended and code == _WILL_RUN
            ordered += rows if with_all or is_owed else [row for row in rows if starts[row] >= 0]
        nodes = list(map(of_row, ordered))
        known = set(nodes) if with_all else ()
        return nodes + [node for node in present if node not in known]

    def _nodes(self) -> Sequence[int]:
        job = self._job
        world = self._simulation.world
        if job is None or job.pool < 0:
            return ()
        return [node for node in world.pools[job.pool].nodes if world.nodes.state[node] != GONE]

    def nodes_present(self) -> int:
        """Return the number of nodes in the job's pool."""
        job, world = self._job, self._simulation.world
        nodes = () if job is None or job.pool < 0 else world.pools[job.pool].nodes
        return len(nodes) - bytes(values(world.nodes.state, nodes)).count(GONE)

    def nodes_without_record(self) -> int:
        """Return the number of nodes in the job's pool on which it has never been, without those that are leaving."""
        counts = self.counts()
        return self._numbers.get(self._version, "unrecorded", lambda: self._count_unrecorded(counts))

    def _count_unrecorded(self, counts: dict[HookStatus, int]) -> int:
        world = self._simulation.world
        nodes = self._nodes() if world.nodes.state.find(NodeState.LEAVING_POOL) >= 0 else ()
        leaving = (node for node in nodes if world.nodes.state[node] == NodeState.LEAVING_POOL)
        missed = sum(self.status_of(node) is HookStatus.NOT_NEEDED for node in leaving)
        return max(0, self.nodes_present() - missed - sum(counts.values()) + counts.get(HookStatus.GONE, 0))

    def nodes_unrecorded(self) -> int:
        """Return the number of nodes in the job's pool that have no record of it."""
        states = bytes(values(self.columns()[0], self.rows()))
        gone = sum(states[at] != ABSENT for at in self._gone_places())
        return max(0, self.nodes_present() - (len(states) - states.count(ABSENT) - gone))

    def given_up_ms(self) -> int | None:
        """Return when a job that ends waits no more for release on any node (REL-13); None if it has no such limit."""
        waiting = places(self.codes(), _WILL_RUN)
        return given_up_ms(self._simulation.world, map(self._rows.__getitem__, waiting))

    def last_end_ms(self) -> int:
        """Return the latest of all ends, planned ones included, in ms since the start; -1 before any is known."""
        self._update()
        return self._numbers.get(
            self._version, "last end", lambda: max(values(self.columns()[2], self._rows), default=NEVER_MS)
        )

    def planned_end_ms(self, node: int) -> int | None:
        """Return the planned end of the present attempt on a node, in ms since the start; None while it does not run.

        An attempt that fails is followed by another one, which ends later.
        """
        row, (states, _, ends) = self._row_on(node), self.columns()
        is_running = row >= 0 and states[row] == InstanceState.RUNNING
        return ends[row] if is_running and self._simulation.world.is_known(ends[row]) else None

    def position_of(self, node: int) -> int:
        """Return the node's index in its pool, over all nodes that the pool ever had."""
        return self._simulation.world.nodes[node].position

    def id_of(self, node: int) -> str:
        """Return the node's id."""
        return self._simulation.world.nodes[node].id

    def view_of(self, node: int) -> InstanceView | None:
        """Return the record of the task on a node; None where it has never run."""
        instances, row = self._simulation.world.instances, self._row_on(node)
        if row < 0:
            return None
        return instances.prep(row) if self.hook is Hook.PREPARATION else instances.release(row)

    def is_ineligible(self, node: int) -> bool:
        """Return whether the node is in the pool and gets no task of the job (PREP-9)."""
        world, row = self._simulation.world, self._row_on(node)
        if row < 0 or world.nodes[node].gone_ms is not None:
            return False
        return bool(world.instances.flags[row] & PrepFlag.INELIGIBLE)

    def briefs(self, nodes: Sequence[int]) -> list[InstanceBrief]:
        """Return what a list shows of each of these nodes."""
        job, world = self._job, self._simulation.world
        records, instances = world.nodes, world.instances
        rows = [-1] * len(nodes) if job is None else instances.rows_on_nodes(job.row, nodes)
        read = instances.prep if self.hook is Hook.PREPARATION else instances.release
        return [
            InstanceBrief(records[node].position, status, None if row < 0 else read(row))
            for node, status, row in zip(nodes, self.statuses_of(nodes), rows, strict=True)
        ]

    def row(self, node: int) -> InstanceRow:
        """Return one node's row."""
        world = self._simulation.world
        job, task = self._job, self.definition()
        return InstanceRow(
            node=node,
            node_record=world.nodes[node],
            pool_id=world.pool_of(node).id,
            node_state=world.nodes.state_of(node),
            status=self.status_of(node),
            view=self.view_of(node),
            max_retries=task.constraints.max_task_retry_count if isinstance(task, JobPreparationTask) else None,
            is_ineligible=self.is_ineligible(node),
            root_directory="" if job is None or task is None else task_directory(job.id, task.id),
        )


def second_of(when_ms: int | None) -> int:
    """Return the second of a moment, as texts tell it; -1 of no moment."""
    return -1 if when_ms is None else when_ms // SECOND_MS


# Values of a preparation or release by which many are grouped.
InstanceKey = Enum(
    "InstanceKey", "STATE POOL NODE_STATE INELIGIBLE RESULT START END EXIT_CODE RETRIES FAILURE RUNS LAST_RETRY"
)


def instance_groups(simulation: Simulation, page: InstancePage, key: InstanceKey) -> Callable[[int], Hashable]:
    """Return a function that gives a value for each node of a page; nodes with the same value show the same text.

    Args:
        simulation: The run.
        page: Preparation or release of a job.
        key: The value.
    """
    nodes, view_of = simulation.world.nodes, page.view_of

    def state(node: int) -> Hashable:
        view = view_of(node)
        return page.status_of(node) if view is None else view.state

    def of_view(value_of: Callable[[InstanceView], Hashable]) -> Callable[[int], Hashable]:
        return lambda node: None if (view := view_of(node)) is None else (value_of(view),)

    groups: dict[InstanceKey, Callable[[int], Hashable]] = {
        InstanceKey.STATE: state,
        InstanceKey.POOL: lambda node: nodes[node].pool,
        InstanceKey.NODE_STATE: lambda node: (nodes.state[node], second_of(nodes[node].gone_ms)),
        InstanceKey.INELIGIBLE: page.is_ineligible,
        InstanceKey.RESULT: of_view(lambda view: view.result),
        InstanceKey.START: of_view(lambda view: second_of(view.start_ms)),
        InstanceKey.END: of_view(lambda view: second_of(view.end_ms)),
        InstanceKey.EXIT_CODE: of_view(lambda view: view.exit_code),
        InstanceKey.RETRIES: of_view(lambda view: view.retry_count),
        InstanceKey.FAILURE: of_view(lambda view: view.failure),
        InstanceKey.RUNS: of_view(lambda view: view.runs),
        InstanceKey.LAST_RETRY: of_view(lambda view: second_of(view.start_ms if view.retry_count else None)),
    }
    return groups[key]
