"""Chance: nodes that fail and Spot VMs that are taken back at random, at the rates of the scenario (NODE-18, SPOT-10).

Every node has a stream of moments for each rate, drawn from its key and the number of the moment alone. What happens to
other nodes, or to this one, does not move them: a moment at which the node does not count passes by. Waiting times are
exponential, so the rate is the same as if each began when the node counts again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.lifecycles import NODE
from engine.base.terms import NodeState
from engine.base.units import HOUR_MS, UNLIMITED_FROM_MS
from engine.events.calendar import Due, DueKind
from engine.specs import draws
from engine.specs.distributions import Distribution
from engine.world.facts import EvictionDrawn, FailureDrawn

if TYPE_CHECKING:
    from engine.state.node_records import Node
    from engine.world.facts import NodeAdded, VmReplaced
    from engine.world.world import World


# -- decisions -------------------------------------------------------------------------------------------------------


def may_fail(state: NodeState | None) -> bool:
    """Return whether a node can fail by chance now (NODE-18).

    DECISION: a moment within a reboot, a reimage, an upgrade or a deallocation passes by.
    """
    return (state, NodeState.UNUSABLE) in NODE


def may_be_evicted(state: NodeState | None, record: Node) -> bool:
    """Return whether an eviction by chance can be announced now (SPOT-10)."""
    is_announced = record.dedicated or record.evicted_ms is not None
    return state is not NodeState.UNUSABLE and not is_announced and (state, NodeState.PREEMPTED) in NODE


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
    wait_ms = _wait_ms(world, node, "failure", record.failures_drawn, world.scenario.simulate.nodes.failure_rate)
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
    wait_ms = _wait_ms(world, node, "eviction", number, world.scenario.simulate.spot.eviction_rate)
    record.assign(evictions_drawn=number, eviction_drawn_ms=since_ms + wait_ms)
    _enter_notice(world, node)


def _enter_notice(world: World, node: int) -> None:
    """Enter the notice of the eviction drawn last: at once if there is no time for it, which delays the eviction."""
    record = world.nodes[node]
    when_ms = max(world.now_ms, record.eviction_drawn_ms - world.eviction_notice_ms)
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
    notice_ms = world.nodes[replaced.node].eviction_drawn_ms - world.eviction_notice_ms
    if world.scenario.simulate.spot.eviction_rate and notice_ms < world.now_ms:
        _enter_notice(world, replaced.node)


# -- draws -----------------------------------------------------------------------------------------------------------


def _wait_ms(world: World, node: int, purpose: str, number: int, rate: float) -> int:
    """Return the time to the next moment of a node, exponentially distributed; ``rate`` is in moments an hour."""
    waits = Distribution(kind="exponential", values=(min(HOUR_MS / rate, UNLIMITED_FROM_MS),))
    key = world.pool_of(node).id.lower(), world.nodes[node].position, number
    return max(1, draws.draw_ms(waits, draws.uniform(world.seed, purpose, *key)))
