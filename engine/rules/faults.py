"""Failures of nodes, by faults or by chance: unusable nodes, lost contact and evictions (NODE, SPOT).

At the rates of the scenario, nodes fail and Spot VMs are taken back at random (NODE-18, SPOT-10). Every node has a
stream of moments for each rate, drawn from its key and the number of the moment alone. What happens to other nodes, or
to this one, does not move them: a moment at which the node does not count passes by. Waiting times are exponential, so
the rate is the same as if each began when the node counts again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, raise_refusal
from engine.base.lifecycles import NODE
from engine.base.log import Json, LogSubject, to_json
from engine.base.terms import Deallocation, NodeState, SchedulingState
from engine.base.values import HOUR_MS, MINUTE_MS, UNLIMITED_FROM_MS
from engine.rules.facts import (
    EvictionDrawn,
    FailureDrawn,
    NodeLeaving,
    NodeLost,
    NodePreempted,
    NodeUnreachable,
    NodeUnusable,
    NodeUsable,
    StartTaskFailed,
)
from engine.specs import draws
from engine.specs.base import Distribution
from engine.specs.commands import EvictNode, FailNode, NodeFault
from engine.state.nodes import Node, NodeError

if TYPE_CHECKING:
    from engine.rules.facts import ContactWaitEnded, NodeAdded, NodeBroken, NodeCutOff, VmReplaced
    from engine.world import World


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
        _lose_contact(world, node, _recovery_ms(world, node) if fault.for_ms is None else fault.for_ms)
        return
    recovers_ms = fault.for_ms if fault.for_ms is not None or fault.code is not None else _recovery_ms(world, node)
    _become_unusable(world, node, fault.code, recovers_ms)


def _recovery_ms(world: World, node: int) -> int:
    """Return the time after which the service recovers a node that it cannot reach, drawn for this loss (TIME-14)."""
    record = world.nodes.edit(node)
    record.assign(losses=record.losses + 1)
    return world.node_ms(world.pool_of(node), "recovery", record.position, record.losses)


def failure_drawn(world: World, drawn: FailureDrawn) -> None:
    """Make a node unusable that fails by chance: it recovers as one that cannot be reached (NODE-18, NODE-14)."""
    node = drawn.node
    _log_chance(world, node, FailNode.NAME, (("state", NodeFault.UNUSABLE.value),), "NODE-18")
    _become_unusable(world, node, None, _recovery_ms(world, node), by_chance=True)


def _log_chance(world: World, node: int, command: str, more: tuple[tuple[str, str], ...], rule: str) -> None:
    """Log a fault that comes by chance as one of the timeline is logged, about its node."""
    body = Json(to_json({"poolId": world.pool_of(node).id, "nodeId": world.nodes[node].id, **dict(more)}))
    shape = world.log.shape("FaultInjected", LogSubject.NODE, ("command", command), ("body", body), ("rule", rule))
    world.log.append(world.now_ms, shape, -1, node)


def node_cut_off(world: World, cut_off: NodeCutOff) -> None:
    """Make a node whose network is closed unusable, without errors (NET-4).

    The attempt to recover it ends in the same way (NODE-14). DECISION: then Batch leaves it alone until a user acts.
    """
    recovers_ms = None if world.nodes[cut_off.node].recovering else _recovery_ms(world, cut_off.node)
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
    world.emit(NodeLost(node, wipes_disk=False, rule="NODE-13"))
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
    world.nodes.edit(node).assign(lost_state=world.nodes.state_of(node), lost_ms=world.now_ms)
    world.nodes.set_state(world.now_ms, node, _N.UNKNOWN)
    world.scheduler.update_eligibility(node)
    world.emit(NodeUnreachable(node))
    world.nodes.edit(node).assign(recover_ms=world.now_ms + for_ms)
    world.enter_node_step(node, min(for_ms, LOST_CONTACT_MS))


def unusable_ms(world: World, node: int) -> int | None:
    """Return when a node out of contact becomes unusable; None if contact comes back before that (NODE-13)."""
    record = world.nodes[node]
    if world.nodes.state_of(node) is not _N.UNKNOWN or record.lost_ms is None or record.recover_ms is None:
        return None
    when_ms = record.lost_ms + LOST_CONTACT_MS
    return when_ms if when_ms < record.recover_ms else None


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
    raise_refusal(eviction_verdict(world.nodes.state_of(node), world.nodes[node]))
    _announce(world, node, by_chance=False)


def eviction_drawn(world: World, drawn: EvictionDrawn) -> None:
    """Announce an eviction by chance (SPOT-10)."""
    _log_chance(world, drawn.node, EvictNode.NAME, (), "SPOT-10")
    _announce(world, drawn.node, by_chance=True)


def _announce(world: World, node: int, *, by_chance: bool) -> None:
    when_ms = world.now_ms + world.scenario.simulate.spot.notice
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
    world.emit(NodeLost(node, wipes_disk=True, rule="SPOT-3"))
    world.nodes.forget_tasks(node)
    world.cancel_node_step(node)
    if leaving:
        world.emit(NodeLeaving(node, Deallocation.REQUEUE))
    world.emit(NodePreempted(node))


def _wire(state: NodeState | None) -> str:
    return state.wire if state is not None else "gone"


# -- decisions -------------------------------------------------------------------------------------------------------


def may_fail(state: NodeState | None) -> bool:
    """Return whether a node can fail by chance now (NODE-18).

    DECISION: a moment within a reboot, a reimage, an upgrade or a deallocation passes by.
    """
    return (state, NodeState.UNUSABLE) in NODE


def may_be_evicted(state: NodeState | None, record: Node) -> bool:
    """Return whether an eviction by chance can be announced now (SPOT-10)."""
    return state is not NodeState.UNUSABLE and eviction_verdict(state, record) is None


# -- failures --------------------------------------------------------------------------------------------------------


def node_added(world: World, added: NodeAdded) -> None:
    """Enter the first moments of a new node in the calendar; without rates there are none."""
    node = added.node
    record = world.nodes[node]
    if world.scenario.simulate.nodes.failure_rate:
        _enter_failure(world, node)
    if world.scenario.simulate.spot.eviction_rate and not record.dedicated:
        _draw_eviction(world, node, world.now_ms)


def _enter_failure(world: World, node: int) -> None:
    """Enter the next moment at which the node may fail."""
    record = world.nodes.edit(node)
    record.assign(failures_drawn=record.failures_drawn + 1)
    wait_ms = _drawn_wait_ms(world, node, "failure", record.failures_drawn, world.scenario.simulate.nodes.failure_rate)
    world.calendar.at_endless(world.now_ms + wait_ms, DueKind.FAILURE, node)


def failure_due(world: World, due: Due) -> None:
    """Let the node fail if it counts now (NODE-18), and draw the next moment."""
    node = due.key
    state = world.nodes.state_of(node)
    if state is None:
        return
    _enter_failure(world, node)
    if may_fail(state):
        world.emit(FailureDrawn(node))


# -- evictions -------------------------------------------------------------------------------------------------------


def _draw_eviction(world: World, node: int, since_ms: int) -> None:
    """Draw the next moment of an eviction, counted from ``since_ms``, and enter its notice (SPOT-10)."""
    record = world.nodes.edit(node)
    number = record.evictions_drawn + 1
    wait_ms = _drawn_wait_ms(world, node, "eviction", number, world.scenario.simulate.spot.eviction_rate)
    record.assign(evictions_drawn=number, eviction_drawn_ms=since_ms + wait_ms)
    _enter_notice(world, node)


def _enter_notice(world: World, node: int) -> None:
    """Enter the notice of the eviction drawn last: at once if there is no time for it, which delays the eviction."""
    record = world.nodes[node]
    when_ms = max(world.now_ms, record.eviction_drawn_ms - world.scenario.simulate.spot.notice)
    world.calendar.at_endless(when_ms, DueKind.EVICTION_NOTICE, node, record.evictions_drawn)


def notice_due(world: World, due: Due) -> None:
    """Announce the eviction if the node counts now (SPOT-10), and draw the next one; else this one passes by."""
    node = due.key
    state, record = world.nodes.state_of(node), world.nodes[node]
    if state is None or due.token != record.evictions_drawn:
        return
    drawn_ms = record.eviction_drawn_ms
    if may_be_evicted(state, record):
        _draw_eviction(world, node, max(drawn_ms, world.now_ms))
        world.emit(EvictionDrawn(node))
    elif drawn_ms > world.now_ms:  # another VM may take the place of this one until then
        world.calendar.at_endless(drawn_ms, DueKind.EVICTION_NOTICE, node, due.token)
    else:
        _draw_eviction(world, node, world.now_ms)


def vm_replaced(world: World, replaced: VmReplaced) -> None:
    """Announce an eviction at once whose notice would have come before the new VM (SPOT-10)."""
    notice_ms = world.nodes[replaced.node].eviction_drawn_ms - world.scenario.simulate.spot.notice
    if world.scenario.simulate.spot.eviction_rate and notice_ms < world.now_ms:
        _enter_notice(world, replaced.node)


# -- draws -----------------------------------------------------------------------------------------------------------


def _drawn_wait_ms(world: World, node: int, purpose: str, number: int, rate: float) -> int:
    """Return the time to the next moment of a node, exponentially distributed; ``rate`` is in moments an hour."""
    waits = Distribution(kind="exponential", values=(min(HOUR_MS / rate, UNLIMITED_FROM_MS),))
    key = world.pool_of(node).id.lower(), world.nodes[node].position, number
    return max(1, draws.draw_ms(waits, draws.uniform(world.seed, purpose, *key)))
