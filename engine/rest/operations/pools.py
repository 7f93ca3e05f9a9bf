"""The operations on pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.rest.operations.common import (
    Resources,
    action,
    creation,
    existence,
    one,
    removal,
)
from engine.rest.operations.linked import check_linked
from engine.rest.protocol import answers, bodies, paging
from engine.rules.decisions import lookups
from engine.specs import commands as c
from engine.views.pages.autoscale import dry_run
from engine.views.rest.pools import node_counts, pool_body, pool_stats, run_body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call, Handler
    from engine.state.pools import Pool

_AUTO_SCALE_RUN = "Microsoft.Azure.Batch.Protocol.Entities.AutoScaleRun"


POOLS = Resources("pools", "poolId", lambda world: world.pools)


def pool_named(call: Call) -> Pool:
    """Return the pool that the path names. Raises BatchError: PoolNotFound."""
    return lookups.pool_named(call.world, call.names["poolId"])


def get_pool(call: Call) -> Answer:
    """Answer with one pool."""
    pool = pool_named(call)
    stats = pool_stats(call.world, pool, call.now_ms) if paging.wants_stats(call) else None
    return one(call, "pools", pool_body(call.world, pool), POOLS.named(call), stats)


def list_pools(call: Call) -> Answer:
    """Answer with a page of the pools."""
    world, rows = call.world, call.world.pools.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((pool.row, pool_body(world, pool)) for pool in paging.after(rows, row) if pool.state is not None)

    return paging.page(call, "pools", after, -1, lambda row: pool_stats(world, rows[row], call.now_ms))


def list_node_counts(call: Call) -> Answer:
    """Answer with a page of the numbers of nodes of each pool by state (NODE-16)."""
    world, rows = call.world, call.world.pools.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((pool.row, node_counts(world, pool)) for pool in paging.after(rows, row) if pool.state is not None)

    return paging.page(call, "poolnodecounts", after, -1)


def _with_targets(_: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a resize in which a target that is left out is 0, as on the wire."""
    given = {name.lower() for name, value in body.items() if value is not None}
    targets = ("targetDedicatedNodes", "targetLowPriorityNodes")
    return body | {name: 0 for name in targets if name.lower() not in given}


def _new_pool(call: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a new pool in which targets that are left out are 0, unless a formula sets them.

    In a scenario it is a mistake not to say how many nodes a pool has; the service accepts it. Raises BatchError.
    """
    pool = bodies.lenient(c.CreatePool, body)
    check_linked(pool, call.world.account)
    return pool if pool.get("enableAutoScale") else _with_targets(call, pool)


def evaluate_auto_scale(call: Call) -> Answer:
    """Evaluate a formula on a pool without applying it, and answer with what came out (AS-87)."""
    command = bodies.read(c.EvaluatePoolAutoScale, call.body(), call.names)
    call.submit(command)
    run = dry_run(call.simulation, command.pool_id, command.auto_scale_formula)
    assert run is not None  # the pool exists: the command was accepted
    body = {"odata.metadata": answers.metadata(call.base, _AUTO_SCALE_RUN), **run_body(call.world, run)}
    return answers.json_body(call.route.status, body)


HANDLERS: dict[str, Handler] = {
    "create_pool": creation(c.CreatePool, POOLS.target_of, _new_pool),
    "list_pools": list_pools,
    "get_pool": get_pool,
    "pool_exists": existence(POOLS.named),
    "delete_pool": removal(c.DeletePool, POOLS.named),
    "update_pool": action(c.UpdatePool, POOLS.named),
    "replace_pool_properties": action(c.ReplacePoolProperties, POOLS.named),
    "resize_pool": action(c.ResizePool, POOLS.named, _with_targets),
    "stop_pool_resize": action(c.StopPoolResize, POOLS.named),
    "enable_pool_auto_scale": action(c.EnablePoolAutoScale, POOLS.named),
    "disable_pool_auto_scale": action(c.DisablePoolAutoScale, POOLS.named),
    "evaluate_pool_auto_scale": evaluate_auto_scale,
    "remove_nodes": action(c.RemoveNodes, POOLS.named),
    "upgrade_pool_os": action(c.UpgradePoolOS, POOLS.named),
    "list_pool_node_counts": list_node_counts,
}
