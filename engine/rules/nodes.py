"""The life of a node from allocation to the moment it is ready, and to its end (chapter 5).

Each state that passes by itself has one pending entry in the calendar; ``node_step`` does what comes next.
Operations by users are in ``node_operations``, faults in ``faults``.
"""

from __future__ import annotations

from datetime import timedelta
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from engine.base.terms import Deallocation, NodeState, OsFamily, SchedulingState
from engine.events.calendar import Due
from engine.rules import (
    faults,
    node_operations,
    node_setup,
    os_upgrade,
    release,
    resizing,
    start_task,
)
from engine.rules.decisions import network
from engine.rules.tasks import interruptions
from engine.specs import draws
from engine.specs.catalogue import BLOCK_NOTICED_MS, NODE_TIMINGS
from engine.state.disks import Disk
from engine.state.nodes import Node

if TYPE_CHECKING:
    from engine.state.pools import Pool
    from engine.world.world import World

# TIME-5: a reboot comes back in a third of the time that a new machine needs.
REBOOT_SHARE = 3


def allocate(world: World, pool: Pool, *, dedicated: bool) -> int:
    """A VM has been obtained for the pool: a new node in ``creating`` (NODE-2, NODE-3, NODE-4); returns its row."""
    now_ms = world.now_ms
    position = len(pool.nodes)
    ip = _take_address(pool)
    node_id = _id_of(world, pool, position, dedicated)
    record = Node(pool.row, position, node_id, dedicated=dedicated, now_ms=now_ms, ip=ip)
    node = world.nodes.add(record, pool.slots)
    pool.nodes.append(node)
    if dedicated:
        pool.dedicated_bits |= 1 << position
    world.enter_node_step(node, world.node_ms(pool, "starting", position, record.boots))
    return node


def replace_vm(world: World, node: int) -> None:
    """A VM has been obtained for a preempted node, which keeps its id and begins anew (SPOT-5)."""
    record = world.nodes[node]
    world.nodes.set_state(world.now_ms, node, NodeState.CREATING)
    world.enter_node_step(node, world.node_ms(world.pool_of(node), "starting", record.position, record.boots))


def _take_address(pool: Pool) -> int:
    """The lowest address that is free (NODE-4)."""
    if pool.free_addresses:
        return heappop(pool.free_addresses)
    pool.addresses += 1
    return pool.addresses - 1


def _id_of(world: World, pool: Pool, position: int, dedicated: bool) -> str:
    if world.options.classic_node_ids or pool.os is OsFamily.CLOUD_SERVICE:
        allocated = world.scenario.start + timedelta(milliseconds=world.now_ms)
        return draws.classic_node_id(world.seed, f"{pool.id}/{pool.row}", position + 1, allocated)
    return draws.node_id(world.seed, f"{pool.id}/{pool.row}", position + 1, dedicated=dedicated)


def node_step(world: World, due: Due) -> None:
    """The node's state has lasted as long as it was to last."""
    node = due.key
    record = world.nodes[node]
    if record.token != due.token:
        return
    match world.nodes.state_of(node):
        case NodeState.CREATING | NodeState.REBOOTING | NodeState.REIMAGING | NodeState.UPGRADING_OS:
            boot(world, node)
        case NodeState.STARTING if network.blocked_ports(world, world.pool_of(node)):
            faults.never_reached(world, node)
        case NodeState.STARTING:
            if world.nodes[node].is_set_up:
                booted(world, node)
            else:
                node_setup.begin(world, node)
        case NodeState.LEAVING_POOL:
            vanish(world, node)
        case NodeState.DEALLOCATING:
            world.nodes.set_state(world.now_ms, node, NodeState.DEALLOCATED)
            world.cancel_node_step(node)
        case NodeState.UNUSABLE:
            boot(world, node)
        case NodeState.UNKNOWN:
            faults.contact_is_over(world, node)


def boot(world: World, node: int) -> None:
    """The VM is up and Batch is starting on it (NODE-9); how long that takes depends on where it comes from."""
    pool = world.pool_of(node)
    record = world.nodes.edit(node)
    came_from = world.nodes.state_of(node)
    world.nodes.set_state(world.now_ms, node, NodeState.STARTING)
    record.boots += 1
    record.boot_ms = world.now_ms
    record.errors = ()
    record.recover_ms = record.lost_ms = None
    record.start_spec = pool.start_task
    record.start_task = None
    node_setup.forget(world, node, record, pool)
    record.recovering = came_from is NodeState.UNUSABLE
    if network.blocked_ports(world, pool):
        world.enter_node_step(node, BLOCK_NOTICED_MS)
        return
    if came_from is NodeState.DEALLOCATED:
        chance = draws.uniform(world.seed, "start", pool.id.lower(), record.position, record.boots)
        delay_ms = draws.draw_ms(NODE_TIMINGS[pool.os].start, chance)
    else:
        delay_ms = world.node_ms(pool, "ready", record.position, record.boots)
        if came_from in (NodeState.REBOOTING, NodeState.UNUSABLE):
            delay_ms //= REBOOT_SHARE
    world.enter_node_step(node, delay_ms)


def booted(world: World, node: int) -> None:
    """Batch runs on the node, which is set up: the start task, if there is one, comes next (START-2 to START-5)."""
    spec = world.nodes[node].start_spec
    world.cancel_node_step(node)
    if spec is not None and spec.wait_for_success:
        world.nodes.set_state(world.now_ms, node, NodeState.WAITING_FOR_START_TASK)
        start_task.start(world, node, rule="START-4")
        return
    become_ready(world, node)
    if spec is not None:
        start_task.start(world, node, rule="START-5")


def become_ready(world: World, node: int) -> None:
    """The node can run tasks, or still does, unless its scheduling is disabled (NODE-9, POOL-10)."""
    if world.nodes.busy(node):
        state = NodeState.RUNNING
    else:
        disabled = world.nodes[node].scheduling is SchedulingState.DISABLED
        state = NodeState.OFFLINE if disabled else NodeState.IDLE
    world.nodes.set_state(world.now_ms, node, state)
    world.scheduler.update_eligibility(node)
    node_operations.drained(world, node)
    if world.nodes.state_of(node) is state:
        for row in release.owed_rows(world, node):
            release.node_is_ready(world, node, row)
    os_upgrade.look_at_upgrade(world, world.pool_of(node))


def start_task_failed(world: World, node: int) -> None:
    """The node is of no use until somebody does something (START-6); no job waits for it any more (REL-13)."""
    world.nodes.set_state(world.now_ms, node, NodeState.START_TASK_FAILED)
    for row in release.owed_rows(world, node):
        release.give_up(world, row)
    node_operations.drained(world, node)
    os_upgrade.look_at_upgrade(world, world.pool_of(node))


def leave(world: World, node: int, option: Deallocation) -> None:
    """The node is being removed; what still runs on it is requeued or terminated (RSZ-4, RSZ-7)."""
    pool = world.pool_of(node)
    record = world.nodes.edit(node)
    record.operation = None
    record.evicted_ms = None
    start_task.stop(world, node)
    world.nodes.set_state(world.now_ms, node, NodeState.LEAVING_POOL)
    world.scheduler.update_eligibility(node)
    interruptions.stop_tasks(world, node, option, "RSZ-4")
    interruptions.stop_instances(world, node, Disk.WIPED, "PREP-19", by_user=True)
    world.enter_node_step(node, world.node_ms(pool, "removal", record.position, record.boots))
    os_upgrade.look_at_upgrade(world, pool)


def vanish(world: World, node: int) -> None:
    """The node is gone: its id and address are free again (RSZ-7)."""
    pool = world.pools.edit(world.nodes[node].pool)
    world.cancel_node_step(node)
    record = world.nodes.edit(node)
    record.gone_ms = world.now_ms
    world.nodes.set_state(world.now_ms, node, None)
    world.disks.wipe(node)
    heappush(pool.free_addresses, record.ip)
    pool.victims.discard(node)
    resizing.look_at_resize(world, pool)
