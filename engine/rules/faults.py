"""What goes wrong with nodes by itself, as the scenario says (chapters 5 and 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import Deallocation, NodeState, SchedulingState
from engine.base.units import MINUTE_MS
from engine.events.calendar import Due, DueKind
from engine.rules import node_operations, nodes, os_upgrade, release, spot, start_task
from engine.rules.tasks import interruptions
from engine.specs.catalogue import EVICTION_NOTICE_MS, RECOVERY_MS
from engine.specs.commands import Capacity, FailNode, NodeFault, StorageOutage
from engine.state.disks import Disk
from engine.state.nodes import Node, NodeError

if TYPE_CHECKING:
    from engine.world.facts import NodeBroken
    from engine.world.world import World

_N = NodeState
_UP = (_N.WAITING_FOR_START_TASK, _N.START_TASK_FAILED, _N.IDLE, _N.RUNNING, _N.OFFLINE)
_WITHOUT_VM = (None, _N.PREEMPTED, _N.LEAVING_POOL)
_CAN_FAIL = (_N.CREATING, _N.STARTING, *_UP, _N.UNKNOWN)

# NODE-9: how long contact may be lost before the node counts as unusable.
LOST_CONTACT_MS = 5 * MINUTE_MS


def fail_node(world: World, node: int, fault: FailNode) -> None:
    """The node is of no use, or out of contact (NODE-9, NODE-11, NODE-12, NODE-13)."""
    state = world.nodes.state_of(node)
    if fault.state is NodeFault.UNKNOWN:
        if state not in _UP:
            raise BatchError("OperationNotValidOnNode", f"the node is {_wire(state)}")
        _lose_contact(world, node, state, fault.for_ms)
        return
    if state not in _CAN_FAIL:
        raise BatchError("OperationNotValidOnNode", f"the node is {_wire(state)}")
    recovers_ms = fault.for_ms if fault.for_ms is not None else RECOVERY_MS if fault.code is None else None
    become_unusable(world, node, fault.code, recovers_ms)


def never_reached(world: World, node: int) -> None:
    """Batch and the node could not talk to each other, for its network is closed (NET-4): unusable, without errors.

    NODE-14 the attempt to recover it ends the same way. DECISION: then Batch leaves the node alone until somebody acts.
    """
    become_unusable(world, node, None, None if world.nodes[node].recovering else RECOVERY_MS)


def _wire(state: NodeState | None) -> str:
    return state.wire if state is not None else "gone"


def become_unusable(
    world: World, node: int, code: str | None, recovers_ms: int | None, details: tuple[tuple[str, str], ...] = ()
) -> None:
    """NODE-11: of no use until the service recovers it after so many ms (NODE-14); None: only a reboot helps (NODE-15).

    ``code`` is the cause that the service knows, None if it knows none (NODE-12).
    """
    record = world.nodes.edit(node)
    world.nodes.set_state(world.now_ms, node, _N.UNUSABLE)
    leaving = is_to_leave(record)
    record.operation = None
    record.lost_ms = world.now_ms if record.lost_ms is None else record.lost_ms
    message = _ERRORS.get(code or "", "The node is unusable.")
    record.errors = (NodeError(code, message, details),) if code is not None else ()
    start_task.stop(world, node)
    world.scheduler.update_eligibility(node)
    interruptions.lose_tasks(world, node, "NODE-13")
    interruptions.stop_instances(world, node, Disk.KEPT, "PREP-19", by_user=False)
    _watch_owed_releases(world, node)
    if leaving:
        nodes.leave(world, node, Deallocation.REQUEUE)
        return
    if recovers_ms is None:
        world.cancel_node_step(node)
    else:
        record.recover_ms = world.now_ms + recovers_ms
        world.enter_node_step(node, recovers_ms)
    os_upgrade.look_at_upgrade(world, world.pool_of(node))


def node_broken(world: World, broken: NodeBroken) -> None:
    """Make the node unusable for the reason found, until it is rebooted (NODE-11, NODE-15)."""
    become_unusable(world, broken.node, broken.code, None, broken.details)


# NODE-17, table ERR-N: what the service says of the causes it knows.
_ERRORS = {
    "DiskFull": "The node has not enough free disk space.",
    "ApplicationPackageError": "An application package of the pool could not be installed.",
    "ContainerInvalidImage": "A container image could not be pulled.",
    "ContainerInvalidRegistry": "A container registry could not be reached.",
    "MountConfigurationError": "A file system could not be mounted.",
    "NodePreparationError": "The node could not be set up.",
    "CertificateInstallError": "A certificate could not be installed.",
}


def is_to_leave(record: Node) -> bool:
    """Whether the node only waits for its tasks to leave its pool (RSZ-5)."""
    return record.operation is not None and record.operation.name == node_operations.REMOVE


def _watch_owed_releases(world: World, node: int) -> None:
    for row in release.owed_rows(world, node):
        release.wait_a_while(world, node, row)


def _lose_contact(world: World, node: int, state: NodeState, for_ms: int | None) -> None:
    """Nothing is known of the node: no new task comes, what runs there is left to run (NODE-9, NODE-13)."""
    record = world.nodes.edit(node)
    record.lost_state = state
    record.lost_ms = world.now_ms
    world.nodes.set_state(world.now_ms, node, _N.UNKNOWN)
    world.scheduler.update_eligibility(node)
    _watch_owed_releases(world, node)
    out_ms = RECOVERY_MS if for_ms is None else for_ms
    record.recover_ms = world.now_ms + out_ms
    world.enter_node_step(node, min(out_ms, LOST_CONTACT_MS))


def contact_is_over(world: World, node: int) -> None:
    """Contact is back, and all is as before, or it has been lost for too long (NODE-9, NODE-14)."""
    record = world.nodes.edit(node)
    assert record.recover_ms is not None
    if record.recover_ms > world.now_ms:
        become_unusable(world, node, None, record.recover_ms - world.now_ms)
        return
    record.recover_ms = record.lost_ms = None
    world.cancel_node_step(node)
    task = record.start_task
    if record.lost_state in (_N.WAITING_FOR_START_TASK, _N.START_TASK_FAILED) and task is not None:
        if task.running:
            world.nodes.set_state(world.now_ms, node, record.lost_state)
            return
        if task.failure is not None:
            nodes.start_task_failed(world, node)
            return
    nodes.become_ready(world, node)


def eviction_verdict(state: NodeState | None, record: Node) -> BatchError | None:
    """Why a node's VM cannot be taken back (SPOT-2); None if it can."""
    why = "dedicated" if record.dedicated else _wire(state) if state in _WITHOUT_VM else None
    if why is None and record.evicted_ms is not None:
        why = "about to be evicted"
    return None if why is None else BatchError("OperationNotValidOnNode", f"the node is {why}")


def evict_node(world: World, node: int) -> None:
    """The VM of a Spot node is told that it will be taken back in half a minute; Batch does nothing yet (SPOT-7)."""
    refusal = eviction_verdict(world.nodes.state_of(node), world.nodes[node])
    if refusal is not None:
        raise refusal
    when_ms = world.now_ms + EVICTION_NOTICE_MS
    world.nodes.edit(node).evicted_ms = when_ms
    world.calendar.at(when_ms, DueKind.EVICTION, node)


def notice_is_over(world: World, due: Due) -> None:
    """The VM is taken back, for want of capacity only, unless its node is leaving anyway (SPOT-2, SPOT-3, SPOT-4)."""
    node = due.key
    if world.nodes[node].evicted_ms != world.now_ms:
        return
    record = world.nodes.edit(node)
    record.evicted_ms = None
    world.nodes.set_state(world.now_ms, node, _N.PREEMPTED)
    leaving = is_to_leave(record)
    record.operation = None
    record.start_task = None
    record.errors = ()
    record.recover_ms = record.lost_ms = None
    if record.scheduling is SchedulingState.DISABLED:
        world.nodes.set_scheduling(world.now_ms, node, SchedulingState.ENABLED, rule="NOP-7")
    world.scheduler.update_eligibility(node)
    interruptions.lose_tasks(world, node, "SPOT-3")
    interruptions.stop_instances(world, node, Disk.WIPED, "PREP-19", by_user=False)
    world.nodes.forget_tasks(node)
    world.cancel_node_step(node)
    if leaving:
        nodes.leave(world, node, Deallocation.REQUEUE)
    spot.seek(world, world.pool_of(node))
    os_upgrade.look_at_upgrade(world, world.pool_of(node))


def set_capacity(world: World, fault: Capacity) -> None:
    """From now on so many nodes of a size can still be had (RSZ-12)."""
    name = fault.vm_size.lower()
    others = tuple(item for item in world.faults.capacity if item[0] != name)
    world.faults = world.faults._replace(capacity=(*others, (name, fault.nodes, fault.code.value)))


def storage_outage(world: World, fault: StorageOutage) -> None:
    """Storage does not answer: downloads that begin now fail (RETRY-1)."""
    until_ms = None if fault.for_ms is None else world.now_ms + fault.for_ms
    world.faults = world.faults._replace(outages=(*world.faults.outages, (world.now_ms, until_ms)))
