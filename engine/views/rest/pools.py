"""Pools as the service returns them (POOL-2, POOL-3, GEN-6)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from engine.base.terms import AllocationState, NodeState
from engine.base.units import format_duration
from engine.rules.decisions.network import communication_mode
from engine.specs.base import wire_name
from engine.specs.images import DEFAULT_IMAGE
from engine.views.rest.common import pool_url, resource_head, utc

if TYPE_CHECKING:
    from engine.state.pool_records import AutoScaleRun
    from engine.state.pools import Pool
    from engine.world.world import World


def pool_body(world: World, pool: Pool) -> dict[str, object]:
    """Return the REST body of a pool that is not deleted."""
    assert pool.allocation is not None
    settings = pool.spec.wire()
    current = [world.nodes[node].dedicated for node in pool.nodes if world.nodes.state_of(node) is not None]
    body = resource_head(world, pool, pool_url(world, pool.id)) | {
        "allocationState": pool.allocation.wire,
        "allocationStateTransitionTime": utc(world, pool.allocation_since_ms),
    }
    body |= settings
    if "cloudServiceConfiguration" not in settings:
        body["virtualMachineConfiguration"] = machine(pool)
    body |= {
        "currentDedicatedNodes": current.count(True),
        "currentLowPriorityNodes": current.count(False),
        "targetDedicatedNodes": pool.target_dedicated,
        "targetLowPriorityNodes": pool.target_spot,
    }
    if pool.spec.target_node_communication_mode is not None:
        body["currentNodeCommunicationMode"] = communication_mode(pool.spec).value
    if pool.scaling is not None and pool.scaling.run is not None:
        body["autoScaleRun"] = run_body(world, pool.scaling.run)
    if pool.resize_errors and pool.allocation is AllocationState.STEADY:
        body["resizeErrors"] = [error.wire() for error in pool.resize_errors]
    return body


def run_body(world: World, run: AutoScaleRun) -> dict[str, object]:
    """Return an evaluation of a formula (AS-67)."""
    body: dict[str, object] = {"timestamp": utc(world, run.when_ms), "results": run.results}
    return body if run.error is None else body | {"error": run.error.wire()}


def pool_stats(world: World, pool: Pool, now_ms: int) -> dict[str, object]:
    """Return ``stats`` of a pool: the billed time of its dedicated cores, always up to date (STAT-1, TIME-17)."""
    dedicated_ms, _ = world.nodes.billed_in_all_ms(pool.nodes, now_ms)
    core_ms = pool.size.cores * dedicated_ms
    span: dict[str, object] = {"startTime": utc(world, pool.created_ms), "lastUpdateTime": utc(world, now_ms)}
    usage = span | {"dedicatedCoreTime": format_duration(core_ms)}
    return {"url": f"{pool_url(world, pool.id)}/lifetimepoolstats"} | span | {"usageStats": usage}


def machine(pool: Pool) -> dict[str, object]:
    """Return ``virtualMachineConfiguration`` of a pool, with a default image where the scenario names none."""
    written = pool.spec.virtual_machine_configuration
    if written is not None:
        return written.wire()
    image = DEFAULT_IMAGE
    reference = {"publisher": image.publisher, "offer": image.offer, "sku": image.sku, "version": "latest"}
    return {"imageReference": reference, "nodeAgentSKUId": image.node_agent_sku_id}


def node_counts(world: World, pool: Pool) -> dict[str, object]:
    """Return the ``dedicated`` and ``lowPriority`` nodes of a pool by state, each with a total (NODE-16)."""
    found = [(world.nodes[node].dedicated, world.nodes.state_of(node)) for node in pool.nodes]
    by_kind = Counter(kind_and_state for kind_and_state in found if kind_and_state[1] is not None)
    counts: dict[str, object] = {"poolId": pool.id}
    for kind, dedicated in (("dedicated", True), ("lowPriority", False)):
        one = {wire_name(state.name.lower()): by_kind[dedicated, state] for state in NodeState}
        counts[kind] = one | {"total": sum(one.values())}
    return counts
