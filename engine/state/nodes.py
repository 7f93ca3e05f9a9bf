"""Compute nodes: columns for values that change with every task, records for the rest.

The record of a node has its errors, its start task and its pending operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import FailureInfo, end_fields, result_of, with_pairs
from engine.base.lifecycles import NODE, WITHOUT_BILL
from engine.base.log import EventLog, LogSubject
from engine.base.terms import NodeState, SchedulingState, TaskResult
from engine.state.tables import (
    PAGE_BITS,
    TIME,
    ColumnsCopy,
    PagedColumns,
    Record,
    Records,
    byte_column,
    column,
    rule_of_move,
)

if TYPE_CHECKING:
    from engine.base.paths import InstalledPackage
    from engine.shell.protocol import Setup
    from engine.specs.bodies import PoolSpec, StartTask
    from engine.specs.common import CertificateReference


_FIRST_ADDRESS = (10 << 24) + 4  # NODE-4: 10.0.0.4


class NodeError(NamedTuple):
    """A reason for which a node is unusable (ERR-N)."""

    code: str
    message: str
    details: tuple[tuple[str, str], ...] = ()

    def wire(self) -> dict[str, object]:
        """Return the error as the service writes it."""
        return with_pairs({"code": self.code, "message": self.message}, "errorDetails", self.details)


class StartTaskRecord(NamedTuple):
    """The progress of the start task since the present boot (START-7)."""

    running: bool
    start_ms: int
    end_ms: int | None  # planned while running
    exit_code: int | None = None
    failure: FailureInfo | None = None
    retry_count: int = 0
    last_retry_ms: int | None = None

    @property
    def result(self) -> TaskResult | None:
        """The result of a completed start task; None while it runs."""
        if self.running:
            return None
        return result_of(self.exit_code, self.failure)


class Operation(StrEnum):
    """An operation that stops everything that runs on a node."""

    REBOOT = "reboot"
    REIMAGE = "reimage"
    DEALLOCATE = "deallocate"
    REMOVE = "remove"
    UPGRADE = "upgrade"


class PendingOperation(NamedTuple):
    """An operation that waits for the node's tasks (RSZ-5, NOP-2), or an upgrade that waits for its boot (POOL-22)."""

    name: Operation
    waits_for_retention: bool
    rule: str


@dataclass(slots=True, eq=False)
class Node(Record):
    """The rarely changing part of a node."""

    pool: int
    position: int  # in the pool, over all nodes it ever had
    id: str
    dedicated: bool
    allocation_ms: int
    ip: int  # the n-th address handed out (NODE-4)
    boot_ms: int | None = None
    boots: int = 0
    scheduling: SchedulingState = SchedulingState.ENABLED
    start_spec: StartTask | None = None  # as of the present boot (POOL-15)
    start_task: StartTaskRecord | None = None
    start_runs: int = 0  # starts of the start task ever, for `simulate.attempts`
    errors: tuple[NodeError, ...] = ()
    operation: PendingOperation | None = None
    token: int = 0  # calendar entries of the node with another token are void
    lost_state: NodeState = NodeState.IDLE  # the state before `unknown`
    lost_ms: int | None = None  # since when the node is unknown or unusable, both together
    losses: int = 0  # how often the service was to recover it: keys of the draws
    recover_ms: int | None = None  # when an unusable or unknown node will be back (NODE-14)
    recovering: bool = False  # the present boot is an attempt to recover it
    evicted_ms: int | None = None  # when the VM will be taken back, if that was announced (SPOT-7)
    # Chance (NODE-18, SPOT-10): how many failures and evictions were drawn, and when the last of the latter is due.
    failures_drawn: int = 0
    evictions_drawn: int = 0
    eviction_drawn_ms: int = 0
    evicted_by_chance: bool = False  # the eviction that was announced last
    down_by_chance: bool = False  # it is unusable or preempted, or on its way back, because of a rate
    has_vm: bool = True  # a preempted node has none, and gets none while it leaves the pool (SPOT-3)
    gone_ms: int | None = None
    users: dict[str, tuple[bool, int]] = field(default_factory=dict)  # NOP-9: name -> admin, expiry
    # As of the present boot (POOL-15): what the pool asks for, and whether its setup has begun (START-3).
    packages: tuple[InstalledPackage, ...] = ()
    certificates: tuple[CertificateReference, ...] = ()
    is_set_up: bool = False
    # Arrival of each package and image on the present disk; setup of each process, by its directory.
    arrivals: dict[str, int] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)  # of packages uploaded while the run goes on, by directory
    setups: dict[str, Setup] = field(default_factory=dict)
    disk_since_ms: int = field(init=False)  # when the disk was last wiped (FILE-9)

    def __post_init__(self) -> None:
        self.disk_since_ms = self.allocation_ms

    @property
    def is_to_leave(self) -> bool:
        """True if the node leaves its pool as soon as its tasks are done (RSZ-5)."""
        return self.operation is not None and self.operation.name is Operation.REMOVE

    @property
    def awaits_upgrade(self) -> bool:
        """True if the node's operating system is upgraded as soon as the node is up (POOL-22)."""
        return self.operation is not None and self.operation.name is Operation.UPGRADE

    @property
    def ip_address(self) -> str:
        """The node's private address in its pool (NODE-4)."""
        return _address(self.ip)


@lru_cache(maxsize=4096)
def _address(number: int) -> str:
    return ".".join(str(byte) for byte in (_FIRST_ADDRESS + number).to_bytes(4, "big"))


CREATING, _IDLE, _RUNNING = NodeState.CREATING, NodeState.IDLE, NodeState.RUNNING
# States of a node that is out of order, and those on its way back.
_DOWN = (NodeState.UNUSABLE, NodeState.PREEMPTED, CREATING, NodeState.STARTING, NodeState.WAITING_FOR_START_TASK)
GONE = len(NodeState)  # in the column: the node has left its pool


# The groups of a node's columns: those that change with every task, and the others.
BUSY, CALM = range(2)


class NodeTable(PagedColumns[None]):
    """All nodes of all pools, in the order in which they appeared."""

    state = byte_column(CALM)
    open = byte_column(CALM)  # 1 if the node is eligible for new tasks (SCHED-8) and stands in its pool's buckets
    free = column("I", BUSY)  # task slots not taken
    since = column(TIME, CALM)  # when the present state began
    ran = column("I", BUSY)  # NODE-5: totalTasksRun
    failed = column("I", BUSY)  # of these, failed
    interrupted = column("I", BUSY)  # of these, back in the queue before they ended; the others have succeeded

    def __init__(self, log: EventLog, bill: Callable[[int, Node, int], None], time_code: str) -> None:
        """Create an empty table.

        Args:
            log: The log of the run.
            bill: Called with the moment and the node when its VM begins to be billed, with 1, or ends to be, with -1.
            time_code: The type code of columns of times.
        """
        super().__init__(time_code)
        self.log = log
        self._bill = bill
        self.records: Records[Node] = Records(Node)
        # The running tasks of each node, and the preparing ones; they follow from the columns of the tasks.
        self.running: list[set[int]] = []
        self.preparing: dict[int, set[int]] = {}

    def __getitem__(self, node: int) -> Node:
        return self.records.rows[node]

    def edit(self, node: int) -> Node:
        """Return the node's record, to be changed."""
        return self.records.edit(node)

    def add(self, record: Node, slots: int) -> int:
        """Add a node in state ``creating``, log it, and return its row."""
        for values in self.columns:
            values.append(0)
        self.running.append(set())
        node = self._grow(1)
        self.state[node], self.free[node], self.since[node] = CREATING, slots, record.allocation_ms
        self.records.add(record)
        self._bill(record.allocation_ms, record, 1)
        shape = self.log.shape(
            "NodeStateChanged", LogSubject.NODE, ("from", None), ("to", CREATING), ("rule", NODE[None, CREATING])
        )
        self.log.append(record.allocation_ms, shape, record.pool, node)
        return node

    def state_of(self, node: int) -> NodeState | None:
        """Return the node's state; None if it has left the pool."""
        state = self.state[node]
        return None if state == GONE else NodeState(state)

    def set_state(self, now_ms: int, node: int, new: NodeState | None) -> None:
        """Change the state by a legal move (NODE-9), keep the bill (ACC-10), and log it."""
        old = self.state_of(node)
        rule = rule_of_move(NODE, old, new, "node", self[node].id)
        self.state[node] = GONE if new is None else new
        self.since[node] = now_ms
        self.touch(node, CALM)
        if self[node].down_by_chance and new not in _DOWN:
            self.edit(node).down_by_chance = False
        if new in (None, NodeState.PREEMPTED, NodeState.CREATING):
            record = self.edit(node)
            record.has_vm = new is NodeState.CREATING
            record.gone_ms = now_ms if new is None else None
        if change := (new not in WITHOUT_BILL) - (old not in WITHOUT_BILL):
            self._bill(now_ms, self[node], change)
        shape = self.log.shape("NodeStateChanged", LogSubject.NODE, ("from", old), ("to", new), ("rule", rule))
        self.log.append(now_ms, shape, -1, node)

    def set_scheduling(self, now_ms: int, node: int, new: SchedulingState, rule: str = "NOP-6") -> None:
        """Change ``schedulingState`` (NODE-7), and log it."""
        record = self.edit(node)
        shape = self.log.shape(
            "NodeSchedulingStateChanged", LogSubject.NODE, ("from", record.scheduling), ("to", new), ("rule", rule)
        )
        record.scheduling = new
        self.changes += 1
        self.log.append(now_ms, shape, -1, node)

    # -- the life of a node ------------------------------------------------------------------------------------------

    def next_token(self, node: int) -> int:
        """Void the node's entry in the calendar, and return the token of the next one."""
        record = self.edit(node)
        record.token += 1
        return record.token

    def boot(self, now_ms: int, node: int, spec: PoolSpec, packages: tuple[InstalledPackage, ...]) -> None:
        """Begin a boot, in state ``starting``: from now on the node has what its pool asks for now (POOL-15)."""
        record = self.edit(node)
        record.recovering = self.state[node] == NodeState.UNUSABLE
        self.set_state(now_ms, node, NodeState.STARTING)
        record.boots += 1
        record.boot_ms = now_ms
        record.errors = ()
        record.recover_ms = record.lost_ms = None
        record.start_spec, record.start_task = spec.start_task, None
        record.packages, record.certificates = packages, spec.certificate_references
        record.is_set_up = False
        record.setups.clear()

    def become_unusable(self, now_ms: int, node: int, errors: tuple[NodeError, ...], *, by_chance: bool) -> None:
        """Enter state ``unusable``; an operation that waited is void (NODE-11)."""
        self.set_state(now_ms, node, NodeState.UNUSABLE)
        record = self.edit(node)
        record.operation = None
        record.lost_ms = now_ms if record.lost_ms is None else record.lost_ms
        record.errors = errors
        record.down_by_chance = by_chance

    def preempt(self, now_ms: int, node: int) -> None:
        """Enter state ``preempted``: the VM is gone, and with it all that was to be done with it (SPOT-3)."""
        self.set_state(now_ms, node, NodeState.PREEMPTED)
        record = self.edit(node)
        record.evicted_ms = record.operation = record.start_task = None
        record.errors = ()
        record.down_by_chance = record.evicted_by_chance
        record.recover_ms = record.lost_ms = None

    # -- what is on a node -------------------------------------------------------------------------------------------

    def wipe_disk(self, now_ms: int, node: int) -> None:
        """Forget what was on the node's disk, and its users (NOP-12)."""
        record = self.edit(node)
        record.disk_since_ms = now_ms
        record.users.clear()
        record.arrivals.clear()
        record.revisions.clear()

    def discard_arrivals(self, now_ms: int, node: int) -> None:
        """Forget the packages and images that were still on their way to the node (NOP-12)."""
        if self[node].arrivals:
            record = self.edit(node)
            record.arrivals = {name: ms for name, ms in record.arrivals.items() if ms <= now_ms}

    def note_arrival(self, node: int, name: str, when_ms: int) -> None:
        """Remember when a package or image is on the node's disk (APP-2, CONT-2)."""
        self.edit(node).arrivals[name] = when_ms

    def note_revision(self, node: int, directory: str, revision: int) -> None:
        """Remember how often the package in a directory had been uploaded when it was brought here (APP-2)."""
        if revision:
            self.edit(node).revisions[directory] = revision

    def keep_setup(self, node: int, directory: str, setup: Setup) -> None:
        """Remember what came before the process that starts in this directory."""
        self.edit(node).setups[directory] = setup

    def forget_setup(self, node: int, directory: str) -> None:
        """Forget what came before the process that ran in this directory."""
        if directory in self[node].setups:
            del self.edit(node).setups[directory]

    def set_user(self, node: int, name: str, *, is_admin: bool, expiry_ms: int) -> None:
        """Add a user for remote login, or replace it (NOP-9)."""
        self.edit(node).users[name] = (is_admin, expiry_ms)

    def delete_user(self, node: int, name: str) -> None:
        """Delete a user for remote login (NOP-9)."""
        del self.edit(node).users[name]

    # -- the start task ----------------------------------------------------------------------------------------------

    def set_start_task(self, now_ms: int, node: int, task: StartTaskRecord, attempt: int, rule: str) -> None:
        """Record a start or an end of the start task (START-7), and log it."""
        self.edit(node).start_task = task
        ending = () if task.running else end_fields(task.exit_code, task.failure)
        shape = self.log.shape(
            "StartTaskStateChanged",
            LogSubject.INSTANCE,
            ("to", "running" if task.running else "completed"),
            ("attempt", attempt),
            *ending,
            ("rule", rule),
        )
        self.log.append(now_ms, shape, -1, node)

    def tasks_on(self, node: int) -> Sequence[int]:
        """Return the running and preparing tasks of the node in creation order."""
        return sorted(self.running[node] | self.preparing.get(node, set()))

    def free_slots(self, node: int, slots: int) -> None:
        """Give slots of the node back (SCHED-10), or take them if negative."""
        self.free[node] += slots
        self.dirty[BUSY][node >> PAGE_BITS] = 1

    def prepare_task(self, task: int, node: int) -> None:
        """Note that the task prepares on the node."""
        self.preparing.setdefault(node, set()).add(task)

    def start_task(self, task: int, node: int) -> None:
        """Note that the task runs on the node, and prepares there no more."""
        if node in self.preparing:
            self.stop_preparing(task, node)
        self.running[node].add(task)

    def stop_preparing(self, task: int, node: int) -> None:
        """Note that the task prepares on the node no more."""
        preparing = self.preparing.get(node)
        if preparing is not None:
            preparing.discard(task)
            if not preparing:
                del self.preparing[node]

    def end_task(self, task: int, node: int, *, well: bool | None) -> None:
        """Note that the task runs on the node no more, and count it (NODE-5).

        ``well`` is None for a task that has not ended: it goes back to the queue.
        """
        self.running[node].discard(task)
        self.ran[node] += 1
        if well is None:
            self.interrupted[node] += 1
        elif not well:
            self.failed[node] += 1
        self.dirty[BUSY][node >> PAGE_BITS] = 1

    def forget_tasks(self, node: int) -> None:
        """Count the tasks of the node anew, since another VM takes its place (NODE-10)."""
        self.ran[node] = self.failed[node] = self.interrupted[node] = 0
        self.touch(node, BUSY)

    def succeeded(self, node: int) -> int:
        """Return how many tasks have succeeded on the node (NODE-5)."""
        return self.ran[node] - self.failed[node] - self.interrupted[node]

    def busy(self, node: int) -> bool:
        """Return whether a job's task runs or prepares on the node (NODE-9)."""
        return bool(self.running[node]) or bool(self.preparing.get(node))

    def settle(self, now_ms: int, node: int) -> None:
        """Let the state of an idle or running node follow from what is on it (NODE-9, NOP-6)."""
        state = self.state[node]
        if state not in (_IDLE, _RUNNING):
            return
        busy = self.busy(node)
        if not busy and self[node].scheduling is SchedulingState.DISABLED:
            self.set_state(now_ms, node, NodeState.OFFLINE)
        elif busy != (state == _RUNNING):
            self.set_state(now_ms, node, _RUNNING if busy else _IDLE)

    def restore(self, copy: ColumnsCopy[None]) -> None:
        """Restore the columns; the caller restores ``records`` and then ``running`` and ``preparing``."""
        super().restore(copy)
        del self.running[self.length :]
        self.running.extend(set() for _ in range(self.length - len(self.running)))
        for tasks in self.running:
            tasks.clear()
        self.preparing.clear()
