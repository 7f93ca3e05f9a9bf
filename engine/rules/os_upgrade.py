"""The upgrade of the guest operating system of a cloud service pool (POOL-22).

Nodes are upgraded by update domains, one after the other, so that four fifths of the pool go on working. A node that
starts when its turn comes is upgraded as soon as it is up; one that cannot be reached is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import NodeState, PoolState
from engine.rules.decisions import membership
from engine.world.facts import UpgradeDue

if TYPE_CHECKING:
    from engine.specs.machine import CloudServiceConfiguration
    from engine.state.pools import Pool
    from engine.world.facts import NodeLeaving, NodePreempted, NodeUnusable, NodeUsable, StartTaskFailed
    from engine.world.world import World

_N = NodeState
UPDATE_DOMAINS = 5
NEWEST = "*"
_UNDER_WAY = (_N.UPGRADING_OS, _N.STARTING, _N.WAITING_FOR_START_TASK)
_RELEASE = re.compile(r"(?:WA-GUEST-OS-)?(?P<family>\d)\.\d+(?:_\d{6}-\d{2})?", re.ASCII | re.IGNORECASE)


def upgrade_verdict(pool: Pool, version: str) -> BatchError | None:
    """Return why the service refuses to upgrade the pool to ``version``; None if it begins.

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
    """Upgrade the update domains one after the other; nodes that come later have the new version from the start."""
    refusal = upgrade_verdict(pool, version)
    if refusal is not None:
        raise refusal
    machine = pool.spec.cloud_service_configuration
    assert machine is not None
    machine = machine.model_copy(update={"os_version": version})
    pool.change(world.now_ms, {"cloud_service_configuration": machine})
    booted = [node for node in membership.present_nodes(world, pool) if world.nodes.state_of(node) is not _N.CREATING]
    pool.begin_upgrade([booted[first::UPDATE_DOMAINS] for first in range(UPDATE_DOMAINS)])
    _go_on(world, pool)


def node_at_rest(world: World, node: NodeUsable | StartTaskFailed | NodeUnusable | NodeLeaving | NodePreempted) -> None:
    """Go on with the upgrade of the node's pool."""
    _go_on(world, world.pool_of(node.node))


def _go_on(world: World, pool: Pool) -> None:
    """Begin with the next update domain when no node of the present one is being upgraded any more."""
    while pool.upgrade and not any(is_under_way(world, node) for node in pool.upgrade[0]):
        pool.assign(upgrade=pool.upgrade[1:])
        for node in pool.upgrade[0] if pool.upgrade else ():
            world.emit(UpgradeDue(node))


def is_under_way(world: World, node: int) -> bool:
    """Return whether the upgrade of the node has begun, or will when it is up, and has not ended."""
    return world.nodes[node].awaits_upgrade or world.nodes.state_of(node) in _UNDER_WAY
