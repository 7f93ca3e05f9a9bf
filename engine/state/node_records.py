"""The record of a node and its parts: errors, start task, pending operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from engine.base.failures import FailureInfo, result_of
from engine.base.terms import NodeState, SchedulingState, TaskResult
from engine.state.records import Record

if TYPE_CHECKING:
    from engine.base.environment import InstalledPackage
    from engine.executors.protocol import Setup
    from engine.specs.common import CertificateReference
    from engine.specs.pool import StartTask

_FIRST_ADDRESS = (10 << 24) + 4  # NODE-4: 10.0.0.4


class NodeError(NamedTuple):
    """A reason for which a node is unusable (ERR-N)."""

    code: str
    message: str
    details: tuple[tuple[str, str], ...] = ()

    def wire(self) -> dict[str, object]:
        """Return the error as the service writes it."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if self.details:
            body["errorDetails"] = [{"name": name, "value": value} for name, value in self.details]
        return body


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
    billed_since_ms: int | None = field(init=False)
    billed_ms: int = 0
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
        self.billed_since_ms = self.disk_since_ms = self.allocation_ms

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
