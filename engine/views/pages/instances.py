"""Job preparation and job release, node by node, those that have gone and those without a record included."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.paths import task_directory
from engine.rules.release import owes_release
from engine.state.columns import PAGE_BITS
from engine.state.instances import ABSENT, NEVER_MS, InstanceTable, InstanceView, Mark
from engine.state.nodes import GONE
from engine.terms import InstanceState, JobState, NodeState, TaskResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.specs.job import JobPreparationTask, JobReleaseTask
    from engine.state.failures import FailureInfo
    from engine.state.jobs import Job

_OVER = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING, None)


class Hook(Enum):
    """Which of a job's two tasks per node."""

    PREPARATION = "Preparation"
    RELEASE = "Release"


class HookStatus(Enum):
    """How one node stands, in the order in which a list shows it. Derived: the service knows running and completed."""

    FAILED = auto()
    RETRYING = auto()
    RUNNING = auto()
    SUPERSEDED = auto()  # has a record, but the preparation runs again before the next task here
    SUCCEEDED = auto()
    GONE = auto()  # the record is kept, the node has left its pool
    WILL_RUN = auto()  # release only: owed, at the end of the job or once the node is ready
    SKIPPED = auto()  # release only: the job has ended and nothing was owed here any more
    NOT_NEEDED = auto()  # no record, and none is due


class InstanceRow(NamedTuple):
    """A preparation or release task on one node (PREP-25). Times are ms since the start."""

    node: int
    node_id: str
    pool_id: str
    node_state: NodeState | None  # None: it has left the pool
    gone_ms: int | None
    status: HookStatus
    state: InstanceState | None
    result: TaskResult | None
    start_ms: int | None
    end_ms: int | None
    exit_code: int | None
    retry_count: int
    runs: int
    failure: FailureInfo | None
    is_barred: bool  # PREP-9: no task of the job comes here until the node is reimaged
    root_directory: str  # below the node's root, with forward slashes


def prep_status(state: int, mark: int, *, retries: int, has_failed: bool, is_gone: bool, is_over: bool) -> HookStatus:
    """How a node stands with the preparation, given its record and marks; ``is_over``: the job has ended."""
    if state == ABSENT:
        return HookStatus.NOT_NEEDED
    if is_gone:
        return HookStatus.GONE
    if state == InstanceState.RUNNING:
        return HookStatus.RETRYING if retries else HookStatus.RUNNING
    if not mark & (Mark.VALID | Mark.BARRED) and not is_over:
        return HookStatus.SUPERSEDED
    return HookStatus.FAILED if has_failed else HookStatus.SUCCEEDED


def release_status(
    state: int, mark: int, *, has_failed: bool, is_gone: bool, is_over: bool, is_ending: bool
) -> HookStatus:
    """How a node stands with release; ``is_ending``: the job is waiting for its release tasks (REL-6)."""
    if state != ABSENT and not mark & Mark.RELEASE_OWED:
        if is_gone:
            return HookStatus.GONE
        if state == InstanceState.RUNNING:
            return HookStatus.RUNNING
        return HookStatus.FAILED if has_failed else HookStatus.SUCCEEDED
    if is_ending and mark & Mark.RELEASE_OWED:
        return HookStatus.WILL_RUN
    if not is_over:
        return HookStatus.WILL_RUN if owes_release(mark) and not is_gone else HookStatus.NOT_NEEDED
    return HookStatus.SKIPPED


def pages_of(simulation: Simulation, job_id: str) -> tuple[InstancePage, InstancePage]:
    """Preparation and release of a job. Pages of one moment are shared by whoever counts, lists and draws."""
    return InstancePage(simulation, job_id, Hook.PREPARATION), InstancePage(simulation, job_id, Hook.RELEASE)


class InstancePage:
    """The nodes of one job's preparation or release."""

    def __init__(self, simulation: Simulation, job_id: str, hook: Hook) -> None:
        """Look at a job; the page is empty while there is no job of this id."""
        self._simulation = simulation
        self.job_id = job_id
        self.hook = hook
        self._looked_at = -1
        self._statuses: Sequence[tuple[int, HookStatus]] = ()

    @property
    def _job(self) -> Job | None:
        return self._simulation.world.jobs.find(self.job_id)

    def definition(self) -> JobPreparationTask | JobReleaseTask | None:
        """The task as the job specifies it; None where it does not."""
        job = self._job
        if job is None:
            return None
        return job.spec.job_preparation_task if self.hook is Hook.PREPARATION else job.spec.job_release_task

    @property
    def job_state(self) -> JobState | None:
        """The job's state; None while there is no job of this id."""
        job = self._job
        return None if job is None else job.state

    def statuses(self) -> Sequence[tuple[int, HookStatus]]:
        """Node and status of every node with a record, or one that is owed, in the order in which they came to be."""
        length = len(self._simulation.log)
        if self._looked_at != length:
            self._looked_at = length
            self._statuses = self._all_statuses()
        return self._statuses

    def _all_statuses(self) -> list[tuple[int, HookStatus]]:
        job = self._job
        if job is None:
            return []
        instances = self._simulation.world.instances
        found = ((instances.node[row], self._status(job, row)) for row in instances.rows_of_job(job.row))
        return [(node, status) for node, status in found if status is not HookStatus.NOT_NEEDED]

    def status_of(self, node: int) -> HookStatus:
        """How one node stands."""
        job = self._job
        row = -1 if job is None else self._simulation.world.instances.row(job.row, node)
        return HookStatus.NOT_NEEDED if job is None or row < 0 else self._status(job, row)

    def _status(self, job: Job, row: int) -> HookStatus:
        world = self._simulation.world
        instances = world.instances
        mark = instances.mark[row]
        is_gone = world.nodes.state[instances.node[row]] == GONE
        if self.hook is Hook.PREPARATION:
            return prep_status(
                instances.prep_state[row],
                mark,
                retries=instances.prep_retries[row],
                has_failed=_has_failed(instances, row, 2 * row),
                is_gone=is_gone,
                is_over=job.state in _OVER,
            )
        if not job.has_release or instances.prep_state[row] == ABSENT:
            return HookStatus.NOT_NEEDED
        return release_status(
            instances.release_state[row],
            mark,
            has_failed=_has_failed(instances, row, 2 * row + 1),
            is_gone=is_gone,
            is_over=job.state in _OVER,
            is_ending=job.state in (JobState.TERMINATING, JobState.DELETING),
        )

    def order(self, *, with_all: bool = False) -> Sequence[int]:
        """The nodes: trouble first, then what runs, newest start first, then the rest.

        ``with_all`` adds the nodes without a record.
        """
        statuses = list(self.statuses())
        if not with_all:
            statuses = [(node, status) for node, status in statuses if self._start_ms(node) >= 0]
        else:
            known = {node for node, _ in statuses}
            statuses += [(node, HookStatus.NOT_NEEDED) for node in self._nodes() if node not in known]
        return [node for node, _ in sorted(statuses, key=self._rank)]

    def _rank(self, item: tuple[int, HookStatus]) -> tuple[int, int, int]:
        node, status = item
        start_ms = self._start_ms(node)
        newest_first = status.value <= HookStatus.RUNNING.value
        return status.value, -start_ms if newest_first else start_ms, node

    def _start_ms(self, node: int) -> int:
        job = self._job
        instances = self._simulation.world.instances
        row = -1 if job is None else instances.row(job.row, node)
        if row < 0:
            return NEVER_MS
        return instances.prep_start[row] if self.hook is Hook.PREPARATION else instances.release_start[row]

    def _view(self, node: int) -> InstanceView | None:
        job = self._job
        instances = self._simulation.world.instances
        row = -1 if job is None else instances.row(job.row, node)
        if row < 0:
            return None
        return instances.prep(row) if self.hook is Hook.PREPARATION else instances.release(row)

    def _nodes(self) -> Sequence[int]:
        job = self._job
        world = self._simulation.world
        if job is None or job.pool < 0:
            return ()
        return [node for node in world.pools[job.pool].nodes if world.nodes.state_of(node) is not None]

    def nodes_present(self) -> int:
        """How many nodes the job's pool has."""
        return len(self._nodes())

    def position_of(self, node: int) -> int:
        """The node's index in its pool, over all nodes the pool ever had."""
        return self._simulation.world.nodes[node].position

    def row(self, node: int) -> InstanceRow:
        """One node's row."""
        world = self._simulation.world
        record = world.nodes[node]
        view = self._view(node)
        job = self._job
        task = self.definition()
        instance = world.instances.row(job.row, node) if job is not None else -1
        is_barred = instance >= 0 and bool(world.instances.mark[instance] & Mark.BARRED) and record.gone_ms is None
        return InstanceRow(
            node=node,
            node_id=record.id,
            pool_id=world.pool_of(node).id,
            node_state=world.nodes.state_of(node),
            gone_ms=world.nodes.since[node] if world.nodes.state_of(node) is None else None,
            status=self.status_of(node),
            state=view.state if view else None,
            result=view.result if view else None,
            start_ms=view.start_ms if view else None,
            end_ms=view.end_ms if view else None,
            exit_code=view.exit_code if view else None,
            retry_count=view.retry_count if view else 0,
            runs=view.runs if view else 0,
            failure=view.failure if view else None,
            is_barred=is_barred,
            root_directory="" if job is None or task is None else task_directory(job.id, task.id),
        )


def _has_failed(instances: InstanceTable, row: int, key: int) -> bool:
    """Whether the last run of a preparation (or release) ended badly; what ended well is not kept."""
    ending = instances.sparse[row >> PAGE_BITS].get(key)
    return ending is not None and bool(ending.failure or ending.exit_code)
