"""What users do to nodes (chapter 6): reboot, reimage, deallocate, start, disable and enable scheduling.

``operation_verdict`` says whether the service takes the operation. With taskcompletion or retaineddata the
node keeps running what it has (NOP-2) until ``drained`` finds the condition met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.calendar import Due, DueKind
from engine.errors import BatchError
from engine.rules import interruptions, nodes, scheduling, start_task
from engine.state.disks import Disk
from engine.state.nodes import PendingOperation
from engine.state.tasks import COMPLETED
from engine.terms import Deallocation, NodeState, OsFamily, SchedulingState
from engine.units import DAY_MS

if TYPE_CHECKING:
    from engine.specs.commands import CreateNodeUser
    from engine.world import World

_N = NodeState
REBOOT, REIMAGE, DEALLOCATE, REMOVE = "reboot", "reimage", "deallocate", "remove"
_RULES = {REBOOT: "NOP-3", REIMAGE: "NOP-4", DEALLOCATE: "NOP-8", REMOVE: "RSZ-4"}
_WAITING = (Deallocation.TASK_COMPLETION, Deallocation.RETAINED_DATA)
_ALLOWED = {
    REBOOT: (_N.IDLE, _N.RUNNING, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE),
    REIMAGE: (_N.IDLE, _N.RUNNING, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE),
    DEALLOCATE: (_N.IDLE, _N.RUNNING),
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
    if pending is not None:
        return BatchError("OperationInvalidForCurrentState", f"a {pending.name} of the node is under way")
    if state in _ALLOWED[name]:
        return None
    if name == DEALLOCATE:
        return BatchError("OperationNotValidOnNode", f"the node is {state.wire}")
    return BatchError(_REFUSALS.get(state, "OperationNotValidOnNode"), f"the node is {state.wire}")


# -- operations ------------------------------------------------------------------------------------------------------


def operate(world: World, node: int, name: str, option: Deallocation) -> None:
    """Reboot, reimage or deallocate a node (NOP-1 to NOP-4, NOP-8)."""
    state = world.nodes.state_of(node)
    assert state is not None
    record = world.nodes[node]
    if name == REIMAGE and world.options.reimage_cloud_service_only:
        if world.pool_of(node).os is not OsFamily.CLOUD_SERVICE:
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
    rule = _RULES[name]
    if option in _WAITING and world.nodes.state_of(node) in (_N.IDLE, _N.RUNNING):
        record = world.nodes.edit(node)
        record.operation = PendingOperation(name, option is Deallocation.RETAINED_DATA, rule)
        scheduling.open_node(world, node)
        interruptions.stop_preparing(world, node)
        drained(world, node)
        return
    _take_out(world, node)
    interruptions.stop_tasks(world, node, option, rule)
    carry_out(world, node, name)


def _take_out(world: World, node: int) -> None:
    """No new task comes to the node while it is being dealt with."""
    record = world.nodes.edit(node)
    if record.operation is None:
        record.operation = PendingOperation("", False, "NOP-1")
    scheduling.open_node(world, node)


def drained(world: World, node: int) -> None:
    """Look whether the operation that waits for the node's tasks can begin (NOP-2, NOP-14)."""
    operation = world.nodes[node].operation
    if operation is None or not operation.name or world.nodes.running[node]:
        return
    if operation.waits_for_retention:
        expiry_ms = last_retention_ms(world, node)
        if expiry_ms is None:
            return
        if expiry_ms > world.now_ms:
            world.calendar.at(expiry_ms, DueKind.DATA_EXPIRED, node)
            return
    carry_out(world, node, operation.name)


def data_expired(world: World, due: Due) -> None:
    """The last task directory on a node may go (RSZ-4)."""
    drained(world, due.key)


def last_retention_ms(world: World, node: int) -> int | None:
    """When the last task directory on the node may go (RSZ-4 retaineddata); None if never. ms."""
    tasks = world.tasks
    last = world.now_ms
    for task in range(tasks.length):
        if tasks.node[task] == node and tasks.state[task] == COMPLETED:
            retention_ms = tasks.profile_of(task).retention_ms
            if retention_ms is None:
                return None
            last = max(last, tasks.ended[task] + retention_ms)
    return last


def carry_out(world: World, node: int, name: str) -> None:
    """The node has no task any more: do it (NOP-12)."""
    if name == REMOVE:
        nodes.leave(world, node)
        return
    now_ms = world.now_ms
    record = world.nodes.edit(node)
    pool = world.pool_of(node)
    record.operation = None
    start_task.stop(world, node)
    if name == REBOOT:
        world.nodes.set_state(now_ms, node, _N.REBOOTING)
        interruptions.stop_instances(world, node, Disk.KEPT, rebooting=True, by_user=True)
        delay_ms = world.node_ms(pool, "reboot", record.position, record.boots)
    elif name == REIMAGE:
        world.nodes.set_state(now_ms, node, _N.REIMAGING)
        interruptions.stop_instances(world, node, Disk.WIPED, rebooting=True, by_user=True)
        delay_ms = world.node_ms(pool, "reimage", record.position, record.boots)
    else:
        world.nodes.set_state(now_ms, node, _N.DEALLOCATING)
        interruptions.stop_instances(world, node, Disk.WIPED, rebooting=False, by_user=True)
        delay_ms = world.node_ms(pool, "deallocate", record.position, record.boots)
    scheduling.open_node(world, node)
    nodes.pass_on(world, node, delay_ms)


def start_node(world: World, node: int) -> None:
    """Start a deallocated node: it boots as if reimaged (NOP-8)."""
    state = world.nodes.state_of(node)
    assert state is not None
    if state is not _N.DEALLOCATED:
        raise BatchError("OperationNotValidOnNode", f"the node is {state.wire}")
    nodes.boot(world, node)


def disable_scheduling(world: World, node: int, option: Deallocation) -> None:
    """No new tasks on the node; offline once nothing of a job runs there (NOP-6). Prep and release go on (NOP-14)."""
    record = world.nodes[node]
    if record.scheduling is SchedulingState.DISABLED:
        raise BatchError("NodeAlreadyInTargetSchedulingState")
    world.nodes.set_scheduling(world.now_ms, node, SchedulingState.DISABLED)
    scheduling.open_node(world, node)
    if option is Deallocation.TASK_COMPLETION:
        interruptions.stop_preparing(world, node)
    else:
        interruptions.stop_tasks(world, node, option, "NOP-6")
    scheduling.settle(world, node)


def enable_scheduling(world: World, node: int) -> None:
    """The node takes tasks again (NOP-6)."""
    if world.nodes[node].scheduling is SchedulingState.ENABLED:
        raise BatchError("NodeAlreadyInTargetSchedulingState")
    world.nodes.set_scheduling(world.now_ms, node, SchedulingState.ENABLED)
    if world.nodes.state_of(node) is _N.OFFLINE:
        world.nodes.set_state(world.now_ms, node, _N.IDLE)
    scheduling.open_node(world, node)


def release_from_operation(world: World, node: int) -> None:
    """An operation that waited is called off: the node takes tasks again (RSZ-5)."""
    world.nodes.edit(node).operation = None
    scheduling.open_node(world, node)
    scheduling.settle(world, node)


def remove(world: World, node: int, option: Deallocation) -> None:
    """The node is to leave its pool (RSZ-4, RSZ-7); whatever else was to be done with it is void."""
    if world.nodes.state_of(node) in (_N.IDLE, _N.RUNNING):
        world.nodes.edit(node).operation = None
        begin(world, node, REMOVE, option)
    else:
        start_task.stop(world, node)
        world.nodes.edit(node).operation = None
        nodes.leave(world, node)




# -- node users ------------------------------------------------------------------------------------------------------

def _check_users(world: World, node: int) -> None:
    """NOP-9: users can be changed only while the node is idle or running."""
    state = world.nodes.state_of(node)
    assert state is not None
    if state not in (_N.IDLE, _N.RUNNING):
        raise BatchError(_REFUSALS.get(state, "OperationNotValidOnNode"), f"the node is {state.wire}")


def create_user(world: World, node: int, command: CreateNodeUser) -> None:
    """Add a user for remote login (NOP-9)."""
    _check_users(world, node)
    if command.name in world.nodes[node].users:
        raise BatchError("NodeUserExists", name=command.name)
    expiry_ms = world.now_ms + DAY_MS
    if command.expiry_time is not None:
        expiry_ms = int((command.expiry_time - world.scenario.start).total_seconds() * 1000)
    world.nodes.edit(node).users[command.name] = (command.is_admin, expiry_ms)


def delete_user(world: World, node: int, name: str) -> None:
    """Delete a user (NOP-9)."""
    _check_users(world, node)
    if name not in world.nodes[node].users:
        raise BatchError("NodeUserNotFound", name=name)
    del world.nodes.edit(node).users[name]
