"""What users do to nodes (chapter 6): reboot, reimage, deallocate, start, disable and enable scheduling.

``operation_verdict`` says whether the service takes the operation. With taskcompletion or retaineddata the
node keeps running what it has (NOP-2) until ``drained`` finds the condition met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import Deallocation, NodeState, OsFamily, SchedulingState
from engine.events.calendar import Due, DueKind
from engine.rules import nodes, start_task
from engine.rules.processes import directories
from engine.rules.tasks import interruptions
from engine.state.disks import Disk
from engine.state.nodes import Node, PendingOperation
from engine.state.tasks import COMPLETED

if TYPE_CHECKING:
    from engine.world.facts import NodeDrained
    from engine.world.world import World

_N = NodeState
REBOOT, REIMAGE, DEALLOCATE, REMOVE, UPGRADE = "reboot", "reimage", "deallocate", "remove", "upgrade"
_RULES = {REBOOT: "NOP-3", REIMAGE: "NOP-4", DEALLOCATE: "NOP-8", REMOVE: "RSZ-4", UPGRADE: "POOL-22"}
_WAITING = (Deallocation.TASK_COMPLETION, Deallocation.RETAINED_DATA)
_WAITS_IN = (_N.IDLE, _N.RUNNING, _N.OFFLINE)
_AT_REST = (*_WAITS_IN, _N.START_TASK_FAILED)
REINSTALLED_IN = (_N.IDLE, _N.RUNNING, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE)
_ALLOWED = {
    REBOOT: REINSTALLED_IN,
    REIMAGE: REINSTALLED_IN,
    DEALLOCATE: (_N.IDLE, _N.RUNNING),
}
# NOP-12: the state meanwhile, what becomes of the disk, the rule by which a running preparation ends, and whose timing
# it has. An upgrade of the operating system leaves the disk of the tasks alone, so that a release still runs (REL-13).
_EFFECTS = {
    REBOOT: (_N.REBOOTING, Disk.KEPT, "PREP-15", "reboot"),
    REIMAGE: (_N.REIMAGING, Disk.WIPED, "PREP-18", "reimage"),
    DEALLOCATE: (_N.DEALLOCATING, Disk.WIPED, "PREP-19", "deallocate"),
    UPGRADE: (_N.UPGRADING_OS, Disk.KEPT, "PREP-15", "reimage"),
}
_REFUSALS = {
    _N.CREATING: "NodeBeingCreated",
    _N.STARTING: "NodeBeingStarted",
    _N.WAITING_FOR_START_TASK: "NodeBeingStarted",
    _N.REBOOTING: "NodeBeingRebooted",
    _N.REIMAGING: "NodeBeingReimaged",
}


# -- decisions -------------------------------------------------------------------------------------------------------


def operation_verdict(name: str, state: NodeState, pending: PendingOperation | None) -> BatchError | None:
    """Why the service refuses an operation on a node in this state; None if it takes it.

    NOP-2 a second operation while one waits. NOP-3, NOP-4 by state. NOP-8 deallocate has one code for all.
    """
    refusal = _waiting_verdict(pending)
    if refusal is not None:
        return refusal
    if state in _ALLOWED[name]:
        return None
    if name == DEALLOCATE:
        return BatchError("OperationNotValidOnNode", f"the node is {state.wire}")
    return BatchError(_REFUSALS.get(state, "OperationNotValidOnNode"), f"the node is {state.wire}")


def _waiting_verdict(pending: PendingOperation | None) -> BatchError | None:
    if pending is None:
        return None
    return BatchError("OperationInvalidForCurrentState", f"the {pending.name} of the node waits for its tasks")


def scheduling_verdict(wanted: SchedulingState, record: Node) -> BatchError | None:
    """Why the service refuses to disable or enable scheduling; None if it does it (NOP-2, NOP-6)."""
    if record.scheduling is wanted:
        return BatchError("NodeAlreadyInTargetSchedulingState")
    return _waiting_verdict(record.operation)


# -- operations ------------------------------------------------------------------------------------------------------


def operate(world: World, node: int, name: str, option: Deallocation) -> None:
    """Reboot, reimage or deallocate a node (NOP-1 to NOP-4, NOP-8)."""
    state = world.nodes.state_of(node)
    assert state is not None
    record = world.nodes[node]
    cloud_service = world.pool_of(node).os is OsFamily.CLOUD_SERVICE
    if name == REIMAGE and world.options.reimage_cloud_service_only and not cloud_service:
        raise BatchError(
            "OperationNotValidOnPool",
            "Operation reimage can be invoked only on pools created with cloudServiceConfiguration",
        )
    refusal = operation_verdict(name, state, record.operation)
    if refusal is not None:
        raise refusal
    begin(world, node, name, option)


def begin(world: World, node: int, name: str, option: Deallocation) -> None:
    """Carry an accepted operation out, at once or when the node's tasks are done (NOP-2, RSZ-5)."""
    if option in _WAITING and world.nodes.state_of(node) in _WAITS_IN:
        record = world.nodes.edit(node)
        record.operation = PendingOperation(name, option is Deallocation.RETAINED_DATA, _RULES[name])
        world.scheduler.update_eligibility(node)
        interruptions.stop_preparing(world, node)
        drained(world, node)
    else:
        carry_out(world, node, name, option)


def begin_when_up(world: World, node: int, name: str) -> None:
    """Carry an operation out as soon as the node, which starts, is up."""
    world.nodes.edit(node).operation = PendingOperation(name, waits_for_retention=False, rule=_RULES[name])


def drained(world: World, node: int) -> None:
    """Look whether the operation that waits for the node's tasks can begin (NOP-2, NOP-14)."""
    operation = world.nodes[node].operation
    if operation is None or world.nodes.busy(node) or world.nodes.state_of(node) not in _AT_REST:
        return
    if operation.waits_for_retention:
        expiry_ms = last_retention_ms(world, node)
        if expiry_ms is None:
            return
        if expiry_ms > world.now_ms:
            world.calendar.at(expiry_ms, DueKind.DATA_EXPIRED, node)
            return
    carry_out(world, node, operation.name)


def node_drained(world: World, fact: NodeDrained) -> None:
    """Begin the operation that waited for the node's tasks (NOP-2)."""
    drained(world, fact.node)


def data_expired(world: World, due: Due) -> None:
    """The last task directory on a node may go (RSZ-4)."""
    drained(world, due.key)


def last_retention_ms(world: World, node: int) -> int | None:
    """When the last task directory on the node may go (RSZ-4 retaineddata); None if never. ms."""
    tasks = world.tasks
    last = world.now_ms
    for task in range(tasks.length):
        if tasks.state[task] == COMPLETED and node in world.nodes_of(task):
            retention_ms = directories.retention_ms_of(world, task, node)
            if retention_ms is None:
                return None
            last = max(last, tasks.ended[task] + retention_ms)
    return last


def carry_out(world: World, node: int, name: str, option: Deallocation = Deallocation.REQUEUE) -> None:
    """Do it now; what is on the node is dealt with when it is out of reach for everything else (NOP-12)."""
    if name == REMOVE:
        nodes.leave(world, node, option)
        return
    record = world.nodes.edit(node)
    record.operation = None
    start_task.stop(world, node)
    state, disk, rule, step = _EFFECTS[name]
    world.nodes.set_state(world.now_ms, node, state)
    world.scheduler.update_eligibility(node)
    interruptions.stop_tasks(world, node, option, _RULES[name])
    interruptions.stop_instances(world, node, disk, rule, by_user=True)
    world.enter_node_step(node, world.node_ms(world.pool_of(node), step, record.position, record.boots))


def start_node(world: World, node: int) -> None:
    """Start a deallocated node: it boots as if reimaged (NOP-8)."""
    state = world.nodes.state_of(node)
    assert state is not None
    if state is not _N.DEALLOCATED:
        raise BatchError("OperationNotValidOnNode", f"the node is {state.wire}")
    nodes.boot(world, node)


def disable_scheduling(world: World, node: int, option: Deallocation) -> None:
    """No new tasks on the node; offline once nothing of a job runs there (NOP-6). Prep and release go on (NOP-14)."""
    refusal = scheduling_verdict(SchedulingState.DISABLED, world.nodes[node])
    if refusal is not None:
        raise refusal
    world.nodes.set_scheduling(world.now_ms, node, SchedulingState.DISABLED)
    world.scheduler.update_eligibility(node)
    if option is Deallocation.TASK_COMPLETION:
        interruptions.stop_preparing(world, node)
    else:
        interruptions.stop_tasks(world, node, option, "NOP-6")
    world.nodes.settle(world.now_ms, node)


def enable_scheduling(world: World, node: int) -> None:
    """The node takes tasks again (NOP-6)."""
    refusal = scheduling_verdict(SchedulingState.ENABLED, world.nodes[node])
    if refusal is not None:
        raise refusal
    world.nodes.set_scheduling(world.now_ms, node, SchedulingState.ENABLED)
    if world.nodes.state_of(node) is _N.OFFLINE:
        world.nodes.set_state(world.now_ms, node, _N.IDLE)
    world.scheduler.update_eligibility(node)


def release_from_operation(world: World, node: int) -> None:
    """An operation that waited is called off: the node takes tasks again (RSZ-5)."""
    world.nodes.edit(node).operation = None
    world.scheduler.update_eligibility(node)
    world.nodes.settle(world.now_ms, node)


def remove(world: World, node: int, option: Deallocation) -> None:
    """The node is to leave its pool (NOP-5, RSZ-4, RSZ-7); whatever else was to be done with it is void."""
    world.nodes.edit(node).operation = None
    begin(world, node, REMOVE, option)


# -- node users ------------------------------------------------------------------------------------------------------


def check_users(world: World, node: int) -> None:
    """NOP-9: users can be changed only while the node is idle or running; refuses otherwise. See ``users``."""
    state = world.nodes.state_of(node)
    assert state is not None
    if state not in (_N.IDLE, _N.RUNNING):
        raise BatchError(_REFUSALS.get(state, "OperationNotValidOnNode"), f"the node is {state.wire}")
