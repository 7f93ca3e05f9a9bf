"""The meaning of each node state for everything except the moves themselves, which are in ``lifecycles``.

Rules and views ask ``NODE_STATES`` instead of listing states, so a new state needs one row here. The order of the rows
is that in which states are listed where several need attention.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from engine.base.terms import NodeState


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


_N, _A, _I = NodeState, Availability, Interruption

NODE_STATES: dict[NodeState, NodeStateMeaning] = {
    _N.IDLE: NodeStateMeaning(_A.READY, "", "NODE-9"),
    _N.RUNNING: NodeStateMeaning(_A.READY, "", "NODE-9"),
    _N.OFFLINE: NodeStateMeaning(
        _A.OFFLINE,
        "scheduling disabled",
        "NOP-6",
        lasts=True,
        remedy=("Enable its scheduling to assign tasks to it.", "NOP-6"),
    ),
    _N.CREATING: NodeStateMeaning(_A.ALLOCATING, "being created", "NODE-9", refusal="NodeBeingCreated"),
    _N.STARTING: NodeStateMeaning(_A.BOOTING, "starting", "NODE-9", refusal="NodeBeingStarted"),
    _N.WAITING_FOR_START_TASK: NodeStateMeaning(
        _A.BOOTING, "waiting for the start task", "START-4", refusal="NodeBeingStarted"
    ),
    _N.REBOOTING: NodeStateMeaning(_A.BOOTING, "rebooting", "NOP-3", _I.REBOOT, refusal="NodeBeingRebooted"),
    _N.REIMAGING: NodeStateMeaning(
        _A.BOOTING, "being reimaged", "NOP-4", _I.REIMAGE, wipes_disk=True, refusal="NodeBeingReimaged"
    ),
    # The upgrade leaves the disk of the tasks alone, so that a release still runs (REL-13).
    _N.UPGRADING_OS: NodeStateMeaning(_A.BOOTING, "upgrading the operating system", "POOL-22", _I.UPGRADE),
    _N.UNUSABLE: NodeStateMeaning(
        _A.OUT_OF_REACH,
        "unusable",
        "NODE-13",
        _I.LOSS,
        lasts=True,
        problem=Problem("unusable", "no tasks run there", "reboot, reimage or remove"),
    ),
    _N.START_TASK_FAILED: NodeStateMeaning(
        _A.FAILED,
        "with a failed start task: reboot, reimage or remove",
        "START-6",
        lasts=True,
        remedy=("Reboot, reimage or remove it.", "START-6"),
        problem=Problem("start task failed", "no tasks run there", "reboot or reimage"),
    ),
    _N.UNKNOWN: NodeStateMeaning(
        _A.OUT_OF_REACH,
        "out of contact",
        "NODE-9",
        _I.LOSS,
        lasts=True,
        problem=Problem("contact lost", "tasks there wait until contact is restored", ""),
    ),
    _N.PREEMPTED: NodeStateMeaning(
        _A.WITHOUT_VM,
        "preempted, waiting for Spot capacity",
        "SPOT-3",
        _I.PREEMPTION,
        wipes_disk=True,
        is_billed=False,
        remedy=("Batch looks for capacity every five minutes.", "SPOT-5"),
    ),
    _N.DEALLOCATING: NodeStateMeaning(_A.STOPPING, "being deallocated", "NOP-8", _I.DEALLOCATION, wipes_disk=True),
    _N.DEALLOCATED: NodeStateMeaning(
        _A.WITHOUT_VM,
        "deallocated until started",
        "NOP-8",
        is_billed=False,
        lasts=True,
        remedy=("Start it to use it again.", "NOP-8"),
    ),
    _N.LEAVING_POOL: NodeStateMeaning(_A.LEAVING, "leaving the pool", "RSZ-7", _I.REMOVAL, wipes_disk=True),
}


def states_in(*availabilities: Availability) -> tuple[NodeState, ...]:
    """Return the states of these availabilities."""
    return tuple(state for state, meaning in NODE_STATES.items() if meaning.availability in availabilities)


READY = states_in(_A.READY)
COMING_UP = states_in(_A.ALLOCATING, _A.BOOTING)
UNBILLED = tuple(state for state, meaning in NODE_STATES.items() if not meaning.is_billed)
WIPED_IN = tuple(state for state, meaning in NODE_STATES.items() if meaning.wipes_disk)
PROBLEMS = {state: meaning.problem for state, meaning in NODE_STATES.items() if meaning.problem is not None}
