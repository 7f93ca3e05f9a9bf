"""The legal state changes of everything that has a state, and the meaning of each node state.

The tables check every change against the legal ones, which stand in ``moves.csv``, each with its rule id; the diagrams
in ``engine/README.md`` are generated from them. ``None`` stands for absence: before the first state and after the last.

Rules and views ask ``NODE_STATES`` for the meaning of a node state instead of listing states, so a new state needs one
row here. The order of the rows is that in which states are listed where several need attention.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from engine.base.values import read_table

Moves = Mapping[tuple[State | None, State | None], str]


_TABLE = read_table("moves.csv", __file__)
_ABSENT = "-"


def _moves(kind: type[State]) -> Moves:
    """Return the legal moves between states of a kind."""

    def states(names: str) -> list[State | None]:
        return [None if name == _ABSENT else kind[name.upper()] for name in names.split()]

    rows = ((rule, states(olds), states(news)) for of, rule, olds, news in _TABLE if of == kind.__name__)
    return {(old, new): rule for rule, olds, news in rows for old in olds for new in news if old is not new}


NODE = _moves(NodeState)
TASK = _moves(TaskState)
SUBTASK = _moves(SubtaskState)
JOB = _moves(JobState)
JOB_SCHEDULE = _moves(JobScheduleState)
POOL = _moves(PoolState)
ALLOCATION = _moves(AllocationState)
CERTIFICATE = _moves(CertificateState)


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
    problem: Problem | None = None  # that needs attention


_Node, _Phase, _Stop = NodeState, Availability, Interruption

NODE_STATES: dict[NodeState, NodeStateMeaning] = {
    _Node.IDLE: NodeStateMeaning(_Phase.READY, "", "NODE-9"),
    _Node.RUNNING: NodeStateMeaning(_Phase.READY, "", "NODE-9"),
    _Node.OFFLINE: NodeStateMeaning(_Phase.OFFLINE, "scheduling disabled", "NOP-6", lasts=True),
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
        "with a failed start task",
        "START-6",
        lasts=True,
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
    ),
    _Node.DEALLOCATING: NodeStateMeaning(
        _Phase.STOPPING, "being deallocated", "NOP-8", _Stop.DEALLOCATION, wipes_disk=True
    ),
    _Node.DEALLOCATED: NodeStateMeaning(
        _Phase.WITHOUT_VM, "deallocated until started", "NOP-8", is_billed=False, lasts=True
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
