"""Upgrades of the operating system of cloud service pools (POOL-22, POOL-28).

Nodes are upgraded by update domains, one after the other, so that four fifths of the pool go on working. A node that
starts when its turn comes is upgraded as soon as it is up; one that cannot be reached is left out. What happens to a
single node is an operation, see ``node_operations``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.shortening import quoted
from engine.base.terms import NodeState, PoolState
from engine.rules.decisions import membership
from engine.specs.guest_os import NEWEST, family_of, is_version
from engine.world.facts import NodeUpgradeDue

if TYPE_CHECKING:
    from engine.state.pools import Pool
    from engine.world.facts import NodeLeaving, NodePreempted, NodeUnusable, NodeUsable, StartTaskFailed
    from engine.world.world import World

_N = NodeState

UPDATE_DOMAINS = 5
_BEING_UPGRADED = (_N.UPGRADING_OS, _N.STARTING, _N.WAITING_FOR_START_TASK)


def upgrade_verdict(pool: Pool, version: str) -> BatchError | None:
    """Return why the service refuses to upgrade the pool to ``version``; None if it begins.

    DECISION: every release of the pool's family is on offer, so ``OSVersionDisabled`` and ``OSVersionExpired`` never
    come. A release is named as in ``WA-GUEST-OS-5.20_201806-01``; ``*`` is the newest.
    """
    machine = pool.spec.cloud_service_configuration
    if machine is None:
        return BatchError("PoolNotEligibleForOSVersionUpgrade", "its nodes are no cloud service")
    if not is_version(version, machine.os_family):
        reason = f"family {machine.os_family} has no version {quoted(version)}"
        return BatchError("OSVersionNotFound", reason, PropertyName="osVersion", PropertyValue=version)
    if version.lower() == machine.os_version.lower():
        return BatchError("PoolVersionEqualsUpgradeVersion", PropertyName="osVersion", PropertyValue=version)
    if pool.state is PoolState.DELETING:
        return BatchError("PoolBeingDeleted")
    if pool.upgrade:
        return BatchError("UpgradePoolVersionConflict", "another upgrade is under way")
    return None


def upgrade(world: World, pool: Pool, version: str) -> None:
    """Upgrade the update domains one after the other; nodes that come later have the new version from the start."""
    refusal = upgrade_verdict(pool, version)
    if refusal is not None:
        raise refusal
    machine = pool.spec.cloud_service_configuration
    assert machine is not None
    machine = machine.model_copy(update={"os_version": version})
    pool.change(world.now_ms, {"cloud_service_configuration": machine})
    _begin_upgrade(world, pool)


def guest_os_released(world: World, version: str) -> None:
    """Upgrade the pools of the release's family whose version is ``*``; those with a fixed version stay (POOL-28).

    DECISION: a pool that is being upgraded finishes the domain that is under way, and then begins again with the
    newer release.
    """
    family = family_of(version)
    for known in list(world.pools.present()):
        machine = known.spec.cloud_service_configuration
        if machine is None or machine.os_family != family or machine.os_version != NEWEST:
            continue
        if known.state is not PoolState.DELETING:
            _begin_upgrade(world, world.pools.edit(known.row))


def _begin_upgrade(world: World, pool: Pool) -> None:
    booted = [node for node in membership.present_nodes(world, pool) if world.nodes.state_of(node) is not _N.CREATING]
    pool.begin_upgrade([booted[first::UPDATE_DOMAINS] for first in range(UPDATE_DOMAINS)])
    _continue_upgrade(world, pool)


def node_at_rest(world: World, node: NodeUsable | StartTaskFailed | NodeUnusable | NodeLeaving | NodePreempted) -> None:
    """Go on with the upgrade of the node's pool."""
    _continue_upgrade(world, world.pool_of(node.node))


def _continue_upgrade(world: World, pool: Pool) -> None:
    """Begin with the next update domain when no node of the present one is being upgraded any more."""
    while pool.upgrade and not any(is_being_upgraded(world, node) for node in pool.upgrade[0]):
        pool.assign(upgrade=pool.upgrade[1:])
        for node in pool.upgrade[0] if pool.upgrade else ():
            world.emit(NodeUpgradeDue(node))


def is_being_upgraded(world: World, node: int) -> bool:
    """Return whether the upgrade of the node has begun, or will when it is up, and has not ended."""
    return world.nodes[node].awaits_upgrade or world.nodes.state_of(node) in _BEING_UPGRADED
