"""Pools: records with their nodes, the index of free slots, the turns of their jobs, and the state of autoscale.

A record also keeps the errors of resizes and the requests that will fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import with_pairs
from engine.base.lifecycles import ALLOCATION, POOL
from engine.base.log import EventLog, LogSubject
from engine.base.terms import AllocationState, JobDefaultOrder, JobState, PoolState
from engine.state.tables import Named, NamedRecords, Values, rule_of_move

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engine.autoscale.values import RunError
    from engine.base.terms import NodeFillType, OsFamily
    from engine.specs.bodies import PoolSpec
    from engine.specs.catalogue import VmSize
    from engine.state.jobs import Job
    from engine.state.nodes import Node


_PASSING = ("AllocationTimedout", "CommunicationEnabledPoolReachedMaxVMCount")


class ResizeError(NamedTuple):
    """A reason for which a resize fell short (ERR-R)."""

    code: str
    message: str
    values: tuple[tuple[str, str], ...] = ()

    @property
    def passes(self) -> bool:
        """True if the reason may go by itself: a quota, a limit of the pool's nodes, or the timeout (AS-80)."""
        return "Quota" in self.code or self.code in _PASSING

    def wire(self) -> dict[str, object]:
        """Return the error as the service writes it."""
        return with_pairs({"code": self.code, "message": self.message}, "values", self.values)


class FailingRequest(NamedTuple):
    """A request for nodes of one kind that will fail: how many, and what the service will report (RSZ-16)."""

    dedicated: bool
    nodes: int
    errors: tuple[ResizeError, ...]


class AutoScaleRun(NamedTuple):
    """An evaluation of a formula (AS-67), with its targets and the nodes at that moment."""

    when_ms: int
    items: tuple[tuple[str, str], ...]  # of the results string
    results: str
    error: RunError | None
    target_dedicated: int
    target_spot: int
    current_dedicated: int
    current_spot: int


class Sampling(NamedTuple):
    """The moment of a pool's next sample, and its ``busy_slot_ms`` at the last one (AS-52, AS-53)."""

    next_ms: int
    busy_slot_ms: int


class Scaling(NamedTuple):
    """The autoscale settings of a pool (AS-83), its next evaluation and sample, and its last evaluations in order."""

    formula: str
    interval_ms: int
    next_ms: int
    sampling: Sampling
    runs: tuple[AutoScaleRun, ...] = ()
    failed_ms: int = 0  # since when every evaluation has failed, if the last one has

    @property
    def run(self) -> AutoScaleRun | None:
        """The last evaluation."""
        return self.runs[-1] if self.runs else None


# A job's turn is one number: its rank by priority, when it was last served, its row.
ROW_BITS = 24
ROW_MASK = (1 << ROW_BITS) - 1
_TURN_BITS = 40
_RANK_BITS = _TURN_BITS + ROW_BITS


@dataclass(slots=True, eq=False)
class Pool(Named):
    """A pool (POOL-1). ``spec`` is the body as it is now; what scheduling asks for often is kept beside it."""

    row: int
    spec: PoolSpec
    size: VmSize
    created_ms: int
    id: str = field(init=False)
    state: PoolState | None = None
    since_ms: int = field(init=False)
    modified_ms: int = field(init=False)
    gone_ms: int | None = None
    allocation: AllocationState | None = None
    allocation_since_ms: int = field(init=False)
    # Of the body.
    slots: int = field(init=False)
    os: OsFamily = field(init=False)
    fill: NodeFillType = field(init=False)
    oldest_first: bool = field(init=False)
    auto_job: int = -1  # the job of an auto pool (AUTO-2)
    auto_schedule: int = -1  # the job schedule of an auto pool (AUTO-2)
    auto_scale: bool = field(init=False)
    target_dedicated: int = field(init=False)
    target_spot: int = field(init=False)
    # Resizing (RSZ).
    token: int = 0  # entries of an earlier resize are void
    requested: int = 0  # number of nodes ever requested: keys of the draws
    pending: dict[int, bool] = field(default_factory=dict)  # requested nodes by number: whether dedicated
    requests_failed: int = 0  # number of requests ever that failed or will fail (RSZ-16)
    # Requests that will fail and are not answered yet, by number from -1 down.
    failing_requests: dict[int, FailingRequest] = field(default_factory=dict)
    wanted: tuple[tuple[bool, int], ...] = ()  # nodes to request in this instant: whether dedicated, how many
    victims: set[int] = field(default_factory=set)  # nodes that are to leave
    drain_option: str = "invalid"  # EVT-3: the deallocation option, `invalid` for growth (RSZ-15)
    resize_started_ms: int = 0
    resize_errors: tuple[ResizeError, ...] = ()
    gathered_errors: tuple[ResizeError, ...] = ()  # of the resize under way
    short_since_ms: int | None = None  # since when Spot nodes are missing (SPOT-5)
    refill_at_ms: int | None = None  # the next attempt to get them
    # Autoscale: its settings, when it was last enabled or changed (AS-72), and samples, each its time and values.
    scaling: Scaling | None = None
    scaling_asked_ms: int | None = None
    samples: list[tuple[float, ...]] = field(default_factory=list)
    # All nodes that the pool ever had, by position, and addresses (NODE-4).
    nodes: list[int] = field(default_factory=list)
    addresses: int = 0  # number of addresses ever used
    free_addresses: list[int] = field(default_factory=list)  # addresses given back, as a heap
    # Scheduling: eligible nodes by free slots, as bits by position; keys of the jobs that take turns, as a heap.
    buckets: list[int] = field(init=False)
    dedicated_bits: int = 0
    turns: list[int] = field(default_factory=list)
    served: int = 0
    pass_due: bool = False
    has_preemptible: bool = False  # a job here has allowed preemption (SCHED-16)
    fills_at_once: bool = field(init=False)
    unsettled: list[int] = field(default_factory=list)  # nodes to settle after the pass that is due
    # Slots that run tasks: their time up to the last change, and their number since then.
    busy_slot_ms: int = 0
    busy_slots: int = 0
    busy_since_ms: int = field(init=False)
    # Billed VMs, Spot and dedicated: their number, and the sum of the moments since when they are.
    billed_vms: list[int] = field(default_factory=lambda: [0, 0])
    billed_since_ms: list[int] = field(default_factory=lambda: [0, 0])
    upgrade: tuple[tuple[int, ...], ...] = ()  # update domains to upgrade, the one under way first (POOL-22)

    def __post_init__(self) -> None:
        spec = self.spec
        self.id = spec.id
        self.since_ms = self.allocation_since_ms = self.modified_ms = self.busy_since_ms = self.created_ms
        self.slots = spec.task_slots_per_node
        self.buckets = [0] * (self.slots + 1)
        self._read_body()
        self.auto_scale = spec.enable_auto_scale
        self.target_dedicated = spec.target_dedicated_nodes or 0
        self.target_spot = spec.target_low_priority_nodes or 0
        self.fills_at_once = not self.hosts_gangs

    def change_busy_slots(self, now_ms: int, change: int) -> None:
        """Count so many slots more that run a task from now on, or fewer if negative."""
        self.busy_slot_ms += self.busy_slots * (now_ms - self.busy_since_ms)
        self.busy_slots += change
        self.busy_since_ms = now_ms

    def busy_slot_ms_at(self, now_ms: int) -> int:
        """Return how long slots have run tasks, all together, in ms."""
        return self.busy_slot_ms + self.busy_slots * (now_ms - self.busy_since_ms)

    def billed_ms_at(self, now_ms: int) -> tuple[int, int]:
        """Return for how long dedicated VMs have been billed, all together, and Spot VMs, in ms (ACC-10)."""
        spot, dedicated = (
            vms * now_ms - since_ms for vms, since_ms in zip(self.billed_vms, self.billed_since_ms, strict=True)
        )
        return dedicated, spot

    @property
    def is_auto(self) -> bool:
        """True for the pool of a job or job schedule, which the service has created (AUTO-2)."""
        return self.auto_job >= 0 or self.auto_schedule >= 0

    @property
    def hosts_gangs(self) -> bool:
        """True if multi-instance tasks can run in the pool (MI-2)."""
        return self.spec.enable_inter_node_communication and self.slots == 1

    def choose_filling(self) -> None:
        """Decide whether free slots are filled at once, or by a pass if more than one node matters (SCHED-15)."""
        self.fills_at_once = not (self.has_preemptible or self.hosts_gangs)

    def allow_preemption(self) -> None:
        """Note that the pool has tasks that may displace others (SCHED-16, JM-6)."""
        self.has_preemptible = True
        self.choose_filling()

    # -- turns of the jobs ---------------------------------------------------------------------------------------

    def turn_key(self, job: Job) -> int:
        """Return what orders the jobs of the pool, the least first (SCHED-1, SCHED-2, SCHED-4, SCHED-5)."""
        served = 0 if self.oldest_first else job.served
        return ((1000 - job.priority) << _RANK_BITS) | (served << ROW_BITS) | job.row

    def may_take_turns(self, job: Job) -> bool:
        """Return whether the job has a task that could be placed if there were room (SCHED-7)."""
        return (
            job.ready_count > 0
            and job.state is JobState.ACTIVE
            and self.state is PoolState.ACTIVE
            and (job.max_parallel < 0 or job.busy < job.max_parallel)
        )

    def enter_turns(self, job: Job) -> None:
        """Enter a job that takes no turns, if it may."""
        if self.may_take_turns(job):
            job.in_turn = True
            heappush(self.turns, self.turn_key(job))

    def leave_turns(self, job: Job) -> None:
        """Take a job that is no longer active out of the turns."""
        job.in_turn = False
        self.turns = [key for key in self.turns if key & ROW_MASK != job.row]
        heapify(self.turns)

    def reorder_turns(self, jobs: Iterable[Job]) -> None:
        """Build the order of turns anew from all jobs bound to the pool (SCHED-3)."""
        self.turns = []
        for job in jobs:
            job.in_turn = self.may_take_turns(job)
            if job.in_turn:
                self.turns.append(self.turn_key(job))
        heapify(self.turns)

    def set_aside_turn(self, job: Job) -> int | None:
        """Remove the first turn, of a job that found no room; returns it, or None if the job has nothing to place."""
        key = heappop(self.turns)
        if self.may_take_turns(job):
            return key
        job.in_turn = False
        return None

    def put_back_turns(self, keys: Iterable[int]) -> None:
        """Put turns back that were set aside."""
        for key in keys:
            heappush(self.turns, key)

    def take_unsettled(self) -> list[int]:
        """End the pass; returns the nodes that tasks have left since the last one, each once."""
        self.pass_due = False
        unsettled, self.unsettled = self.unsettled, []
        return list(dict.fromkeys(unsettled))

    def end_turn(self, job: Job) -> None:
        """Put the first job, which has been served, behind its equals, or out if it has nothing more to place."""
        self.served += 1
        job.served = self.served
        if job.ready_count:
            heapreplace(self.turns, self.turn_key(job))
        else:
            heappop(self.turns)
            job.in_turn = False

    # -- the body ----------------------------------------------------------------------------------------------------

    def change(self, now_ms: int, given: Mapping[str, object], size: VmSize | None = None) -> None:
        """Replace properties of the body, by the names of the specification; ``size`` is that of a new ``vm_size``.

        Nodes that are there keep what they have until they boot (POOL-15).
        """
        self.modified_ms = now_ms
        self.spec = self.spec.model_copy(update=given)
        self.size = size or self.size
        self._read_body()
        if self.slots != self.spec.task_slots_per_node:
            self.slots = self.spec.task_slots_per_node
            self.buckets = [0] * (self.slots + 1)
        self.choose_filling()

    def _read_body(self) -> None:
        """Keep what scheduling and timings ask of the body often."""
        self.os = self.spec.os_family
        policy = self.spec.task_scheduling_policy
        self.fill = policy.node_fill_type
        self.oldest_first = policy.job_default_order is JobDefaultOrder.CREATION_TIME

    # -- nodes -------------------------------------------------------------------------------------------------------

    def take_address(self) -> int:
        """Return the lowest free address, and take it (NODE-4)."""
        if self.free_addresses:
            return heappop(self.free_addresses)
        self.addresses += 1
        return self.addresses - 1

    def add_node(self, node: int, *, dedicated: bool) -> None:
        """Add a node at the next position."""
        if dedicated:
            self.dedicated_bits |= 1 << len(self.nodes)
        self.nodes.append(node)

    def remove_node(self, node: int, address: int) -> None:
        """Free the address of a node that is gone (RSZ-7)."""
        heappush(self.free_addresses, address)
        self.victims.discard(node)

    # -- resizing ----------------------------------------------------------------------------------------------------

    def next_token(self) -> int:
        """Void the entries of an earlier resize in the calendar, and return the token of the next one."""
        self.token += 1
        return self.token

    def begin_resize(self, now_ms: int, drain_option: str, *, moves_nodes: bool) -> int:
        """Begin a resize, and return its token; one that adds or removes nodes clears the errors (POOL-3)."""
        self.resize_started_ms = now_ms
        if moves_nodes:
            self.resize_errors = ()
        if moves_nodes or self.allocation is AllocationState.STEADY:
            self.gathered_errors = ()
        self.drain_option = drain_option
        return self.next_token()

    def gather(self, errors: Iterable[ResizeError]) -> None:
        """Add errors of the resize, at most one for each code and kind of node, which the message names (RSZ-13)."""
        known = {(error.code, error.message) for error in self.gathered_errors}
        self.gathered_errors += tuple(error for error in errors if (error.code, error.message) not in known)

    def request_node(self, *, dedicated: bool) -> int:
        """Note that a node was requested, and return its number."""
        number = self.requested
        self.requested += 1
        self.pending[number] = dedicated
        return number

    def cancel_requests(self, numbers: Iterable[int]) -> None:
        """Forget requested nodes, because they have come or are no longer wanted."""
        for number in numbers:
            del self.pending[number]

    def add_failing_request(self, request: FailingRequest) -> int:
        """Note a request that will fail, and return its number; numbers of nodes are not used up by it."""
        self.requests_failed += 1
        number = -self.requests_failed
        self.failing_requests[number] = request
        return number

    def end_failing_request(self, number: int) -> None:
        """Gather the errors of a request that has failed (RSZ-16)."""
        self.gather(self.failing_requests.pop(number).errors)

    def add_victims(self, nodes: Iterable[int]) -> None:
        """Note that these nodes are to leave."""
        self.victims.update(nodes)

    def discard_victim(self, node: int) -> None:
        """Note that a node is not to leave after all."""
        self.victims.discard(node)

    def begin_deletion(self, jobs: Iterable[Job]) -> None:
        """Give up what is pending, and take the jobs bound to the pool out of the turns."""
        for job in jobs:
            job.in_turn = False
        self.turns = []
        self.next_token()
        self.pending.clear()
        self.failing_requests.clear()
        self.wanted = ()
        self.upgrade = ()

    # -- Spot nodes --------------------------------------------------------------------------------------------------

    def begin_shortage(self, now_ms: int) -> int:
        """Note that Spot nodes are missing, and return since when (SPOT-5)."""
        if self.short_since_ms is None:
            self.short_since_ms = now_ms
        return self.short_since_ms

    # -- autoscale ---------------------------------------------------------------------------------------------------

    def set_scaling(self, scaling: Scaling | None) -> None:
        """Replace the state of autoscale; None switches it off, and the samples are forgotten (AS-52)."""
        self.scaling = scaling
        self.auto_scale = scaling is not None
        if scaling is None:
            self.samples = []

    def show_scaling(self, now_ms: int, default_interval_ms: int) -> None:
        """Show in the body how the pool scales itself now, as a command has asked for."""
        scaling = self.scaling
        self.modified_ms = now_ms
        self.spec = self.spec.model_copy(
            update={
                "enable_auto_scale": scaling is not None,
                "auto_scale_formula": None if scaling is None else scaling.formula,
                "auto_scale_evaluation_interval": default_interval_ms if scaling is None else scaling.interval_ms,
            }
        )

    def add_sample(self, sample: tuple[float, ...]) -> None:
        """Add a sample: its time, and a value for each metric (AS-52)."""
        self.samples.append(sample)

    def drop_samples(self, count: int) -> None:
        """Forget the oldest samples."""
        del self.samples[:count]

    @property
    def targets_met(self) -> bool:
        """True if no node is wanted, requested, or to leave."""
        return not self.is_growing and not self.victims

    @property
    def is_growing(self) -> bool:
        """True if nodes are wanted or requested, also by a request that will fail."""
        return bool(self.wanted or self.pending or self.failing_requests)


class PoolTable(NamedRecords[Pool]):
    """All pools, deleted ones included, in the order in which they were created."""

    EVENT = ("PoolStateChanged", LogSubject.POOL)
    LIFECYCLE = ("pool", POOL)

    def __init__(self, log: EventLog) -> None:
        """Create an empty table."""
        super().__init__(Pool, log)

    def create(self, now_ms: int, pool: Pool, allocation: AllocationState) -> None:
        """Add a pool, ``active`` (POOL-8)."""
        self.add(pool)
        self.set_state(now_ms, pool.row, PoolState.ACTIVE)
        self.set_allocation(now_ms, pool.row, allocation)

    def set_state(self, now_ms: int, row: int, new: PoolState | None) -> None:
        """Change the state by a legal move (POOL-7), and log it."""
        pool = self.edit(row)
        if new is None:
            pool.gone_ms = now_ms
        self._change_state(now_ms, pool, new)

    def set_allocation(self, now_ms: int, row: int, new: AllocationState) -> None:
        """Change the allocation state by a legal move (POOL-7), and log it."""
        pool = self.edit(row)
        rule = rule_of_move(ALLOCATION, pool.allocation, new, "pool", pool.id)
        move = (("from", pool.allocation), ("to", new))
        shape = self.log.shape("PoolAllocationStateChanged", LogSubject.POOL, *move, ("rule", rule))
        pool.allocation = new
        pool.allocation_since_ms = now_ms
        self.log.append(now_ms, shape, row)

    def bill(self, now_ms: int, node: Node, change: int) -> None:
        """Count a VM of the node's pool more that is billed from now on, or one fewer if ``change`` is -1 (ACC-10)."""
        pool = self.edit(node.pool)
        pool.billed_vms[node.dedicated] += change
        pool.billed_since_ms[node.dedicated] += change * now_ms

    def copy(self) -> list[Values]:
        """Return a copy of the pools. Free slots change with every task, so every present pool counts as changed."""
        self._edited.update(pool.row for pool in self.rows if pool.state is not None)
        return super().copy()

    def restore(self, copy: list[Values]) -> None:
        """Restore the pools from a copy."""
        self._edited.update(pool.row for pool in self.rows if pool.state is not None)
        super().restore(copy)
