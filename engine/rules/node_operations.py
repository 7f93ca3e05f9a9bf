"""Operations on nodes (NOP): reboot, reimage, deallocate, start, scheduling, users for remote login, uploads of logs.

``operation_verdict`` decides whether the service takes an operation. With ``taskcompletion`` or ``retaineddata`` the
node keeps its running tasks (NOP-2), and the operation begins when the node is drained. Removal from the pool and the
upgrade of the operating system go the same way; ``pools`` decides when it is a node's turn.

Users that log in to single nodes (NOP-9) have nothing to do with users that run commands, which are in
``processes.setup`` (USER-3). The logs of the node agent are uploaded on request (NOP-11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, raise_refusal
from engine.base.lifecycles import NODE, NODE_STATES, READY, Availability, states_in
from engine.base.terms import Deallocation, NodeState, OsFamily, PoolState, SchedulingState
from engine.base.values import DAY_MS
from engine.rules.decisions.verdicts import existing
from engine.rules.facts import NodeDrainBegun, NodeLeaving, NodeStopped, SchedulingDisabled, VmStarted
from engine.rules.processes import node_disk, setup
from engine.specs import draws
from engine.specs.account import BlobContent
from engine.specs.commands import CreateNodeUser
from engine.specs.refusals import invalid
from engine.state.files import NO_TASK
from engine.state.nodes import Node, Operation, PendingOperation
from engine.state.tasks import COMPLETED

if TYPE_CHECKING:
    from engine.rules.facts import (
        NodeDrained,
        NodeKept,
        NodeRemovalRequested,
        NodeUpgradeDue,
        NodeUsable,
        StartTaskFailed,
    )
    from engine.specs.commands import DisableNodeScheduling, UpdateNodeUser, UploadNodeLogs
    from engine.world import World


_N = NodeState
_WAITING = (Deallocation.TASK_COMPLETION, Deallocation.RETAINED_DATA)
_WAITS_IN = states_in(Availability.READY, Availability.OFFLINE)
_AT_REST = states_in(Availability.READY, Availability.OFFLINE, Availability.FAILED)
_BOOTING = states_in(Availability.BOOTING)


class _Effect(NamedTuple):
    """The effect of an operation on a node (NOP-12)."""

    rule: str
    state: NodeState  # while it is under way; ``nodes.node_step`` does what comes next
    prep_rule: str  # why a running preparation ends
    step: str  # the name of its duration in ``simulate.nodes``


EFFECTS = {
    Operation.REBOOT: _Effect("NOP-3", _N.REBOOTING, "PREP-15", "reboot"),
    Operation.REIMAGE: _Effect("NOP-4", _N.REIMAGING, "PREP-18", "reimage"),
    Operation.DEALLOCATE: _Effect("NOP-8", _N.DEALLOCATING, "PREP-19", "deallocate"),
    Operation.UPGRADE: _Effect("POOL-22", _N.UPGRADING_OS, "PREP-15", "reimage"),
    Operation.REMOVE: _Effect("RSZ-4", _N.LEAVING_POOL, "PREP-19", "removal"),
}


# -- decisions -------------------------------------------------------------------------------------------------------


def operation_verdict(name: Operation, state: NodeState, pending: PendingOperation | None) -> BatchError | None:
    """Return why the service refuses an operation on a node in this state; None if it takes it.

    A second operation is refused while one waits (NOP-2), others by the state of the node (NOP-3, NOP-4). Deallocate
    has one error code (NOP-8).
    """
    refusal = _waiting_verdict(pending)
    if refusal is not None:
        return refusal
    if (state, EFFECTS[name].state) in NODE:
        return None
    if name is Operation.DEALLOCATE:
        return BatchError("OperationNotValidOnNode", f"the node is {state.wire}")
    return BatchError(NODE_STATES[state].refusal, f"the node is {state.wire}")


def _waiting_verdict(pending: PendingOperation | None) -> BatchError | None:
    if pending is None:
        return None
    return BatchError("OperationInvalidForCurrentState", f"the {pending.name} of the node waits for its tasks")


def scheduling_verdict(wanted: SchedulingState, record: Node) -> BatchError | None:
    """Return why the service refuses to disable or enable scheduling; None if it does it (NOP-2, NOP-6)."""
    if record.scheduling is wanted:
        return BatchError("NodeAlreadyInTargetSchedulingState")
    return _waiting_verdict(record.operation)


def last_retention_ms(world: World, node: int) -> int | None:
    """Return when the last task directory on the node may go (RSZ-4 ``retaineddata``); None if never."""
    tasks = world.tasks
    last = world.now_ms
    for task in range(tasks.length):
        if tasks.state[task] == COMPLETED and node in world.nodes_of(task):
            retention_ms = node_disk.retention_ms_of(world, task, node)
            if retention_ms is None:
                return None
            last = max(last, tasks.ended[task] + retention_ms)
    return last


# -- commands --------------------------------------------------------------------------------------------------------


def operate(world: World, node: int, name: Operation, option: Deallocation) -> None:
    """Reboot, reimage or deallocate a node (NOP-1 to NOP-4, NOP-8)."""
    state = NodeState(world.nodes.state[node])
    cloud_service = world.pool_of(node).os is OsFamily.CLOUD_SERVICE
    if name is Operation.REIMAGE and world.options.reimage_cloud_service_only and not cloud_service:
        raise BatchError(
            "OperationNotValidOnPool",
            "Operation reimage can be invoked only on pools created with cloudServiceConfiguration",
        )
    raise_refusal(operation_verdict(name, state, world.nodes[node].operation))
    _begin(world, node, name, option)


def start_node(world: World, node: int) -> None:
    """Start a deallocated node: it boots as if reimaged (NOP-8)."""
    state = NodeState(world.nodes.state[node])
    if state is not _N.DEALLOCATED:
        raise BatchError("OperationNotValidOnNode", f"the node is {state.wire}")
    world.emit(VmStarted(node))


def disable_scheduling(world: World, node: int, command: DisableNodeScheduling) -> None:
    """Let no new tasks come; the node is offline once no task runs there (NOP-6). Prep and release go on (NOP-14)."""
    raise_refusal(scheduling_verdict(SchedulingState.DISABLED, world.nodes[node]))
    world.nodes.set_scheduling(world.now_ms, node, SchedulingState.DISABLED)
    world.scheduler.update_eligibility(node)
    world.emit(SchedulingDisabled(node, command.node_disable_scheduling_option))
    world.nodes.settle(world.now_ms, node)


def enable_scheduling(world: World, node: int) -> None:
    """Let the node take tasks again (NOP-6)."""
    raise_refusal(scheduling_verdict(SchedulingState.ENABLED, world.nodes[node]))
    world.nodes.set_scheduling(world.now_ms, node, SchedulingState.ENABLED)
    if world.nodes.state_of(node) is _N.OFFLINE:
        world.nodes.set_state(world.now_ms, node, _N.IDLE)
    world.scheduler.update_eligibility(node)


def _check_users(world: World, node: int) -> None:
    """Refuse a change of the node's users unless the node is idle or running (NOP-9)."""
    state = NodeState(world.nodes.state[node])
    if state not in READY:
        raise BatchError(NODE_STATES[state].refusal, f"the node is {state.wire}")


# -- reactions -------------------------------------------------------------------------------------------------------


def removal_requested(world: World, requested: NodeRemovalRequested) -> None:
    """Remove the node from its pool, now or when its tasks are done (NOP-5, RSZ-4, RSZ-7)."""
    world.nodes.edit(requested.node).assign(operation=None)
    _begin(world, requested.node, Operation.REMOVE, requested.option)


def node_kept(world: World, kept: NodeKept) -> None:
    """Let a node that only waited for its tasks before it left take tasks again (RSZ-5)."""
    world.nodes.edit(kept.node).assign(operation=None)
    world.scheduler.update_eligibility(kept.node)
    world.nodes.settle(world.now_ms, kept.node)


def node_drained(world: World, drained: NodeDrained | NodeUsable | StartTaskFailed) -> None:
    """Begin the operation that waits for the node's tasks, if nothing keeps it any more (NOP-2, NOP-14)."""
    _begin_if_drained(world, drained.node)


def data_expired(world: World, due: Due) -> None:
    """Begin the operation that waits for task directories, if the last one may go (RSZ-4)."""
    _begin_if_drained(world, due.key)


def upgrade_due(world: World, due: NodeUpgradeDue) -> None:
    """Upgrade the node's operating system now, or as soon as a booting node is up (POOL-22).

    A node that is to leave, and one that cannot be reached, is left out.
    """
    node = due.node
    state = world.nodes.state_of(node)
    if world.nodes[node].is_to_leave:
        return
    if state in _BOOTING:
        rule = EFFECTS[Operation.UPGRADE].rule
        world.nodes.edit(node).assign(
            operation=PendingOperation(Operation.UPGRADE, waits_for_retention=False, rule=rule)
        )
    elif (state, EFFECTS[Operation.UPGRADE].state) in NODE:
        _carry_out(world, node, Operation.UPGRADE)


# -- the operation itself --------------------------------------------------------------------------------------------


def _begin(world: World, node: int, name: Operation, option: Deallocation) -> None:
    """Carry an accepted operation out, at once or when the node's tasks are done (NOP-2, RSZ-5)."""
    if option in _WAITING and world.nodes.state_of(node) in _WAITS_IN:
        waits_for_retention = option is Deallocation.RETAINED_DATA
        world.nodes.edit(node).assign(operation=PendingOperation(name, waits_for_retention, EFFECTS[name].rule))
        world.scheduler.update_eligibility(node)
        world.emit(NodeDrainBegun(node))
        _begin_if_drained(world, node)
    else:
        _carry_out(world, node, name, option)


def _begin_if_drained(world: World, node: int) -> None:
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
    _carry_out(world, node, operation.name)


def _carry_out(world: World, node: int, name: Operation, option: Deallocation = Deallocation.REQUEUE) -> None:
    if name is Operation.REMOVE:
        world.emit(NodeLeaving(node, option))
    else:
        _take(world, node, name, option)


def node_leaving(world: World, leaving: NodeLeaving) -> None:
    """Remove the node from its pool; what still runs on it is requeued or terminated (RSZ-4, RSZ-7)."""
    world.nodes.edit(leaving.node).assign(evicted_ms=None)
    _take(world, leaving.node, Operation.REMOVE, leaving.option)


def _take(world: World, node: int, name: Operation, option: Deallocation) -> None:
    """Stop everything that runs on the node, and let the operation's first state begin (NOP-12).

    The nodes of a pool that is deleted leave together, unless the scenario gives the time of their removal (TIME-7).
    """
    effect, record = EFFECTS[name], world.nodes[node]
    world.nodes.edit(node).assign(operation=None)
    world.nodes.set_state(world.now_ms, node, effect.state)
    world.scheduler.update_eligibility(node)
    wipes_disk = NODE_STATES[effect.state].wipes_disk
    world.emit(NodeStopped(node, option, wipes_disk, effect.rule, effect.prep_rule))
    pool = world.pool_of(node)
    if pool.state is PoolState.DELETING and world.said_of_step(pool, effect.step, record.position) is None:
        delay_ms = world.node_ms(pool, "deletion", "together")
    else:
        delay_ms = world.node_ms(pool, effect.step, record.position, record.boots)
    world.enter_node_step(node, delay_ms)


def put_user(world: World, node: int, command: CreateNodeUser | UpdateNodeUser) -> None:
    """Add a user for remote login, or replace its password, key and expiry as a whole (NOP-9).

    The user expires after a day unless the command says otherwise, and stays what it is: an administrator or not.
    """
    _check_users(world, node)
    if not isinstance(command, CreateNodeUser):
        name = _existing_user(world, node, command.name)
        is_admin, _ = world.nodes[node].users[name]
    elif _known_user(world, node, command.name) is not None:
        raise BatchError("NodeUserExists", name=command.name)
    else:
        name, is_admin = command.name, command.is_admin
    if command.expiry_time is None:
        expiry_ms = world.now_ms + DAY_MS
    else:
        expiry_ms = int((command.expiry_time - world.scenario.start).total_seconds() * 1000)
    world.nodes.set_user(node, name, is_admin=is_admin, expiry_ms=expiry_ms)


def delete_user(world: World, node: int, name: str) -> None:
    """Delete a user (NOP-9)."""
    _check_users(world, node)
    world.nodes.delete_user(node, _existing_user(world, node, name))


def _known_user(world: World, node: int, name: str) -> str | None:
    """Return the user's name as it was spelled when it was added; case does not matter (GEN-1)."""
    return next((known for known in world.nodes[node].users if known.lower() == name.lower()), None)


def _existing_user(world: World, node: int, name: str) -> str:
    return existing(_known_user(world, node, name), "NodeUserNotFound", name=name)


# NOP-11: the files uploaded. DECISION: their content is not simulated, so they are empty.
_LOG_FILES = ("agent-debug.log", "agent-info.log", "agent-warn.log")


def upload_logs(world: World, node: int, command: UploadNodeLogs) -> None:
    """Leave the logs in the container, in the directory that ``uploaded`` returns.

    Refused on an unreachable node (NodeStateUnusable), and DECISION for a container that is missing or to which the
    access has expired (InvalidPropertyValue).
    """
    record = world.nodes[node]
    if world.nodes.state_of(node) is NodeState.UNUSABLE and not record.errors:
        raise BatchError("NodeStateUnusable")
    if command.end_time is not None and command.end_time < command.start_time:
        raise invalid(("endTime",), "endTime is before startTime").error(command)
    if setup.is_access_expired(world, command.container_url):
        raise invalid(("containerUrl",), "access to the container has expired").error(command)
    if setup.is_container_missing(world, command.container_url):
        raise invalid(("containerUrl",), "there is no such container").error(command)
    directory, container = _log_directory(world, node), world.blobs.container(command.container_url)
    for name in _LOG_FILES:
        world.blobs.upload(world.now_ms, container, f"{directory}/{name}", BlobContent(0, ""), node, NO_TASK)


def uploaded_logs(world: World, node: int) -> dict[str, object]:
    """Return the service's answer to an upload at this moment: the directory of the logs, and their number."""
    return {"virtualDirectoryName": _log_directory(world, node), "numberOfFilesUploaded": len(_LOG_FILES)}


def _log_directory(world: World, node: int) -> str:
    record, pool_id = world.nodes[node], world.pool_of(node).id
    guid = draws.guid(world.seed, "service logs", pool_id.lower(), record.position, world.now_ms)
    return f"{pool_id}/{record.id}/{guid}"
