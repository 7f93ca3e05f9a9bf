"""Verdicts about new pools (POOL), which jobs and job schedules ask too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.specs.refusals import pool_refusals

if TYPE_CHECKING:
    from engine.specs.pool import PoolSpec
    from engine.world.world import World


def create_verdict(world: World, spec: PoolSpec) -> BatchError | None:
    """Return why the service refuses a new pool: its body, its id or the quota (POOL-9); None if it is created."""
    classic, networks = world.options.classic_size_rules, world.scenario.simulate.network
    refused = pool_refusals(spec, world.account, classic_size_rules=classic, networks=networks)
    if refused:
        return refused[0].error()
    if world.pools.find(spec.id) is not None:
        return BatchError("PoolExists", poolId=spec.id)
    if sum(1 for _ in world.pools.present()) >= world.account.quotas.pools:
        return BatchError("PoolQuotaReached")
    return None
