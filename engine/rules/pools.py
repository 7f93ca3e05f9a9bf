"""Pools as a whole (chapter 3): create, update, delete. Growing and shrinking is in ``resizing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import AllocationState, Deallocation, JobDefaultOrder, NodeState, PoolState
from engine.rules import autoscaling, node_operations, resizing
from engine.rules.decisions import membership
from engine.rules.decisions.pools import create_verdict
from engine.specs.base import wire_name
from engine.specs.catalogue import vm_size
from engine.specs.pool import PoolReplacement
from engine.specs.refusals import pool_update_refusals
from engine.state.jobs import UNBOUND
from engine.state.pools import Pool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.specs.commands import ReplacePoolProperties, UpdatePool
    from engine.specs.pool import PoolSpec
    from engine.specs.refusals import Refusal
    from engine.world.facts import AutoPoolReleased, AutoPoolRequested
    from engine.world.world import World

# POOL-2: properties that a PATCH may change whatever nodes there are; every other one needs an empty pool.
_LIVE = {"start_task", "application_package_references", "certificate_references", "metadata"}
_MODE = "target_node_communication_mode"


def find(world: World, pool_id: str) -> Pool:
    """The pool of this id; refuses with PoolNotFound."""
    pool = world.pools.find(pool_id)
    if pool is None:
        raise BatchError("PoolNotFound", poolId=pool_id)
    return world.pools.edit(pool.row)


def update_refusals(world: World, pool: Pool, given: Mapping[str, object]) -> list[Refusal]:
    """What the service refuses in a change of the pool, whatever state it is in (POOL-14)."""
    classic, networks = world.options.classic_size_rules, world.scenario.simulate.network
    return pool_update_refusals(given, pool.spec, world.account, classic_size_rules=classic, networks=networks)


def create(world: World, spec: PoolSpec) -> Pool:
    """Create a pool; the initial sizing is an ordinary resize (POOL-7, POOL-8, POOL-9)."""
    refusal = create_verdict(world, spec)
    if refusal is not None:
        raise refusal
    size = vm_size(spec.vm_size)
    assert size is not None  # the body was looked at before
    pool = Pool(len(world.pools), spec, size, spec.os_family, world.now_ms)
    grows = bool(pool.target_dedicated or pool.target_spot or pool.auto_scale)
    world.pools.create(world.now_ms, pool, AllocationState.RESIZING if grows else AllocationState.STEADY)
    for job in world.jobs.present():
        if job.pool == UNBOUND and job.pool_id.lower() == pool.id.lower():
            world.bind_job(job)
    if pool.auto_scale:
        autoscaling.begin(world, pool)
    elif grows:
        resizing.begin_resize(world, pool, spec.resize_timeout, Deallocation.REQUEUE)
    return pool


def auto_pool_requested(world: World, requested: AutoPoolRequested) -> None:
    """Create the pool that a job or a job schedule brings along (AUTO-2)."""
    create(world, requested.spec)


def patched(command: UpdatePool) -> dict[str, object]:
    """What a PATCH replaces, by the names of the specification: what is given (POOL-14)."""
    return {name: getattr(command, name) for name in command.model_fields_set - {"pool_id"}}


def replaced(pool: Pool, command: ReplacePoolProperties) -> dict[str, object]:
    """What ``updateproperties`` replaces: everything that can change on a living pool, what is absent too (POOL-14).

    DECISION: how nodes communicate stays as it is where nothing is said of it, for that needs an empty pool.
    """
    given: dict[str, object] = {name: getattr(command, name) for name in PoolReplacement.model_fields}
    mode = given.pop(_MODE)
    return given if mode in (None, pool.spec.target_node_communication_mode) else given | {_MODE: mode}


def update(world: World, pool: Pool, given: Mapping[str, object]) -> None:
    """What is given is replaced; most of it only while the pool has no nodes (POOL-14, POOL-16, POOL-17).

    DECISION: nodes that have been asked for count as nodes, since they come as they were asked for.
    """
    if pool.state is PoolState.DELETING:
        raise BatchError("PoolBeingDeleted")
    fixed = sorted(wire_name(name) for name in set(given) - _LIVE)
    if fixed and (pool.pending or pool.wanted or membership.present_nodes(world, pool)):
        raise BatchError(
            "OperationInvalidForCurrentState", f"{', '.join(fixed)} can change only while the pool has no nodes"
        )
    pool.spec = pool.spec.model_copy(update=given)
    pool.modified_ms = world.now_ms
    # Nodes that are there keep what they have until they boot (POOL-15).
    pool.start_task = pool.spec.start_task
    pool.packages = pool.spec.application_package_references
    pool.certificates = pool.spec.certificate_references
    pool.metadata = pool.spec.metadata
    if "vm_size" in given:
        size = vm_size(pool.spec.vm_size)
        assert size is not None  # the body was looked at before
        pool.size = size
    pool.os = pool.spec.os_family
    pool.fill = pool.spec.task_scheduling_policy.node_fill_type
    pool.oldest_first = pool.spec.task_scheduling_policy.job_default_order is JobDefaultOrder.CREATION_TIME
    if pool.slots != pool.spec.task_slots_per_node:
        pool.slots = pool.spec.task_slots_per_node
        pool.buckets = [0] * (pool.slots + 1)
    pool.choose_filling()
    world.scheduler.reorder_turns(pool)


def delete(world: World, pool: Pool) -> None:
    """Delete a pool: its nodes go, tasks are requeued, jobs stay and wait (RSZ-10, POOL-17, POOL-19)."""
    if pool.state is PoolState.DELETING:
        raise BatchError("PoolBeingDeleted")
    world.pools.set_state(world.now_ms, pool.row, PoolState.DELETING)
    pool.token += 1
    pool.pending.clear()
    pool.wanted = ()
    pool.upgrade = ()
    for job in world.jobs_of(pool):
        job.in_turn = False
    pool.turns = []
    here = [node for node in membership.present_nodes(world, pool) if world.nodes.state[node] != NodeState.LEAVING_POOL]
    pool.victims.update(membership.present_nodes(world, pool))
    for node in here:
        node_operations.remove(world, node, Deallocation.REQUEUE)
    look_at_deletion(world, pool)


def auto_pool_released(world: World, released: AutoPoolReleased) -> None:
    """Delete the pool of a job or a job schedule that is over (AUTO-3)."""
    delete(world, world.pools[released.pool])


def look_at_deletion(world: World, pool: Pool) -> None:
    """The pool disappears when its last node has, however long that takes (RSZ-10, RSZ-11)."""
    if pool.victims:
        return
    world.pools.set_state(world.now_ms, pool.row, None)
    for job in world.jobs_of(pool):
        world.unbind_job(job)
