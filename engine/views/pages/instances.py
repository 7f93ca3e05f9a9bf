"""Job preparation and job release node by node, with nodes that are gone and those without a record."""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import task_directory
from engine.base.percentiles import percentile
from engine.base.terms import InstanceState, JobState, NodeState, ReleaseAfter, SchedulingState, TaskResult
from engine.rules.release import owes_release
from engine.specs.job import JobPreparationTask
from engine.state.columns import PAGE_BITS
from engine.state.instances import ABSENT, NEVER_MS, PrepFlag
from engine.state.nodes import GONE
from engine.views.pages.bulk import places, side_by_side, values
from engine.world.agenda import Agenda

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.base.failures import FailureInfo
    from engine.specs.job import JobReleaseTask
    from engine.state.instances import InstanceTable, InstanceView
    from engine.state.jobs import Job
    from engine.world.world import World

_SAMPLED = 400  # nodes whose durations are read
OVER = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING, None)


class Hook(Enum):
    """One of a job's two tasks that run on each node."""

    PREPARATION = "Preparation"
    RELEASE = "Release"


class HookStatus(Enum):
    """The status of one node, in the order of the list. Derived: the service knows only running and completed."""

    FAILED = auto()
    RETRYING = auto()
    RUNNING = auto()
    SUPERSEDED = auto()  # has a record, but the preparation runs again before the next task here
    SUCCEEDED = auto()
    LEAVING = auto()  # preparation only: has a record, but the node is leaving its pool
    GONE = auto()  # the node has left its pool: preparation has to run elsewhere, or was interrupted
    WILL_RUN = auto()  # release only: owed, at the end of the job or once the node is ready
    SKIPPED = auto()  # release only: the job has ended and no release was due here
    NOT_NEEDED = auto()  # no record, and none is due


class InstanceBrief(NamedTuple):
    """The part of a preparation's or release's row that a list shows."""

    position: int  # of the node in its pool
    status: HookStatus
    view: InstanceView | None  # None where it has never run


class InstanceRow(NamedTuple):
    """A preparation or release task on one node (PREP-25). Times are ms since the start."""

    node: int
    node_id: str
    position: int  # the node's index in its pool, over all nodes the pool ever had
    pool_id: str
    node_state: NodeState | None  # None: it has left the pool
    scheduling: SchedulingState
    gone_ms: int | None
    status: HookStatus
    state: InstanceState | None
    result: TaskResult | None
    start_ms: int | None
    end_ms: int | None
    exit_code: int | None
    retry_count: int
    last_retry_ms: int | None
    max_retries: int | None  # -1 is no limit; None: a release task is not retried (REL-8)
    runs: int
    failure: FailureInfo | None
    is_ineligible: bool  # the node gets no task of the job: preparation has failed for good (PREP-9)
    root_directory: str  # below the node's root, with forward slashes


class HookFailure(NamedTuple):
    """A failure of preparation or release on a node."""

    node: int
    exit_code: int | None
    failure: FailureInfo | None
    end_ms: int
    is_ineligible: bool


def prep_status(state: int, flags: int, *, has_failed: bool, is_gone: bool, is_over: bool) -> HookStatus:
    """Return the status of the preparation on a node from its record and flags.

    Once the job has ended (``is_over``) the result counts, also on nodes that have left since.
    """
    if state == ABSENT:
        return HookStatus.NOT_NEEDED
    if is_gone and not (is_over and state == InstanceState.COMPLETED):
        return HookStatus.GONE
    if state == InstanceState.RUNNING:
        return HookStatus.RUNNING
    if not flags & (PrepFlag.VALID | PrepFlag.INELIGIBLE) and not is_over:
        return HookStatus.SUPERSEDED
    return HookStatus.FAILED if has_failed else HookStatus.SUCCEEDED


def release_status(
    state: int, flags: int, after: ReleaseAfter, *, has_failed: bool, is_gone: bool, is_over: bool, is_ending: bool
) -> HookStatus:
    """Return the status of release on a node; ``is_ending``: the job is waiting for its release tasks (REL-6)."""
    if state != ABSENT and not flags & PrepFlag.RELEASE_OWED:
        if state == InstanceState.RUNNING:
            return HookStatus.GONE if is_gone else HookStatus.RUNNING
        return HookStatus.FAILED if has_failed else HookStatus.SUCCEEDED
    if is_ending and flags & PrepFlag.RELEASE_OWED:
        return HookStatus.WILL_RUN
    if not is_over:
        return HookStatus.WILL_RUN if owes_release(flags, after) and not is_gone else HookStatus.NOT_NEEDED
    return HookStatus.SKIPPED


_DUE = tuple(status for status in HookStatus if status is not HookStatus.NOT_NEEDED)
_FLAG_BITS = 5
# The bit above the two bits of release's state: no preparation has ever run there.
_UNPREPARED = bytes(state == ABSENT for state in range(256))


@cache
def _tables(
    hook: Hook, job: JobState | None, after: ReleaseAfter, *, has_release: bool
) -> dict[tuple[bool, bool], bytes]:
    """Return the status for each combination of states and flags in a byte, by failure and by departure."""
    is_over, is_ending = job in OVER, job in (JobState.TERMINATING, JobState.DELETING)

    def status(packed: int, has_failed: bool, is_gone: bool) -> HookStatus:
        state, flags = packed >> _FLAG_BITS, packed & ((1 << _FLAG_BITS) - 1)
        if hook is Hook.PREPARATION:
            return prep_status(state, flags, has_failed=has_failed, is_gone=is_gone, is_over=is_over)
        if not has_release or state >> 2:
            return HookStatus.NOT_NEEDED
        return release_status(
            state & 3, flags, after, has_failed=has_failed, is_gone=is_gone, is_over=is_over, is_ending=is_ending
        )

    kinds = [(has_failed, is_gone) for has_failed in (False, True) for is_gone in (False, True)]
    return {kind: bytes(status(packed, *kind).value for packed in range(256)) for kind in kinds}


def pages_of(simulation: Simulation, job_id: str) -> tuple[InstancePage, InstancePage]:
    """Return preparation and release of a job. Counts, lists and drawings of one moment share these pages."""
    return InstancePage(simulation, job_id, Hook.PREPARATION), InstancePage(simulation, job_id, Hook.RELEASE)


def failed_places(instances: InstanceTable, rows: Sequence[int], hook: Hook) -> Iterator[int]:
    """Yield the places in ``rows`` of one job whose last run failed; successes keep no record of their end."""
    if not rows:
        return
    for page in instances.sparse[rows[0] >> PAGE_BITS : (rows[-1] >> PAGE_BITS) + 1]:
        for key, ending in page.items():
            if key & 1 == (hook is Hook.RELEASE) and (ending.failure or ending.exit_code):
                at = bisect_left(rows, key >> 1)
                if at < len(rows) and rows[at] == key >> 1:
                    yield at


def given_up_ms(world: World, rows: Iterable[int]) -> int | None:
    """Return when jobs give up the last of the releases that they wait for (REL-13); None if one has no such limit."""
    timeouts = Agenda(world).release_timeouts
    ends = [timeouts.get(row) for row in rows]
    known = [when_ms for when_ms in ends if when_ms is not None]
    return max(known) if known and len(known) == len(ends) else None


def version_of(world: World, job: Job | None) -> object:
    """Return a value that differs whenever an instance of the job may look different.

    That takes a change to an instance or to the state of a node, or another state or pool of the job.
    """
    of_job = None if job is None else (job.row, job.state, job.pool)
    return world.instances.changes, world.nodes.changes, of_job


class InstancePage:
    """The nodes of one job's preparation or release."""

    def __init__(self, simulation: Simulation, job_id: str, hook: Hook) -> None:
        """List a job's nodes; the page is empty while there is no job of this id."""
        self._simulation = simulation
        self.job_id = job_id
        self.hook = hook
        self._version: object = None
        # Of this version, once they are asked for.
        self._long_ms: int | None = None
        self._counts: dict[HookStatus, int] | None = None
        self._listed: int | None = None
        self._unrecorded: int | None = None
        self._last_end_ms: int | None = None
        self._rows: Sequence[int] = ()
        self._codes = b""
        self._ordered: tuple[object, Sequence[int]] = (None, ())

    @property
    def _job(self) -> Job | None:
        return self._simulation.world.jobs.find(self.job_id)

    @property
    def has_ended(self) -> bool:
        """True if the job has ended or is ending, so that no more of its tasks run, or if there is none of this id."""
        return self.job_state in OVER

    def columns(self) -> tuple[bytearray, array[int], array[int]]:
        """Return states, starts and planned or past ends in the table of instances, of all jobs."""
        table = self._simulation.world.instances
        if self.hook is Hook.RELEASE:
            return table.release_state, table.release_start, table.release_end
        return table.prep_state, table.prep_start, table.prep_end

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

    @property
    def version(self) -> object:
        """A value that differs whenever a status may be another one."""
        return version_of(self._simulation.world, self._job)

    def _update(self) -> None:
        """Find the status of every node, once for each version."""
        job = self._job
        version = version_of(self._simulation.world, job)
        if self._version == version:
            return
        self._version = version
        self._long_ms = self._counts = self._listed = self._unrecorded = self._last_end_ms = None
        self._rows = () if job is None else self._simulation.world.instances.rows_of_job(job.row)
        self._codes = b"" if job is None else self._all_codes(job)

    def _all_codes(self, job: Job) -> bytes:
        """Return a byte for each row, the number of its status, translated from the columns by a table."""
        world, rows = self._simulation.world, self._rows
        instances = world.instances
        states = bytes(values(instances.prep_state, rows))
        if self.hook is Hook.RELEASE:
            states = side_by_side(states.translate(_UNPREPARED), bytes(values(instances.release_state, rows)), 2)
        packed = side_by_side(states, bytes(values(instances.flags, rows)), _FLAG_BITS)
        tables = _tables(self.hook, job.state, world.options.release_after, has_release=job.has_release)
        codes = bytearray(packed.translate(tables[False, False]))
        for at in self._gone_places():
            codes[at] = tables[False, True][packed[at]]
        for at in failed_places(instances, rows, self.hook):
            is_gone = world.nodes.state[instances.node[rows[at]]] == GONE
            codes[at] = tables[True, is_gone][packed[at]]
        if self.hook is Hook.PREPARATION:
            for status in (HookStatus.RUNNING, HookStatus.SUPERSEDED):
                for at in places(bytes(codes), status.value):
                    codes[at] = self._refined(status, rows[at]).value
        return bytes(codes)

    def _refined(self, status: HookStatus, row: int) -> HookStatus:
        """Return the status of a preparation with what state and flags do not say: retries, and nodes that leave."""
        world = self._simulation.world
        if status is HookStatus.RUNNING and world.instances.prep_retries[row]:
            return HookStatus.RETRYING
        if status is HookStatus.SUPERSEDED and world.nodes.state[world.instances.node[row]] == NodeState.LEAVING_POOL:
            return HookStatus.LEAVING
        return status

    def _gone_places(self) -> list[int]:
        """Return the places of the rows whose node has left the pool."""
        states = self._simulation.world.nodes.state
        if states.find(GONE) < 0:
            return []
        return places(bytes(values(states, self.nodes_of_rows())), GONE)

    def rows(self) -> Sequence[int]:
        """Return the instances of the job by row number, in the order in which it came to their nodes."""
        self._update()
        return self._rows

    def nodes_of_rows(self) -> Sequence[int]:
        """Return the nodes on which the job has been, in the order in which it came to them."""
        self._update()
        return values(self._simulation.world.instances.node, self._rows)

    def codes(self) -> bytes:
        """Return the status of each of ``nodes_of_rows``: the values of ``HookStatus``."""
        self._update()
        return self._codes

    def counts(self) -> dict[HookStatus, int]:
        """Return the number of nodes with each status, without those where nothing is due."""
        codes = self.codes()
        if self._counts is None:
            self._counts = {status: count for status in _DUE if (count := codes.count(status.value))}
        return self._counts

    def failures(self) -> list[HookFailure]:
        """Return the nodes on which it has failed, in the order in which the job came to them."""
        instances = self._simulation.world.instances
        _, _, ends = self.columns()
        found = []
        for at in places(self.codes(), HookStatus.FAILED.value):
            row = self._rows[at]
            ending = instances.sparse[row >> PAGE_BITS][2 * row + (self.hook is Hook.RELEASE)]
            is_ineligible = bool(instances.flags[row] & PrepFlag.INELIGIBLE)
            found.append(HookFailure(instances.node[row], ending.exit_code, ending.failure, ends[row], is_ineligible))
        return found

    def status_of(self, node: int) -> HookStatus:
        """Return the status of one node."""
        job, row = self._job, self._row_on(node)
        if job is None or row < 0:
            return HookStatus.NOT_NEEDED
        instances = self._simulation.world.instances
        state, key = instances.prep_state[row], 2 * row
        if self.hook is Hook.RELEASE:
            state, key = (state == ABSENT) << 2 | instances.release_state[row], key + 1
        # Successes keep no record of their end.
        ending = instances.sparse[row >> PAGE_BITS].get(key)
        has_failed = ending is not None and bool(ending.failure or ending.exit_code)
        is_gone = self._simulation.world.nodes.state[node] == GONE
        after = self._simulation.world.options.release_after
        table = _tables(self.hook, job.state, after, has_release=job.has_release)[has_failed, is_gone]
        status = HookStatus(table[state << _FLAG_BITS | instances.flags[row]])
        return self._refined(status, row) if self.hook is Hook.PREPARATION else status

    def order(self, *, with_all: bool = False) -> Sequence[int]:
        """Return the nodes: trouble first, then running ones, newest start first, then the rest.

        Args:
            with_all: Add the nodes without a record.
        """
        self._update()
        _, starts, _ = self.columns()
        nodes = self._nodes() if with_all else ()
        known = self._simulation.jumps, self._codes, values(starts, self._rows), nodes
        if self._ordered[0] != known:
            self._ordered = known, self._new_order(starts, nodes, with_all=with_all)
        return self._ordered[1]

    def count(self) -> int:
        """Return how many nodes ``order`` lists, without ordering them."""
        self._update()
        if self._listed is None:
            known = self._codes, values(self.columns()[1], self._rows)
            listed = (start >= 0 and code != HookStatus.NOT_NEEDED.value for code, start in zip(*known, strict=True))
            self._listed = sum(listed)
        return self._listed

    def _new_order(self, starts: array[int], present: Sequence[int], *, with_all: bool) -> Sequence[int]:
        of_row = self._simulation.world.instances.node.__getitem__
        by_status: dict[int, list[int]] = {status.value: [] for status in HookStatus}
        for row, code in zip(self._rows, self._codes, strict=True):
            by_status[code].append(row)
        del by_status[HookStatus.NOT_NEEDED.value]
        ordered: list[int] = []
        for code, rows in by_status.items():
            rows.sort(key=of_row)
            rows.sort(key=starts.__getitem__, reverse=code <= HookStatus.RUNNING.value)
            ordered += rows if with_all else [row for row in rows if starts[row] >= 0]
        nodes = list(map(of_row, ordered))
        known = set(nodes) if with_all else ()
        return nodes + [node for node in present if node not in known]

    def _row_on(self, node: int) -> int:
        """Return the row of the job on a node in the table of instances; -1 where it has never been."""
        job = self._job
        return -1 if job is None else self._simulation.world.instances.row(job.row, node)

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
        if self._unrecorded is None:
            self._unrecorded = self._count_unrecorded(counts)
        return self._unrecorded

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
        waiting = places(self.codes(), HookStatus.WILL_RUN.value)
        return given_up_ms(self._simulation.world, map(self._rows.__getitem__, waiting))

    def long_ms(self) -> int:
        """Return the 95th percentile of the durations, estimated from a few hundred nodes; 0 before any is done."""
        self._update()
        if self._long_ms is None:  # each row of a list asks for it
            states, starts, ends = self.columns()
            some = self._rows[:: len(self._rows) // _SAMPLED + 1]
            took_ms = sorted(ends[row] - starts[row] for row in some if states[row] == InstanceState.COMPLETED)
            self._long_ms = round(percentile(took_ms, 0.95) or 0)
        return self._long_ms

    def last_end_ms(self) -> int:
        """Return the latest of all ends, planned ones included, in ms since the start; -1 before any is known."""
        self._update()
        if self._last_end_ms is None:
            self._last_end_ms = max(values(self.columns()[2], self._rows), default=NEVER_MS)
        return self._last_end_ms

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

    def brief(self, node: int) -> InstanceBrief:
        """Return what a list shows of one node."""
        return InstanceBrief(self.position_of(node), self.status_of(node), self.view_of(node))

    def row(self, node: int) -> InstanceRow:
        """Return one node's row."""
        world = self._simulation.world
        record = world.nodes[node]
        view, job, task = self.view_of(node), self._job, self.definition()
        return InstanceRow(
            node=node,
            node_id=record.id,
            position=record.position,
            pool_id=world.pool_of(node).id,
            scheduling=record.scheduling,
            node_state=world.nodes.state_of(node),
            gone_ms=world.nodes.since[node] if world.nodes.state_of(node) is None else None,
            status=self.status_of(node),
            state=view.state if view else None,
            result=view.result if view else None,
            start_ms=view.start_ms if view else None,
            end_ms=view.end_ms if view else None,
            exit_code=view.exit_code if view else None,
            retry_count=view.retry_count if view else 0,
            last_retry_ms=view.start_ms if view and view.retry_count else None,
            max_retries=task.constraints.max_task_retry_count if isinstance(task, JobPreparationTask) else None,
            runs=view.runs if view else 0,
            failure=view.failure if view else None,
            is_ineligible=self.is_ineligible(node),
            root_directory="" if job is None or task is None else task_directory(job.id, task.id),
        )
