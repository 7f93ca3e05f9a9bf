"""The life of a node from the allocation of its VM to the moment it is ready, and its departure (NODE).

A state that passes by itself has one entry in the calendar, ``NODE_STEP``. Operations by users are in
``node_operations``, failures and evictions in ``faults``, the setup of a booting node in ``node_setup``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engine.base.terms import NodeState, OsFamily, SchedulingState
from engine.rules.decisions import network
from engine.rules.processes.deliveries import discard_unfinished_packages, packages_of
from engine.specs import draws
from engine.specs.catalogue import BLOCK_NOTICED_MS, NODE_TIMINGS
from engine.state.disks import Disk
from engine.state.node_records import Node
from engine.world.facts import ContactWaitEnded, NodeAdded, NodeBooted, NodeCutOff, NodeGone, NodeStopped

if TYPE_CHECKING:
    from engine.events.calendar import Due
    from engine.state.pools import Pool
    from engine.world.facts import (
        NodeLost,
        NodeUsable,
        StartTaskFailed,
        VmAllocated,
        VmReplaced,
        VmStarted,
    )
    from engine.world.world import World

# TIME-5: a reboot takes a third of the time that a new machine needs.
REBOOT_SHARE = 3


# -- allocation ------------------------------------------------------------------------------------------------------


def vm_allocated(world: World, allocated: VmAllocated) -> None:
    """Add a node in state ``creating`` to the pool (NODE-2, NODE-3, NODE-4)."""
    pool, dedicated = world.pools[allocated.pool], allocated.dedicated
    position = len(pool.nodes)
    ip = pool.take_address()
    node_id = _id_of(world, pool, position, dedicated=dedicated)
    record = Node(pool.row, position, node_id, dedicated, world.now_ms, ip)
    node = world.nodes.add(record, pool.slots)
    pool.add_node(node, dedicated=dedicated)
    _enter_creating_step(world, node)
    world.emit(NodeAdded(node))


def vm_replaced(world: World, replaced: VmReplaced) -> None:
    """Let a preempted node begin anew under its id (SPOT-5)."""
    world.nodes.set_state(world.now_ms, replaced.node, NodeState.CREATING)
    _enter_creating_step(world, replaced.node)


def _enter_creating_step(world: World, node: int) -> None:
    record = world.nodes[node]
    world.enter_node_step(node, world.node_ms(world.pool_of(node), "starting", record.position, record.boots))


def _id_of(world: World, pool: Pool, position: int, *, dedicated: bool) -> str:
    if world.options.classic_node_ids or pool.os is OsFamily.CLOUD_SERVICE:
        allocated = world.scenario.start + timedelta(milliseconds=world.now_ms)
        return draws.classic_node_id(world.seed, f"{pool.id}/{pool.row}", position + 1, allocated)
    return draws.node_id(world.seed, f"{pool.id}/{pool.row}", position + 1, dedicated=dedicated)


# -- states that pass by themselves ----------------------------------------------------------------------------------


def node_step(world: World, due: Due) -> None:
    """Leave a state whose time is over, and begin what follows."""
    node = due.key
    if world.nodes[node].token != due.token:
        return
    match world.nodes.state_of(node):
        case NodeState.STARTING if network.blocked_ports(world, world.pool_of(node)):
            world.emit(NodeCutOff(node))
        case NodeState.STARTING:
            world.emit(NodeBooted(node))
        case NodeState.LEAVING_POOL:
            _vanish(world, node)
        case NodeState.DEALLOCATING:
            world.nodes.set_state(world.now_ms, node, NodeState.DEALLOCATED)
            world.cancel_node_step(node)
        case NodeState.UNKNOWN:
            world.emit(ContactWaitEnded(node))
        case _:
            _boot(world, node)


def vm_started(world: World, started: VmStarted) -> None:
    """Boot a node that was deallocated."""
    _boot(world, started.node)


def _boot(world: World, node: int) -> None:
    """Enter state ``starting`` (NODE-9); how long it lasts depends on the state before."""
    pool = world.pool_of(node)
    came_from = world.nodes.state_of(node)
    packages = packages_of(world.account, pool.spec.application_package_references)
    world.nodes.boot(world.now_ms, node, pool.spec.start_task, packages, pool.spec.certificate_references)
    discard_unfinished_packages(world, node)
    record = world.nodes[node]
    if network.blocked_ports(world, pool):
        delay_ms = BLOCK_NOTICED_MS
    elif came_from is NodeState.DEALLOCATED:
        chance = draws.uniform(world.seed, "start", pool.id.lower(), record.position, record.boots)
        delay_ms = draws.draw_ms(NODE_TIMINGS[pool.os].start, chance)
    else:
        delay_ms = world.node_ms(pool, "ready", record.position, record.boots)
        if came_from in (NodeState.REBOOTING, NodeState.UNUSABLE):
            delay_ms //= REBOOT_SHARE
    world.enter_node_step(node, delay_ms)


# -- ready or not ----------------------------------------------------------------------------------------------------


def node_usable(world: World, usable: NodeUsable) -> None:
    """Enter the state in which the node runs tasks, or ``offline`` if its scheduling is disabled (NODE-9, POOL-10)."""
    node = usable.node
    if world.nodes.busy(node):
        state = NodeState.RUNNING
    else:
        disabled = world.nodes[node].scheduling is SchedulingState.DISABLED
        state = NodeState.OFFLINE if disabled else NodeState.IDLE
    world.nodes.set_state(world.now_ms, node, state)
    world.scheduler.update_eligibility(node)


def start_task_failed(world: World, failed: StartTaskFailed) -> None:
    """Enter state ``starttaskfailed``, until somebody acts (START-6)."""
    world.nodes.set_state(world.now_ms, failed.node, NodeState.START_TASK_FAILED)


def clear_disk(world: World, stopped: NodeStopped | NodeLost) -> None:
    """Wipe the disk if it is lost; else keep it without the packages that were still on their way (NOP-12)."""
    node = stopped.node
    world.traffic.forget_node(node)
    if stopped.disk is Disk.WIPED:
        world.disks.wipe(node)
        world.nodes.wipe_disk(world.now_ms, node)
    else:
        world.nodes.discard_arrivals(world.now_ms, node)


def _vanish(world: World, node: int) -> None:
    """Take the node out of its pool: its id and address are free again (RSZ-7)."""
    world.cancel_node_step(node)
    world.nodes.set_state(world.now_ms, node, None)
    world.disks.wipe(node)
    world.traffic.forget_node(node)
    world.pool_of(node).remove_node(node, world.nodes[node].ip)
    world.emit(NodeGone(node))
