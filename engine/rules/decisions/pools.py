"""What the service refuses of a new pool (chapter 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.specs.refusals import pool_refusals

if TYPE_CHECKING:
    from engine.specs.pool import PoolSpec
    from engine.specs.refusals import Refusal
    from engine.world.world import World


def create_refusals(world: World, spec: PoolSpec) -> list[Refusal]:
    """Return what the service refuses in the body of a new pool (POOL-9)."""
    classic, networks = world.options.classic_size_rules, world.scenario.simulate.network
    return pool_refusals(spec, world.account, classic_size_rules=classic, networks=networks)


def create_verdict(world: World, spec: PoolSpec) -> BatchError | None:
    """Return why there can be no such pool now: its id is taken, or the quota is reached; None if it is created."""
    if world.pools.find(spec.id) is not None:
        return BatchError("PoolExists", poolId=spec.id)
    if sum(1 for _ in world.pools.present()) >= world.account.quotas.pools:
        return BatchError("PoolQuotaReached")
    return None
