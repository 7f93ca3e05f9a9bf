"""Failures of nodes: unusable nodes, lost contact and evictions (NODE, SPOT)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.lifecycles import NODE
from engine.base.terms import Deallocation, NodeState, SchedulingState
from engine.base.units import MINUTE_MS
from engine.events.calendar import Due, DueKind
from engine.events.log import Json, LogSubject, to_json
from engine.specs.catalogue import RECOVERY_MS
from engine.specs.commands import EvictNode, FailNode, NodeFault
from engine.state.disks import Disk
from engine.state.node_records import Node, NodeError
from engine.world.facts import (
    NodeLeaving,
    NodeLost,
    NodePreempted,
    NodeUnreachable,
    NodeUnusable,
    NodeUsable,
    StartTaskFailed,
)

if TYPE_CHECKING:
    from engine.world.facts import ContactWaitEnded, EvictionDrawn, FailureDrawn, NodeBroken, NodeCutOff
    from engine.world.world import World

_N = NodeState

# NODE-9: how long contact may be lost before the node counts as unusable.
LOST_CONTACT_MS = 5 * MINUTE_MS

# NODE-17, table ERR-N: the messages of the causes that the service knows.
_ERRORS = {
    "DiskFull": "The node has not enough free disk space.",
    "ApplicationPackageError": "An application package of the pool could not be installed.",
    "ContainerInvalidImage": "A container image could not be pulled.",
    "ContainerInvalidRegistry": "A container registry could not be reached.",
    "MountConfigurationError": "A file system could not be mounted.",
    "NodePreparationError": "The node could not be set up.",
    "CertificateInstallError": "A certificate could not be installed.",
}


# -- unusable nodes --------------------------------------------------------------------------------------------------


def fail_node(world: World, node: int, fault: FailNode) -> None:
    """Make the node unusable, or lose contact with it (NODE-9, NODE-11, NODE-12, NODE-13)."""
    state = world.nodes.state_of(node)
    if (state, _N.UNKNOWN if fault.state is NodeFault.UNKNOWN else _N.UNUSABLE) not in NODE:
        raise BatchError("OperationNotValidOnNode", f"the node is {_wire(state)}")
    if fault.state is NodeFault.UNKNOWN:
        _lose_contact(world, node, RECOVERY_MS if fault.for_ms is None else fault.for_ms)
        return
    recovers_ms = fault.for_ms if fault.for_ms is not None else RECOVERY_MS if fault.code is None else None
    _become_unusable(world, node, fault.code, recovers_ms)


def failure_drawn(world: World, drawn: FailureDrawn) -> None:
    """Make a node unusable that fails by chance: it recovers as one that cannot be reached (NODE-18, NODE-14)."""
    node = drawn.node
    _log_chance(world, node, FailNode.NAME, (("state", NodeFault.UNUSABLE.value),), "NODE-18")
    _become_unusable(world, node, None, RECOVERY_MS, by_chance=True)


def _log_chance(world: World, node: int, command: str, more: tuple[tuple[str, str], ...], rule: str) -> None:
    """Log a fault that comes by chance as one of the timeline is logged, about its node."""
    body = Json(to_json({"poolId": world.pool_of(node).id, "nodeId": world.nodes[node].id, **dict(more)}))
    shape = world.log.shape("FaultInjected", LogSubject.NODE, ("command", command), ("body", body), ("rule", rule))
    world.log.append(world.now_ms, shape, -1, node)


def node_cut_off(world: World, cut_off: NodeCutOff) -> None:
    """Make a node whose network is closed unusable, without errors (NET-4).

    The attempt to recover it ends in the same way (NODE-14). DECISION: then Batch leaves it alone until a user acts.
    """
    recovers_ms = None if world.nodes[cut_off.node].recovering else RECOVERY_MS
    _become_unusable(world, cut_off.node, None, recovers_ms)


def node_broken(world: World, broken: NodeBroken) -> None:
    """Make the node unusable for the reason found, until it is rebooted (NODE-11, NODE-15)."""
    _become_unusable(world, broken.node, broken.code, None, broken.details)


def _become_unusable(
    world: World,
    node: int,
    code: str | None,
    recovers_ms: int | None,
    details: tuple[tuple[str, str], ...] = (),
    *,
    by_chance: bool = False,
) -> None:
    """Make the node unusable (NODE-11) until the service recovers it after so many ms (NODE-14); None: until a reboot.

    ``code`` is the cause, None if the service knows none (NODE-12).
    """
    leaving = world.nodes[node].is_to_leave
    message = _ERRORS.get(code or "", "The node is unusable.")
    errors = (NodeError(code, message, details),) if code is not None else ()
    world.nodes.become_unusable(world.now_ms, node, errors, by_chance=by_chance)
    world.scheduler.update_eligibility(node)
    world.emit(NodeLost(node, Disk.KEPT, "NODE-13"))
    world.emit(NodeUnreachable(node))
    if leaving:
        world.emit(NodeLeaving(node, Deallocation.REQUEUE))
        return
    if recovers_ms is None:
        world.cancel_node_step(node)
    else:
        world.nodes.edit(node).assign(recover_ms=world.now_ms + recovers_ms)
        world.enter_node_step(node, recovers_ms)
    world.emit(NodeUnusable(node))


# -- lost contact ----------------------------------------------------------------------------------------------------


def _lose_contact(world: World, node: int, for_ms: int) -> None:
    """Let no new task come; what runs on the node is left to run (NODE-9, NODE-13)."""
    world.nodes.lose_contact(world.now_ms, node)
    world.scheduler.update_eligibility(node)
    world.emit(NodeUnreachable(node))
    world.nodes.edit(node).assign(recover_ms=world.now_ms + for_ms)
    world.enter_node_step(node, min(for_ms, LOST_CONTACT_MS))


def contact_wait_ended(world: World, ended: ContactWaitEnded) -> None:
    """Put the node back where it was if contact is back, or make it unusable (NODE-9, NODE-14)."""
    node = ended.node
    record = world.nodes[node]
    assert record.recover_ms is not None
    if record.recover_ms > world.now_ms:
        _become_unusable(world, node, None, record.recover_ms - world.now_ms)
        return
    world.nodes.edit(node).assign(recover_ms=None, lost_ms=None)
    world.cancel_node_step(node)
    task = record.start_task
    if record.lost_state in (_N.WAITING_FOR_START_TASK, _N.START_TASK_FAILED) and task is not None:
        if task.running:
            world.nodes.set_state(world.now_ms, node, record.lost_state)
            return
        if task.failure is not None:
            world.emit(StartTaskFailed(node))
            return
    world.emit(NodeUsable(node))


# -- evictions -------------------------------------------------------------------------------------------------------


def eviction_verdict(state: NodeState | None, record: Node) -> BatchError | None:
    """Return why a node's VM cannot be taken back (SPOT-2); None if it can."""
    why = "dedicated" if record.dedicated else _wire(state) if (state, _N.PREEMPTED) not in NODE else None
    if why is None and record.evicted_ms is not None:
        why = "about to be evicted"
    return None if why is None else BatchError("OperationNotValidOnNode", f"the node is {why}")


def evict_node(world: World, node: int) -> None:
    """Announce the eviction of a Spot VM; Batch does nothing yet (SPOT-7)."""
    refusal = eviction_verdict(world.nodes.state_of(node), world.nodes[node])
    if refusal is not None:
        raise refusal
    _announce(world, node, by_chance=False)


def eviction_drawn(world: World, drawn: EvictionDrawn) -> None:
    """Announce an eviction by chance (SPOT-10)."""
    _log_chance(world, drawn.node, EvictNode.NAME, (), "SPOT-10")
    _announce(world, drawn.node, by_chance=True)


def _announce(world: World, node: int, *, by_chance: bool) -> None:
    when_ms = world.now_ms + world.eviction_notice_ms
    world.nodes.edit(node).assign(evicted_ms=when_ms, evicted_by_chance=by_chance)
    world.calendar.at(when_ms, DueKind.EVICTION, node)


def eviction_due(world: World, due: Due) -> None:
    """Take the VM back for want of capacity, unless its node is leaving anyway (SPOT-2, SPOT-3, SPOT-4)."""
    node, record = due.key, world.nodes[due.key]
    if record.evicted_ms != world.now_ms:
        return
    leaving = record.is_to_leave
    world.nodes.preempt(world.now_ms, node)
    if record.scheduling is SchedulingState.DISABLED:
        world.nodes.set_scheduling(world.now_ms, node, SchedulingState.ENABLED, rule="NOP-7")
    world.scheduler.update_eligibility(node)
    world.emit(NodeLost(node, Disk.WIPED, "SPOT-3"))
    world.nodes.forget_tasks(node)
    world.cancel_node_step(node)
    if leaving:
        world.emit(NodeLeaving(node, Deallocation.REQUEUE))
    world.emit(NodePreempted(node))


def _wire(state: NodeState | None) -> str:
    return state.wire if state is not None else "gone"
