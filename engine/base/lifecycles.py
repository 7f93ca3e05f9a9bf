"""The legal state changes of everything that has a state, and the meaning of each node state.

The tables check every change against the legal ones, each with its rule id, and the diagrams in ``engine/README.md``
are generated from them. ``None`` stands for absence: before the first state and after the last.

Rules and views ask ``NODE_STATES`` for the meaning of a node state instead of listing states, so a new state needs one
row here. The order of the rows is that in which states are listed where several need attention.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

from engine.base.terms import (
    AllocationState,
    CertificateState,
    JobScheduleState,
    JobState,
    NodeState,
    PoolState,
    State,
    SubtaskState,
    TaskState,
)

Moves = Mapping[tuple[State | None, State | None], str]


def _moves(*groups: tuple[str, Iterable[State | None], Iterable[State | None]]) -> Moves:
    return {(old, new): rule for rule, olds, news in groups for old in olds for new in news if old is not new}


_N = NodeState
_READY = (_N.IDLE, _N.RUNNING)
_PRESENT = tuple(NodeState)
_UP = (_N.WAITING_FOR_START_TASK, _N.START_TASK_FAILED, _N.IDLE, _N.RUNNING, _N.OFFLINE)

NODE: Moves = _moves(
    ("NODE-9", [None], [_N.CREATING]),
    ("NODE-9", [_N.CREATING], [_N.STARTING]),
    ("START-4", [_N.STARTING], [_N.WAITING_FOR_START_TASK]),
    ("NODE-9", [_N.STARTING], [_N.IDLE]),
    ("START-4", [_N.WAITING_FOR_START_TASK], [_N.IDLE, _N.START_TASK_FAILED]),
    ("NODE-9", _READY, _READY),
    ("NOP-6", [_N.STARTING, _N.WAITING_FOR_START_TASK, *_READY], [_N.OFFLINE]),
    ("NOP-6", [_N.OFFLINE], [_N.IDLE]),
    ("NOP-3", [*_READY, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE], [_N.REBOOTING]),
    ("NOP-4", [*_READY, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE], [_N.REIMAGING]),
    ("NODE-9", [_N.REBOOTING, _N.REIMAGING, _N.UPGRADING_OS], [_N.STARTING]),
    ("POOL-22", [*_READY, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE], [_N.UPGRADING_OS]),
    ("NOP-8", _READY, [_N.DEALLOCATING]),
    ("NOP-8", [_N.DEALLOCATING], [_N.DEALLOCATED]),
    ("NOP-8", [_N.DEALLOCATED], [_N.STARTING]),
    ("NODE-11", [_N.CREATING, _N.STARTING, *_UP, _N.UNKNOWN], [_N.UNUSABLE]),
    ("NODE-9", _UP, [_N.UNKNOWN]),
    ("NODE-9", [_N.UNKNOWN], _UP),
    ("NODE-14", [_N.UNUSABLE], [_N.STARTING]),
    ("SPOT-3", [state for state in _PRESENT if state is not _N.LEAVING_POOL], [_N.PREEMPTED]),
    ("SPOT-5", [_N.PREEMPTED], [_N.CREATING]),
    ("RSZ-7", _PRESENT, [_N.LEAVING_POOL]),
    ("RSZ-7", [_N.LEAVING_POOL], [None]),
)

_T = TaskState
TASK: Moves = _moves(
    ("TASK-1", [None], [_T.ACTIVE]),
    ("SCHED-7", [_T.ACTIVE], [_T.RUNNING]),
    ("PREP-6", [_T.ACTIVE], [_T.PREPARING]),
    ("PREP-7", [_T.PREPARING], [_T.RUNNING]),
    ("PREP-8", [_T.PREPARING], [_T.ACTIVE]),
    ("RETRY-5", [_T.RUNNING], [_T.ACTIVE]),
    ("RETRY-11", [_T.ACTIVE, _T.PREPARING, _T.RUNNING], [_T.COMPLETED]),
    ("TASK-15", [_T.COMPLETED], [_T.ACTIVE]),
    ("TASK-14", [_T.ACTIVE, _T.COMPLETED], [None]),  # a running task is ended first
)

_I = SubtaskState
SUBTASK: Moves = _moves(
    ("MI-3", [None], [_I.RUNNING]),
    ("PREP-6", [None], [_I.PREPARING]),
    ("PREP-7", [_I.PREPARING], [_I.RUNNING]),
    ("PREP-8", [_I.PREPARING], [None]),
    ("MI-6", [_I.RUNNING], [_I.COMPLETED]),
    ("MI-8", [_I.PREPARING], [_I.COMPLETED]),
)

_J = JobState
JOB: Moves = _moves(
    ("JOB-6", [None], [_J.ACTIVE]),
    ("JOB-11", [_J.ACTIVE], [_J.DISABLING]),
    ("JOB-11", [_J.DISABLING], [_J.DISABLED]),
    ("JOB-12", [_J.DISABLED], [_J.ENABLING]),
    ("JOB-12", [_J.ENABLING], [_J.ACTIVE]),
    ("JOB-15", [_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING], [_J.TERMINATING]),
    ("REL-6", [_J.TERMINATING], [_J.COMPLETED]),
    ("JOB-20", [_J.ACTIVE], [_J.COMPLETED]),
    ("JOB-16", [_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING, _J.TERMINATING, _J.COMPLETED], [_J.DELETING]),
    ("JOB-16", [_J.DELETING], [None]),
)

_S = JobScheduleState
JOB_SCHEDULE: Moves = _moves(
    ("JS-1", [None], [_S.ACTIVE]),
    ("JS-6", [_S.ACTIVE], [_S.DISABLED]),
    ("JS-6", [_S.DISABLED], [_S.ACTIVE]),
    ("JS-6", [_S.ACTIVE], [_S.COMPLETED]),
    ("JS-8", [_S.ACTIVE, _S.DISABLED], [_S.TERMINATING]),
    ("JS-8", [_S.TERMINATING], [_S.COMPLETED]),
    ("JS-8", [_S.ACTIVE, _S.DISABLED, _S.TERMINATING, _S.COMPLETED], [_S.DELETING]),
    ("JS-8", [_S.DELETING], [None]),
)

POOL: Moves = _moves(
    ("POOL-7", [None], [PoolState.ACTIVE]),
    ("RSZ-10", [PoolState.ACTIVE], [PoolState.DELETING]),
    ("RSZ-10", [PoolState.DELETING], [None]),
)

_A = AllocationState
ALLOCATION: Moves = _moves(
    ("POOL-8", [None], [_A.STEADY, _A.RESIZING]),
    ("RSZ-1", [_A.STEADY], [_A.RESIZING]),
    ("RSZ-2", [_A.RESIZING], [_A.STEADY]),
    ("RSZ-9", [_A.RESIZING], [_A.STOPPING]),
    ("RSZ-9", [_A.STOPPING], [_A.STEADY]),
)

_C = CertificateState
CERTIFICATE: Moves = _moves(
    ("CERT-1", [None], [_C.ACTIVE]),
    ("CERT-4", [_C.ACTIVE, _C.DELETE_FAILED], [_C.DELETING]),
    ("CERT-4", [_C.DELETING], [_C.DELETE_FAILED, None]),
    ("CERT-4", [_C.DELETE_FAILED], [_C.ACTIVE]),
)


class Availability(Enum):
    """The part of a node's life that a state belongs to."""

    READY = auto()  # runs tasks, preparations and releases
    OFFLINE = auto()  # ready, but gets no tasks
    ALLOCATING = auto()  # waits for its VM
    BOOTING = auto()  # on the way to ready, with its VM
    FAILED = auto()  # up, but of no use before it boots again
    OUT_OF_REACH = auto()  # may have processes, but Batch cannot reach it
    STOPPING = auto()  # on the way to having no VM
    WITHOUT_VM = auto()
    LEAVING = auto()


class Interruption(Enum):
    """The kind of event that stops a node, by which reports and histories group states."""

    REBOOT = auto()
    REIMAGE = auto()
    UPGRADE = auto()
    LOSS = auto()
    PREEMPTION = auto()
    DEALLOCATION = auto()
    REMOVAL = auto()


class Problem(NamedTuple):
    """The trouble that a node state is for a user: its name, its consequence, and what to do, if anything."""

    name: str
    effect: str
    remedy: str


class NodeStateMeaning(NamedTuple):
    """The meaning of one node state; texts are those of explanations and of the dashboard."""

    availability: Availability
    text: str  # why the node gets no tasks, after "1 node"; empty if ready
    rule: str
    interruption: Interruption | None = None  # that begins with the state
    wipes_disk: bool = False  # the disk is lost on entering the state (FILE-9, NOP-12)
    is_billed: bool = True  # the VM is billed and its cores count (ACC-7, ACC-10)
    lasts: bool = False  # until a user acts, unless the moment of its end is known
    refusal: str = "OperationNotValidOnNode"  # the error code of an operation that cannot begin
    remedy: tuple[str, str] | None = None  # a sentence, and its rule
    problem: Problem | None = None  # that needs attention


_Node, _Phase, _Stop = NodeState, Availability, Interruption

NODE_STATES: dict[NodeState, NodeStateMeaning] = {
    _Node.IDLE: NodeStateMeaning(_Phase.READY, "", "NODE-9"),
    _Node.RUNNING: NodeStateMeaning(_Phase.READY, "", "NODE-9"),
    _Node.OFFLINE: NodeStateMeaning(
        _Phase.OFFLINE,
        "scheduling disabled",
        "NOP-6",
        lasts=True,
        remedy=("Enable its scheduling to assign tasks to it.", "NOP-6"),
    ),
    _Node.CREATING: NodeStateMeaning(_Phase.ALLOCATING, "being created", "NODE-9", refusal="NodeBeingCreated"),
    _Node.STARTING: NodeStateMeaning(_Phase.BOOTING, "starting", "NODE-9", refusal="NodeBeingStarted"),
    _Node.WAITING_FOR_START_TASK: NodeStateMeaning(
        _Phase.BOOTING, "waiting for the start task", "START-4", refusal="NodeBeingStarted"
    ),
    _Node.REBOOTING: NodeStateMeaning(_Phase.BOOTING, "rebooting", "NOP-3", _Stop.REBOOT, refusal="NodeBeingRebooted"),
    _Node.REIMAGING: NodeStateMeaning(
        _Phase.BOOTING, "being reimaged", "NOP-4", _Stop.REIMAGE, wipes_disk=True, refusal="NodeBeingReimaged"
    ),
    # The upgrade leaves the disk of the tasks alone, so that a release still runs (REL-13).
    _Node.UPGRADING_OS: NodeStateMeaning(_Phase.BOOTING, "upgrading the operating system", "POOL-22", _Stop.UPGRADE),
    _Node.UNUSABLE: NodeStateMeaning(
        _Phase.OUT_OF_REACH,
        "unusable",
        "NODE-13",
        _Stop.LOSS,
        lasts=True,
        problem=Problem("unusable", "billed, but no tasks run there", "reboot, reimage or remove"),
    ),
    _Node.START_TASK_FAILED: NodeStateMeaning(
        _Phase.FAILED,
        "with a failed start task: reboot, reimage or remove",
        "START-6",
        lasts=True,
        remedy=("Reboot, reimage or remove it.", "START-6"),
        problem=Problem("start task failed", "billed, but no tasks run there", "reboot or reimage"),
    ),
    _Node.UNKNOWN: NodeStateMeaning(
        _Phase.OUT_OF_REACH,
        "out of contact",
        "NODE-9",
        _Stop.LOSS,
        lasts=True,
        problem=Problem("contact lost", "tasks there run on, but are requeued after five minutes without contact", ""),
    ),
    _Node.PREEMPTED: NodeStateMeaning(
        _Phase.WITHOUT_VM,
        "preempted, waiting for Spot capacity",
        "SPOT-3",
        _Stop.PREEMPTION,
        wipes_disk=True,
        is_billed=False,
        remedy=("Batch looks for capacity every five minutes.", "SPOT-5"),
    ),
    _Node.DEALLOCATING: NodeStateMeaning(
        _Phase.STOPPING, "being deallocated", "NOP-8", _Stop.DEALLOCATION, wipes_disk=True
    ),
    _Node.DEALLOCATED: NodeStateMeaning(
        _Phase.WITHOUT_VM,
        "deallocated until started",
        "NOP-8",
        is_billed=False,
        lasts=True,
        remedy=("Start it to use it again.", "NOP-8"),
    ),
    _Node.LEAVING_POOL: NodeStateMeaning(_Phase.LEAVING, "leaving the pool", "RSZ-7", _Stop.REMOVAL, wipes_disk=True),
}


def states_in(*availabilities: Availability) -> tuple[NodeState, ...]:
    """Return the states of these availabilities."""
    return tuple(state for state, meaning in NODE_STATES.items() if meaning.availability in availabilities)


READY = states_in(_Phase.READY)
COMING_UP = states_in(_Phase.ALLOCATING, _Phase.BOOTING)
UNBILLED = tuple(state for state, meaning in NODE_STATES.items() if not meaning.is_billed)
WITHOUT_BILL = (None, *UNBILLED)  # None: of a node that is not in a pool
WIPED_IN = tuple(state for state, meaning in NODE_STATES.items() if meaning.wipes_disk)
PROBLEMS = {state: meaning.problem for state, meaning in NODE_STATES.items() if meaning.problem is not None}
