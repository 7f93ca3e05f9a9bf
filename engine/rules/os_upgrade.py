"""Another version of the guest operating system for the nodes of a cloud service pool (POOL-22).

Nodes are upgraded by update domains, one after the other, so that four fifths of the pool go on working. A node that
starts when its turn comes is upgraded as soon as it is up; one that cannot be reached is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import NodeState, PoolState
from engine.rules import node_operations
from engine.rules.decisions import membership

if TYPE_CHECKING:
    from engine.specs.machine import CloudServiceConfiguration
    from engine.state.pools import Pool
    from engine.world.world import World

_N = NodeState
UPDATE_DOMAINS = 5
NEWEST = "*"
_STARTS = (_N.STARTING, _N.WAITING_FOR_START_TASK, _N.REBOOTING, _N.REIMAGING)
_UNDER_WAY = (_N.UPGRADING_OS, _N.STARTING, _N.WAITING_FOR_START_TASK)
_RELEASE = re.compile(r"(?:WA-GUEST-OS-)?(?P<family>\d)\.\d+(?:_\d{6}-\d{2})?", re.ASCII | re.IGNORECASE)


def upgrade_verdict(pool: Pool, version: str) -> BatchError | None:
    """Why the service refuses to upgrade the pool to ``version``; None if it begins.

    DECISION: every release of the pool's family is on offer, so ``OSVersionDisabled`` and ``OSVersionExpired`` never
    come. A release is named as in ``WA-GUEST-OS-5.20_201806-01``; ``*`` is the newest.
    """
    machine = pool.spec.cloud_service_configuration
    if machine is None:
        return BatchError("PoolNotEligibleForOSVersionUpgrade", "its nodes are no cloud service")
    if not _is_release(version, machine):
        return BatchError("OSVersionNotFound", f"family {machine.os_family} has no version {version!r}")
    if version.lower() == machine.os_version.lower():
        return BatchError("PoolVersionEqualsUpgradeVersion")
    if pool.state is PoolState.DELETING:
        return BatchError("PoolBeingDeleted")
    if pool.upgrade:
        return BatchError("UpgradePoolVersionConflict", "another upgrade is under way")
    return None


def _is_release(version: str, machine: CloudServiceConfiguration) -> bool:
    form = _RELEASE.fullmatch(version)
    return version == NEWEST or (form is not None and form["family"] == machine.os_family)


def upgrade(world: World, pool: Pool, version: str) -> None:
    """Let the update domains follow one another; nodes that are still to come have the new version from the start."""
    refusal = upgrade_verdict(pool, version)
    if refusal is not None:
        raise refusal
    machine = pool.spec.cloud_service_configuration
    assert machine is not None
    machine = machine.model_copy(update={"os_version": version})
    pool.spec = pool.spec.model_copy(update={"cloud_service_configuration": machine})
    pool.modified_ms = world.now_ms
    booted = [node for node in membership.present_nodes(world, pool) if world.nodes.state_of(node) is not _N.CREATING]
    pool.upgrade = ((), *(tuple(booted[first::UPDATE_DOMAINS]) for first in range(UPDATE_DOMAINS)))
    look_at_upgrade(world, pool)


def look_at_upgrade(world: World, pool: Pool) -> None:
    """A node has come to rest: when nothing of its update domain is under way any more, the next one begins."""
    while pool.upgrade and not any(is_under_way(world, node) for node in pool.upgrade[0]):
        pool.upgrade = pool.upgrade[1:]
        _upgrade_domain(world, pool)


def is_under_way(world: World, node: int) -> bool:
    """Whether the upgrade of the node has begun, or will when it is up, and has not ended."""
    operation = world.nodes[node].operation
    waits = operation is not None and operation.name == node_operations.UPGRADE
    return waits or world.nodes.state_of(node) in _UNDER_WAY


def _upgrade_domain(world: World, pool: Pool) -> None:
    for node in pool.upgrade[0] if pool.upgrade else ():
        state, operation = world.nodes.state_of(node), world.nodes[node].operation
        if operation is not None and operation.name == node_operations.REMOVE:
            continue
        if state in _STARTS:
            node_operations.begin_when_up(world, node, node_operations.UPGRADE)
        elif state in node_operations.REINSTALLED_IN:
            node_operations.carry_out(world, node, node_operations.UPGRADE)
