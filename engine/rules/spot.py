"""Spot nodes that were taken back, or could not be had: Batch keeps seeking them (SPOT-5).

Attempts lie every five minutes from the moment at which the pool fell short. One that nothing can have changed
for is left out, so that a run which is over ends; the moments of the others stay the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.events.calendar import Due, DueKind
from engine.rules import nodes
from engine.rules.decisions import membership, quotas
from engine.specs.catalogue import SPOT_REFILL_INTERVAL_MS

if TYPE_CHECKING:
    from engine.state.pools import Pool
    from engine.world.world import World


def seek(world: World, pool: Pool) -> None:
    """Enter the next attempt if the pool is short of Spot nodes, forget about it if it is not."""
    if not membership.missing_nodes(world, pool):
        pool.short_since_ms = pool.refill_at_ms = None
        return
    now_ms = world.now_ms
    if pool.short_since_ms is None:
        pool.short_since_ms = now_ms
    attempts = (now_ms - pool.short_since_ms) // SPOT_REFILL_INTERVAL_MS + 1
    when_ms = pool.short_since_ms + attempts * SPOT_REFILL_INTERVAL_MS
    if pool.refill_at_ms != when_ms:
        pool.refill_at_ms = when_ms
        world.calendar.at(when_ms, DueKind.SPOT_REFILL, pool.row)


def seek_everywhere(world: World) -> None:
    """Something was done that may matter to any pool: an eviction, a change of capacity, cores given back."""
    for pool in world.pools.present():
        seek(world, pool)


def refill(world: World, _: Due) -> None:
    """It is time for an attempt; pools that try at the same moment do so in the order of their ids (ACC-8)."""
    for pool in sorted(world.pools.present(), key=lambda pool: pool.id.lower()):
        if pool.refill_at_ms == world.now_ms:
            _refill(world, pool)


def _refill(world: World, pool: Pool) -> None:
    """What can be had comes at once, preempted nodes first; a failure is no resize error (SPOT-5)."""
    pool.refill_at_ms = None
    count, _ = quotas.granted(world, pool, membership.missing_nodes(world, pool), dedicated=False)
    quotas.use_capacity(world, pool, count)
    returning = membership.preempted_nodes(world, pool)[:count]
    for node in returning:
        nodes.replace_vm(world, node)
    for _ in range(count - len(returning)):
        nodes.allocate(world, pool, dedicated=False)
    if count or _something_else_is_due(world):
        seek(world, pool)


def _something_else_is_due(world: World) -> bool:
    return len(world.calendar) > sum(pool.refill_at_ms is not None for pool in world.pools.present())
