"""Spot VMs that were taken back or could not be had: Batch tries again every five minutes (SPOT-5).

Attempts lie on a grid that begins when the pool fell short. An attempt for which nothing can have changed is left
out, so that a run that is over ends; the moments of the others stay the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.events.calendar import Due, DueKind
from engine.rules.decisions import membership, quotas
from engine.specs.catalogue import SPOT_REFILL_INTERVAL_MS
from engine.world.facts import VmAllocated, VmReplaced

if TYPE_CHECKING:
    from engine.state.pools import Pool
    from engine.world.facts import NodePreempted, PoolSteady
    from engine.world.world import World


def node_preempted(world: World, preempted: NodePreempted) -> None:
    """Enter an attempt to replace the VM."""
    _enter_attempt(world, world.pool_of(preempted.node))


def pool_steady(world: World, steady: PoolSteady) -> None:
    """Enter an attempt to get the Spot nodes that the resize did not."""
    _enter_attempt(world, world.pools[steady.pool])


def enter_attempts(world: World) -> None:
    """Enter an attempt for every pool that is short: a command may have changed capacity or freed cores."""
    for pool in world.pools.present():
        _enter_attempt(world, pool)


def _enter_attempt(world: World, pool: Pool) -> None:
    """Enter the next attempt if the pool is short of Spot nodes, forget about it if it is not."""
    if not membership.missing_nodes(world, pool):
        pool.assign(short_since_ms=None, refill_at_ms=None)
        return
    since_ms = pool.begin_shortage(world.now_ms)
    attempts = (world.now_ms - since_ms) // SPOT_REFILL_INTERVAL_MS + 1
    when_ms = since_ms + attempts * SPOT_REFILL_INTERVAL_MS
    if pool.refill_at_ms != when_ms:
        pool.assign(refill_at_ms=when_ms)
        world.calendar.at(when_ms, DueKind.SPOT_REFILL, pool.row)


def refill_pools(world: World, _: Due) -> None:
    """Make the attempts of this moment, in the order of the pools' ids (ACC-8)."""
    for pool in sorted(world.pools.present(), key=lambda pool: pool.id.lower()):
        if pool.refill_at_ms == world.now_ms:
            _refill(world, pool)


def _refill(world: World, pool: Pool) -> None:
    """Get what can be had at once, for preempted nodes first; a failure is no resize error (SPOT-5)."""
    pool.assign(refill_at_ms=None)
    count, _ = quotas.granted(world, pool, membership.missing_nodes(world, pool), dedicated=False)
    world.use_capacity(pool, count)
    returning = membership.preempted_nodes(world, pool)[:count]
    for node in returning:
        world.emit(VmReplaced(node))
    for _ in range(count - len(returning)):
        world.emit(VmAllocated(pool.row, dedicated=False))
    if count or _something_else_is_due(world):
        _enter_attempt(world, pool)


def _something_else_is_due(world: World) -> bool:
    return len(world.calendar) > sum(pool.refill_at_ms is not None for pool in world.pools.present())
